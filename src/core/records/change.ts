/**
 * The reads and changes of a call. A call works on a snapshot of its thread; both lists come back with its outcome and
 * take effect when the call is settled, in call order (T3).
 *
 * CS1 A read has a token of what was read; the same token at the call's turn means that nothing it read has changed.
 * - Changes are operations in the order of the body. Applied to a state in which all reads still hold, they give what
 *   the body would have produced there.
 * - Contents are named by hash, and their bytes are stored before a record names them.
 */
import type { Json } from '../json.js'
import type { ScheduleChange } from './schedule.js'

/** What a read of a path depends on; `observe` in tree.ts gives the token of each. */
export type Look =
  /** The kind of node: nothing, a directory, a file, or a link and its target. */
  | 'kind'
  /** Whether a file may be written there: nothing or a file, a directory, a link. Blind writes depend on no more. */
  | 'slot'
  /** Whether a directory can be created there: nothing or a directory, something else. */
  | 'room'
  /** The node itself: content, mode and time; of a directory mode and time. */
  | 'node'
  /** Names and kinds in a directory. */
  | 'list'
  /** Everything below the path, by content. */
  | 'deep'

export interface FileRead {
  readonly path: string
  readonly look: Look
  readonly token: string
}

export type FileChange =
  /** Without a mode an existing file keeps its mode. */
  | { readonly op: 'file'; readonly path: string; readonly hash: string; readonly size: number; readonly mode?: number }
  /** No change if it is a directory already. */
  | { readonly op: 'dir'; readonly path: string; readonly mode?: number }
  | { readonly op: 'link'; readonly path: string; readonly target: string }
  | { readonly op: 'mode'; readonly path: string; readonly mode: number }
  /** Removes the node with everything below; no change if there is none. */
  | { readonly op: 'gone'; readonly path: string }

/**
 * Values of a thread besides its files, by key: `context/<tool>`, `shared`, `kv/<key>`, `kv`, `todo`, `schedules`.
 * Each has a version that grows with every change; 0 means that it was never set.
 */
export interface ValueRead {
  readonly key: string
  readonly version: number
}

/** The prefix of keys of the key-value store. */
export const kvSpace = 'kv/'

/** Its version grows with any change of that store, so that a listing depends on it. It has no value. */
export const kvKey = 'kv'

/** The name of the context that all tools share; no tool has it. */
export const sharedName = 'shared'

/** The key of the context of a tool, or of the shared one. */
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

/** The entries of a thread's key-value store among its values, in order of their keys. */
export function entriesOf(
  values: Readonly<Record<string, { readonly value?: Json }>>,
  prefix: string,
): readonly { readonly key: string; readonly value: Json }[] {
  const from = kvSpace + prefix
  return Object.entries(values)
    .flatMap(([key, { value }]) =>
      value !== undefined && key.startsWith(from) ? [{ key: key.slice(kvSpace.length), value }] : [],
    )
    .sort((a, b) => (a.key < b.key ? -1 : 1))
}
