/**
 * Long results: the journal and the model get the beginning, the whole is a blob that `get_tool_response` reads.
 *
 * - No success over `longest` characters stands in a journal, unless its tool says `retention: 'keep'` or
 *   the session reads a property of it.
 */
import type { Blobs } from '../../backend/port.js'
import type { Outcome } from '../../core/effect.js'
import { longerThan } from '../../core/json.js'
import { resultText } from '../../core/records/message.js'

const longest = 64 * 1024
/** What the model reads of it. */
const shown = 16 * 1024

type Success = Extract<Outcome, { readonly ok: true }>

/** `keep`: the tool wants its results whole. */
export function isLong(outcome: Outcome, keep: boolean): outcome is Success {
  return !keep && outcome.ok && longerThan(outcome.value, longest)
}

/** `call`: the id of the call whose result it is. */
export async function archived(
  blobs: Blobs,
  outcome: Success,
  call: string,
): Promise<{ readonly outcome: Outcome; readonly text: string }> {
  const whole = resultText(outcome.value)
  const { hash, size } = await blobs.put(new TextEncoder().encode(whole))
  const start = beginning(whole)
  const text =
    `${start}\n[cut: these are ${start.length} of ${whole.length} characters; get_tool_response with ` +
    `id ${JSON.stringify(call)} gives the rest]`
  return { outcome: { ok: true, value: start, whole: { hash, size } }, text }
}

/** Ends before half of a character. */
function beginning(text: string): string {
  const last = text.charCodeAt(shown - 1)
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? shown - 1 : shown)
}
