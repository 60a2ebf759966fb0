/**
 * Compiles the thread machine into a lookup table: state, then record type, to the guarded targets.
 * Replay folds with it. It reads XState's own resolved nodes, so the definition stays in one place.
 *
 * - The innermost state with an enabled transition wins, as in a statechart; no match means no move.
 */
import type { AnyStateNode } from 'xstate'
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

export function compileMachine(root: AnyStateNode): Table {
  const nameOf = (node: AnyStateNode): string => node.path.join('.')
  const table = new Map<string, Map<string, Transition[]>>()
  const visit = (node: AnyStateNode, ancestors: readonly AnyStateNode[]): void => {
    const chain = [node, ...ancestors]
    const children = Object.values(node.states)
    for (const child of children) visit(child, chain)
    if (children.length > 0) return
    const moves = new Map<string, Transition[]>()
    table.set(nameOf(node), moves)
    for (const owner of chain) {
      for (const [type, transitions] of owner.transitions) {
        const options = moves.get(type) ?? []
        for (const { guard, target } of transitions) {
          options.push({ allows: compileGuard(guard), target: target?.[0] && nameOf(leafOf(target[0])) })
        }
        moves.set(type, options)
      }
    }
  }
  visit(root, [])
  return table
}
