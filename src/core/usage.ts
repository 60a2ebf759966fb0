/**
 * What was spent. Usage only grows; a budget (what may be spent) is compared with it elsewhere.
 */

export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costUsd: number
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
  }
}

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
