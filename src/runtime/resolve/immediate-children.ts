/**
 * Children that begin before the model of their parent is first asked (S4).
 *
 * - Of the values that make an instance, its name and description go into a call; what is scoped goes sealed into
 *   the child, and nowhere else: no other instance inherits it.
 */
import type { ThreadState } from '../../../actors/thread/state.js'
import { callablesOf } from '../../agent/callable.js'
import type { SubagentTool } from '../../agent/define.js'
import { sideOf } from '../../agent/sides.js'
import { defined } from '../../core/defined.js'
import { instancesOf } from '../../core/env.js'
import type { RecordedCall, Sealed } from '../../core/records/record.js'
import type { ReplyContext } from './child-call.js'
import type { Services } from '../effects/model-call.js'
import { recordImmediate, childToolsOf } from './child-calls.js'

interface Instance {
  readonly name?: string
  readonly text: string
  readonly own?: Sealed
  readonly apart?: readonly string[]
}

/** The calls that begin them, for the voice that is to speak next; empty where its prompt has none. */
export function immediateCallsOf(
  { app, envs, childLimits }: Pick<Services, 'app' | 'envs' | 'childLimits'>,
  state: ThreadState,
): readonly RecordedCall[] {
  const agent = app.agents.get(state.agent)
  const side = agent && sideOf(agent, state.turn?.session?.side ?? 'a')
  const prompt = side && app.prompts.get(side.prompt)
  const relations = prompt ? callablesOf(app, prompt).subagents.filter(({ immediate }) => immediate) : []
  if (relations.length === 0) return []
  const family: ReplyContext = {
    state,
    step: state.step + 1,
    limits: childLimits,
    envs,
    asked: new Map(),
    born: new Map(),
  }
  const disabled = new Set(envs.disabled(state))
  const calls: RecordedCall[] = []
  for (const relation of childToolsOf(
    app,
    relations.filter(({ name }) => !disabled.has(name)),
    agent,
  ).byName.values()) {
    for (const { name, text, own, apart } of instances({ envs, state }, relation)) {
      calls.push(recordImmediate(family, relation, { index: calls.length, text, ...defined({ name, own, apart }) }))
    }
  }
  return calls
}

function instances(
  { envs, state }: Pick<ReplyContext, 'envs' | 'state'>,
  { immediate }: SubagentTool,
): readonly Instance[] {
  // The second side is spoken to by the first.
  const { session, text: said = '' } = state.turn ?? {}
  const begun = (session?.side === 'b' && said) || (state.opening ?? 'Begin.')
  const { nameEnv, descriptionEnv, scopedEnv = [] } = typeof immediate === 'object' ? immediate : {}
  const first = nameEnv ?? descriptionEnv ?? scopedEnv[0]
  if (first === undefined) return [{ text: begun }]
  const names = [nameEnv, descriptionEnv, ...scopedEnv].filter((name) => name !== undefined)
  return instancesOf(envs.names(state), names).flatMap(({ variables }): Instance[] => {
    if (variables[first] === undefined) return []
    const value = (name: string | undefined): string | undefined => {
      const variable = name === undefined ? undefined : variables[name]
      return variable === undefined ? undefined : envs.value(state, variable)
    }
    const name = value(nameEnv)
    const own = scopedEnv.flatMap((scoped): [string, string][] => {
      const found = value(scoped)
      return found === undefined ? [] : [[scoped, found]]
    })
    return [
      {
        text: value(descriptionEnv) ?? begun,
        ...defined({ name }),
        ...(own.length > 0 && { own: envs.sealed(state, Object.fromEntries(own)) }),
        ...(scopedEnv.length > 0 && { apart: scopedEnv }),
      },
    ]
  })
}
