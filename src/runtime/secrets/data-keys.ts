/**
 * The data keys that a vault has at hand, by their wrapped form, so that a value costs one decryption and not two.
 *
 * - At most `most` are kept: the one that was not used for longest goes. Whatever goes is wiped.
 */

export class DataKeys {
  readonly #most: number
  readonly #keys = new Map<string, Buffer>()

  constructor(most: number) {
    this.#most = most
  }

  find(wrapped: string): Buffer | undefined {
    const key = this.#keys.get(wrapped)
    if (!key) return undefined
    this.#keys.delete(wrapped)
    this.#keys.set(wrapped, key)
    return key
  }

  keep(wrapped: string, key: Buffer): Buffer {
    this.#keys.set(wrapped, key)
    for (const oldest of this.#keys.keys()) {
      if (this.#keys.size <= this.#most) break
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
