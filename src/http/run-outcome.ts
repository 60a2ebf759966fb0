/** A message as routes take it, and what the run that it begins came to within a time. */
import { z } from 'zod'
import type { Run, RunResult, SendOptions, Thread, ThreadInfo } from '../index.js'
import { systemClock } from '../core/clock.js'
import { defined } from '../core/defined.js'
import type { RouteScene } from './route.js'
import { contexts, messageId, runResult } from './schemas.js'

export const longestWaitMs = 600_000

export const runOutcome = z.object({
  run: z.string(),
  result: runResult.optional(),
  waiting: z
    .looseObject({ status: z.string() })
    .optional()
    .describe('It waits for people: its status, and what is pending'),
})

const attachment = z.union([
  z.string().describe('The path of a file of the thread'),
  z.strictObject({ name: z.string(), base64: z.base64() }).describe('A file that goes with the message'),
])

export const sentMessage = z.strictObject({
  text: z.string(),
  id: messageId.optional(),
  delivery: z.enum(['steer', 'new_turn']).optional(),
  silent: z.boolean().optional(),
  attachments: z.array(attachment).max(64).optional(),
  context: contexts.optional(),
})

export function sendTo(target: Thread, message: z.output<typeof sentMessage>, more: SendOptions): Run {
  const { text, id: _, attachments, ...rest } = message
  const files = attachments?.map((each) =>
    typeof each === 'string' ? each : { name: each.name, content: Buffer.from(each.base64, 'base64') },
  )
  return target.send(text, { ...defined({ ...rest, attachments: files }), ...more })
}

/** Neither: the turn goes on. */
export interface RunAnswer {
  readonly result?: RunResult
  /** Nothing goes on before someone has decided or answered. */
  readonly waiting?: Pick<ThreadInfo, 'status' | 'pending'>
}

interface AwaitedRun {
  readonly target: Thread
  readonly run: Run
}

type Waiting = Pick<RouteScene, 'signal' | 'principal' | 'clock'>

/** What a run came to in time, and while who asks has the right to it. One that waits for people is not waited for. */
export async function outcomeWithin(
  { target, run }: AwaitedRun,
  { signal, principal, clock }: Waiting,
  longestMs: number,
): Promise<RunAnswer> {
  const { ends = Number.POSITIVE_INFINITY } = principal
  const waitMs = Math.min(longestMs, ends - clock.now())
  // One controller: signals that are made of others cost more than all else here.
  const over = new AbortController()
  const until = { signal: over.signal }
  const leave = (): void => over.abort()
  const stop = systemClock.wakeAt(systemClock.now() + waitMs, leave)
  signal.addEventListener('abort', leave, { once: true })
  try {
    const ended = run.result(until).then((result): RunAnswer => ({ result }))
    // Most turns that are short do not wait for anyone: it is not looked for at once.
    const stands = passed(Math.min(restAfterMs, waitMs), over.signal)
      .then(() => target.settled(until))
      .then(({ status, pending }): RunAnswer | Promise<RunAnswer> =>
        // At rest because it has ended: its result is on its way.
        pending === undefined ? ended : { waiting: { status, pending } },
      )
    // The one that loses is aborted below.
    for (const each of [ended, stands]) each.catch(() => undefined)
    return await Promise.race([ended, stands])
  } catch (thrown) {
    if (over.signal.aborted || signal.aborted) return {}
    throw thrown
  } finally {
    stop()
    signal.removeEventListener('abort', leave)
    over.abort()
  }
}

const restAfterMs = 20

/** Rejects when the signal aborts. */
function passed(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = systemClock.wakeAt(systemClock.now() + ms, resolve)
    signal.addEventListener('abort', () => {
      cancel()
      reject(signal.reason)
    })
  })
}
