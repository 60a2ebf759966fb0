/**
 * Words that many items have: ids, names, statuses. What comes over a wire brings a copy of each with every item; a
 * busy tree of ten thousand threads would keep some hundred thousand of them. Texts that are of one item stay its own.
 */

const shared: ReadonlySet<string> = new Set([
  'thread',
  'parent',
  'agent',
  'status',
  'reference',
  'name',
  'kind',
  'state',
  'child',
  'id',
])

export class SharedWords {
  readonly #words = new Map<string, string>()

  clear(): void {
    this.#words.clear()
  }

  add(words: Iterable<string>): void {
    for (const word of words) this.#words.set(word, word)
  }

  /** The same item with words that are there already; what it was is not used any more. */
  share<Item extends object>(item: Item): Item {
    const changed: Record<string, unknown> = Object(item)
    for (const name in changed) {
      const value = changed[name]
      if (typeof value === 'string' && shared.has(name)) changed[name] = this.#wordOf(value)
    }
    return item
  }

  #wordOf(text: string): string {
    const known = this.#words.get(text)
    if (known !== undefined) return known
    this.#words.set(text, text)
    return text
  }
}
