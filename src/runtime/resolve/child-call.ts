/**
 * A call that a new thread answers, as it is recorded.
 *
 * - A child's id is made of its parent and the call that asks for it: asking twice is asking once.
 * - Models know children by their reference (`writer-3`), never by their id; a reference is never used twice.
 */
import { tooDeep } from '../../../actors/thread/children/admission.js'
import type { LiveChild } from '../../../actors/thread/children/admission.js'
import { countOf } from '../../../actors/thread/turn/turn.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import { callKey } from '../../core/effect.js'
import type { Failure } from '../../core/failure.js'
import type { ChildCall } from '../../core/records/record.js'
import { keyOf } from './tool-calls.js'
import type { Environments } from '../secrets/environment.js'

export interface ChildLimits {
  readonly maxParallelChildren: number
  readonly maxChildren: number
  readonly maxDepth: number
}

/** What calls of one reply share: references are counted on from the state. */
export interface ReplyContext {
  readonly state: ThreadState
  readonly step: number
  readonly limits: ChildLimits
  readonly envs: Environments
  /** Of each agent, asked for in this reply. */
  readonly asked: Map<string, number>
  /** Those of them that have a call of their own. */
  readonly born: Map<string, LiveChild[]>
}

export type NewChild = Pick<ChildCall, 'thread' | 'agent' | 'reference' | 'scoped'> & {
  readonly create: true
  readonly maxChildren: number
}

/** Counts it as asked for, unless it is too deep. */
export function newChild(
  { state, step, limits, envs, asked }: ReplyContext,
  index: number,
  agent: string,
): NewChild | Failure {
  const refused = tooDeep(state, limits.maxDepth)
  if (refused) return refused
  const before = asked.get(agent) ?? 0
  asked.set(agent, before + 1)
  const scoped = envs.withheld(state, agent)
  return {
    thread: `c_${keyOf([state.id, callKey(step, index)])}`,
    create: true,
    agent,
    reference: `${agent}-${countOf(state.childCounters, agent) + before + 1}`,
    maxChildren: limits.maxChildren,
    ...(scoped.length > 0 && { scoped }),
  }
}
