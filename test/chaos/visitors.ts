/**
 * Clients that speak to threads of their own while hosts and server come and go. Owns what they were told.
 *
 * - A sender gets a receipt or an error within a deadline, never silence (N3).
 * - What was sent again with the same id until there was a receipt is in the transcript once, in order.
 */
import { systemClock } from '../../src/core/clock.js'
import { isSkeinError } from '../../src/core/failure.js'
import { connectSkein } from '../../src/runtime/handles/client.js'
import type { SkeinClient } from '../../src/runtime/handles/client.js'
import type { Store } from '../../src/backend/port.js'
import { pauseFor } from './flock.js'

/** 30 s for an answer, and what a client spends on a server that is away. */
const deadlineMs = 60_000

export interface Visit {
  readonly wrong: readonly string[]
  readonly messages: number
  readonly errors: number
  readonly longestMs: number
}

export class Visitor {
  readonly #client: SkeinClient
  readonly #id: string
  readonly #wrong: string[] = []
  #errors = 0
  #longestMs = 0
  #over = false

  private constructor(client: SkeinClient, id: string) {
    this.#client = client
    this.#id = id
  }

  static async connect(source: Store, id: string): Promise<Visitor> {
    return new Visitor(await connectSkein({ backend: source }), id)
  }

  /** An error of any kind is an answer; it is tried again. */
  async #insist<T>(what: string, make: () => Promise<T>): Promise<T> {
    for (;;) {
      const began = systemClock.now()
      try {
        return await make()
      } catch (thrown) {
        this.#errors++
        if (!isSkeinError(thrown) || !thrown.retry) this.#wrong.push(`${what} failed with ${String(thrown)}`)
        if (this.#wrong.length > 10) throw thrown
        await pauseFor(100)
      } finally {
        const tookMs = systemClock.now() - began
        this.#longestMs = Math.max(this.#longestMs, tookMs)
        if (tookMs > deadlineMs) this.#wrong.push(`${what} had no answer for ${tookMs} ms`)
      }
    }
  }

  /** Speaks until it is told to end. */
  async visit(): Promise<Visit> {
    const thread = await this.#insist('create', () => this.#client.threads.create({ agent: 'clerk', id: this.#id }))
    const said: string[] = []
    while (!this.#over) {
      const text = `${this.#id} ${said.length}`
      await this.#insist(text, () => thread.send(text, { id: text.replace(' ', '-') }).accepted())
      said.push(text)
      const answer = await this.#insist(`the answer to ${text}`, () =>
        thread.send(text, { id: text.replace(' ', '-') }).text(),
      )
      if (answer !== `heard ${text}`) this.#wrong.push(`${text} was answered with ${answer}`)
      await pauseFor(50)
    }
    const heard = (await this.#insist('messages', () => thread.messages({ limit: 100_000 })))
      .filter(({ role }) => role === 'user')
      .map(({ text }) => text)
    if (heard.join() !== said.join())
      this.#wrong.push(
        `${this.#id} said ${said.length} messages, ${heard.length} were heard, ${new Set(heard).size} ` +
          `different ones`,
      )
    await this.#client.close()
    return { wrong: this.#wrong, messages: said.length, errors: this.#errors, longestMs: this.#longestMs }
  }

  leave(): void {
    this.#over = true
  }
}
