/**
 * The secrets of all calls that a worker ever had (F3): its last words, and what it prints for no known call, may
 * contain any of them.
 *
 * - A worker that has had more secrets than can be searched for is not quoted at all.
 */
import { createRedactor } from '../../core/redact/redact.js'
import type { Redactor } from '../../core/redact/redact.js'

const mostSecrets = 1_000

export class WorkerSecrets {
  readonly #values = new Set<string>()
  #redactor: Redactor | undefined

  add(values: readonly string[]): void {
    for (const value of values) {
      if (this.#values.has(value) || this.#values.size > mostSecrets) continue
      this.#values.add(value)
      this.#redactor = undefined
    }
  }

  mask(text: string): string {
    if (this.#values.size === 0) return text
    if (this.#values.size > mostSecrets) return `[not told: more than ${mostSecrets} secrets would have to be masked]`
    this.#redactor ??= createRedactor([...this.#values])
    return this.#redactor ? this.#redactor.text(text) : text
  }
}
