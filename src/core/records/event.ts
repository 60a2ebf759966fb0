/**
 * Events for watchers. Durable events mirror records and carry their sequence; deltas are ephemeral.
 *
 * - Losing an event never changes a result: everything durable can be read again from the journal.
 * EV2 A delta has the attempt and the offset of its text. The text of an older attempt is void, which `stream.reset`
 *     announces.
 */
import type { Changes } from './change.js'
import type { Outcome } from '../effect.js'
import type { Json } from '../json.js'
import type { Media } from '../media.js'
import type { SideName } from './message.js'
import type { Fact, ModelReplied } from './record.js'
import type { Took } from './took.js'

interface EventOrigin {
  /** The thread's journal sequence. Order is promised per thread. */
  readonly seq: number
  readonly thread: string
  /** Ids from the root down to the thread. */
  readonly path: readonly string[]
  readonly at: number
  /** Opaque: pass it as `from` to continue after this event. */
  readonly cursor: string
}

export type DurableEvent = EventOrigin &
  (
    | Exclude<Fact, { readonly type: 'call.returned' | 'model.replied' }>
    | (ModelReplied & { readonly callIds: readonly string[] })
    | ToolResult
  )

/**
 * A call has returned. `provisional`: it takes effect when `call.settled` with its step and index says so; `stale`
 * there means that it runs again.
 */
export interface ToolResult {
  readonly type: 'tool.result'
  readonly step: number
  readonly index: number
  readonly call: string
  readonly tool: string
  readonly outcome: Outcome
  /** The text that the model reads, if that differs from the outcome. */
  readonly text?: string
  /** A note that the model reads below it. */
  readonly note?: string
  /** Images and documents that the model is shown with it. */
  readonly media?: readonly Media[]
  readonly provisional?: true
  readonly again?: true
  readonly changes?: Changes
  readonly preliminaries?: readonly Json[]
  /** How long it waited in line and ran. */
  readonly took?: Took
}

interface DeltaOrigin {
  readonly thread: string
  readonly path: readonly string[]
  readonly run: string
  readonly step: number
  readonly attempt: number
  /** Deltas of a model: the side and its label, if there are any. */
  readonly side?: SideName
  readonly label?: string
}

interface ToolOrigin {
  readonly index: number
  readonly call: string
  readonly tool: string
  /** Counts the events of the call. */
  readonly number: number
}

export type DeltaEvent = DeltaOrigin &
  (
    | { readonly type: 'text.delta'; readonly offset: number; readonly text: string }
    | { readonly type: 'reasoning.delta'; readonly offset: number; readonly text: string }
    | { readonly type: 'call.delta'; readonly index: number; readonly tool: string; readonly text: string }
    | (ToolOrigin & { readonly type: 'tool.progress' | 'tool.preliminary'; readonly event: Json })
    | (ToolOrigin & { readonly type: 'tool.log'; readonly text: string })
    /** The deltas of this step are void; `text` replaces them. */
    | { readonly type: 'stream.reset'; readonly text: string }
    /**
     * The model call waits for a rate limit: no call goes before `until`. `place` is the position in the queue: 1 is
     * next, 0 means that the wait is over.
     */
    | { readonly type: 'model.waiting'; readonly model: string; readonly place: number; readonly until: number }
  )

/** The cursor belongs to a tree that was deleted; all events of the tree that has its id now follow. */
export interface TreeReset {
  readonly type: 'tree.reset'
  /** The thread, or the root of the tree, that is followed. */
  readonly thread: string
  readonly path: readonly string[]
}

export type SkeinEvent = DurableEvent | DeltaEvent | TreeReset
