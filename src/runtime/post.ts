/**
 * Posting a command and waiting for its answer. The same for a caller beside the host and one in another
 * process: mail in, answer out.
 *
 * PO1 An answer means that the command's records are durable, or why there are none.
 * PO2 No answer within the deadline is an error that says the command is kept; never silence.
 * PO3 Where an answer may have been lost, the command is posted again: the thread knows its id and gives the same answer.
 */
import { z } from 'zod'
import type { Backend } from '../backend/port.js'
import type { Clock } from '../core/clock.js'
import type { Answer, Command } from '../core/command.js'
import { SkeinError, fromFailure } from '../core/failure.js'
import type { Json } from '../core/json.js'
import { sealMail } from './mail.js'
import { answerTopic } from './news.js'

const answerSchema = z.union([
  z.object({ ok: z.literal(true), seq: z.number(), run: z.string().optional() }),
  z.object({ ok: z.literal(false), failure: z.looseObject({ code: z.string(), message: z.string(), retry: z.boolean() }) }),
])

const answerWithinMs = 30_000

export interface Posting {
  readonly thread: string
  readonly id: string
  readonly command: Command
}

export async function post(backend: Backend, clock: Clock, { thread, id, command }: Posting): Promise<Extract<Answer, { ok: true }>> {
  const hosted = await backend.hosted()
  const put = (): Promise<void> => backend.mailbox.put({ to: thread, id, body: sealMail(command) })
  let kept = false
  // That it cannot be posted again is no news: it is kept, and the deadline stays.
  const again = (): void => void (kept && put().catch(() => undefined))
  const answered = expectAnswer(backend, clock, { thread, id, hosted, missed: again })
  try {
    await put()
    kept = true
    const answer = await answered.promise
    if (answer.ok) return answer
    throw fromFailure(answer.failure)
  } finally {
    answered.stop()
  }
}

interface Expected {
  readonly thread: string
  readonly id: string
  readonly hosted: boolean
  /** Told when the answer may have been lost (PO3). */
  readonly missed: () => void
}

function expectAnswer(backend: Backend, clock: Clock, { thread, id, hosted, missed }: Expected) {
  let stop: () => void = () => undefined
  const promise = new Promise<Answer>((resolve, reject) => {
    const heard = (value: Json): void => {
      if (answerSchema.safeParse(value).success) resolve(value as unknown as Answer)
    }
    const stopHearing = backend.signals.subscribe(answerTopic(id), heard, missed)
    const giveUp = (): void => reject(unanswered(thread, hosted))
    // Where no host serves the store nobody will answer: the mail is kept, and that is all there is to say.
    const cancel = clock.wakeAt(clock.now() + (hosted ? answerWithinMs : 0), giveUp)
    stop = () => {
      stopHearing()
      cancel()
    }
  })
  promise.catch(() => undefined) // the mail itself may fail first
  return { promise, stop: () => stop() }
}

function unanswered(thread: string, hosted: boolean): SkeinError {
  const why = hosted ? `no host answered within ${answerWithinMs / 1000} s` : 'no host serves this store now'
  return new SkeinError('COMMAND_UNANSWERED', `the command to thread ${thread} is kept in its mailbox, but ${why}; it is carried out when a host opens the store`, { retry: true, data: { thread, hosted } })
}
