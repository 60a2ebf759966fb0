/**
 * Long results: the journal and the model get the beginning, the whole is a blob that `get_tool_response` reads.
 *
 * - A journal holds no result over `maxRecorded` characters, unless its tool says `retention: 'keep'` or the session
 *   reads a property of it.
 */
import type { Blobs } from '../../backend/port.js'
import type { Outcome } from '../../core/effect.js'
import { longerThan } from '../../core/json.js'
import { resultText } from '../../core/records/message.js'

const maxRecorded = 64 * 1024
/** Characters that the model reads. */
const shown = 16 * 1024

type Success = Extract<Outcome, { readonly ok: true }>

/** `whole`: the result is recorded whole, however long it is. */
export function isLong(outcome: Outcome, whole: boolean): outcome is Success {
  return !whole && outcome.ok && longerThan(outcome.value, maxRecorded)
}

/** Stores the whole as a blob. `call`: the id of the call whose result it is. */
export async function archiveResult(
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

/** The text of a result that was stored whole. */
export async function readArchived(blobs: Blobs, { hash }: { readonly hash: string }): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of blobs.get(hash)) text += decoder.decode(chunk, { stream: true })
  return text + decoder.decode()
}

/** Does not end in the middle of a surrogate pair. */
function beginning(text: string): string {
  const last = text.charCodeAt(shown - 1)
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? shown - 1 : shown)
}
