/**
 * The known word that someone may have meant.
 */

/** Undefined where none is near: a far guess misleads more than it helps. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  let best: { readonly candidate: string; readonly far: number } | undefined
  for (const candidate of known) {
    const far = distance(word.toLowerCase(), candidate.toLowerCase())
    const near =
      far <= Math.max(1, Math.floor(candidate.length / 3)) || (word.length >= 3 && candidate.startsWith(word))
    if (near && (!best || far < best.far)) best = { candidate, far }
  }
  return best?.candidate
}

/** Letters to add, drop or change to get from one word to the other. */
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
