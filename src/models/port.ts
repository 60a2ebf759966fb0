/**
 * The model port: what Skein asks of a language model. Adapters translate at this line only; inside Skein
 * a message is always a `Message`.
 *
 * - `messages` is the thread's own append-only transcript, not a copy: an adapter must not change it and
 *   must not keep it after the call.
 * - `emit` may be called any number of times before the reply; the reply alone is what counts.
 * MP3 A model throws a SkeinError: MODEL_RATE_LIMITED or MODEL_UNAVAILABLE (`retry: true`,
 *     `data.retryAfterMs` where the provider said so) or MODEL_REJECTED (`retry: false`). Aborting throws
 *     the signal's reason.
 */
import type { Json } from '../core/json.js'
import type { ProviderParts } from '../core/records/provider-parts.js'
import type { Message } from '../core/records/message.js'
import type { FinishReason } from '../core/records/record.js'
import type { Usage } from '../core/usage.js'

export interface ToolSpec {
  readonly name: string
  readonly description: string
  /** JSON Schema of the args. */
  readonly parameters: { readonly [key: string]: Json }
}

export interface ModelRequest {
  readonly system: string
  readonly messages: readonly Message[]
  readonly tools: readonly ToolSpec[]
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly tool: string }
  readonly parallelToolCalls?: boolean
  readonly reasoning?: 'low' | 'medium' | 'high'
  readonly temperature?: number
  readonly maxOutputTokens?: number
  /** Whether the provider is told to keep the conversation in its cache, where that is to be said. Default true. */
  readonly promptCache?: boolean
  /** Settings of one provider, under its name; the adapter hands them on. */
  readonly providerOptions?: { readonly [provider: string]: { readonly [setting: string]: Json } }
  /** Whether it takes images and documents (`media` of messages), where the adapter cannot know. */
  readonly media?: boolean
  /** The bytes of what messages name by hash; undefined when they are gone. */
  read?(hash: string): Promise<Uint8Array | undefined>
  /** Where the request comes from; for scripts, logs and traces, not for the provider. */
  readonly thread: string
  /** Steps of this turn that are done. */
  readonly step: number
}

export type ModelDelta =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  /** A piece of the args of the `index`-th call. */
  | { readonly type: 'call'; readonly index: number; readonly tool: string; readonly text: string }

export interface RequestedCall {
  readonly tool: string
  /** JSON text as the provider sent it, or an already decoded value. */
  readonly args: unknown
}

export type { FinishReason } from '../core/records/record.js'

export interface ModelReply {
  readonly text: string
  readonly reasoning?: string
  /** What the model wants to hear again: it comes back with the message in later requests, whoever is asked then. */
  readonly kept?: ProviderParts
  readonly calls: readonly RequestedCall[]
  readonly usage: Usage
  readonly finish: FinishReason
  /** Name of the model that answered, where it is not the one that was asked (a fallback). */
  readonly model?: string
}

/** A call waits in line because the provider has limited the model. It is asked whenever someone looks. */
export interface ModelWait {
  readonly model: string
  /** 1 is next; 0: the wait is over. */
  readonly place: number
  /** Nobody goes before. */
  readonly until: number
}

/** Read its fields by name; a spread does not have them all (the signal is made when it is looked at). */
export interface ModelCallOptions {
  readonly signal: AbortSignal
  readonly emit: (delta: ModelDelta) => void
  /** Called before each new attempt (a retry, a fallback): what was emitted so far is void. */
  readonly restarted?: (() => void) | undefined
  /** Called when the call begins to wait in line, as it moves forward, and when the wait is over. */
  waiting?(wait: ModelWait): void
  /** Called when something is heard of the provider that nobody is shown: it is at work. */
  heard?(): void
}

export interface Model {
  readonly name: string
  call(request: ModelRequest, options: ModelCallOptions): Promise<ModelReply>
}
