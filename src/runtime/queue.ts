/** A queue that one consumer waits on. After the signal aborts it gives undefined. */

export interface Queue<Item> {
  push(item: Item): void
  next(): Promise<Item | undefined>
  /** Lets go of the signal, which may live much longer. */
  close(): void
}

export function createQueue<Item>(signal?: AbortSignal): Queue<Item> {
  let queue: Item[] = []
  let taken = 0
  let wake: (() => void) | undefined
  const ring = (): void => {
    wake?.()
    wake = undefined
  }
  signal?.addEventListener('abort', ring, { once: true })
  return {
    push(item) {
      queue.push(item)
      ring()
    },
    async next() {
      while (taken === queue.length && !signal?.aborted) {
        queue = []
        taken = 0
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      return signal?.aborted ? undefined : queue[taken++]
    },
    close: () => signal?.removeEventListener('abort', ring),
  }
}
