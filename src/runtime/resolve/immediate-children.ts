/**
 * Children that begin before the model of their parent is first asked (S4), as the calls that create them.
 *
 * - Not pure: values that a child gets for itself (`scopedEnv`) are sealed here, with random bytes. The calls are
 *   recorded at once, and no replay asks for them again.
 * - Of the values that make an instance, its name and description go into a call; what is scoped goes sealed into
 *   the child, and nowhere else: no other instance inherits it.
 */
import type { ThreadState } from '../../../actors/thread/state.js'
import type { App } from '../../agent/app.js'
import { callablesOf } from '../../agent/callable.js'
import type { SubagentTool } from '../../agent/define.js'
import { sideOf } from '../../agent/sides.js'
import { defined } from '../../core/defined.js'
import { instancesOf } from '../../core/env.js'
import type { RecordedCall, Sealed } from '../../core/records/record.js'
import type { Environments } from '../secrets/environment.js'
import { ReplyContext, recordImmediateCall } from './child-calls.js'
import type { ChildDefinitions } from './child-calls.js'
import { childToolsOf } from './child-tools.js'
import type { Hooks } from '../hooks/ask-hooks.js'
import { withResultHooks } from './hooked-calls.js'

interface Instance {
  readonly name?: string
  readonly text: string
  readonly own?: Sealed
  readonly apart?: readonly string[]
}

/** The calls that begin them, for the side that is to speak next; empty where its prompt has none. Seals values. */
export function immediateCallsOf(
  definitions: ChildDefinitions & { readonly app: App; readonly hooks?: Hooks | undefined },
  state: ThreadState,
): readonly RecordedCall[] {
  const { app, envs } = definitions
  const agent = app.agents.get(state.agent)
  const side = agent && sideOf(agent, state.turn?.session?.side ?? 'a')
  const prompt = side && app.prompts.get(side.prompt)
  const subagents = prompt ? callablesOf(app, prompt).subagents.filter(({ immediate }) => immediate) : []
  if (subagents.length === 0) return []
  const context = new ReplyContext(definitions, state, state.step + 1)
  const disabled = new Set(envs.disabled(state))
  const enabled = subagents.filter(({ name }) => !disabled.has(name))
  const calls: RecordedCall[] = []
  for (const childTool of childToolsOf(app, enabled, agent).byName.values()) {
    for (const instance of instancesFor(envs, state, childTool))
      calls.push(recordImmediateCall(context, childTool, { index: calls.length, ...instance }))
  }
  const set = definitions.hooks?.of(state.agent, state.turn?.session?.side)
  return set ? calls.map((call) => withResultHooks(set, call)) : calls
}

/** One, or one for each set of numbered variables (`NAME_1`, `NAME_2`) that has its first value. */
function instancesFor(envs: Environments, state: ThreadState, { immediate }: SubagentTool): readonly Instance[] {
  const opening = openingOf(state)
  const { nameEnv, descriptionEnv, scopedEnv = [] } = typeof immediate === 'object' ? immediate : {}
  const first = nameEnv ?? descriptionEnv ?? scopedEnv[0]
  if (first === undefined) return [{ text: opening }]
  const names = [nameEnv, descriptionEnv, ...scopedEnv].filter((name) => name !== undefined)
  return instancesOf(envs.names(state), names).flatMap(({ variables }): Instance[] => {
    if (variables[first] === undefined) return []
    const value = (name: string | undefined): string | undefined => {
      const variable = name === undefined ? undefined : variables[name]
      return variable === undefined ? undefined : envs.value(state, variable)
    }
    const own = scopedEnv.flatMap((name): [string, string][] => {
      const found = value(name)
      return found === undefined ? [] : [[name, found]]
    })
    return [
      {
        text: value(descriptionEnv) ?? opening,
        ...defined({
          name: value(nameEnv),
          own: own.length > 0 ? envs.seal(state, Object.fromEntries(own)) : undefined,
          apart: scopedEnv.length > 0 ? scopedEnv : undefined,
        }),
      },
    ]
  })
}

/** What the turn began with. The second side is spoken to by the first. */
function openingOf({ turn, opening }: ThreadState): string {
  const words = turn?.session?.side === 'b' ? turn.text : ''
  return words || (opening ?? 'Begin.')
}
