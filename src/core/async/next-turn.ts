/** The next turn of the event loop: long work is done in slices, with what others have to do in between. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
