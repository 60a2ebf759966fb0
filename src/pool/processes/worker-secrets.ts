/**
 * The secrets that a worker thread has been told (F3): what a thread says last, or prints where nobody knows for
 * whom, may hold any of them.
 *
 * - A thread that was told more secrets than can be searched for is not quoted at all.
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
