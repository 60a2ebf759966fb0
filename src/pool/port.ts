/**
 * The pool port: where tool bodies run. Given a call, it gives what came of it; it never rejects.
 *
 * - A body sees its thread only through the job's desk: one snapshot, given when the call may see it.
 * - What a body says while it runs is heard in order, and all of it before its return.
 */
import type { Cancel } from '../core/async/cancel.js'
import type { Changes, Reads } from '../core/records/change.js'
import type { Outcome } from '../core/effect.js'
import type { Failure } from '../core/failure.js'
import type { Json } from '../core/json.js'
import type { Saying } from '../core/records/record.js'
import type { Thrown } from '../core/thrown.js'
import type { FileSource } from '../files/port.js'

/** Which function of the tool runs. */
export type BodyPart =
  | { readonly part: 'execute' }
  | { readonly part: 'probe' }
  /** `onResponseReceived`, with what the person answered. */
  | { readonly part: 'respond'; readonly answer: Json }

export interface ValueAt {
  /** Absent: never set, or removed. */
  readonly value?: Json
  readonly version: number
}

export interface Entries {
  readonly version: number
  readonly entries: readonly { readonly key: string; readonly value: Json }[]
}

/** The state of the thread as a call may see it. */
export interface Snapshot {
  /** Bytes that it gives belong to whoever asked: they are moved into worker threads. */
  readonly files: FileSource
  /** Values by key (src/core/change.ts). */
  value(key: string): Promise<ValueAt>
  /** The key-value store: entries whose keys begin so, and the version of the whole. */
  entries(prefix: string): Promise<Entries>
}

export interface SnapshotAccess {
  /**
   * The snapshot, when the call may see it: at once, or when the calls before it have been settled. A call that waits
   * here holds no place that others need.
   */
  open(): Promise<Snapshot>
  /**
   * Contexts that the body reads without waiting: those of a tool with `contextSchema` (`context/<tool>`) and
   * `sharedSchema` (`shared`).
   */
  readonly contexts?: Readonly<Record<string, ValueAt>>
}

export type ToolOutput =
  | { readonly type: 'progress'; readonly event: Json }
  | { readonly type: 'preliminary'; readonly event: Json }
  | { readonly type: 'log'; readonly text: string }

export interface ToolJob {
  readonly tool: string
  readonly args: Json
  readonly threadId: string
  /** Its thread answers another one. */
  readonly hasParent?: boolean
  /** Who has equal parts of the pool: its tree, then what holds trees together. Default: one part for all. */
  readonly shares?: readonly string[]
  readonly idempotencyKey: string
  readonly cancel: Cancel
  readonly run: BodyPart
  /** Values of the variables that the tool and those in its `uses` declare; a body is shown its own alone. */
  readonly env: Readonly<Record<string, string>>
  /** Of these, the values that nobody else may see; also what they replaced. */
  readonly secrets: readonly string[]
  readonly snapshot: SnapshotAccess
  /** A body that runs again, because its thread died of another call, says it again. */
  emit(what: ToolOutput): void
}

/** A content whose bytes the body gave: stored before the record that names it. */
export interface NewContent {
  readonly hash: string
  readonly bytes: Uint8Array
}

/** What a model is shown, as the body gave it. */
export interface ShownBytes {
  readonly mediaType: string
  readonly bytes: Uint8Array
}

export interface Returned {
  readonly outcome: Outcome
  /** What the model reads of the outcome, where the tool says (`toModelOutput`). */
  readonly text?: string
  /** Images and documents that the model is shown with it. */
  readonly media?: readonly ShownBytes[]
  /** Also of a call that failed: on another state it might have gone well. */
  readonly reads?: Reads
  readonly changes?: Changes
  readonly contents?: readonly NewContent[]
  readonly queued?: readonly { readonly tool: string; readonly args: Json }[]
  readonly messages?: readonly { readonly text: string; readonly silent?: true }[]
  /** Files that go with the turn's answer. */
  readonly attached?: readonly string[]
  /** For the parent of the thread. */
  readonly told?: readonly Saying[]
  /** All events of a generator, in order. */
  readonly preliminaries?: readonly Json[]
  /** What it threw, where it did: not to be recorded. */
  readonly thrown?: Thrown
  /** `onToolCalled` gave null: a person must answer. */
  readonly held?: true
}

export interface Pool {
  run(job: ToolJob): Promise<Returned>
  /** Starts a worker, and says why the app does not load there, if it does not. */
  loads?(): Promise<Failure | undefined>
  close(): Promise<void>
}
