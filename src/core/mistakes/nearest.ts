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

/** Letters to add, remove or change; two neighbours that changed places count once. */
function distance(from: string, to: string): number {
  let twoAbove: readonly number[] = []
  let above = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let row = 1; row <= from.length; row++) {
    const line = [row]
    for (let column = 1; column <= to.length; column++) {
      const change = (above[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1)
      const isSwap = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1] && row > 1 && column > 1
      const swap = isSwap ? (twoAbove[column - 2] ?? 0) + 1 : Infinity
      line.push(Math.min(change, swap, (above[column] ?? 0) + 1, (line[column - 1] ?? 0) + 1))
    }
    twoAbove = above
    above = line
  }
  return above[to.length] ?? 0
}
