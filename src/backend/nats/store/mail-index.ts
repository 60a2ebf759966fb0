/**
 * The mail of one thread as this process knows it: letters in order, which of them have the same id, and which
 * messages of the stream may be removed when some are done. Owns no connection.
 *
 * - Of letters with one id only the first is shown while it is not done; with it all of them are.
 * - A message is removed when every letter in it is done.
 */
import type { Json } from '../../../core/json.js'
import type { Mail, StoredMail } from '../../port.js'

/** Letters of one message; a message holds what one commit sends to one thread. */
export const mailsPerMessage = 4_096

interface Letter {
  readonly number: number
  readonly id: string
  readonly body: Json
}

export class MailIndex {
  readonly #shown = new Map<number, Letter>()
  readonly #first = new Map<string, number>()
  /** Later letters with the same id as this one. */
  readonly #twins = new Map<number, number[]>()
  /** Letters of each message that are not done. */
  readonly #open = new Map<number, number>()

  get empty(): boolean {
    return this.#shown.size === 0
  }

  /** Whether something new is shown. */
  add(seq: number, mails: readonly Mail[]): boolean {
    if (this.#open.has(seq)) return false
    this.#open.set(seq, mails.length)
    let news = false
    for (const [index, { id, body }] of mails.entries()) {
      const number = seq * mailsPerMessage + index
      const first = this.#first.get(id)
      if (first !== undefined) this.#twins.set(first, [...(this.#twins.get(first) ?? []), number])
      else {
        this.#first.set(id, number)
        this.#shown.set(number, { number, id, body })
        news = true
      }
    }
    return news
  }

  after(number: number): StoredMail[] {
    return [...this.#shown.values()].filter((letter) => letter.number > number)
  }

  /** Messages of the stream that may go; `all` when none is left before the last of them. */
  done(numbers: readonly number[]): { readonly seqs: readonly number[]; readonly all: boolean } {
    const seqs: number[] = []
    for (const number of numbers) {
      const letter = this.#shown.get(number)
      if (!letter) continue
      this.#shown.delete(number)
      this.#first.delete(letter.id)
      for (const each of [number, ...(this.#twins.get(number) ?? [])]) {
        const seq = Math.floor(each / mailsPerMessage)
        const left = (this.#open.get(seq) ?? 1) - 1
        this.#open.set(seq, left)
        if (left === 0 && this.#open.delete(seq)) seqs.push(seq)
      }
      this.#twins.delete(number)
    }
    const last = Math.max(...seqs)
    return { seqs, all: seqs.length > 1 && [...this.#open.keys()].every((seq) => seq > last) }
  }
}
