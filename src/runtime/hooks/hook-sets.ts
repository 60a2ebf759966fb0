/**
 * Which hooks are asked for an agent, by their points: those of its prompt, in the order of its list, or else those of
 * the agent (K1). Pure: derived from the definitions, made once for each agent and side.
 */
import type { App } from '../../agent/app.js'
import type { HookDefinition, HookOf, HookPoint } from '../../agent/define-hook.js'
import { sideOf } from '../../agent/sides.js'
import { stopFunctionsOf } from '../../agent/stop.js'
import type { PromptStopWhen, StopFunction } from '../../agent/stop.js'
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
  const conditions = stopFunctionsOf(prompt?.stopWhen)
  if (conditions.length > 0) set.before_step = [stopHook(conditions)]
  for (const each of prompt?.hooks ?? agent?.hooks ?? []) {
    const hook = hooks.get(each)
    if (hook) (set[hook.on] ??= []).push(hook)
  }
  // Each list holds the hooks of its own point.
  return set as HookSet
}

/** The conditions of a prompt that are functions (R3): asked as a hook is, before those of the app. */
export const stopHookName = 'stopWhen()'

function stopHook(conditions: readonly StopFunction[]): HookOf<'before_step'> {
  return {
    kind: 'hook',
    name: stopHookName,
    on: 'before_step',
    async run({ steps, usage, messages }, { id, run = '' }) {
      // Before its first step a turn has nothing to stop for.
      if (steps === 0) return undefined
      for (const condition of conditions) {
        const met = await condition({ thread: id, run, steps, usage, messages })
        if (met !== false && met !== '') return { block: met === true ? 'a condition of the prompt is met' : met }
      }
      return undefined
    },
  }
}

/** Whether an app asks anything as hooks are asked. */
export function asksHooks({ hooks, prompts }: Definitions): boolean {
  if (hooks.size > 0) return true
  return [...prompts.values()].some(
    ({ stopWhen }: { readonly stopWhen?: PromptStopWhen }) => stopFunctionsOf(stopWhen).length > 0,
  )
}

/** Hooks that name no tools are asked about all. */
export function namesTool({ tools }: Pick<HookDefinition, 'tools'>, tool: string): boolean {
  return tools === undefined || tools.includes(tool)
}
