/**
 * Reads the stream of an AI SDK model into a reply and emits its deltas on the way. Parts are checked by
 * structure, because the package that made them may be older or newer than any type we could name.
 *
 * - Only a `finish` part makes a reply: a stream that ends before it, is interrupted or holds an `error` part failed.
 * - Parts of an unknown type are ignored; so is a call that the provider runs itself.
 * AT3 A call's index is the order in which its first part came, in deltas and in the reply; only a
 *     `tool-call` part makes a call, deltas alone do not. Two calls with one id are two calls.
 * - Whatever ends the reading early (abort, failure) cancels the stream, which closes the connection.
 */
import { defined } from '../../core/defined.js'
import { isObject } from '../../core/json.js'
import { unavailable } from './error.js'
import { PartCollector } from './gather.js'
import type { GatheredPart } from './gather.js'
import { sdkUsage } from './usage.js'
import type { FinishReason, ModelCallOptions, ModelReply } from '../port.js'

/** As much of a web ReadableStream as is needed, whichever library declares it. */
export interface PartStream {
  getReader(): {
    read(): PromiseLike<{ readonly done: boolean; readonly value?: unknown }>
    cancel(reason?: unknown): PromiseLike<unknown>
  }
}

const endedEarly = 'its stream ended before the reply was complete'

type CollectOptions = ModelCallOptions & { readonly model: string }

export async function collectReply(stream: PartStream, options: CollectOptions): Promise<ModelReply> {
  const { signal, model, emit } = options
  const reader = stream.getReader()
  const cancel = (reason: unknown): void => {
    // A stream that broke rejects its own cancelling with the error that is already on its way.
    reader.cancel(reason).then(undefined, () => undefined)
  }
  const abort = (): void => cancel(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  const gathered = new PartCollector(emit)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      signal.throwIfAborted()
      if (done) throw unavailable(model, endedEarly)
      options.heard?.()
      if (!isObject(value)) continue
      if (value['type'] === 'finish') {
        const reply = replyOf(gathered, value, model)
        drain(reader)
        return reply
      }
      gathered.take(value)
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
    reader.read().then(
      ({ done }) => (done ? undefined : again()),
      () => undefined,
    )
  }
  again()
}

function replyOf(gathered: PartCollector, part: GatheredPart, model: string): ModelReply {
  const said = part['finishReason']
  const [reason, raw] = isObject(said) ? [said['unified'], said['raw']] : [said, undefined]
  // v4 finishes a stream that only stopped.
  if (reason === 'interrupted') throw unavailable(model, endedEarly)
  if (reason === 'error') throw unavailable(model, 'it stopped because of an error of its own')
  const finish = finishOf(reason, raw)
  const { text, reasoning, calls, kept } = gathered.whole(model, finish === 'length' || finish === 'content_filter')
  return {
    text,
    ...(reasoning !== '' && { reasoning }),
    ...defined({ kept }),
    calls,
    usage: sdkUsage(part['usage'], part['providerMetadata']),
    // Several servers say `stop` next to calls; the calls are what counts.
    finish: finish === 'stop' && calls.length > 0 ? 'tool_calls' : finish,
  }
}

/** Anthropic's package says `stop` of a turn that its provider has paused and would go on with. */
function finishOf(reason: unknown, raw: unknown): FinishReason {
  if (raw === 'pause_turn') return 'paused'
  switch (reason) {
    case 'length':
      return 'length'
    case 'content-filter':
      return 'content_filter'
    case 'stop':
    case 'tool-calls':
      return 'stop'
    default:
      return 'other'
  }
}
