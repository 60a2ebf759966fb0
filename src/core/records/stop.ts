/**
 * Stop conditions as data: they stand in definitions, travel with messages and are recorded, so they are checked with
 * zod wherever they arrive. What meets one is decided when a reply lands (actors/thread/decide/stops.ts).
 */
import { z } from 'zod'
import type { FinishReason } from './record.js'

/** A turn stops after the reply that meets it, when the calls of that reply are answered. */
export type StopCondition =
  /** So many replies. */
  | { readonly if: 'steps'; readonly is: number }
  /** A call of this tool that may be made. */
  | { readonly if: 'tool'; readonly is: string }
  /** So many tokens, read and written. */
  | { readonly if: 'tokens'; readonly is: number }
  | { readonly if: 'cost'; readonly is: number }
  /** A reply that ended so. */
  | { readonly if: 'finish'; readonly is: FinishReason }

/** What a message says about the turn that reads it. */
export interface MessageRules {
  readonly stopWhen?: readonly StopCondition[]
  /** In place of the prompt's own. */
  readonly maxToolRounds?: number
}

const finishReasons = ['stop', 'tool_calls', 'length', 'content_filter', 'paused', 'other'] as const

export const maxToolRoundsSchema = z.number().int().min(0)

export const stopConditionSchema = z.discriminatedUnion(
  'if',
  [
    z.strictObject({ if: z.literal('steps'), is: z.number().int().positive() }),
    z.strictObject({ if: z.literal('tool'), is: z.string().min(1) }),
    z.strictObject({ if: z.literal('tokens'), is: z.number().positive() }),
    z.strictObject({ if: z.literal('cost'), is: z.number().positive() }),
    z.strictObject({ if: z.literal('finish'), is: z.enum(finishReasons) }),
  ],
  'is no stop condition; there are stepCountIs, hasToolCall, maxTokensUsed, maxCost and finishReasonIs',
)

export const messageRulesSchema = z.strictObject({
  stopWhen: z.array(stopConditionSchema).exactOptional(),
  maxToolRounds: maxToolRoundsSchema.exactOptional(),
})
