/**
 * Stop conditions as an app writes them. Each helper gives plain data, which can be recorded and sent with a message;
 * what cannot be said so is a function of the turn, and stands in a prompt only.
 */
import { z } from 'zod'
import type { Json } from '../core/json.js'
import type { FinishReason } from '../core/records/record.js'
import { maxToolRoundsSchema, stopConditionSchema } from '../core/records/stop.js'
import type { StopCondition } from '../core/records/stop.js'
import type { Usage } from '../core/usage.js'
import { nameOf } from './naming.js'
import type { NameOr } from './naming.js'

/** A turn as a function of the app sees it, when a reply has come and its calls have not begun. */
export interface TurnSoFar {
  readonly thread: string
  readonly run: string
  /** Replies of the turn, this one included. */
  readonly steps: number
  /** Replies with calls before this one. */
  readonly rounds: number
  /** Of the turn, this reply included. */
  readonly usage: Usage
  /** What the reply says, the calls that it asks for, and how it ended. */
  readonly text: string
  readonly calls: readonly { readonly tool: string; readonly args: Json }[]
  readonly finish: FinishReason
}

/** A prompt's conditions: the turn stops where any of them is met. */
export type StopWhen = StopCondition | readonly StopCondition[]

/** How many rounds of calls a turn may have, or whether the round that was asked for may be run. */
export type MaxToolRounds = number | ((turn: TurnSoFar) => boolean)

/** The turn stops after so many replies. */
export function stepCountIs(steps: number): StopCondition {
  return { if: 'steps', is: steps }
}

/** The turn stops when the model has called this tool; its call is run. */
export function hasToolCall(tool: NameOr<'tool' | 'prompt' | 'agent'>): StopCondition {
  return { if: 'tool', is: nameOf(tool) }
}

/** The turn stops when its replies have taken so many tokens, read and written. */
export function maxTokensUsed(tokens: number): StopCondition {
  return { if: 'tokens', is: tokens }
}

/** The turn stops when its replies have cost so much. */
export function maxCost(usd: number): StopCondition {
  return { if: 'cost', is: usd }
}

/** The turn stops after a reply that ended so, where it would go on. */
export function finishReasonIs(reason: FinishReason): StopCondition {
  return { if: 'finish', is: reason }
}

export function conditionsOf(stopWhen: StopWhen | undefined): readonly StopCondition[] {
  if (stopWhen === undefined) return []
  return isList(stopWhen) ? stopWhen : [stopWhen]
}

function isList(stopWhen: StopWhen): stopWhen is readonly StopCondition[] {
  return Array.isArray(stopWhen)
}

const rounds = z.custom<MaxToolRounds>(
  (value) => typeof value === 'function' || maxToolRoundsSchema.safeParse(value).success,
  'must be a whole number from 0, or a function (turn) => boolean',
)

/** One condition, or a list: a mistake in it is told with the helpers that there are. */
export const stopWhenSchema = z.union(
  [stopConditionSchema, z.array(stopConditionSchema)],
  'must be stepCountIs(n), hasToolCall(name), maxTokensUsed(n), maxCost(usd) or finishReasonIs(reason), with a ' +
    'number above 0, or a list of them',
)

/** The fields of a prompt that say when its turns stop. */
export const stopForms = {
  stopWhen: stopWhenSchema.optional(),
  maxToolRounds: rounds.optional(),
  lastAnswer: z.union([z.literal(true), z.string().min(1)], 'must be true, or what the model is told').optional(),
}
