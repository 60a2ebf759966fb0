/** How long a conversation may become for the model of a prompt, in tokens (L3). */
import { z } from 'zod'
import { lazy } from '../core/schema.js'
import type { Definitions } from './app.js'
import type { PromptDefinition } from './define.js'

export interface ContextLimits {
  readonly trigger: number
  readonly target: number
}

export const tokenCount = lazy(() => z.number().int().positive())
const options = () =>
  z
    .strictObject({
      triggerTokens: tokenCount().optional(),
      targetTokens: tokenCount().optional(),
      summary: z
        .union([
          z.literal(false),
          z.strictObject({
            model: z.string().min(1, 'it is empty').optional(),
            prompt: z.string().min(1, 'it is empty').optional(),
          }),
        ])
        .optional(),
    })
    .refine(
      ({ triggerTokens = Infinity, targetTokens = 0 }) => targetTokens < triggerTokens,
      'targetTokens must be less than triggerTokens',
    )

/** The form of `context` of a prompt. */
export const contextForm = lazy(() => z.union([z.literal(false), options()]))

const triggerShare = 0.75
const targetShare = 0.4

/** Undefined: nothing limits it. */
export function contextLimits(
  { models }: Pick<Definitions, 'models'>,
  prompt: PromptDefinition,
): ContextLimits | undefined {
  const { context, model } = prompt
  if (context === false) return undefined
  const known = tokensOfModels(models, model)
  const trigger = context?.triggerTokens ?? (known === undefined ? undefined : Math.round(known * triggerShare))
  if (trigger === undefined) return undefined
  const share = Math.round((trigger * targetShare) / triggerShare)
  return { trigger, target: context?.targetTokens ?? share }
}

/** What the model takes; of its fallbacks, which get the same request, the least. */
function tokensOfModels(models: Definitions['models'], name: string): number | undefined {
  const model = models.get(name)
  if (model?.contextTokens === undefined) return undefined
  const others = (model.fallback ?? []).flatMap((other) => models.get(other)?.contextTokens ?? [])
  return Math.min(model.contextTokens, ...others)
}

/** What is wrong with the limits of a prompt, where its model is known. */
export function contextMistake(app: Pick<Definitions, 'models'>, prompt: PromptDefinition): string | undefined {
  const { context, model } = prompt
  if (typeof context !== 'object') return undefined
  const limits = contextLimits(app, prompt)
  if (!limits) return `has a context, and neither that says its triggerTokens nor the model ${model} its contextTokens`
  const { trigger, target } = limits
  return target < trigger
    ? undefined
    : `has a context of targetTokens ${target}, which is not less than its triggerTokens, ${trigger}`
}
