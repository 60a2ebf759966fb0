/**
 * The pool port: where tool bodies run. `run` resolves with the result of a call and never rejects.
 *
 * - A body sees its thread only through one snapshot, which opens when the call may see it.
 * - Output of a body arrives in order, and all of it before its result.
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
  /** Undoes what `execute` has done, under the key of that call. */
  | { readonly part: 'revert' }
  /** `onResponseReceived`, with the answer of the person. */
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
  /** Bytes that it returns belong to the caller, who may send them to a worker. */
  readonly files: FileSource
  /** Values by key (src/core/records/change.ts). */
  value(key: string): Promise<ValueAt>
  /** Entries of the key-value store with this prefix, and the version of the whole store. */
  entries(prefix: string): Promise<Entries>
}

export interface SnapshotAccess {
  /**
   * The snapshot, when the call may see it: at once, or when the calls before it are settled. A call that waits here
   * takes no place in the pool.
   */
  open(): Promise<Snapshot>
  /**
   * Contexts that the body reads synchronously: that of a tool with `contextSchema` (`context/<tool>`), and `shared`
   * of one with `sharedSchema`.
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
  /** The thread has a parent, to which it reports. */
  readonly hasParent?: boolean
  /** Who shares the pool in equal parts: the tree, then the group of trees. Default: one part for all. */
  readonly shares?: readonly string[]
  readonly idempotencyKey: string
  readonly cancel: Cancel
  readonly run: BodyPart
  /** Variables that the tool and those in its `uses` declare; each body sees only its own. */
  readonly env: Readonly<Record<string, string>>
  /** The secret values among them, and the ones that they replaced. */
  readonly secrets: readonly string[]
  readonly snapshot: SnapshotAccess
  /** The trace that spans of the body belong to, as a W3C `traceparent` whose span is that of the call. */
  readonly trace?: string | undefined
  /** It has waited: for a worker, or for its place again. */
  waited?(ms: number): void
  /** A body that runs again, because another call ended its worker, emits its output again. */
  emit(output: ToolOutput): void
}

/** A content that the body wrote: stored before the record that refers to it. */
export interface NewContent {
  readonly hash: string
  readonly bytes: Uint8Array
}

/** An image or a document for the model. */
export interface ShownBytes {
  readonly mediaType: string
  readonly bytes: Uint8Array
}

export interface Returned {
  readonly outcome: Outcome
  /** What the model reads instead of the outcome (`toModelOutput`). */
  readonly text?: string
  /** Shown to the model together with the text. */
  readonly media?: readonly ShownBytes[]
  /** Also of a failed call: on another state it might have succeeded. */
  readonly reads?: Reads
  readonly changes?: Changes
  readonly contents?: readonly NewContent[]
  readonly queued?: readonly { readonly tool: string; readonly args: Json }[]
  readonly messages?: readonly { readonly text: string; readonly silent?: true }[]
  /** Files that are attached to the turn's answer. */
  readonly attached?: readonly string[]
  /** Messages to the parent of the thread. */
  readonly told?: readonly Saying[]
  /** All events of a generator, in order. */
  readonly preliminaries?: readonly Json[]
  /** What the body threw, for diagnosis. Not recorded. */
  readonly thrown?: Thrown
  /** `onToolCalled` returned null: a person must answer. */
  readonly held?: true
}

export interface Pool {
  run(job: ToolJob): Promise<Returned>
  /** Starts a worker and resolves when the app is loaded there, with the failure if it could not be. */
  loads?(): Promise<Failure | undefined>
  close(): Promise<void>
}
