/**
 * Usage: tokens and cost that were spent. It only grows; budgets (what may be spent) are in budget.ts.
 */
import { withItem } from './lists.js'

export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costUsd: number
  /** Part of the input: tokens read from the provider's cache, and written to it. */
  readonly cachedInputTokens?: number
  readonly cacheWriteTokens?: number
  /** Part of the output. */
  readonly reasoningTokens?: number
}

/** Usage of one model. */
export interface ModelUsage extends Usage {
  readonly model: string
}

export const noUsage: Usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 }

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    costUsd: a.costUsd + b.costUsd,
    ...both('cachedInputTokens', a, b),
    ...both('cacheWriteTokens', a, b),
    ...both('reasoningTokens', a, b),
  }
}

/** Absent if neither has any. */
function both(field: 'cachedInputTokens' | 'cacheWriteTokens' | 'reasoningTokens', a: Usage, b: Usage): Partial<Usage> {
  const sum = (a[field] ?? 0) + (b[field] ?? 0)
  return sum === 0 ? none : { [field]: sum }
}

const none: Partial<Usage> = {}

/** Adds to what the list has of the model. A list and no object, because a provider may call its model `__proto__`. */
export function addByModel(list: ModelUsage[], usage: ModelUsage): ModelUsage[] {
  const at = list.findIndex(({ model }) => model === usage.model)
  const known = list[at]
  if (!known) return withItem(list, usage)
  list[at] = { model: usage.model, ...addUsage(known, usage) }
  return list
}

export function sumUsage(list: readonly Usage[]): Usage {
  return list.reduce(addUsage, noUsage)
}
