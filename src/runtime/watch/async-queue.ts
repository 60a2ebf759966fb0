/** A queue that one consumer waits on. After the signal aborts it gives undefined. */

export interface Queue<Item> {
  push(item: Item): void
  next(): Promise<Item | undefined>
  /** How many wait. */
  readonly size: number
  /** Resolves when the next one is taken. */
  taken(): Promise<void>
  /** Lets go of the signal, which may live much longer. */
  close(): void
}

/** Items that were taken are let go together, as many as are left: one at a time would copy the rest each time. */
const kept = 1_024

export function createQueue<Item>(signal?: AbortSignal): Queue<Item> {
  let queue: Item[] = []
  let taken = 0
  let wake: (() => void) | undefined
  const told: (() => void)[] = []
  const ring = (): void => {
    wake?.()
    wake = undefined
  }
  const take = (): Item | undefined => {
    const item = queue[taken++]
    if (taken > kept && taken * 2 > queue.length) {
      queue = queue.slice(taken)
      taken = 0
    }
    for (const tell of told.splice(0)) tell()
    return item
  }
  signal?.addEventListener('abort', ring, { once: true })
  return {
    get size() {
      return queue.length - taken
    },
    taken: () => new Promise((resolve) => void told.push(resolve)),
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
      return signal?.aborted ? undefined : take()
    },
    close: () => signal?.removeEventListener('abort', ring),
  }
}
