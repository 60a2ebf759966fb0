/**
 * Sending a command to a thread and waiting for its answer: mail in, answer out, in the host's process and in any
 * other.
 *
 * - An answer says that the command's records are durable, or why there are none.
 * - No answer within the deadline is the error COMMAND_UNANSWERED: the command stays in the mailbox.
 * - Where an answer may have been lost, the command is posted again: the thread knows its id and answers the same. It
 *   does not know what it has refused, nor does a thread that was deleted: whoever is answered has no copy on its way
 *   that could be carried out later.
 * - Where the last host dies or leaves during the wait, the wait ends as soon as that is known.
 */
import { z } from 'zod'
import type { Backend } from '../../backend/port.js'
import type { Clock } from '../../core/clock.js'
import type { Answer, Command } from '../../core/records/command.js'
import { SkeinError, fromFailure } from '../../core/failure.js'
import type { Json } from '../../core/json.js'
import { abortable } from '../../models/retry/abort.js'
import { sealMail } from '../journal/mail.js'
import { answerTopic } from '../watch/topics.js'
import { lazy } from '../../core/schema.js'

const answerSchema = lazy(() =>
  z.union([
    z.object({ ok: z.literal(true), seq: z.number(), run: z.string().optional(), began: z.number().optional() }),
    z.object({
      ok: z.literal(false),
      failure: z.looseObject({ code: z.string(), message: z.string(), retry: z.boolean() }),
    }),
  ]),
)

const answerWithinMs = 30_000
/** After this time the host may be gone, and its presence is checked. */
const doubtAfterMs = 1_000
const lookAgainMs = 500
/** Checks in a row that find no host, before the wait ends: a host that restarts at once is waited for. */
const looksWithout = 2

export interface CommandRequest {
  readonly thread: string
  readonly id: string
  readonly command: Command
  /** Ends the wait for the answer; the command stays posted. */
  readonly signal?: AbortSignal
}

/** The answer to a command whose records are durable. */
export type AcceptedCommand = Extract<Answer, { ok: true }>

/** Sends a command to one thread. The same id again is the same command. */
export type SendToThread = (command: Command, id?: string) => Promise<AcceptedCommand>

export async function sendCommand(
  backend: Backend,
  clock: Clock,
  { thread, id, command, signal }: CommandRequest,
): Promise<AcceptedCommand> {
  signal?.throwIfAborted()
  const hosted = await backend.hosted()
  const put = (): Promise<void> => backend.mailbox.put({ to: thread, id, body: sealMail(command) })
  let posted = false
  const copies: Promise<void>[] = []
  // A failure to post it again changes nothing: the mail is stored, and the deadline stays.
  const again = (): void => void (posted && copies.push(put().catch(() => undefined)))
  const answered = expectAnswer(backend, clock, { thread, id, missed: again })
  try {
    const stored = put()
    // If that fails, the caller is told below.
    copies.push(stored.then(() => void (posted = true)).catch(() => undefined))
    // A thread in this process takes it without a mailbox: then it is stored when it is answered.
    await Promise.race([stored, answered.promise])
    if (hosted) answered.awaitHosts()
    else answered.giveUp('no host serves this store now')
    const whole = answered.promise.then((answer) => Promise.all(copies).then(() => answer))
    const answer = await (signal ? abortable(whole, { signal }) : whole)
    if (answer.ok) return answer
    throw fromFailure(answer.failure)
  } finally {
    answered.stop()
  }
}

interface Expected {
  readonly thread: string
  readonly id: string
  /** Called when the answer may have been lost. */
  readonly missed: () => void
}

function expectAnswer(backend: Backend, clock: Clock, { thread, id, missed }: Expected) {
  const stops: (() => void)[] = []
  let open = true
  let giveUp: (why: string, hosted?: true) => void = () => undefined
  const promise = new Promise<Answer>((resolve, reject) => {
    const take = (value: Json): void => {
      if (answerSchema().safeParse(value).success) resolve(value as unknown as Answer)
    }
    stops.push(backend.signals.subscribe(answerTopic(thread, id), take, missed))
    giveUp = (why, hosted) => reject(unanswered(thread, why, hosted ?? false))
    const cancel = clock.wakeAt(clock.now() + answerWithinMs, () =>
      giveUp(`no host answered within ${answerWithinMs / 1000} s`, true),
    )
    stops.push(cancel)
  })
  promise.catch(() => undefined) // the mail itself may fail first
  const later = (ms: number, then: () => void): void => void (open && stops.push(clock.wakeAt(clock.now() + ms, then)))
  const look = async (without: number): Promise<void> => {
    // Where the store cannot be reached, nothing is known of its hosts.
    const there = await backend.hosted().catch(() => true)
    if (there) later(lookAgainMs, () => void look(0))
    else if (without + 1 < looksWithout) later(lookAgainMs, () => void look(without + 1))
    else giveUp('the host that served this store is gone, and no other has come yet')
  }
  return {
    promise,
    giveUp: (why: string) => giveUp(why),
    awaitHosts: () => later(doubtAfterMs, () => void look(0)),
    stop: () => {
      open = false
      for (const stop of stops) stop()
    },
  }
}

function unanswered(thread: string, why: string, hosted: boolean): SkeinError {
  return new SkeinError(
    'COMMAND_UNANSWERED',
    `the command to thread ${thread} is kept in its mailbox, but ${why}; it is carried out when a host opens the store`,
    { retry: true, data: { thread, hosted } },
  )
}
