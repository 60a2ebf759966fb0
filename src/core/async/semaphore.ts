/** At most so many at once; the others come in order when one is through. Owns the line. */
export class Semaphore {
  #free: number
  readonly #line: (() => void)[] = []

  constructor(atOnce: number) {
    this.#free = atOnce
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => void this.#line.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#line.shift()
      if (next) next()
      else this.#free++
    }
  }
}
