/**
 * A model whose replies come from a script: for tests, simulations, examples and benchmarks. No network, no clock, no
 * randomness.
 *
 * - A script that answers at once costs one promise and no copy: benchmarks measure Skein, not this.
 * - A recorded request keeps the array of the transcript and its length, never a copy; `messages` slices it when it
 *   is read. The transcript is append-only, so the slice is what the model saw.
 * - An abort rejects with the signal's reason while a script is pending. A script that answers at once does not read
 *   the signal, because reading it creates it.
 * - With an array the n-th request gets the n-th reply; the request after the last is MODEL_REJECTED.
 */
import { z } from 'zod'
import { defined } from '../core/defined.js'
import { type Failure, fromFailure, SkeinError } from '../core/failure.js'
import { isObject } from '../core/json.js'
import { checkOnce } from '../core/options.js'
import { noUsage, type Usage } from '../core/usage.js'
import { abortable, takeUnlessAborted } from './retry/abort.js'
import type { FinishReason, Model, ModelCallOptions, ModelReply, ModelRequest, RequestedCall } from './port.js'

export type ScriptedReply =
  | string
  | {
      readonly text?: string
      readonly reasoning?: string
      readonly calls?: readonly RequestedCall[]
      readonly usage?: Partial<Usage>
      readonly finish?: FinishReason
      /** Thrown instead of replying. A text is MODEL_REJECTED; a failure keeps its code and its `retry`. */
      readonly error?: Error | Failure | string
    }

/** A piece of a streamed reply. */
export type ScriptedPiece = string | { readonly text: string } | { readonly reasoning: string }

/**
 * An async generator, usually; what it returns completes the reply. A returned text that begins with what was yielded
 * is the whole text, another one follows it.
 */
type Pieces = AsyncIterable<ScriptedPiece, ScriptedReply | undefined | void>

export type Script = (request: ModelRequest) => ScriptedReply | Promise<ScriptedReply> | Pieces

/** The request as the model saw it, with all that it was asked for. */
export type ScriptedRequest = ModelRequest

export interface ScriptedModel extends Model {
  /** Every request so far, in order; empty with `record: false`. */
  readonly requests: readonly ScriptedRequest[]
}

export interface ScriptedOptions {
  readonly name?: string
  readonly record?: boolean
}

const optionsSchema = z.strictObject({ name: z.string().min(1).optional(), record: z.boolean().optional() })

const noCalls: readonly RequestedCall[] = []

export function scriptedModel(script: Script | readonly ScriptedReply[], options: ScriptedOptions = {}): ScriptedModel {
  const { name = 'scripted', record = true } = checkOnce(optionsSchema, options, 'scriptedModel')
  const requests: ScriptedRequest[] = []
  const play = typeof script === 'function' ? script : inOrder(script)
  return {
    name,
    requests,
    call(request, call) {
      if (record) requests.push(recorded(request))
      // Not an async function: that would be a second promise.
      try {
        const reply = play(request)
        if (typeof reply === 'string') return Promise.resolve(replyAtOnce({ text: reply }, call))
        if (isStream(reply)) return streamed(reply, call)
        if (isPromise(reply)) return takeUnlessAborted(reply, call, (late) => replyAtOnce(replyFields(late), call))
        return Promise.resolve(replyAtOnce(reply, call))
      } catch (thrown) {
        return Promise.reject(thrown)
      }
    },
  }
}

function inOrder(replies: readonly ScriptedReply[]): Script {
  let next = 0
  return () => {
    const reply = replies[next++]
    if (reply !== undefined) return reply
    const had = replies.length === 1 ? '1 reply' : `${replies.length} replies`
    const message =
      `the script of this scripted model has ${had} and this is request ${next}; add a reply, or ` +
      `script it with a function`
    throw new SkeinError('MODEL_REJECTED', message, { data: { replies: replies.length, request: next } })
  }
}

function recorded(request: ModelRequest): ScriptedRequest {
  const { messages } = request
  const { length } = messages
  return Object.defineProperty({ ...request }, 'messages', { enumerable: true, get: () => messages.slice(0, length) })
}

type ReplyFields = Exclude<ScriptedReply, string>

function replyFields(reply: ScriptedReply | undefined | void): ReplyFields {
  return typeof reply === 'string' ? { text: reply } : (reply ?? {})
}

/** Emits a reply in one piece. */
function replyAtOnce(reply: ReplyFields, { emit }: ModelCallOptions): ModelReply {
  if (reply.error !== undefined) throw thrownBy(reply.error)
  if (reply.reasoning) emit({ type: 'reasoning', text: reply.reasoning })
  if (reply.text) emit({ type: 'text', text: reply.text })
  const calls = reply.calls ?? noCalls
  return {
    text: reply.text ?? '',
    ...(reply.reasoning !== undefined && { reasoning: reply.reasoning }),
    calls,
    usage: reply.usage ? { ...noUsage, ...reply.usage } : noUsage,
    finish: reply.finish ?? (calls.length > 0 ? 'tool_calls' : 'stop'),
  }
}

async function streamed(pieces: Pieces, options: ModelCallOptions): Promise<ModelReply> {
  const { emit } = options
  const iterator = pieces[Symbol.asyncIterator]()
  let text = ''
  let reasoning = ''
  try {
    for (;;) {
      const { done, value } = await abortable(iterator.next(), options)
      if (done) {
        const { text: lastText, reasoning: lastReasoning, ...last } = replyFields(value)
        const rest = {
          ...last,
          ...defined({ text: restOf(text, lastText), reasoning: restOf(reasoning, lastReasoning) }),
        }
        const whole = { text: text + (rest.text ?? ''), reasoning: reasoning + (rest.reasoning ?? '') }
        return {
          ...replyAtOnce(rest, options),
          text: whole.text,
          ...defined({ reasoning: whole.reasoning || undefined }),
        }
      }
      if (typeof value === 'object' && 'reasoning' in value) {
        reasoning += value.reasoning
        emit({ type: 'reasoning', text: value.reasoning })
      } else {
        const piece = typeof value === 'string' ? value : value.text
        text += piece
        emit({ type: 'text', text: piece })
      }
    }
  } catch (thrown) {
    // Not awaited: a generator that waits for something else would hold up the abort.
    iterator.return?.().then(undefined, () => undefined)
    throw thrown
  }
}

/** What is missing of a text after its beginning was streamed. */
function restOf(beginning: string, last: string | undefined): string | undefined {
  return (last?.startsWith(beginning) ? last.slice(beginning.length) : last) || undefined
}

function thrownBy(error: Error | Failure | string): Error {
  if (error instanceof Error) return error
  return typeof error === 'string' ? new SkeinError('MODEL_REJECTED', error) : fromFailure(error)
}

function isStream(value: unknown): value is Pieces {
  return isObject(value) && Symbol.asyncIterator in value
}

function isPromise(value: unknown): value is Promise<ScriptedReply> {
  return isObject(value) && typeof value['then'] === 'function'
}
