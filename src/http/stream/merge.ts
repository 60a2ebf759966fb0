/**
 * Several sources as one: what comes first is given first. Each source is asked for its next item when its last one was
 * taken, so nothing is stored here but one item of each.
 *
 * - The order within a source stays. An error of one is thrown; whoever leaves ends all of them.
 */

type Arrived<Item> = { readonly item: Item } | { readonly thrown: unknown }

export function merge<Item>(sources: readonly AsyncIterable<Item>[]): AsyncIterableIterator<Item> {
  const iterators = sources.map((source) => source[Symbol.asyncIterator]())
  const arrived: { readonly from: AsyncIterator<Item>; readonly what: Arrived<Item> }[] = []
  let open = iterators.length
  let isLeft = false
  let wake: (() => void) | undefined
  const ring = (): void => {
    wake?.()
    wake = undefined
  }
  const ask = (from: AsyncIterator<Item>): void => {
    from.next().then(
      ({ done, value }) => {
        if (done) open--
        else arrived.push({ from, what: { item: value } })
        ring()
      },
      (thrown: unknown) => {
        open--
        arrived.push({ from, what: { thrown } })
        ring()
      },
    )
  }
  let begun = false
  const merged: AsyncIterableIterator<Item> = {
    [Symbol.asyncIterator]: () => merged,
    async next() {
      if (!begun) for (const each of iterators) ask(each)
      begun = true
      while (arrived.length === 0 && open > 0 && !isLeft) await new Promise<void>((resolve) => (wake = resolve))
      const first = isLeft ? undefined : arrived.shift()
      if (!first) return { done: true, value: undefined }
      if ('thrown' in first.what) throw first.what.thrown
      ask(first.from)
      return { done: false, value: first.what.item }
    },
    async return() {
      isLeft = true
      ring()
      for (const each of iterators) void each.return?.()
      return { done: true, value: undefined }
    },
  }
  return merged
}
