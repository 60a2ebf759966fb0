/**
 * What senders to a parked thread are told, and whoever waits for it; which commands it still takes. Mail stays in the
 * mailbox.
 */
import type { Backend, Mail } from '../../backend/port.js'
import type { Answer, Command } from '../../core/records/command.js'
import { failure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import { answerTopic, asSignal, tellThread } from '../watch/topics.js'

interface ParkedMail {
  readonly thread: string
  readonly mail: Mail
  readonly why: Failure
}

export function tellParked({ signals }: Backend, { thread, mail, why }: ParkedMail): void {
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
  signals.publish(answerTopic(thread, mail.id), asSignal(answer))
}

/** For those who wait for what the thread would have done. */
export function tellParkedTree(
  backend: Backend,
  { path, why }: { readonly path: readonly string[]; readonly why: Failure },
): void {
  const thread = path.at(-1) ?? ''
  tellThread(backend, { id: thread, path }, () => ({
    kind: 'parked',
    thread,
    path,
    failure: {
      ...failure('THREAD_PARKED', `thread ${thread} is parked, and goes on when that is mended: ${why.message}`),
      cause: why,
    },
  }))
}

/** A thread can be ended whether its agent is defined or not. */
export function needsNoDefinition({ kind }: Command): boolean {
  return kind === 'terminate' || kind === 'delete'
}
