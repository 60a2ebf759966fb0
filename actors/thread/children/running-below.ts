/** What a thread has started and would end with it: children at work that nobody stops yet, and requested values. */
import type { ThreadState } from '../state.js'

/** By name, as the model of its parent reads it. */
export function runningBelow({ children, toStop, requests }: ThreadState): readonly string[] {
  const stopped = new Set(toStop.map(({ child }) => child))
  const working = [...children].flatMap(([reference, { id, busy, ended }]) =>
    busy > 0 && !ended && !stopped.has(id) ? [reference] : [],
  )
  const deferred = Object.values(requests).map(
    ({ child, missing }) => `${child.reference}, which waited for ${missing.join(', ')}`,
  )
  return [...working, ...deferred]
}
