/**
 * What a call has used, as an AI SDK model reports it: v2 gives numbers, v3 and v4 objects with a total. A cost is
 * taken where the provider gives one: OpenRouter in its usage, a gateway in its metadata.
 */
import { isObject } from '../../core/json.js'
import type { Usage } from '../../core/usage.js'

type Fields = { readonly [key: string]: unknown }

export function sdkUsage(usage: unknown, metadata: unknown): Usage {
  const fields = fieldsOf(usage)
  const input = fieldsOf(fields['inputTokens'])
  const output = fieldsOf(fields['outputTokens'])
  const cached = countOf(input['cacheRead'] ?? fields['cachedInputTokens'])
  const written = countOf(input['cacheWrite'])
  const reasoned = countOf(output['reasoning'] ?? fields['reasoningTokens'])
  return {
    inputTokens: countOf(input['total'] ?? fields['inputTokens']),
    outputTokens: countOf(output['total'] ?? fields['outputTokens']),
    costUsd: costOf(fieldsOf(fields['raw']), fieldsOf(metadata)),
    ...(cached > 0 && { cachedInputTokens: cached }),
    ...(written > 0 && { cacheWriteTokens: written }),
    ...(reasoned > 0 && { reasoningTokens: reasoned }),
  }
}

function costOf(raw: Fields, metadata: Fields): number {
  const router = fieldsOf(fieldsOf(metadata['openrouter'])['usage'])
  const gateway = fieldsOf(metadata['gateway'])
  for (const cost of [raw['cost'], router['cost'], gateway['cost']]) {
    const usd = typeof cost === 'string' && cost.trim() !== '' ? Number(cost) : cost
    if (countOf(usd) > 0) return countOf(usd)
  }
  return 0
}

function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {}
}

function countOf(count: unknown): number {
  return typeof count === 'number' && Number.isFinite(count) && count > 0 ? count : 0
}
