/**
 * Budgets: what may be spent.
 *
 * - Reckoned in whole numbers, cost in billionths of a dollar: what is given, spent and left adds up exactly, at
 *   every instant.
 */
import { z } from 'zod'
import type { Usage } from './usage.js'

/** What a thread and all below it may spend; what is not named is not limited, 0 is nothing. */
export interface Budget {
  /** Input and output. */
  readonly tokens?: number
  readonly costUsd?: number
  /** Calls that are made, children counted. */
  readonly toolCalls?: number
  /** Model calls. */
  readonly steps?: number
}

const natural = z.number().int().min(0)

export const budgetSchema = z.strictObject({
  tokens: natural.exactOptional(),
  costUsd: z.number().min(0).exactOptional(),
  toolCalls: natural.exactOptional(),
  steps: natural.exactOptional(),
})

/** How much of each; what is not named is not limited. */
export interface Amounts {
  readonly tokens?: number
  readonly nanoUsd?: number
  readonly toolCalls?: number
  readonly steps?: number
}

export const budgetKinds = ['tokens', 'nanoUsd', 'toolCalls', 'steps'] as const

export function tokensOf({ inputTokens, outputTokens }: Usage): number {
  return inputTokens + outputTokens
}

export function nanoUsdOf(costUsd: number): number {
  return Math.round(costUsd * 1e9)
}

export function toAmounts({ costUsd, ...rest }: Budget): Amounts {
  return { ...rest, ...(costUsd !== undefined && { nanoUsd: nanoUsdOf(costUsd) }) }
}

export function toBudget({ nanoUsd, ...rest }: Amounts): Budget {
  return { ...rest, ...(nanoUsd !== undefined && { costUsd: nanoUsd / 1e9 }) }
}

/** Of each that `to` names: this much more, or less. */
export function changeAmounts(to: Amounts, by: Amounts, sign: 1 | -1 = 1): Amounts {
  const changed: { -readonly [Kind in keyof Amounts]: number } = {}
  for (const kind of budgetKinds) if (to[kind] !== undefined) changed[kind] = to[kind] + sign * (by[kind] ?? 0)
  return changed
}

/** Nothing of each that it names. */
export function nothingOf(amounts: Amounts): Amounts {
  return changeAmounts(amounts, amounts, -1)
}

export function isNothing(amounts: Amounts): boolean {
  return budgetKinds.every((kind) => (amounts[kind] ?? 0) === 0)
}
