/**
 * Stop conditions as an app writes them. Each helper gives plain data, which can be recorded and sent with a message;
 * what cannot be said so is a function of the turn, and stands in a prompt only.
 */
import { z } from 'zod'
import type { Json } from '../core/json.js'
import type { Message } from '../core/records/message.js'
import type { FinishReason } from '../core/records/record.js'
import { maxToolRoundsSchema, stopConditionSchema } from '../core/records/stop.js'
import type { StopCondition } from '../core/records/stop.js'
import { lazy } from '../core/schema.js'
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

/** A turn as a condition of the app's own sees it, when the calls of a step are answered and the model would go on. */
export interface TurnAfterStep {
  readonly thread: string
  readonly run: string
  /** Steps of the turn. */
  readonly steps: number
  /** Of the turn. */
  readonly usage: Usage
  /** What the model would read now, the results of the step included. */
  messages(): Promise<readonly Message[]>
}

/** True, or why in words for people: the turn stops. Asked once for each step; the answer is recorded. */
export type StopFunction = (turn: TurnAfterStep) => boolean | string | Promise<boolean | string>

/** Conditions as data: the turn stops where any of them is met. */
export type StopWhen = StopCondition | readonly StopCondition[]

/** A prompt's conditions: data, or functions of its own. */
export type PromptStopWhen = StopCondition | StopFunction | readonly (StopCondition | StopFunction)[]

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

/** Those that are data. */
export function conditionsOf(stopWhen: PromptStopWhen | undefined): readonly StopCondition[] {
  return listOf(stopWhen).filter((each) => typeof each !== 'function')
}

export function stopFunctionsOf(stopWhen: PromptStopWhen | undefined): readonly StopFunction[] {
  return listOf(stopWhen).filter((each) => typeof each === 'function')
}

function listOf(stopWhen: PromptStopWhen | undefined): readonly (StopCondition | StopFunction)[] {
  if (stopWhen === undefined) return []
  return isList(stopWhen) ? stopWhen : [stopWhen]
}

function isList(stopWhen: PromptStopWhen): stopWhen is readonly (StopCondition | StopFunction)[] {
  return Array.isArray(stopWhen)
}

const rounds = lazy(() =>
  z.custom<MaxToolRounds>(
    (value) => typeof value === 'function' || maxToolRoundsSchema.safeParse(value).success,
    'must be a whole number from 0, or a function (turn) => boolean',
  ),
)

/** One condition, or a list: a mistake in it is told with the helpers that there are. */
export const stopWhenSchema = z.union(
  [stopConditionSchema, z.array(stopConditionSchema)],
  'must be stepCountIs(n), hasToolCall(name), maxTokensUsed(n), maxCost(usd) or finishReasonIs(reason), with a ' +
    'number above 0, or a list of them',
)

const promptCondition = lazy(() =>
  z.union([stopConditionSchema, z.custom<StopFunction>((value) => typeof value === 'function')]),
)

/** The fields of a prompt that say when its turns stop. */
export const stopForms = {
  stopWhen: () =>
    z
      .union(
        [promptCondition(), z.array(promptCondition())],
        'must be stepCountIs(n), hasToolCall(name), maxTokensUsed(n), maxCost(usd) or finishReasonIs(reason), with a ' +
          'number above 0, a function (turn) => boolean | string, or a list of them',
      )
      .optional(),
  maxToolRounds: () => rounds().optional(),
  lastAnswer: () => z.union([z.literal(true), z.string().min(1)], 'must be true, or what the model is told').optional(),
}
