/**
 * A request that a provider refuses for good, put another way: what is refused may come from another model's part in
 * the thread, or be more than this model takes, and the thread must not be stuck with it.
 *
 * - Only a refusal (MODEL_REJECTED with status 400, 404 or 422) that names what can be left out is amended, each
 *   way once.
 * - Nothing has been said by then: a provider refuses before it speaks.
 */
import type { SkeinError } from '../../core/failure.js'
import { isFromProvider } from './prompt.js'
import type { ProviderSettings } from './request.js'

const refusals: readonly unknown[] = [400, 404, 422]

/** Whether the server refuses reasoning always, and not only in this conversation: then it is not sent again. */
export function isNeverTaken({ message }: SkeinError): boolean {
  return (
    /unsupported|not (?:supported|allowed|permitted)|unknown|unrecognized|unexpected/i.test(message) ||
    /additional propert|extra inputs/i.test(message)
  )
}

/** The settings for another attempt; undefined: the request stays refused. */
export function amended(
  put: ProviderSettings,
  { code, message, data }: SkeinError,
  origin: string,
): ProviderSettings | undefined {
  if (code !== 'MODEL_REJECTED' || !refusals.includes(data?.['status'])) return undefined
  const { request, thoughts } = put
  const { toolChoice } = request
  const forced = toolChoice === 'required' || typeof toolChoice === 'object'
  // Models that think do not let themselves be forced: Claude with thinking, DeepSeek's reasoner.
  if (forced && /tool[_ ]?choice/i.test(message)) return { ...put, request: { ...request, toolChoice: 'auto' } }
  if (put.pictures && /image|picture|vision|media|document|pdf|file|multimodal/i.test(message)) {
    const { pictures: _, ...without } = put
    return without
  }
  if (thoughts !== 'kept') return undefined
  if (/reasoning_content/.test(message) && /missing|must|required/i.test(message)) return { ...put, thoughts: 'told' }
  const unknown = /thinking|thought|signature|reasoning|encrypted|\bitem\b/i.test(message)
  return unknown && (isFromProvider(origin, request.messages) || /expected .?thinking/i.test(message))
    ? { ...put, thoughts: 'bare' }
    : undefined
}
