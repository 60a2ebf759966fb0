/**
 * The order of updates of many rows, made in slices: others may go on where it yields. Pure; what it sorts by is taken
 * before it sorts, so rows may change meanwhile: whoever changes one puts it into its place afterwards.
 */
import type { StoredHead } from '../../../backend/port.js'

interface UpdatedRow {
  readonly head: StoredHead
  readonly born: number
}

/** Indices of the rows, the one that was updated first before the others; births decide between equals. */
export function* updateOrder(rows: readonly UpdatedRow[], sliceRows: number): Generator<undefined, Uint32Array> {
  const updated = new Float64Array(rows.length)
  const born = new Float64Array(rows.length)
  const compare = (a: number, b: number): number =>
    (updated[a] ?? 0) - (updated[b] ?? 0) || (born[a] ?? 0) - (born[b] ?? 0)
  let from = new Uint32Array(rows.length)
  let to = new Uint32Array(rows.length)
  // By hand: `from` of a typed array takes ten times as long.
  for (let index = 0; index < rows.length; index++) {
    if (index > 0 && index % sliceRows === 0) yield
    updated[index] = rows[index]?.head.updatedAt ?? 0
    born[index] = rows[index]?.born ?? 0
    from[index] = index
  }
  const run = Math.min(sliceRows, Math.max(1, rows.length))
  for (let start = 0; start < rows.length; start += run) {
    from.subarray(start, start + run).sort(compare)
    yield
  }
  for (let width = run; width < rows.length; width *= 2) {
    yield* mergeRuns({ from, to, width, sliceRows }, compare)
    ;[from, to] = [to, from]
  }
  return from
}

interface Runs {
  readonly from: Uint32Array
  readonly to: Uint32Array
  /** Of a run that is in order. */
  readonly width: number
  readonly sliceRows: number
}

function* mergeRuns({ from, to, width, sliceRows }: Runs, compare: (a: number, b: number) => number) {
  for (let start = 0; start < from.length; start += 2 * width) {
    const [middle, end] = [Math.min(start + width, from.length), Math.min(start + 2 * width, from.length)]
    let [left, right] = [start, middle]
    for (let at = start; at < end; at++) {
      if (at > 0 && at % sliceRows === 0) yield undefined
      const isLeft = left < middle && (right >= end || compare(from[left] ?? 0, from[right] ?? 0) <= 0)
      to[at] = from[isLeft ? left++ : right++] ?? 0
    }
  }
}
