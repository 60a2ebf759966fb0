/**
 * A run's text as a plain stream of strings. Deltas are yielded as they arrive; when the step's reply is durable,
 * the rest of it follows.
 *
 * - What was yielded is a prefix of the durable text. After a broken attempt the stream continues where the new
 *   attempt repeats that prefix. Where it differs, the stream waits for the durable reply and ends with
 *   TEXT_TAKEN_BACK if that differs too: a string cannot be taken back (`fullStream` has the reset itself).
 * - The stream never ends as if all had been said: a turn that failed or was cancelled ends it with an error, the same
 *   that `text()` rejects with; one that a limit ended in the middle of a reply, with TEXT_TAKEN_BACK.
 */
import { SkeinError, failure, fromFailure } from '../failure.js'
import type { Failure } from '../failure.js'
import type { SkeinEvent } from './event.js'
import type { TurnEnded } from './record.js'

export async function* textPieces(
  events: AsyncIterable<SkeinEvent>,
  kind: 'text' | 'reasoning',
): AsyncGenerator<string, void, undefined> {
  /** The text of this step that was yielded. */
  let yielded = ''
  /** The text of the current attempt, as far as it arrived without a gap. */
  let current = ''
  let end: TurnEnd | undefined
  for await (const event of events) {
    end = endOf(event) ?? end
    const text = textAfter(event, kind, current)
    if (text === undefined) continue
    current = text
    const whole = event.type === 'model.replied'
    if (!current.startsWith(yielded)) {
      // This attempt may break off too: only the durable reply decides.
      if (!whole) continue
      throw takenBack(event.thread, event.step)
    }
    const piece = current.slice(yielded.length)
    yielded = current
    if (whole) {
      yielded = ''
      current = ''
    }
    if (piece) yield piece
  }
  if (end) throwUnanswered(end, yielded)
}

/** The text of the step after the event; undefined where the event says nothing of it. */
function textAfter(event: SkeinEvent, kind: 'text' | 'reasoning', current: string): string | undefined {
  if (event.type === 'stream.reset') return kind === 'text' ? event.text : ''
  if (event.type === 'model.replied') return (kind === 'text' ? event.text : event.reasoning) ?? ''
  if (event.type !== `${kind}.delta` || !('offset' in event)) return undefined
  return event.offset === current.length ? current + event.text : undefined
}

function endOf(event: SkeinEvent): TurnEnd | undefined {
  if (event.type === 'turn.ended') return event
  return event.type === 'thread.terminated' || event.type === 'thread.ended' ? { reason: 'terminated' } : undefined
}

function throwUnanswered(end: TurnEnd, yielded: string): void {
  const why = unfinished(end)
  if (why) throw fromFailure(why)
  if (yielded) throw brokenOff(end.reason)
}

/** How a turn ended. */
type TurnEnd = Pick<TurnEnded, 'reason' | 'detail' | 'failure'>

/** Why a turn has no answer, if it has none. One that a limit stopped has: what was said until then. */
export function unfinished({ reason, detail, failure: cause }: TurnEnd): Failure | undefined {
  if (cause) return cause
  if (reason !== 'cancelled' && reason !== 'terminated') return undefined
  const what = reason === 'cancelled' ? 'the turn was cancelled' : 'the thread ended before the turn had an answer'
  return failure('CANCELLED', detail ? `${what}: ${detail}` : what, { data: { stopReason: reason } })
}

function brokenOff(reason: string): SkeinError {
  const message =
    `the turn ended (${reason}) before the model had answered: what was streamed of this step is void; result() has ` +
    `what was said before`
  return new SkeinError('TEXT_TAKEN_BACK', message, { data: { stopReason: reason } })
}

function takenBack(thread: string, step: number): SkeinError {
  const message =
    `the model of thread ${thread} broke off in step ${step} and answered otherwise: what was streamed of this step ` +
    `is void. The turn goes on; open the stream again for the whole, or follow fullStream, which tells the reset`
  return new SkeinError('TEXT_TAKEN_BACK', message, { retry: true, data: { thread, step } })
}
