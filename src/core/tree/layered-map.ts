/**
 * A Map whose copy costs what was changed since its base was made, not what it holds: for directories of thousands of
 * names, which are copied with every file that is added.
 *
 * - A base is shared by copies, and nobody changes it. After some changes a copy gets a base of its own, so that a
 *   change costs about the square root of what a copy of the whole would.
 * - Keys are in the order of the base, then in the order in which they were added.
 */

const fewChanges = 64

export class LayeredMap<Key, Value> implements Map<Key, Value> {
  readonly base: ReadonlyMap<Key, Value>
  /** What is other than in the base; undefined: it is removed. */
  readonly #changes: Map<Key, Value | undefined>
  #size: number

  constructor(base: ReadonlyMap<Key, Value>, changes = new Map<Key, Value | undefined>(), size = base.size) {
    this.base = base
    this.#changes = changes
    this.#size = size
  }

  copy(): LayeredMap<Key, Value> {
    const isFew = this.#changes.size <= Math.max(fewChanges, Math.sqrt(this.base.size))
    return isFew ? new LayeredMap(this.base, new Map(this.#changes), this.#size) : new LayeredMap(new Map(this))
  }

  /** What is other than in the base; undefined: it is removed. */
  get changes(): ReadonlyMap<Key, Value | undefined> {
    return this.#changes
  }

  get size(): number {
    return this.#size
  }

  get(key: Key): Value | undefined {
    return this.#changes.has(key) ? this.#changes.get(key) : this.base.get(key)
  }

  has(key: Key): boolean {
    return this.#changes.has(key) ? this.#changes.get(key) !== undefined : this.base.has(key)
  }

  set(key: Key, value: Value): this {
    if (!this.has(key)) this.#size++
    this.#changes.set(key, value)
    return this
  }

  delete(key: Key): boolean {
    if (!this.has(key)) return false
    this.#size--
    if (this.base.has(key)) this.#changes.set(key, undefined)
    else this.#changes.delete(key)
    return true
  }

  clear(): void {
    for (const key of [...this.keys()]) this.delete(key)
  }

  *entries(): MapIterator<[Key, Value]> {
    for (const [key, value] of this.base) {
      const current = this.#changes.has(key) ? this.#changes.get(key) : value
      if (current !== undefined) yield [key, current]
    }
    for (const [key, value] of this.#changes) if (value !== undefined && !this.base.has(key)) yield [key, value]
  }

  *keys(): MapIterator<Key> {
    for (const [key] of this.entries()) yield key
  }

  *values(): MapIterator<Value> {
    for (const [, value] of this.entries()) yield value
  }

  [Symbol.iterator](): MapIterator<[Key, Value]> {
    return this.entries()
  }

  forEach(each: (value: Value, key: Key, map: Map<Key, Value>) => void): void {
    for (const [key, value] of this.entries()) each(value, key, this)
  }

  get [Symbol.toStringTag](): string {
    return 'LayeredMap'
  }
}
