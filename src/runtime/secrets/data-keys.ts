/**
 * A vault's cache of data keys, by their wrapped form: a value costs one decryption instead of two.
 *
 * - It holds at most `max` keys and drops the least recently used. A key that is dropped is wiped.
 */

export class DataKeys {
  readonly #max: number
  readonly #keys = new Map<string, Buffer>()

  constructor(max: number) {
    this.#max = max
  }

  find(wrapped: string): Buffer | undefined {
    const key = this.#keys.get(wrapped)
    if (!key) return undefined
    this.#keys.delete(wrapped)
    this.#keys.set(wrapped, key)
    return key
  }

  add(wrapped: string, key: Buffer): Buffer {
    this.#keys.set(wrapped, key)
    for (const oldest of this.#keys.keys()) {
      if (this.#keys.size <= this.#max) break
      this.drop(oldest)
    }
    return key
  }

  drop(wrapped: string): void {
    this.#keys.get(wrapped)?.fill(0)
    this.#keys.delete(wrapped)
  }

  clear(): void {
    for (const wrapped of [...this.#keys.keys()]) this.drop(wrapped)
  }
}
