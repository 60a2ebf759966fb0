/**
 * The model port: what Skein requires of a language model. Adapters translate only here; inside Skein a message is
 * always a `Message`.
 *
 * - `messages` is the thread's own append-only transcript, not a copy: an adapter must neither change it nor keep it
 *   after the call.
 * - `emit` may be called any number of times before the reply; only the reply is recorded.
 * MP3 A model throws a SkeinError: MODEL_RATE_LIMITED or MODEL_UNAVAILABLE (`retry: true`, `data.retryAfterMs` if the
 *     provider gave it) or MODEL_REJECTED (`retry: false`). After an abort it throws the signal's reason.
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
  /** The provider's own tool, which it runs itself: its id in the provider's package, and its settings. */
  readonly provider?: { readonly id: string; readonly args?: { readonly [setting: string]: Json } }
}

export interface ModelRequest {
  readonly system: string
  readonly messages: readonly Message[]
  readonly tools: readonly ToolSpec[]
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly tool: string }
  readonly parallelToolCalls?: boolean
  /**
   * The form of the reply's text: JSON of this schema. Only for models that say so (`structuredOutput`); others are
   * offered the tool `response`.
   */
  readonly output?: {
    readonly name: string
    readonly description: string
    readonly schema: ToolSpec['parameters']
  }
  readonly reasoning?: 'low' | 'medium' | 'high'
  readonly temperature?: number
  readonly maxOutputTokens?: number
  /** Whether a provider that needs to be told caches the conversation. Default true. */
  readonly promptCache?: boolean
  /** Settings of one provider, under its name; the adapter passes them on. */
  readonly providerOptions?: { readonly [provider: string]: { readonly [setting: string]: Json } }
  /** Whether the model accepts images and documents (`media` of messages), if the adapter cannot know. */
  readonly media?: boolean
  /** Reads the bytes of a hash in `media`; undefined if they were removed. */
  read?(hash: string): Promise<Uint8Array | undefined>
  /** The thread that makes the request; for scripts, logs and traces, not for the provider. */
  readonly thread: string
  /** It asks for a summary of the conversation, and its reply is no step: calls in it are not made. */
  readonly summary?: true
  /** Completed steps of this turn. */
  readonly step: number
}

export type ModelDelta =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  /** A piece of the args of the `index`-th call. */
  | { readonly type: 'call'; readonly index: number; readonly tool: string; readonly text: string }

export interface RequestedCall {
  readonly tool: string
  /** JSON text as the provider sent it, or a decoded value. */
  readonly args: unknown
}

export type { FinishReason } from '../core/records/record.js'

export interface ModelReply {
  readonly text: string
  readonly reasoning?: string
  /** Provider data that must be sent back: it comes with the message in later requests, to whichever model. */
  readonly kept?: ProviderParts
  readonly calls: readonly RequestedCall[]
  readonly usage: Usage
  readonly finish: FinishReason
  /** The name of the model that replied, if it is another than the one that was called (a fallback). */
  readonly model?: string
}

/** A call waits because the provider has rate limited the model. Its fields are getters and always current. */
export interface ModelWait {
  readonly model: string
  /** The position in the queue: 1 is next, 0 means that the wait is over. */
  readonly place: number
  /** The time before which no call goes. */
  readonly until: number
}

/** Read its fields by name: a spread would lack those that are getters, such as the lazily created signal. */
export interface ModelCallOptions {
  readonly signal: AbortSignal
  /**
   * The same as a listener on `signal`, without creating it: it is called once, at once if the call was aborted before.
   * Returns a function that removes it.
   */
  onAbort?(listener: (reason: Error) => void): () => void
  readonly emit: (delta: ModelDelta) => void
  /** Called before each further attempt (a retry, a fallback): the deltas so far are void. */
  readonly restarted?: (() => void) | undefined
  /** Called when the call starts to wait for a rate limit, when its position changes, and when the wait ends. */
  waiting?(wait: ModelWait): void
  /** Called for signs of life that are no delta: the provider is working. */
  heard?(): void
}

export interface Model {
  readonly name: string
  call(request: ModelRequest, options: ModelCallOptions): Promise<ModelReply>
}
