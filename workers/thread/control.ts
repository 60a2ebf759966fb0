/**
 * Numbers that the two threads of a worker process share: the thread of bodies, and the monitor, which answers for it
 * while a body computes.
 *
 * - A call begins or is withdrawn, never both, whichever thread comes first.
 */

export const control = {
  /** Grows while the event loop of the thread of bodies turns. */
  beat: 0,
  /** From here on: what became of calls. */
  calls: 1,
} as const

/** A call that has not begun so many calls later is taken for begun. */
const remembered = 4_096

export const controlLength = control.calls + remembered

/** Calls do not begin in the order of their numbers. */
const indexOf = (call: number): number => control.calls + (call % remembered)

const begun = (call: number): number => 2 * call
const withdrawn = (call: number): number => 2 * call + 1

/** Marks the call as begun, unless it was withdrawn. Whether it may begin. */
export function tryBegin(numbers: Int32Array, call: number): boolean {
  return mark(numbers, call, begun(call)) !== withdrawn(call)
}

/** Marks the call as withdrawn, unless it has begun. Whether it never will. */
export function tryWithdraw(numbers: Int32Array, call: number): boolean {
  return mark(numbers, call, withdrawn(call)) === withdrawn(call)
}

/** Returns the value afterwards: the mark, or what was stored before about this call or a later one. */
function mark(numbers: Int32Array, call: number, value: number): number {
  const index = indexOf(call)
  for (;;) {
    const found = Atomics.load(numbers, index)
    if (found >= begun(call)) return found
    if (Atomics.compareExchange(numbers, index, found, value) === found) return value
  }
}
