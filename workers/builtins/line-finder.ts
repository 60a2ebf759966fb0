/**
 * Finds a sequence of lines in a text: its first two positions.
 *
 * - A search is linear in the lines, however they repeat (Knuth, Morris and Pratt).
 * - All searches together take at most `mostSteps`; past that they fail.
 */

const mostSteps = 50_000_000

export interface LineFinder {
  /** At most two positions, from `from` on. */
  find(sought: readonly string[], from: number): readonly number[] | 'too much'
}

export function createLineFinder(lines: readonly string[]): LineFinder {
  const numbers = new Map<string, number>()
  const numberOf = (line: string): number => {
    const known = numbers.get(line)
    if (known !== undefined) return known
    numbers.set(line, numbers.size)
    return numbers.size - 1
  }
  let text: Int32Array | undefined
  let remainingSteps = mostSteps
  return {
    find(sought, from) {
      // Created when a hunk is not where its header says.
      text ??= Int32Array.from(lines, numberOf)
      const pattern = Int32Array.from(sought, (line) => numbers.get(line) ?? -1)
      if (pattern.includes(-1)) return []
      remainingSteps -= text.length - from + pattern.length
      if (remainingSteps < 0) return 'too much'
      return search(text, pattern, from)
    },
  }
}

function search(text: Int32Array, pattern: Int32Array, from: number): readonly number[] {
  const found: number[] = []
  const back = backOf(pattern)
  for (let at = from, matched = 0; at < text.length && found.length < 2; at++) {
    while (matched > 0 && text[at] !== pattern[matched]) matched = back[matched - 1] ?? 0
    if (text[at] === pattern[matched]) matched++
    if (matched < pattern.length) continue
    found.push(at - pattern.length + 1)
    matched = back[matched - 1] ?? 0
  }
  return found
}

/** The failure function: how much of the pattern still matches when its next line does not. */
function backOf(pattern: Int32Array): Int32Array {
  const back = new Int32Array(pattern.length)
  for (let at = 1, matched = 0; at < pattern.length; at++) {
    while (matched > 0 && pattern[at] !== pattern[matched]) matched = back[matched - 1] ?? 0
    if (pattern[at] === pattern[matched]) matched++
    back[at] = matched
  }
  return back
}
