/**
 * Reads some lines of a file that need not fit into memory.
 *
 * - The file is read up to the last requested line; memory is bounded by one result.
 */
import { Buffer } from 'node:buffer'
import { SkeinError } from '../../src/core/failure.js'
import { cutText, notText } from './text.js'

export interface LineRange {
  readonly path: string
  /** From 1. */
  readonly offset: number
  readonly limit: number
  readonly maxBytes: number
}

/** With their line ends. */
export async function pickLines(chunks: AsyncIterable<Uint8Array>, range: LineRange): Promise<string> {
  const { path, offset, limit, maxBytes } = range
  const room = maxBytes - noteBytes
  let picked = ''
  let bytes = 0
  let count = 0
  for await (const { line, starts } of linesOfText(chunks, { path, longest: maxBytes })) {
    if (starts) count++
    if (count < offset) continue
    if (starts && count >= offset + limit) return picked
    bytes += Buffer.byteLength(line)
    if (bytes > room) {
      if (picked === '' || !starts)
        return cutText(picked + line, maxBytes, `line ${count} alone is longer; see it with a command such as cut`)
      return `${picked}[cut: go on with offset ${count}]`
    }
    picked += line
  }
  if (count < offset && (offset > 1 || count > 0)) {
    throw new SkeinError(
      'TOOL_INPUT_INVALID',
      `${path} has ${count} lines; there is no line ${offset}. Ask for a smaller offset.`,
    )
  }
  return picked
}

const noteBytes = 64

interface Piece {
  readonly line: string
  /** False: the line is too long to be buffered, and continues. */
  readonly starts: boolean
}

/** Lines with their ends; throws if the content is not text. */
export async function* linesOfText(
  chunks: AsyncIterable<Uint8Array>,
  { path, longest }: { readonly path: string; readonly longest: number },
): AsyncGenerator<Piece> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let rest = ''
  let starts = true
  const decode = (chunk?: Uint8Array): string => {
    try {
      return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode()
    } catch (thrown) {
      throw thrown instanceof TypeError ? notText(path) : thrown
    }
  }
  for await (const chunk of chunks) {
    if (chunk.includes(0)) throw notText(path)
    rest += decode(chunk)
    let from = 0
    for (let at = rest.indexOf('\n'); at !== -1; at = rest.indexOf('\n', from)) {
      yield { line: rest.slice(from, at + 1), starts }
      starts = true
      from = at + 1
    }
    rest = rest.slice(from)
    if (rest.length <= longest) continue
    yield { line: rest, starts }
    rest = ''
    starts = false
  }
  rest += decode()
  if (rest !== '') yield { line: rest, starts }
}
