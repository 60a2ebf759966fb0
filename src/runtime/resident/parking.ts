/** Parked threads: which failures park one, and what its senders are told. The mail itself stays where it is. */
import type { Backend, Mail } from '../../backend/port.js'
import type { Answer, Command } from '../../core/records/command.js'
import { failure } from '../../core/failure.js'
import type { Failure, FailureCode } from '../../core/failure.js'
import { answerTopic, asSignal } from '../watch/topics.js'

/** What no second try can mend. */
export const parking: ReadonlySet<FailureCode> = new Set([
  'JOURNAL_CORRUPT',
  'RECORD_FROM_FUTURE',
  'SECRET_UNREADABLE',
  'INVARIANT',
])

interface Parked {
  readonly thread: string
  readonly mail: Mail
  readonly why: Failure
}

export function tellParked({ signals }: Backend, { thread, mail, why }: Parked): void {
  const answer: Answer = {
    ok: false,
    failure: {
      ...failure(
        'THREAD_PARKED',
        `thread ${thread} is parked, your command is kept until that is mended: ${why.message}`,
      ),
      cause: why,
    },
  }
  signals.publish(answerTopic(mail.id), asSignal(answer))
}

/** No definition is asked about the end of a thread. */
export function needsNoDefinition({ kind }: Command): boolean {
  return kind === 'terminate' || kind === 'delete'
}
