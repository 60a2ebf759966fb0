/**
 * Budgets: what may be spent.
 *
 * BU1 Reckoned in whole numbers, cost in billionths of a dollar: what is given, spent and left adds up exactly, at every instant.
 */
import type { Usage } from './usage.js'

/** How much of each; what is not named is not limited. */
export interface Amounts {
  readonly tokens?: number
  readonly nanoUsd?: number
  readonly toolCalls?: number
  readonly steps?: number
}

export function tokensOf({ inputTokens, outputTokens }: Usage): number {
  return inputTokens + outputTokens
}

export function nanoUsdOf(costUsd: number): number {
  return Math.round(costUsd * 1e9)
}
