/**
 * Runs tasks of the same key one after another, and immediately if none is pending. Holds nothing for an idle key.
 */
export class SerialQueues {
  readonly #last = new Map<string, Promise<unknown>>()

  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key)
    const result = before ? before.then(work) : work()
    const end = (): void => {
      if (this.#last.get(key) === ended) this.#last.delete(key)
    }
    const ended = result.then(end, end)
    this.#last.set(key, ended)
    return result
  }

  /** Resolves when the last task of the key so far has ended. */
  async after(key: string): Promise<void> {
    await this.#last.get(key)
  }

  /** Resolves when the last tasks so far of these keys have ended. */
  async settledOf(isOne: (key: string) => boolean): Promise<void> {
    await Promise.all([...this.#last].map(([key, ended]) => isOne(key) && ended))
  }

  async settled(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values())
  }
}
