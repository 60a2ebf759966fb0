/**
 * The outbox of a resident: what was decided since its last commit, and goes into the next one.
 *
 * OB1 What is taken is taken whole: records, the mail that goes with them, the mail that they finish, and the answers.
 */
import type { Send, StoredMail } from '../backend/port.js'
import type { Answer } from '../core/command.js'
import type { ThreadRecord } from '../core/record.js'

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
  answer(mail: StoredMail, answer: Answer): void
  /** There is something to commit. */
  readonly full: boolean
  take(): Batch
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
