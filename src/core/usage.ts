/**
 * What was spent. Usage only grows; a budget (what may be spent) is compared with it elsewhere.
 */

export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costUsd: number
  /** Of the input: read from the provider's cache, and written to it. */
  readonly cachedInputTokens?: number
  readonly cacheWriteTokens?: number
  /** Of the output: thoughts. */
  readonly reasoningTokens?: number
}

/** What one model was paid. */
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

/** Absent where neither has any. */
function both(field: 'cachedInputTokens' | 'cacheWriteTokens' | 'reasoningTokens', a: Usage, b: Usage): Partial<Usage> {
  const sum = (a[field] ?? 0) + (b[field] ?? 0)
  return sum === 0 ? none : { [field]: sum }
}

const none: Partial<Usage> = {}

/** In place; a list and no object, because a provider may call its model `__proto__`. */
export function addByModel(list: ModelUsage[], usage: ModelUsage): void {
  const at = list.findIndex(({ model }) => model === usage.model)
  const known = list[at]
  if (known) list[at] = { model: usage.model, ...addUsage(known, usage) }
  else list.push(usage)
}

export function sumUsage(list: readonly Usage[]): Usage {
  return list.reduce(addUsage, noUsage)
}
