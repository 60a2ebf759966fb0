/** Where a thread comes from, and how often it went back. A value: it is replaced, never changed. */
import type { EffectsWord, ThreadBased, TreeRename } from '../../../src/core/records/travel.js'

export interface Copying extends Pick<ThreadBased, 'drops' | 'roots'> {
  /** The root of the source, and the position of the cut. */
  readonly root: string
  readonly position: number
  readonly tree: TreeRename
  readonly go?: true
}

export interface Lineage {
  /** Records that the threads before it had: numbers of ids go on after them. */
  readonly before: number
  /** Of a fork. */
  readonly from?: { readonly thread: string; readonly seq: number }
  /** Of a fork, and of threads below one: what happens to calls with a side effect. Not set: they run. */
  readonly guard?: Exclude<EffectsWord, 'run'>
  /** Of the root of a forked tree, while the others are copied: from where, and how. */
  readonly copying?: Copying
  /** The last record with which it went back. */
  readonly rewound?: number
  /** Messages wait that had come before it went back: nothing goes on by itself. */
  readonly holds?: true
}

export const noLineage: Lineage = { before: 0 }

/** A number for ids of what a record brings, used once over all that its transcript may come from. */
export function serialOf({ seq, lineage }: { readonly seq: number; readonly lineage: Lineage }): number {
  return lineage.before + seq
}
