/** What was spent. Usage only grows; a budget (what may be spent) is compared with it elsewhere. */

export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costUsd: number
}

export const noUsage: Usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 }

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    costUsd: a.costUsd + b.costUsd,
  }
}
