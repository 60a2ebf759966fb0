/**
 * Compiles the thread machine into a lookup table: `<state> <record type>` to its guarded targets.
 * Replay folds with it. It reads XState's own resolved nodes, so the definition stays in one place.
 *
 * TT1 The innermost state with an enabled transition wins, as in a statechart; no match means no move.
 */
import type { AnyStateNode } from 'xstate'
import { threadMachine } from './machine.js'
import type { Signal } from './machine.js'

interface Option {
  readonly allows: (signal: Signal) => boolean
  /** Undefined: stay. */
  readonly target: string | undefined
}

type Table = ReadonlyMap<string, readonly Option[]>

type Guards = Readonly<Record<string, ((asked: { readonly event: Signal }) => boolean) | undefined>>

function compileGuard(guard: unknown): Option['allows'] {
  if (guard === undefined) return () => true
  // XState types a guard by its full scope; by TM2 ours read the event alone.
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
  const table = new Map<string, Option[]>()
  const visit = (node: AnyStateNode, ancestors: readonly AnyStateNode[]): void => {
    const chain = [node, ...ancestors]
    const children = Object.values(node.states)
    for (const child of children) visit(child, chain)
    if (children.length > 0) return
    for (const owner of chain) {
      for (const [type, transitions] of owner.transitions) {
        const key = `${nameOf(node)} ${type}`
        const options = table.get(key) ?? []
        for (const { guard, target } of transitions) {
          options.push({ allows: compileGuard(guard), target: target?.[0] && nameOf(leafOf(target[0])) })
        }
        table.set(key, options)
      }
    }
  }
  visit(root, [])
  return table
}

export function lookUp(table: Table, from: string, signal: Signal): string {
  for (const { allows, target } of table.get(`${from} ${signal.type}`) ?? []) {
    if (allows(signal)) return target ?? from
  }
  return from
}
