/**
 * The mailbox of one thread as this process knows it: its mails in order, which of them have the same id, and which
 * messages of the stream may be removed when some are done. Owns no connection.
 *
 * - Of mails with one id only the first is shown while it is not done; when it is done, all of them are.
 * - A message may be removed when every mail in it is done.
 */
import type { Mail, StoredMail } from '../../port.js'

/** At most; a message holds what one commit sends to one thread. */
export const mailsPerMessage = 4_096

export class MailIndex {
  readonly #shown = new Map<number, StoredMail>()
  readonly #first = new Map<string, number>()
  /** Later mails with the same id as this one. */
  readonly #twins = new Map<number, number[]>()
  /** How many mails of each message are not done. */
  readonly #open = new Map<number, number>()

  get empty(): boolean {
    return this.#shown.size === 0
  }

  /** Whether something new is shown. */
  add(seq: number, mails: readonly Mail[]): boolean {
    if (this.#open.has(seq)) return false
    this.#open.set(seq, mails.length)
    let shown = false
    for (const [index, { id, body }] of mails.entries()) {
      const number = seq * mailsPerMessage + index
      const first = this.#first.get(id)
      if (first !== undefined) this.#twins.set(first, [...(this.#twins.get(first) ?? []), number])
      else {
        this.#first.set(id, number)
        this.#shown.set(number, { number, id, body })
        shown = true
      }
    }
    return shown
  }

  after(number: number): StoredMail[] {
    return [...this.#shown.values()].filter((mail) => mail.number > number)
  }

  /** Messages of the stream that may be removed; `all` when no other message is before the last of them. */
  done(numbers: readonly number[]): { readonly seqs: readonly number[]; readonly all: boolean } {
    const seqs: number[] = []
    for (const number of numbers) {
      const mail = this.#shown.get(number)
      if (!mail) continue
      this.#shown.delete(number)
      this.#first.delete(mail.id)
      for (const each of [number, ...(this.#twins.get(number) ?? [])]) {
        const seq = Math.floor(each / mailsPerMessage)
        const open = (this.#open.get(seq) ?? 1) - 1
        this.#open.set(seq, open)
        if (open === 0 && this.#open.delete(seq)) seqs.push(seq)
      }
      this.#twins.delete(number)
    }
    const last = Math.max(...seqs)
    return { seqs, all: seqs.length > 1 && [...this.#open.keys()].every((seq) => seq > last) }
  }
}
