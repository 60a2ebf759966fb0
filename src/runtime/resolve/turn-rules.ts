/**
 * The rules of a turn as definitions and settings say them now: made once for each agent, recorded when a turn starts
 * or an agent takes over, and never asked for again in that turn.
 */
import type { App } from '../../agent/app.js'
import { contextLimits } from '../../agent/context-limits.js'
import type { Side } from '../../agent/define.js'
import { sideOf } from '../../agent/sides.js'
import { defined } from '../../core/defined.js'
import type { ContextRule, RepetitionRule, StepRules, TurnRules } from '../../core/records/rules.js'
import { viewName } from '../../core/records/context.js'
import type { HooksOfAgent, HookSet } from '../hooks/hook-sets.js'
import type { SideName } from '../../core/records/message.js'

/** What the options of a host say for all agents. */
export interface RuleSettings {
  readonly repetition?: RepetitionRule
}

interface RuleSources extends RuleSettings {
  readonly hooksOf?: HooksOfAgent
}

/** Undefined: no rule. */
export type RulesOfAgent = (agent: string) => TurnRules | undefined

/** `hooksOf`: absent where the app has no hooks. */
export function createTurnRules(app: App, settings: RuleSettings, hooksOf?: HooksOfAgent): RulesOfAgent {
  const made = new Map<string, TurnRules | undefined>()
  return (agent) => {
    if (!made.has(agent)) made.set(agent, turnRulesOf(app, agent, { ...settings, ...defined({ hooksOf }) }))
    return made.get(agent)
  }
}

function turnRulesOf(app: App, agent: string, settings: RuleSources): TurnRules | undefined {
  const a = rulesOfSide(app, { agent, side: 'a' }, settings) ?? {}
  const b = rulesOfSide(app, { agent, side: 'b' }, settings)
  return isEmpty(a) && (!b || isEmpty(b)) ? undefined : { a, ...defined({ b }) }
}

/** Undefined: there is no such side. */
function rulesOfSide(
  app: App,
  { agent: name, side: sideName }: { readonly agent: string; readonly side: SideName },
  { repetition, hooksOf }: RuleSources,
): StepRules | undefined {
  const agent = app.agents.get(name)
  const side = agent && sideOf(agent, sideName)
  if (!side) return undefined
  const lastAnswer = app.prompts.get(side.prompt)?.lastAnswer ? (true as const) : undefined
  const hooks = hooksOf && hookRules(hooksOf(name, sideName))
  return defined({ repetition, lastAnswer, context: contextRule(app, side, sideName), hooks })
}

/** Undefined: none is asked between records. */
function hookRules({ before_step, stop }: HookSet): StepRules['hooks'] {
  const rules = defined({ step: before_step && true, stop: stop && true } as const)
  return Object.keys(rules).length > 0 ? rules : undefined
}

function contextRule(app: App, { prompt: name }: Side, side: SideName): ContextRule | undefined {
  const prompt = app.prompts.get(name)
  const limits = prompt && contextLimits(app, prompt)
  if (!limits) return undefined
  const { includeChat: chat = true, includePastTools: tools = true } = prompt
  return { of: viewName(side, { chat, tools }), ...limits }
}

function isEmpty(rules: StepRules): boolean {
  return Object.keys(rules).length === 0
}
