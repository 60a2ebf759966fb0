/**
 * Splits a content into lines to search.
 *
 * - Memory is bounded by a chunk and one part: a longer line comes in several parts, each of which begins with the end
 *   of the one before.
 */

export interface LinePart {
  /** From 1. */
  readonly line: number
  readonly text: string
}

/** The longest part of a line. */
export const partChars = 65_536
const sharedChars = 2000

/** How far a file is checked for NUL, which text does not contain. */
const probedBytes = 8192

/** Yields nothing if the file is not text. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<LinePart> {
  const decoder = new TextDecoder()
  let seen = 0
  let line = 1
  let rest = ''
  for await (const chunk of chunks) {
    if (seen < probedBytes && chunk.subarray(0, probedBytes - seen).includes(0)) return
    seen += chunk.length
    const text = rest + decoder.decode(chunk, { stream: true })
    let from = 0
    // The rest of the last chunk has no end of a line.
    for (let at = text.indexOf('\n', rest.length); at !== -1; at = text.indexOf('\n', from)) {
      for (const part of partsOf(withoutReturn(text.slice(from, at)))) yield { line, text: part }
      line += 1
      from = at + 1
    }
    const parts = [...partsOf(text.slice(from))]
    rest = parts.pop() ?? ''
    for (const part of parts) yield { line, text: part }
  }
  rest += decoder.decode()
  if (rest !== '') yield { line, text: withoutReturn(rest) }
}

function* partsOf(line: string): Generator<string> {
  let rest = line
  while (rest.length > partChars) {
    const end = betweenPairs(rest, partChars)
    yield rest.slice(0, end)
    rest = rest.slice(betweenPairs(rest, end - sharedChars))
  }
  yield rest
}

/** The index, moved so that it does not split a surrogate pair. */
export function betweenPairs(text: string, at: number): number {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line
}
