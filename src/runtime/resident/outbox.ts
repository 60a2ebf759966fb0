/**
 * The outbox of a resident: what was decided since its last commit, and goes into the next one.
 *
 * - What is taken is taken whole: records, the mail that goes with them, the mail that they finish, and the answers.
 */
import type { Backend, Send, StoredMail } from '../../backend/port.js'
import type { Answer } from '../../core/records/command.js'
import { fromFailure } from '../../core/failure.js'
import type { ThreadRecord } from '../../core/records/record.js'
import { answerTopic, asSignal } from '../watch/topics.js'

interface Reply {
  readonly command: string
  readonly answer: Answer
}

export interface Batch {
  readonly records: readonly ThreadRecord[]
  readonly sends: readonly Send[]
  /** Numbers of our own mail that are finished with it. */
  readonly done: readonly number[]
  readonly replies: readonly Reply[]
}

/** A refusal that nobody waits for any more (it was kept without a host) is told here, or nobody would hear of it. */
export function tellAnswer(
  { backend: { signals }, warn }: { readonly backend: Backend; readonly warn: (what: string, thrown: unknown) => void },
  thread: string,
  { command, answer }: Reply,
): void {
  const topic = answerTopic(command)
  const unheard = answer.ok
    ? undefined
    : (): void => warn(`thread ${thread} refused a command that was kept for it`, fromFailure(answer.failure))
  signals.publish(topic, asSignal(answer), unheard)
}

/** A class: every resident has one, and closures of its own would cost it more. */
export class Outbox {
  #records: ThreadRecord[] = []
  #sends: Send[] = []
  #done: number[] = []
  #replies: Reply[] = []

  record(record: ThreadRecord, sends: readonly Send[]): void {
    this.#records.push(record)
    for (const send of sends) this.#sends.push(send)
  }

  /** Mail that goes with no record. */
  send(mail: readonly Send[]): void {
    for (const send of mail) this.#sends.push(send)
  }

  answer({ id, number }: StoredMail, answer: Answer): void {
    this.#done.push(number)
    this.#replies.push({ command: id, answer })
  }

  /** There is something to commit. */
  get full(): boolean {
    return this.#records.length > 0 || this.#done.length > 0
  }

  take(): Batch {
    const batch = { records: this.#records, sends: this.#sends, done: this.#done, replies: this.#replies }
    this.#records = []
    this.#sends = []
    this.#done = []
    this.#replies = []
    return batch
  }
}
