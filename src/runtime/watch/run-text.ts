/**
 * A run's text as a plain stream of strings. Deltas are given as they come; when the step's reply is durable,
 * whatever of it was not given yet follows.
 *
 * - What was given is the beginning of what counts. After a broken attempt the stream goes on where the new one
 *   says the same, and begins anew where nothing had been given; else it holds back until the reply counts, and
 *   ends with TEXT_TAKEN_BACK if that says otherwise: a string cannot be taken back (`fullStream` tells the reset
 *   itself).
 */
import type { SkeinEvent } from '../../core/records/event.js'
import { SkeinError } from '../../core/failure.js'

export async function* textPieces(
  events: AsyncIterable<SkeinEvent>,
  kind: 'text' | 'reasoning',
): AsyncGenerator<string> {
  /** Of the step that is being spoken. */
  let given = ''
  /** The text of the attempt that is being heard, as far as it is known without a gap. */
  let heard = ''
  for await (const event of events) {
    if (event.type === 'stream.reset') heard = kind === 'text' ? event.text : ''
    else if (event.type === `${kind}.delta` && 'offset' in event && event.offset === heard.length) heard += event.text
    else if (event.type === 'model.replied') heard = (kind === 'text' ? event.text : event.reasoning) ?? ''
    else continue
    const whole = event.type === 'model.replied'
    if (!heard.startsWith(given)) {
      // This attempt may break off too: only what counts decides.
      if (!whole) continue
      throw takenBack(event.thread, event.step)
    }
    const piece = heard.slice(given.length)
    given = heard
    if (whole) given = heard = ''
    if (piece) yield piece
  }
}

function takenBack(thread: string, step: number): SkeinError {
  const what =
    `the model of thread ${thread} broke off in step ${step} and answered otherwise: what was streamed ` +
    `of this step is void`
  const message = `${what}. The turn goes on; open the stream again for the whole, or follow fullStream, which tells the reset`
  return new SkeinError('TEXT_TAKEN_BACK', message, { retry: true, data: { thread, step } })
}
