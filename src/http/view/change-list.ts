/**
 * Items by key in the order of their last change, so that whoever knows the state at a number can be told what has
 * changed since, each item once and as it is now.
 *
 * - Numbers have no gaps; nothing is kept per watcher, and a slow one costs no more than a quick one.
 */

interface Entry<Item> {
  item: Item
  /** Of its last change. */
  seq: number
  older: Entry<Item> | undefined
  newer: Entry<Item> | undefined
}

export class ChangeList<Item> {
  readonly #entries = new Map<string, Entry<Item>>()
  #newest: Entry<Item> | undefined
  #seq = 0

  /** Of the last change of all. */
  get seq(): number {
    return this.#seq
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: string): Item | undefined {
    return this.#entries.get(key)?.item
  }

  set(key: string, item: Item): void {
    const known = this.#entries.get(key)
    const entry = known ?? { item, seq: 0, older: undefined, newer: undefined }
    if (known) this.#unlink(known)
    else this.#entries.set(key, entry)
    entry.item = item
    entry.seq = ++this.#seq
    entry.older = this.#newest
    entry.newer = undefined
    if (this.#newest) this.#newest.newer = entry
    this.#newest = entry
  }

  #unlink({ older, newer }: Entry<Item> & object): void {
    if (older) older.newer = newer
    if (newer) newer.older = older
    else this.#newest = older
  }

  /** What has changed after this number, oldest change first; with `most`, only the newest of it. */
  since(seq: number, most = Infinity): readonly (Item & { readonly n: number })[] {
    const found: (Item & { readonly n: number })[] = []
    for (let entry = this.#newest; entry && entry.seq > seq && found.length < most; entry = entry.older)
      found.push({ ...entry.item, n: entry.seq })
    return found.reverse()
  }

  /** Of those that came. */
  get first(): Item | undefined {
    return this.#entries.values().next().value?.item
  }

  /** In the order in which they came; each is a copy. */
  *[Symbol.iterator](): Iterator<Item & { n: number }> {
    for (const { item, seq } of this.#entries.values()) yield { ...item, n: seq }
  }
}
