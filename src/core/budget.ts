/**
 * Budgets: what a thread may spend.
 *
 * - Computed in integers, cost in billionths of a dollar, so that granted, spent and remaining amounts always add up.
 */
import { z } from 'zod'
import { defined } from './defined.js'
import type { Usage } from './usage.js'

/** What a thread and all threads below it may spend; an absent field is unlimited, 0 allows nothing. */
export interface Budget {
  /** Input and output. */
  readonly tokens?: number
  readonly costUsd?: number
  /** Tool calls, including calls of children. */
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

/** A budget in integers; an absent field is unlimited. */
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
  return { ...rest, ...defined({ nanoUsd: costUsd === undefined ? undefined : nanoUsdOf(costUsd) }) }
}

export function toBudget({ nanoUsd, ...rest }: Amounts): Budget {
  return { ...rest, ...defined({ costUsd: nanoUsd === undefined ? undefined : nanoUsd / 1e9 }) }
}

/** Adds `by` to `to`, or subtracts it; fields that `to` lacks stay absent. */
export function changeAmounts(to: Amounts, by: Amounts, sign: 1 | -1 = 1): Amounts {
  const changed: { -readonly [Kind in keyof Amounts]: number } = {}
  for (const kind of budgetKinds) if (to[kind] !== undefined) changed[kind] = to[kind] + sign * (by[kind] ?? 0)
  return changed
}

/** Zero of each field that it has. */
export function nothingOf(amounts: Amounts): Amounts {
  return changeAmounts(amounts, amounts, -1)
}

export function isNothing(amounts: Amounts): boolean {
  return budgetKinds.every((kind) => (amounts[kind] ?? 0) === 0)
}
