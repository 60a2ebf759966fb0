/**
 * Compiles the thread machine into a lookup table: state, then record type, to the guarded targets.
 * Replay folds with it.
 *
 * - The innermost state with an enabled transition wins, as in a statechart; no match means no move.
 */
import { guards } from './guards.js'
import { threadMachineOutline } from './machine-outline.js'
import type { Signal } from './signal.js'

export interface Transition {
  readonly allows: (signal: Signal) => boolean
  /** Undefined: stay. */
  readonly target: string | undefined
}

/** By state, then by record type. */
type Table = ReadonlyMap<string, ReadonlyMap<string, readonly Transition[]>>

const byName: Readonly<Record<string, ((asked: { readonly event: Signal }) => boolean) | undefined>> = guards

function compileGuard(guard: string | undefined): Transition['allows'] {
  if (guard === undefined) return () => true
  const implementation = byName[guard]
  if (!implementation) throw new TypeError(`the thread machine names a guard it does not have: ${guard}`)
  return (event) => implementation({ event })
}

export function compileMachine(): Table {
  const { states, edges } = threadMachineOutline
  const table = new Map(states.map((state) => [state, new Map<string, Transition[]>()]))
  for (const { from, on, guard, to } of edges) {
    const moves = table.get(from)
    const options = moves?.get(on) ?? []
    options.push({ allows: compileGuard(guard), target: to === from ? undefined : to })
    moves?.set(on, options)
  }
  return table
}
