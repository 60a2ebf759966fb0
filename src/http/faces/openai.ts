/**
 * The forms of OpenAI's chat completions: what a request asks, and the objects that answer it. An agent is a model
 * there, a run is a completion.
 */
import { z } from 'zod'
import type { RunResult, StopReason, Usage } from '../../index.js'
import { HttpProblem, badRequest } from '../problem.js'
import type { ProblemCode } from '../problem.js'
import type { Waiting } from './answer.js'

const part = z.looseObject({ type: z.string(), text: z.string().optional() })

const chatMessage = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: z.union([z.string(), z.array(part)]).nullish(),
})

/** Loose: clients send settings of models too, which an agent has from its prompt. */
export const chatRequest = z.looseObject({
  model: z.string().min(1).describe('The agent'),
  messages: z.array(chatMessage).min(1).max(10_000),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  metadata: z.record(z.string(), z.unknown()).nullish().describe('`thread`: the thread that goes on'),
  n: z.number().nullish(),
  tools: z.array(z.unknown()).nullish(),
  functions: z.array(z.unknown()).nullish(),
  response_format: z.looseObject({ type: z.string() }).nullish(),
})

export type ChatRequest = z.output<typeof chatRequest>

export interface ChatLine {
  readonly role: 'user' | 'system' | 'assistant'
  readonly text: string
}

/** What is asked of an agent that it cannot do as asked is refused: to leave it out would change the answer. */
export function checkAsked({ tools, functions, n, response_format: format }: ChatRequest): void {
  if ((tools?.length ?? 0) > 0 || (functions?.length ?? 0) > 0)
    throw badRequest(
      'tools: an agent has the tools of its prompt, and calls them itself; leave "tools" and "functions" out',
    )
  if ((n ?? 1) !== 1) throw badRequest(`n: a run has one answer; leave "n" out, it is ${n}`)
  if ((format?.type ?? 'text') !== 'text')
    throw badRequest(
      'response_format: the form of an answer is that of the agent (outputSchema of its prompt); leave it out',
    )
}

/** The conversation as it was sent; the last line is what is said now. */
export function conversationOf({ messages }: ChatRequest): {
  readonly earlier: readonly ChatLine[]
  readonly last: string
} {
  const lines = messages.map(({ role, content }, index): ChatLine => {
    if (role === 'tool' || role === 'function')
      throw badRequest(`messages.${index}: role ${role}: an agent calls its tools itself and knows their results`)
    return { role: role === 'developer' ? 'system' : role, text: textOf(content, index) }
  })
  const last = lines.at(-1)
  if (last?.role !== 'user' || last.text.trim() === '')
    throw badRequest('messages: the last one must be of the role user and have a text')
  return { earlier: lines.slice(0, -1).filter(({ text }) => text.trim() !== ''), last: last.text }
}

function textOf(content: ChatRequest['messages'][number]['content'], index: number): string {
  if (typeof content === 'string') return content
  const texts = (content ?? []).map(({ type, text }) => {
    if (type !== 'text' || text === undefined)
      throw badRequest(`messages.${index}: a part of type ${JSON.stringify(type.slice(0, 64))}; only text is taken`)
    return text
  })
  return texts.join('')
}

/** Of one completion: the same in all its chunks. */
export interface Completion {
  readonly thread: string
  readonly run: string
  readonly agent: string
  readonly createdAt: number
}

const seconds = (at: number): number => Math.floor(at / 1_000)

export function completionOf(
  of: Completion,
  text: string,
  end: { readonly ended?: RunResult; readonly waiting?: Waiting },
) {
  return {
    id: `chatcmpl-${of.run}`,
    object: 'chat.completion',
    created: seconds(of.createdAt),
    model: of.agent,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: text, refusal: null },
        logprobs: null,
        finish_reason: finishOf(end.ended),
      },
    ],
    ...(end.ended && { usage: usageOf(end.ended.subtreeUsage) }),
    x_skein: extensionOf(of, end),
  }
}

export function chunkOf({ run, agent, createdAt }: Completion, fields: object): object {
  return {
    id: `chatcmpl-${run}`,
    object: 'chat.completion.chunk',
    created: seconds(createdAt),
    model: agent,
    ...fields,
  }
}

export function deltaOf(of: Completion, delta: object): object {
  return chunkOf(of, { choices: [{ index: 0, delta, logprobs: null, finish_reason: null }] })
}

export function lastChunkOf(of: Completion, end: { readonly ended?: RunResult; readonly waiting?: Waiting }): object {
  return chunkOf(of, {
    choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: finishOf(end.ended) }],
    x_skein: extensionOf(of, end),
  })
}

/** What OpenAI's forms have no place for. */
function extensionOf(
  { thread, run }: Completion,
  { ended, waiting }: { readonly ended?: RunResult; readonly waiting?: Waiting },
): object {
  return {
    thread,
    run,
    ...(ended && { stop_reason: ended.stopReason }),
    ...(waiting && { status: waiting.status, waits_for: waiting.items.map(({ id }) => id) }),
  }
}

const whole: ReadonlySet<StopReason> = new Set(['completed', 'empty_reply', 'stop_when', 'session_stopped'])

function finishOf(ended: RunResult | undefined): 'stop' | 'length' | 'content_filter' {
  if (!ended || whole.has(ended.stopReason)) return 'stop'
  return ended.stopReason === 'reply_filtered' ? 'content_filter' : 'length'
}

export function usageOf({ inputTokens, outputTokens, cachedInputTokens, reasoningTokens }: Usage): object {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedInputTokens ?? 0 },
    completion_tokens_details: { reasoning_tokens: reasoningTokens ?? 0 },
  }
}

/** Sending the same again would give the same. */
const noRetry = { headers: { 'x-should-retry': 'false' } }

/** A turn without an answer is an error there. */
export function problemOf({ stopReason, failure, detail }: RunResult): HttpProblem | undefined {
  if (failure) return new HttpProblem({ status: 502, code: failure.code }, failure.message, noRetry)
  if (stopReason !== 'cancelled' && stopReason !== 'terminated') return undefined
  const why = detail === undefined ? '' : `: ${detail}`
  return new HttpProblem({ status: 409, code: 'CANCELLED' }, `the turn has no answer (${stopReason})${why}`, noRetry)
}

/** A problem as OpenAI's clients read it. */
export function errorOf({ message, code, status }: { message: string; code: ProblemCode; status: number }): object {
  return { error: { message, type: status < 500 ? 'invalid_request_error' : 'server_error', code, param: null } }
}
