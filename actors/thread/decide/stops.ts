/**
 * Stop conditions (R3): whether a reply meets one, decided when it lands, from the reply and its turn, and recorded
 * with it. They are looked at where the turn would go on: one that ends by itself ends as it would without them.
 *
 * - Replies are counted within the turn of a side, as its `maxSteps` are; tokens and cost are those of the whole turn.
 * - A call that was refused was not made.
 */
import { nanoUsdOf, tokensOf } from '../../../src/core/budget.js'
import type { ModelReplied } from '../../../src/core/records/record.js'
import type { StopCondition } from '../../../src/core/records/stop.js'
import { addUsage } from '../../../src/core/usage.js'
import type { Turn } from '../state.js'
import { stepsOf } from '../turn/session.js'

type Reply = Pick<ModelReplied, 'calls' | 'usage' | 'finish'>

/** The first condition that the reply meets, in words for people. */
export function conditionMet(turn: Turn, reply: Reply, conditions: readonly StopCondition[]): string | undefined {
  for (const condition of conditions) {
    const met = meets(turn, reply, condition)
    if (met !== undefined) return met
  }
  return undefined
}

/** A side that hands over may do so with its last reply. */
export function conditionsAt({ calls }: Reply, conditions: readonly StopCondition[]): readonly StopCondition[] {
  return calls.some(({ session, refused }) => session?.does === 'pass' && !refused)
    ? conditions.filter((each) => each.if !== 'steps')
    : conditions
}

/** What counts also between the turns of two sides: amounts of the whole turn. */
export function isTotal(condition: StopCondition): boolean {
  return condition.if === 'tokens' || condition.if === 'cost'
}

function meets(turn: Turn, { calls, usage, finish }: Reply, condition: StopCondition): string | undefined {
  switch (condition.if) {
    case 'steps': {
      const steps = stepsOf(turn) + 1
      return steps >= condition.is ? `${steps} ${steps === 1 ? 'step' : 'steps'} of ${condition.is}` : undefined
    }
    case 'tool':
      return calls.some(({ tool, refused }) => tool === condition.is && !refused)
        ? `tool ${condition.is} was called`
        : undefined
    case 'tokens': {
      const tokens = tokensOf(addUsage(turn.usage, usage))
      return tokens >= condition.is ? `${tokens} tokens of ${condition.is}` : undefined
    }
    case 'cost': {
      const { costUsd } = addUsage(turn.usage, usage)
      return nanoUsdOf(costUsd) >= nanoUsdOf(condition.is)
        ? `$${nanoUsdOf(costUsd) / 1e9} of $${condition.is}`
        : undefined
    }
    case 'finish':
      return finish === condition.is ? `the reply ended with ${finish}` : undefined
  }
}
