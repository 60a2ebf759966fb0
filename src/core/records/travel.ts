/**
 * Records of time travel: a thread that begins with the past of another, and one that goes back in its own.
 *
 * - Both stand on records that are elsewhere. Whoever reads the journal attaches them (`pastKey`), so that the fold
 *   stays synchronous and pure; a copy of the record keeps them, its JSON does not have them.
 * - The past of a fork is the source's entries as they stand in its journal: their chain of hashes is checked when
 *   they are read, and an older version of them is lifted as in the source.
 */
import { hash } from 'node:crypto'
import type { Amounts } from '../budget.js'
import type { ThreadCreated, ThreadRecord } from './record.js'

/** What happens to calls with a side effect in a fork: they wait for an approval, are refused, or run. */
export type EffectsWord = 'ask' | 'refuse' | 'run'

/** Records that another record stands on, oldest first. */
export interface Past {
  /** The thread whose records they are. */
  readonly thread: string
  readonly records: readonly ThreadRecord[]
}

export const pastKey: unique symbol = Symbol('past')

/** An entry of a journal. */
export interface PastEntry {
  readonly first: number
  readonly count: number
  readonly body: string
  readonly hash: string
}

/** Where a fork comes from. */
export interface ForkOrigin {
  readonly thread: string
  readonly root: string
  /** Its last record that the fork has. */
  readonly seq: number
  /** The hash of the entry with that record. */
  readonly chain: string
  /** Of that entry; of a tree: of the cut. */
  readonly position: number
}

/** A thread begins with the past of another, in place of `thread.created`. */
export interface ThreadBased {
  readonly type: 'thread.based'
  readonly from: ForkOrigin
  /** Whole entries, up to the one with `from.seq`: in blobs of 256, which forks share, or here where they are few. */
  readonly past:
    | { readonly parts: readonly { readonly hash: string; readonly size: number }[] }
    | { readonly entries: readonly PastEntry[] }
  /** Blobs that the parts name: they are kept as long as this record is. */
  readonly blobs: readonly string[]
  readonly path: readonly string[]
  readonly parent?: string
  readonly child?: ThreadCreated['child']
  readonly tags: readonly string[]
  /** Not set: effects run. */
  readonly guard?: Exclude<EffectsWord, 'run'>
  /** Roots that its sealed values were sealed for, its own first. */
  readonly roots: readonly string[]
  readonly drops?: readonly ('schedules' | 'env')[]
  /** What it may spend. Default: what was left and reserved. */
  readonly budget?: Amounts
  /** Of a forked tree: its children are copied too, under other names. */
  readonly tree?: TreeRename
  /** Of its new root: the others are copied from here; `go`: then all of them go on. */
  readonly copying?: { readonly go?: true }
  readonly [pastKey]?: Past
}

/** How the threads of a forked tree are called. */
export interface TreeRename {
  /** The new root, and the thread that it was. */
  readonly root: string
  readonly top: string
}

/** The thread went back to an earlier record: what came after it does not count any more, but for what it cost. */
export interface ThreadRewound {
  readonly type: 'thread.rewound'
  readonly to: number
  /** Effects on the world were left as they are. */
  readonly forced?: true
  readonly [pastKey]?: Past
}

/** Whether it can be folded only with its past. */
export function standsOnPast({ type }: ThreadRecord): boolean {
  return type === 'thread.based' || type === 'thread.rewound'
}

/** The record with what it stands on. */
export function standingOn(record: ThreadRecord, past: Past): ThreadRecord {
  return Object.assign({ ...record }, { [pastKey]: past })
}

/** Another try of a child has the id of the first, and its number. */
const attempt = /^(c_.{32})_(\d+)$/

/** All threads of a forked tree are there, and the mail that was on its way between them is, too. */
export interface TreeCopied {
  readonly type: 'tree.copied'
  readonly threads: number
  readonly mail: number
}

/** The name of a thread of the source in a forked tree: asked twice, it is the same. */
export function renamedThread(tree: TreeRename, thread: string): string {
  const { root, top } = tree
  if (thread === top) return root
  const [, first, number] = attempt.exec(thread) ?? []
  if (first !== undefined) return `${renamedThread(tree, first)}_${number}`
  return `c_${hash('sha256', JSON.stringify([root, thread]), 'base64url').slice(0, 32)}`
}
