/**
 * The outbox of a resident: what was decided since its last commit, and goes into the next one.
 *
 * OB1 What is taken is taken whole: records, the mail that goes with them, the mail that they finish, and the answers.
 */
import type { Backend, Send, StoredMail } from '../backend/port.js'
import type { Answer } from '../core/command.js'
import { fromFailure } from '../core/failure.js'
import type { ThreadRecord } from '../core/record.js'
import { answerTopic, asSignal } from './news.js'

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

export interface Outbox {
  record(record: ThreadRecord, sends: readonly Send[]): void
  /** Mail that goes with no record. */
  send(mail: readonly Send[]): void
  answer(mail: StoredMail, answer: Answer): void
  /** There is something to commit. */
  readonly full: boolean
  take(): Batch
}

/** A refusal that nobody waits for any more (it was kept without a host) is told here, or nobody would hear of it. */
export function tellAnswer({ backend: { signals }, warn }: { readonly backend: Backend; readonly warn: (what: string, thrown: unknown) => void }, thread: string, { command, answer }: Reply): void {
  const topic = answerTopic(command)
  if (!answer.ok && !signals.heard(topic)) warn(`thread ${thread} refused a command that was kept for it`, fromFailure(answer.failure))
  signals.publish(topic, asSignal(answer))
}

export function createOutbox(): Outbox {
  let records: ThreadRecord[] = []
  let sends: Send[] = []
  let done: number[] = []
  let replies: Reply[] = []
  return {
    record(record, mail) {
      records.push(record)
      for (const send of mail) sends.push(send)
    },
    send(mail) {
      for (const send of mail) sends.push(send)
    },
    answer({ id, number }, answer) {
      done.push(number)
      replies.push({ command: id, answer })
    },
    get full() {
      return records.length > 0 || done.length > 0
    },
    take() {
      const batch = { records, sends, done, replies }
      records = []
      sends = []
      done = []
      replies = []
      return batch
    },
  }
}
