/**
 * Which hooks are asked for an agent, by their points: those of its prompt, in the order of its list, or else those of
 * the agent (K1). Pure: derived from the definitions, made once for each agent and side.
 */
import type { App } from '../../agent/app.js'
import type { HookDefinition, HookOf, HookPoint } from '../../agent/define-hook.js'
import { sideOf } from '../../agent/sides.js'
import type { SideName } from '../../core/records/message.js'

/** Absent: none is asked at that point. */
export type HookSet = { readonly [On in HookPoint]?: readonly HookOf<On>[] }

export type HooksOfAgent = (agent: string, side?: SideName) => HookSet

type Definitions = Pick<App, 'agents' | 'prompts' | 'hooks'>

export function createHookSets(app: Definitions): HooksOfAgent {
  const made = new Map<string, HookSet>()
  return (agent, side = 'a') => {
    const key = `${side} ${agent}`
    const set = made.get(key) ?? hookSetOf(app, agent, side)
    made.set(key, set)
    return set
  }
}

function hookSetOf({ agents, prompts, hooks }: Definitions, name: string, side: SideName): HookSet {
  const agent = agents.get(name)
  const prompt = agent && prompts.get(sideOf(agent, side)?.prompt ?? '')
  const set: Partial<Record<HookPoint, HookDefinition[]>> = {}
  for (const each of prompt?.hooks ?? agent?.hooks ?? []) {
    const hook = hooks.get(each)
    if (hook) (set[hook.on] ??= []).push(hook)
  }
  // Each list holds the hooks of its own point.
  return set as HookSet
}

/** Hooks that name no tools are asked about all. */
export function namesTool({ tools }: Pick<HookDefinition, 'tools'>, tool: string): boolean {
  return tools === undefined || tools.includes(tool)
}
