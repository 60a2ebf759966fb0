/**
 * The thread machine as data: its states, and which record leads where. It reads XState's own resolved nodes, so the
 * definition stays in one place.
 *
 * - It is the same in every process of a build: the build computes it (scripts/chunks.ts), so that no process makes the
 *   machine to find out.
 */
import type { AnyStateNode } from 'xstate'
import type { MachineEdge, MachineOutline } from '../../src/core/records/machine-outline.js'
import { threadMachine } from './machine.js'

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
