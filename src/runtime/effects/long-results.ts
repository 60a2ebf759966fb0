/**
 * Long results: the journal and the model get the beginning, the whole is a blob that `get_tool_response` reads.
 *
 * - A journal holds no result over `maxRecorded` characters, unless its tool says `retention: 'keep'` or the session
 *   reads a property of it.
 * - The text of a long result is made over several turns of the event loop.
 */
import type { Blobs } from '../../backend/port.js'
import type { Outcome } from '../../core/effect.js'
import { nextTurn } from '../../core/async/next-turn.js'
import { longerThan } from '../../core/json.js'
import type { Json } from '../../core/json.js'
import { jsonPieces } from './json-pieces.js'

const maxRecorded = 64 * 1024
/** Characters that the model reads. */
const shown = 16 * 1024
/** Characters that are encoded in one turn of the event loop. */
const turnChars = 256 * 1024

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
  await nextTurn() // the value itself was made or read in this one
  const { bytes, length, start } = await encoded(outcome.value)
  const { hash, size } = await blobs.put(bytes)
  const text =
    `${start}\n[cut: these are ${start.length} of ${length} characters; get_tool_response with ` +
    `id ${JSON.stringify(call)} gives the rest]`
  return { outcome: { ok: true, value: start, whole: { hash, size } }, text }
}

interface EncodedText {
  readonly bytes: Uint8Array
  readonly length: number
  readonly start: string
}

/** The text of a value for the model (`resultText`), as bytes. */
async function encoded(value: Json): Promise<EncodedText> {
  const chunks: Uint8Array[] = []
  const encoder = new TextEncoder()
  let length = 0
  let start = ''
  let text = ''
  for (const piece of typeof value === 'string' ? slicesOf(value) : jsonPieces(value)) {
    text += piece
    if (start.length <= shown) start += piece.slice(0, shown + 1)
    length += piece.length
    if (text.length < turnChars) continue
    chunks.push(encoder.encode(text))
    text = ''
    await nextTurn()
  }
  chunks.push(encoder.encode(text))
  return { bytes: Buffer.concat(chunks), length, start: beginning(start) }
}

/** None ends in the middle of a surrogate pair. */
function* slicesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length;) {
    const end = Math.min(from + turnChars, text.length)
    const to = isHigh(text.charCodeAt(end - 1)) && end < text.length ? end + 1 : end
    yield text.slice(from, to)
    from = to
  }
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00
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
  return text.slice(0, isHigh(text.charCodeAt(shown - 1)) ? shown - 1 : shown)
}
