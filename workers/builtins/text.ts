/**
 * Text that a model reads: decoded strictly, cut with a note.
 *
 * - A text is cut between characters, and fits the limit together with its note.
 * - Memory is bounded by the limit, however much arrives.
 */
import { Buffer } from 'node:buffer'
import { SkeinError } from '../../src/core/failure.js'

/** Undefined if it is not text: not UTF-8, or with a zero byte. A byte order mark is kept. */
export function decodeText(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (thrown) {
    if (thrown instanceof TypeError) return undefined
    throw thrown
  }
}

export function notText(path: string): SkeinError {
  return new SkeinError(
    'TOOL_PATH_INVALID',
    `${path} is not text in UTF-8, and only text can be read or changed like this.`,
  )
}

export interface Collector {
  add(chunk: string | Uint8Array): void
  /** The whole text, or its beginning and a note; `hint` ends the note. */
  text(hint?: string): string
}

export function createCollector(maxBytes: number): Collector {
  const kept: Uint8Array[] = []
  let size = 0
  let total = 0
  return {
    add(chunk) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      total += bytes.length
      const part = bytes.subarray(0, maxBytes - size)
      if (part.length === 0) return
      // Copied: a view would keep the whole chunk alive.
      kept.push(part.length < bytes.length ? Uint8Array.from(part) : part)
      size += part.length
    },
    text(hint) {
      const bytes = Buffer.concat(kept)
      const whole = bytes.toString()
      // Replacement characters take more bytes than what they replace.
      if (total <= maxBytes && Buffer.byteLength(whole) <= maxBytes) return whole
      const note = `\n[cut: the first part of ${total} bytes${hint === undefined ? '' : `; ${hint}`}]`
      const room = Math.max(0, maxBytes - Buffer.byteLength(note))
      return beginningOf(Buffer.from(beginningOf(bytes, room)), room) + note
    },
  }
}

export function cutText(text: string, maxBytes: number, hint?: string): string {
  const collector = createCollector(maxBytes)
  collector.add(text)
  return collector.text(hint)
}

/** One a line. */
export function listLines(lines: Iterable<string>, maxBytes: number, hint: string): string {
  const collector = createCollector(maxBytes)
  let between = ''
  for (const line of lines) {
    collector.add(between + line)
    between = '\n'
  }
  return collector.text(hint)
}

/** At most `room` bytes of it, up to the end of a character. */
function beginningOf(bytes: Buffer, room: number): string {
  if (bytes.length <= room) return bytes.toString()
  let end = room
  const isMiddle = (): boolean => ((bytes[end] ?? 0) & 0xc0) === 0x80
  // A character has at most three continuation bytes; longer runs are not UTF-8.
  for (let back = 0; back < 3 && end > 0 && isMiddle(); back++) end--
  return bytes.subarray(0, isMiddle() ? room : end).toString()
}
