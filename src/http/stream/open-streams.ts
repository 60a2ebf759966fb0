/** How many streams each key has open: a client that never closes its own must not take those of others. */
import { everyone } from '../auth/principal.js'
import type { Principal } from '../auth/principal.js'
import { HttpProblem } from '../problem.js'

export class OpenStreams {
  readonly #most: number
  readonly #counts = new Map<string, number>()

  constructor(most: number) {
    this.#most = most
  }

  /** Returns what ends it. Who may do everything on loopback is not counted. */
  enter(principal: Principal): () => void {
    if (principal === everyone) return () => undefined
    const { name } = principal
    const open = this.#counts.get(name) ?? 0
    if (open >= this.#most)
      throw new HttpProblem(
        { status: 429, code: 'TOO_MANY_REQUESTS' },
        `the key ${JSON.stringify(name)} has ${open} streams open, and may have ${this.#most}: close some of them; ` +
          `GET /stream has several trees in one`,
      )
    this.#counts.set(name, open + 1)
    let isOpen = true
    return () => {
      if (isOpen) this.#leave(name)
      isOpen = false
    }
  }

  #leave(name: string): void {
    const left = (this.#counts.get(name) ?? 1) - 1
    if (left === 0) this.#counts.delete(name)
    else this.#counts.set(name, left)
  }
}
