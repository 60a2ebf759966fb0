/** The next turn of the event loop: long work is done in slices, with what others have to do in between. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** In characters; a short text counts for some. */
const ofATurn = 64 * 1024
const leastOfAText = 1_024

/** Texts that are read one after the other: where nobody waits for anything, they would leave no turn to others. */
export class TextInTurns {
  #taken = 0

  async take(chars: number): Promise<void> {
    this.#taken += Math.max(chars, leastOfAText)
    if (this.#taken <= ofATurn) return
    this.#taken = chars
    await nextTurn()
  }
}
