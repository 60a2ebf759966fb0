/**
 * Compiles the thread machine into a lookup table: state, then record type, to the guarded targets.
 * Replay folds with it. It reads XState's own resolved nodes, so the definition stays in one place.
 *
 * - The innermost state with an enabled transition wins, as in a statechart; no match means no move.
 */
import type { AnyStateNode } from 'xstate'
import type { MachineEdge, MachineOutline } from '../../src/core/records/machine-outline.js'
import { threadMachine } from './machine.js'
import type { Signal } from './signal.js'

export interface Transition {
  readonly allows: (signal: Signal) => boolean
  /** Undefined: stay. */
  readonly target: string | undefined
}

/** By state, then by record type. */
type Table = ReadonlyMap<string, ReadonlyMap<string, readonly Transition[]>>

type Guards = Readonly<Record<string, ((asked: { readonly event: Signal }) => boolean) | undefined>>

function compileGuard(guard: unknown): Transition['allows'] {
  if (guard === undefined) return () => true
  // XState types a guard by its full scope; ours read the event alone (machine.ts).
  const guards = threadMachine.implementations.guards as unknown as Guards
  const implementation = guards[String(guard)]
  if (!implementation) throw new TypeError(`the thread machine names a guard it does not have: ${String(guard)}`)
  return (event) => implementation({ event })
}

/** A compound target stands for its initial leaf. */
function leafOf(node: AnyStateNode): AnyStateNode {
  const initial = node.initial?.target[0]
  return initial ? leafOf(initial) : node
}

const nameOf = (node: AnyStateNode): string => node.path.join('.')

function describeMachine(root: AnyStateNode): MachineOutline {
  const states: string[] = []
  const edges: MachineEdge[] = []
  const visit = (node: AnyStateNode, ancestors: readonly AnyStateNode[]): void => {
    const chain = [node, ...ancestors]
    const children = Object.values(node.states)
    for (const child of children) visit(child, chain)
    if (children.length > 0) return
    const from = nameOf(node)
    states.push(from)
    for (const owner of chain)
      for (const [on, transitions] of owner.transitions)
        for (const { guard, target } of transitions)
          edges.push({
            from,
            on,
            ...(guard !== undefined && { guard: String(guard) }),
            to: target?.[0] ? nameOf(leafOf(target[0])) : from,
          })
  }
  visit(root, [])
  return { initial: nameOf(leafOf(root)), states, edges }
}

/** The machine of every thread, as data: the same for all of a build. */
export const threadMachineOutline: MachineOutline = describeMachine(threadMachine.root)

export function compileMachine(root: AnyStateNode): Table {
  const { states, edges } = describeMachine(root)
  const table = new Map(states.map((state) => [state, new Map<string, Transition[]>()]))
  for (const { from, on, guard, to } of edges) {
    const moves = table.get(from)
    const options = moves?.get(on) ?? []
    options.push({ allows: compileGuard(guard), target: to === from ? undefined : to })
    moves?.set(on, options)
  }
  return table
}
