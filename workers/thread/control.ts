/**
 * Numbers that the threads of a worker process share: that on which bodies run, and its monitor, which answers for it
 * while a body computes.
 *
 * - A call begins or is withdrawn, never both, whoever comes first.
 */

export const control = {
  /** Grows while the event loop turns. */
  beat: 0,
  /** From here on: what became of calls. */
  calls: 1,
} as const

/** So many calls later one is taken for begun, if it has not. */
const remembered = 4_096

export const controlLength = control.calls + remembered

/** Calls do not begin in their order. */
const placeOf = (call: number): number => control.calls + (call % remembered)

const begun = (call: number): number => 2 * call
const withdrawn = (call: number): number => 2 * call + 1

/** Whether it may begin; if so, it has. */
export function beginsIn(numbers: Int32Array, call: number): boolean {
  return mark(numbers, call, begun(call)) !== withdrawn(call)
}

/** Whether it has not begun, and never will. */
export function isWithdrawnIn(numbers: Int32Array, call: number): boolean {
  return mark(numbers, call, withdrawn(call)) === withdrawn(call)
}

/** What stands there afterwards: the mark, or what another has said of this call or a later one. */
function mark(numbers: Int32Array, call: number, value: number): number {
  const at = placeOf(call)
  for (;;) {
    const found = Atomics.load(numbers, at)
    if (found >= begun(call)) return found
    if (Atomics.compareExchange(numbers, at, found, value) === found) return value
  }
}
