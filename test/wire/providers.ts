/**
 * The real provider packages, each with a server on the loopback that speaks as its provider and refuses what that
 * refuses.
 */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { ModelSource } from '../../src/agent/define.js'
import type { AnswerRequest, ModelServer } from '../helpers/model-server.js'
import { startModelServer } from '../helpers/model-server.js'
import {
  refusedByAnthropic,
  refusedByChat,
  refusedByDeepSeek,
  refusedByGoogle,
  refusedByResponses,
} from './refusals.js'
import type { Body, Issued, Refuse } from './refusals.js'
import { asAnthropic, asChat, asGoogle, asResponses } from './speech.js'
import type { Encode, Finish, Piece } from './speech.js'

export type ProviderName = 'anthropic' | 'openai responses' | 'openai chat' | 'deepseek' | 'google'

interface Provider {
  readonly encode: Encode
  readonly refuses: (issued: Issued) => Refuse
  model(url: string, name?: string): Exclude<ModelSource, () => unknown>
  /** What the provider is known by in records. */
  readonly mark: (piece: Piece) => readonly [string, string] | undefined
}

const apiKey = 'test-key-0123456789'
const signed = (piece: Piece): readonly [string, string] | undefined => {
  if ('mark' in piece && piece.mark !== undefined) return [piece.mark, 'think' in piece ? piece.think : '']
  return 'redacted' in piece ? [piece.redacted, ''] : undefined
}

const providers: Readonly<Record<ProviderName, Provider>> = {
  anthropic: {
    encode: asAnthropic,
    refuses: refusedByAnthropic,
    mark: signed,
    model: (baseURL, name = 'claude-test') => createAnthropic({ baseURL, apiKey })(name),
  },
  'openai responses': {
    encode: asResponses,
    refuses: refusedByResponses,
    mark: (piece) => ('think' in piece && piece.mark !== undefined ? [`rs_${piece.mark}`, piece.mark] : undefined),
    model: (baseURL, name = 'gpt-5') => createOpenAI({ baseURL, apiKey }).responses(name),
  },
  'openai chat': {
    encode: asChat,
    refuses: () => refusedByChat,
    mark: () => undefined,
    model: (baseURL, name = 'gpt-4.1') => createOpenAI({ baseURL, apiKey }).chat(name),
  },
  deepseek: {
    encode: asChat,
    refuses: refusedByDeepSeek,
    mark: (piece) => ('think' in piece ? [piece.think, ''] : undefined),
    model: (baseURL, name = 'deepseek-reasoner') =>
      createOpenAICompatible({ name: 'deepseek', baseURL, apiKey, includeUsage: true })(name),
  },
  google: {
    encode: asGoogle,
    refuses: refusedByGoogle,
    mark: signed,
    model: (baseURL, name = 'gemini-3-pro') => createGoogleGenerativeAI({ baseURL, apiKey })(name),
  },
}

export const providerNames = Object.keys(providers) as readonly ProviderName[]

export interface Spoken {
  readonly pieces: readonly Piece[]
  readonly finish?: Finish
  readonly usage?: object
}

export interface Strict {
  readonly server: ModelServer
  readonly model: Exclude<ModelSource, () => unknown>
  /** Refusals, in order. */
  readonly refused: readonly string[]
  /** Requests that were taken. */
  readonly taken: readonly Body[]
}

const open: ModelServer[] = []

/** Closes what a test has left open. */
export async function closeServers(): Promise<void> {
  await Promise.all(open.splice(0).map((server) => server.close()))
}

/**
 * A server that gives its replies in order to the requests that it takes, and 400 to those that its provider would
 * refuse.
 */
export async function strict(
  name: ProviderName,
  replies: readonly (Spoken | AnswerRequest)[],
  model?: string,
): Promise<Strict> {
  const { encode, refuses, mark, model: make } = providers[name]
  const issued = new Map<string, string>()
  const refused: string[] = []
  const taken: Body[] = []
  const answer: AnswerRequest = (exchange) => {
    const why = refuses(issued)(exchange.body)
    if (why !== undefined) {
      refused.push(why)
      return exchange.fail(400, {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          status: 'INVALID_ARGUMENT',
          code: name === 'google' ? 400 : 'invalid_request_error',
          message: why,
        },
      })
    }
    const reply = replies[taken.length]
    taken.push(exchange.body)
    if (!reply)
      return exchange.fail(418, {
        error: { message: `no reply for request ${taken.length}`, type: 'none', code: 418, status: 'NONE' },
      })
    if (typeof reply === 'function') return reply(exchange)
    for (const piece of reply.pieces) {
      const given = mark(piece)
      if (given) issued.set(...given)
    }
    return encode(reply.pieces, reply.finish, reply.usage)(exchange)
  }
  const server = await startModelServer(Array.from({ length: 200 }, () => answer))
  open.push(server)
  return { server, model: make(server.url, model), refused, taken }
}
