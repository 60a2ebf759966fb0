/**
 * A run's text as a plain stream of strings. Deltas are yielded as they arrive; when the step's reply is durable,
 * the rest of it follows.
 *
 * - What was yielded is a prefix of the durable text. After a broken attempt the stream continues where the new
 *   attempt repeats that prefix. Where it differs, the stream waits for the durable reply and ends with
 *   TEXT_TAKEN_BACK if that differs too: a string cannot be taken back (`fullStream` has the reset itself).
 */
import type { SkeinEvent } from '../../core/records/event.js'
import { SkeinError } from '../../core/failure.js'

export async function* textPieces(
  events: AsyncIterable<SkeinEvent>,
  kind: 'text' | 'reasoning',
): AsyncGenerator<string> {
  /** The text of this step that was yielded. */
  let yielded = ''
  /** The text of the current attempt, as far as it arrived without a gap. */
  let current = ''
  for await (const event of events) {
    if (event.type === 'stream.reset') current = kind === 'text' ? event.text : ''
    else if (event.type === `${kind}.delta` && 'offset' in event && event.offset === current.length)
      current += event.text
    else if (event.type === 'model.replied') current = (kind === 'text' ? event.text : event.reasoning) ?? ''
    else continue
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
}

function takenBack(thread: string, step: number): SkeinError {
  const message =
    `the model of thread ${thread} broke off in step ${step} and answered otherwise: what was streamed of this step ` +
    `is void. The turn goes on; open the stream again for the whole, or follow fullStream, which tells the reset`
  return new SkeinError('TEXT_TAKEN_BACK', message, { retry: true, data: { thread, step } })
}
