/**
 * Reads the stream of an AI SDK model into a reply and emits its deltas on the way. Parts are checked by
 * structure, because the package that made them may be older or newer than any type we could name.
 *
 * AT1 Only a `finish` part makes a reply: a stream that ends before it, or holds an `error` part, failed.
 * AT2 Parts of an unknown type are ignored; so is a call that the provider runs itself.
 * AT3 A call's index is the order in which its first part came, in deltas and in the reply; only a
 *     `tool-call` part makes a call, deltas alone do not.
 * AT4 Whatever ends the reading early (abort, failure) cancels the stream, which closes the connection.
 */
import { isObject } from '../core/json.js'
import type { Usage } from '../core/usage.js'
import { unavailable } from './ai-sdk-error.js'
import type { FinishReason, ModelCallOptions, ModelReply, RequestedCall } from './port.js'

/** As much of a web ReadableStream as is needed, whichever library declares it. */
export interface PartStream {
  getReader(): {
    read(): PromiseLike<{ readonly done: boolean; readonly value?: unknown }>
    cancel(reason?: unknown): PromiseLike<unknown>
  }
}

type Part = { readonly [key: string]: unknown }

interface Gathered {
  text: string
  reasoning: string
  /** By the provider's id, in the order of first sight (AT3). */
  readonly calls: Map<string, { readonly index: number; readonly tool: string; made?: RequestedCall }>
}

type CollectOptions = ModelCallOptions & { readonly model: string }

export async function collect(stream: PartStream, options: CollectOptions): Promise<ModelReply> {
  const { signal, model } = options
  const reader = stream.getReader()
  const cancel = (reason: unknown): void => {
    // A stream that broke rejects its own cancelling with the error that is already on its way.
    reader.cancel(reason).then(undefined, () => undefined)
  }
  const abort = (): void => cancel(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  const gathered: Gathered = { text: '', reasoning: '', calls: new Map() }
  try {
    for (;;) {
      const { done, value } = await reader.read()
      signal.throwIfAborted()
      if (done) throw unavailable(model, 'its stream ended before the reply was complete')
      if (!isObject(value)) continue
      if (value['type'] === 'finish') {
        const reply = replyOf(gathered, value, model)
        drain(reader)
        return reply
      }
      take(value, gathered, options)
    }
  } catch (thrown) {
    cancel(thrown)
    throw thrown
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** Reads to the end unobserved, so that the connection can be used again; the reply does not wait for it. */
function drain(reader: ReturnType<PartStream['getReader']>): void {
  const again = (): void => {
    // After `finish` nothing that fails can change the reply.
    reader.read().then(({ done }) => (done ? undefined : again()), () => undefined)
  }
  again()
}

function take(part: Part, gathered: Gathered, { emit }: CollectOptions): void {
  switch (part['type']) {
    case 'text-delta': {
      const text = textOf(part['delta'])
      gathered.text += text
      if (text !== '') emit({ type: 'text', text })
      return
    }
    case 'reasoning-delta': {
      const text = textOf(part['delta'])
      gathered.reasoning += text
      if (text !== '') emit({ type: 'reasoning', text })
      return
    }
    case 'tool-input-start':
      if (part['providerExecuted'] !== true) callOf(gathered, part['id'], part['toolName'])
      return
    case 'tool-input-delta': {
      const call = gathered.calls.get(textOf(part['id']))
      const text = textOf(part['delta'])
      if (call && text !== '') emit({ type: 'call', index: call.index, tool: call.tool, text })
      return
    }
    case 'tool-call': {
      if (part['providerExecuted'] === true) return
      const call = callOf(gathered, part['toolCallId'], part['toolName'])
      call.made = { tool: textOf(part['toolName']), args: argsOf(part['input']) }
      return
    }
    case 'error':
      throw part['error']
    default:
  }
}

function callOf({ calls }: Gathered, id: unknown, tool: unknown): { readonly index: number; readonly tool: string; made?: RequestedCall } {
  const key = textOf(id)
  let call = calls.get(key)
  if (!call) {
    call = { index: calls.size, tool: textOf(tool) }
    calls.set(key, call)
  }
  return call
}

/** Several models send no text at all for a tool without args. */
function argsOf(input: unknown): unknown {
  if (input === undefined || input === null) return '{}'
  return typeof input === 'string' && input.trim() === '' ? '{}' : input
}

function replyOf({ text, reasoning, calls }: Gathered, part: Part, model: string): ModelReply {
  const said = part['finishReason']
  const reason = isObject(said) ? said['unified'] : said
  if (reason === 'error') throw unavailable(model, 'it stopped because of an error of its own')
  const made: RequestedCall[] = []
  for (const call of calls.values()) if (call.made) made.push(call.made)
  return {
    text,
    ...(reasoning !== '' && { reasoning }),
    calls: made,
    usage: usageOf(part['usage']),
    finish: finishOf(reason, made.length),
  }
}

function finishOf(reason: unknown, calls: number): FinishReason {
  switch (reason) {
    case 'length':
      return 'length'
    case 'content-filter':
      return 'content_filter'
    case 'stop':
    case 'tool-calls':
      // Several servers say `stop` next to calls; the calls are what counts.
      return calls > 0 ? 'tool_calls' : 'stop'
    default:
      return 'other'
  }
}

/** v2 gives numbers, v3 and v4 objects with a total. What a call costs is not the provider's to say. */
function usageOf(usage: unknown): Usage {
  const fields: Part = isObject(usage) ? usage : {}
  return { inputTokens: tokensOf(fields['inputTokens']), outputTokens: tokensOf(fields['outputTokens']), costUsd: 0 }
}

function tokensOf(count: unknown): number {
  const total = isObject(count) ? count['total'] : count
  return typeof total === 'number' && Number.isFinite(total) && total > 0 ? total : 0
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
