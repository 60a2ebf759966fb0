/** A queue with one consumer that waits for the next item. After the signal aborts, it gives undefined. */

export interface Queue<Item> {
  /** `bytes`: how long it is, where that is counted. */
  push(item: Item, bytes?: number): void
  next(): Promise<Item | undefined>
  /** How many items wait. */
  readonly size: number
  /** How long they are, of those that were measured. */
  readonly bytes: number
  /** Resolves when the next item is taken. */
  taken(): Promise<void>
  /** Removes the listener from the signal, which may live much longer. */
  close(): void
}

/** Taken items are dropped in bulk: dropping one at a time would copy the remaining ones each time. */
const dropAfter = 1_024

export function createQueue<Item>(signal?: AbortSignal): Queue<Item> {
  let items: { readonly item: Item; readonly bytes: number }[] = []
  let first = 0
  let waiting = 0
  let wake: (() => void) | undefined
  const onTaken: (() => void)[] = []
  const ring = (): void => {
    wake?.()
    wake = undefined
  }
  const take = (): Item | undefined => {
    const next = items[first++]
    waiting -= next?.bytes ?? 0
    if (first > dropAfter && first * 2 > items.length) {
      items = items.slice(first)
      first = 0
    }
    for (const resolve of onTaken.splice(0)) resolve()
    return next?.item
  }
  signal?.addEventListener('abort', ring, { once: true })
  return {
    get size() {
      return items.length - first
    },
    get bytes() {
      return waiting
    },
    taken: () => new Promise((resolve) => void onTaken.push(resolve)),
    push(item, bytes = 0) {
      items.push({ item, bytes })
      waiting += bytes
      ring()
    },
    async next() {
      while (first === items.length && !signal?.aborted) {
        items = []
        first = 0
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      return signal?.aborted ? undefined : take()
    },
    close: () => signal?.removeEventListener('abort', ring),
  }
}
