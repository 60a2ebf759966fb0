/** Definitions that lead back to themselves. */
import type { Definition } from '../define.js'

export interface Link {
  readonly definition: Definition
  /** Names of those that it leads to. */
  readonly to: readonly string[]
}

interface Cycle {
  readonly definition: Definition
  readonly path: readonly string[]
}

/** One for each way back; what merely leads to a cycle is not part of it. */
export function cyclesOf(nodes: ReadonlyMap<string, Link>): readonly Cycle[] {
  const cycles: Cycle[] = []
  const done = new Set<string>()
  const visit = ({ definition, to }: Link, trail: readonly string[]): void => {
    const path = [...trail, definition.name]
    for (const name of to) {
      const next = nodes.get(name)
      const from = path.indexOf(name)
      if (next && from !== -1) cycles.push({ definition: next.definition, path: [...path.slice(from), name] })
      else if (next && !done.has(name)) visit(next, path)
    }
    done.add(definition.name)
  }
  for (const node of nodes.values()) if (!done.has(node.definition.name)) visit(node, [])
  return cycles
}
