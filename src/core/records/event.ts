/**
 * Events: news for watchers. Durable ones mirror records and carry their sequence; deltas are ephemeral.
 *
 * - Losing an event never changes a result: everything durable can be read again from the journal.
 * EV2 A delta names the attempt and the offset of its text. Text of an older attempt is void: a watcher
 *     is told with `stream.reset`.
 */
import type { Changes } from './change.js'
import type { Outcome } from '../effect.js'
import type { Json } from '../json.js'
import type { Media } from '../media.js'
import type { SideName } from './message.js'
import type { Fact, ModelReplied } from './record.js'

interface Place {
  /** The thread's journal sequence. Order is promised per thread. */
  readonly seq: number
  readonly thread: string
  /** Ids from the root down to the thread. */
  readonly path: readonly string[]
  readonly at: number
  /** Opaque: pass it as `from` to go on after this event. */
  readonly cursor: string
}

export type DurableEvent = Place &
  (
    | Exclude<Fact, { readonly type: 'call.returned' | 'model.replied' }>
    | (ModelReplied & { readonly callIds: readonly string[] })
    | ToolResult
  )

/**
 * A call has returned. `provisional`: it counts when `call.settled` with its step and index says so; `stale` there
 * means that it runs again.
 */
export interface ToolResult {
  readonly type: 'tool.result'
  readonly step: number
  readonly index: number
  readonly call: string
  readonly tool: string
  readonly outcome: Outcome
  /** What the model reads of it, where that is something else. */
  readonly text?: string
  /** What it reads below it. */
  readonly note?: string
  /** What it is shown with it. */
  readonly media?: readonly Media[]
  readonly provisional?: true
  readonly again?: true
  readonly changes?: Changes
  readonly preliminaries?: readonly Json[]
}

interface DeltaPlace {
  readonly thread: string
  readonly path: readonly string[]
  readonly run: string
  readonly step: number
  readonly attempt: number
  /** Of a model's words: who speaks, where there are two sides or a label. */
  readonly side?: SideName
  readonly label?: string
}

/** Which call says it, and the how-manieth thing it says. */
interface ToolPlace {
  readonly index: number
  readonly call: string
  readonly tool: string
  readonly number: number
}

export type DeltaEvent = DeltaPlace &
  (
    | { readonly type: 'text.delta'; readonly offset: number; readonly text: string }
    | { readonly type: 'reasoning.delta'; readonly offset: number; readonly text: string }
    | { readonly type: 'call.delta'; readonly index: number; readonly tool: string; readonly text: string }
    | (ToolPlace & { readonly type: 'tool.progress' | 'tool.preliminary'; readonly event: Json })
    | (ToolPlace & { readonly type: 'tool.log'; readonly text: string })
    /** What was streamed of this step is void; `text` is what stands in its place. */
    | { readonly type: 'stream.reset'; readonly text: string }
    /**
     * The call waits in line, because the provider has limited the model: nobody goes before `until`. Place 1 is
     * next; 0: the wait is over.
     */
    | { readonly type: 'model.waiting'; readonly model: string; readonly place: number; readonly until: number }
  )

/** What was seen before the cursor is of a tree that is gone; everything of the one that has its id now follows. */
export interface TreeReset {
  readonly type: 'tree.reset'
  /** The thread, or the root of the tree, that is followed. */
  readonly thread: string
  readonly path: readonly string[]
}

export type SkeinEvent = DurableEvent | DeltaEvent | TreeReset
