/**
 * The children that stay, as a thread's model sees them: `subagent_list`.
 */
import type { Json } from '../../src/core/json.js'
import type { Child, ThreadState } from './state.js'

export function registry({ children }: ThreadState): Json {
  return [...children].flatMap(([reference, child]) => (child.lasting ? [{ reference, agent: child.agent, name: child.name ?? '', status: standingOf(child), ...(child.says !== undefined && { says: child.says }) }] : []))
}

function standingOf({ over, busy }: Child): string {
  return over ? 'done' : busy > 0 ? 'working' : 'waiting for a message'
}
