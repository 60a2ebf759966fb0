/**
 * Suggestions for a misspelt word: the known word with the smallest edit distance.
 */

/** Undefined if none is near: a far guess misleads more than it helps. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  let best: { readonly candidate: string; readonly edits: number } | undefined
  for (const candidate of known) {
    const edits = distance(word.toLowerCase(), candidate.toLowerCase())
    const isNear =
      edits <= Math.max(1, Math.floor(candidate.length / 3)) || (word.length >= 3 && candidate.startsWith(word))
    if (isNear && (!best || edits < best.edits)) best = { candidate, edits }
  }
  return best?.candidate
}

/** The Levenshtein distance: letters to add, remove or change. */
function distance(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let row = 1; row <= from.length; row++) {
    const line = [row]
    for (let column = 1; column <= to.length; column++) {
      const change = (above[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1)
      line.push(Math.min(change, (above[column] ?? 0) + 1, (line[column - 1] ?? 0) + 1))
    }
    above = line
  }
  return above[to.length] ?? 0
}
