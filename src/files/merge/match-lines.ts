/**
 * Finds which lines of one list are still in another, by a shortest edit script (Myers, greedy from the front).
 *
 * - The work is bounded: linear in the lines, plus a fixed number of steps for what differs. If that does not suffice
 *   there is no result.
 */

/** Removed and added lines together. */
const mostEdits = 1_000
/** Steps besides the linear ones: some hundredths of a second. */
const mostSteps = 8_000_000

/** For each line of `base` its index in `side`, or -1. Equal numbers are equal lines. */
export function matchLines(base: Int32Array, side: Int32Array): Int32Array | undefined {
  const trail = findShortest(base, side)
  return trail && traceBack(base, side, trail)
}

/**
 * How far each diagonal got, after each number of edits. The diagonal `d` (index in base minus index in side) is at
 * `d + edits`.
 */
type Trail = readonly Int32Array[]

function findShortest(base: Int32Array, side: Int32Array): Trail | undefined {
  const trail: Int32Array[] = []
  let before: Int32Array = new Int32Array()
  let steps = mostSteps + 2 * (base.length + side.length)
  for (let edits = 0; edits <= mostEdits; edits++) {
    const reach = new Int32Array(2 * edits + 1)
    trail.push(reach)
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const start = edits === 0 ? 0 : begin(before, edits, diagonal)
      let line = start
      while (line < base.length && line - diagonal < side.length && base[line] === side[line - diagonal]) line++
      reach[diagonal + edits] = line
      if (line >= base.length && line - diagonal >= side.length) return trail
      steps -= line - start + 1
      if (steps < 0) return undefined
    }
    before = reach
  }
  return undefined
}

/** Where a diagonal begins with one more edit: an added line of the side, or a removed line of the base. */
function begin(before: Int32Array, edits: number, diagonal: number): number {
  const added = diagonal + 1 <= edits - 1 ? (before[diagonal + edits] ?? 0) : -1
  const removed = diagonal - 1 >= 1 - edits ? (before[diagonal + edits - 2] ?? 0) + 1 : -1
  return Math.max(added, removed)
}

function traceBack(base: Int32Array, side: Int32Array, trail: Trail): Int32Array {
  const indices = new Int32Array(base.length).fill(-1)
  let diagonal = base.length - side.length
  let line = base.length
  for (let edits = trail.length - 1; edits >= 0; edits--) {
    const before = trail[edits - 1]
    const start = before ? begin(before, edits, diagonal) : 0
    while (line > start) {
      line--
      indices[line] = line - diagonal
    }
    if (!before) break
    const added = diagonal + 1 <= edits - 1 ? (before[diagonal + edits] ?? 0) : -1
    if (added === start) diagonal++
    else {
      diagonal--
      line = start - 1
    }
  }
  return indices
}
