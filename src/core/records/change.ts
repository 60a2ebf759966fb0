/**
 * What a call saw of its thread and what it changes there. A call works on a snapshot; both lists come back with its
 * outcome, and count when the call is settled, in call order (T3).
 *
 * CS1 A read names what was seen by a token; the same token at the call's turn means that nothing it saw has changed.
 * - Changes are operations in the order in which the body made them. Done again on a state in which all reads still
 *   hold, they give what the body would have given there.
 * - Contents are named by hash, and their bytes are stored before a record names them.
 */
import type { Json } from '../json.js'
import type { ScheduleChange } from './schedule.js'

/** How closely a path was looked at; `observe` in tree.ts gives the token of each. */
export type Look =
  /** What stands there: nothing, a directory, a file, a link and where it leads. */
  | 'kind'
  /** Whether a file may be put there: nothing or a file, a directory, a link. Blind writes ask no more than this. */
  | 'slot'
  /** Whether it can be made a directory: nothing or a directory, something else. */
  | 'room'
  /** All of the node itself: content, mode, time; of a directory its mode and time. */
  | 'node'
  /** Names and kinds in a directory. */
  | 'list'
  /** Everything below, by content. */
  | 'deep'

export interface FileRead {
  readonly path: string
  readonly look: Look
  readonly token: string
}

export type FileChange =
  /** Without a mode an existing file keeps its own. */
  | { readonly op: 'file'; readonly path: string; readonly hash: string; readonly size: number; readonly mode?: number }
  /** Nothing happens where a directory is. */
  | { readonly op: 'dir'; readonly path: string; readonly mode?: number }
  | { readonly op: 'link'; readonly path: string; readonly target: string }
  | { readonly op: 'mode'; readonly path: string; readonly mode: number }
  /** With everything below; nothing happens where nothing is. */
  | { readonly op: 'gone'; readonly path: string }

/**
 * Values of a thread besides its files, by key: `context/<tool>`, `shared`, `kv/<key>`, `kv`, `todo`, `schedules`.
 * Each has a version that grows with every change; 0 means that it was never set.
 */
export interface ValueRead {
  readonly key: string
  readonly version: number
}

/** Before the keys of the thread's own key-value store. */
export const kvSpace = 'kv/'

/** Its version grows with any change of that store: whoever has listed it has seen this. It has no value. */
export const kvKey = 'kv'

/** The name of the context that all tools share; no tool has it. */
export const sharedName = 'shared'

/** Where the context of a tool, or the shared one, is among the values. */
export function contextKey(name: string): string {
  return name === sharedName ? sharedName : `context/${name}`
}

export interface ValueChange {
  readonly key: string
  /** Absent: the value is removed. */
  readonly value?: Json
}

export interface Reads {
  readonly files?: readonly FileRead[]
  readonly values?: readonly ValueRead[]
}

export interface Changes {
  readonly files?: readonly FileChange[]
  readonly values?: readonly ValueChange[]
  /** Calls to be made later; they are in the value `schedules`. */
  readonly schedules?: readonly ScheduleChange[]
}
