/**
 * A run's text as a plain stream of strings. Deltas are given as they come; when the step's reply is durable,
 * whatever of it was not given yet follows. A text cannot be taken back: after a broken attempt only what differs
 * from the text already given is given (`fullStream` tells the reset itself).
 */
import type { SkeinEvent } from '../core/event.js'

export async function* spokenText(events: AsyncIterable<SkeinEvent>, kind: 'text' | 'reasoning'): AsyncGenerator<string> {
  let given = ''
  /** The text of the attempt that is being heard, as far as it is known without a gap. */
  let heard = ''
  const advance = (): string => {
    let same = 0
    while (same < given.length && same < heard.length && given[same] === heard[same]) same++
    // Still within what was given before.
    if (same === heard.length) return ''
    const piece = heard.slice(same)
    given = heard
    return piece
  }
  for await (const event of events) {
    if (event.type === 'stream.reset') heard = kind === 'text' ? event.text : ''
    else if (event.type === `${kind}.delta` && 'offset' in event && event.offset === heard.length) heard += event.text
    else if (event.type === 'model.replied') heard = (kind === 'text' ? event.text : event.reasoning) ?? ''
    else continue
    const piece = advance()
    if (piece) yield piece
    if (event.type === 'model.replied') given = heard = ''
  }
}
