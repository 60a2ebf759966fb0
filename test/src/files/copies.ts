/**
 * Working copies over trees in memory, for the tests of files: bodies that run on a snapshot and are settled in order.
 *
 * - Settling is what a host does: a body that saw what has changed since runs again on the tree as it is; the
 *   changes of others are applied.
 */
import { createHash } from 'node:crypto'
import type { FileChange, FileRead } from '../../../src/core/records/change.js'
import { applyChanges, stale } from '../../../src/core/tree.js'
import type { DirNode } from '../../../src/core/tree.js'
import type { FileSource, Files, FileNodeInfo } from '../../../src/files/port.js'
import { createTreeSource } from '../../../src/files/tree-source.js'
import type { ContentStore } from '../../../src/files/tree-source.js'
import { createWorkingCopy } from '../../../src/files/working-copy.js'

export interface MemoryStore extends ContentStore {
  readonly kept: Map<string, Uint8Array>
}

export function createStore(): MemoryStore {
  const kept = new Map<string, Uint8Array>()
  return {
    kept,
    async put(bytes) {
      const parts: Uint8Array[] = []
      if (bytes instanceof Uint8Array) parts.push(bytes)
      else for await (const part of bytes) parts.push(Uint8Array.from(part)) // a source may fill its buffer again
      const whole = Buffer.concat(parts)
      const hash = createHash('sha256').update(whole).digest('hex')
      kept.set(hash, whole)
      return { hash, size: whole.length }
    },
    async *get(hash) {
      const bytes = kept.get(hash)
      if (!bytes) throw new Error(`no content ${hash}`)
      yield bytes
    },
  }
}

export type Body<Value> = (files: Files) => Promise<Value>

export interface Ran<Value> {
  readonly value: Value
  readonly reads: readonly FileRead[]
  readonly changes: readonly FileChange[]
  readonly contents: ReadonlyMap<string, Uint8Array>
}

export interface World {
  readonly store: ContentStore
  readonly at: number
  readonly quotaBytes?: number
  /** The source gives one directory at a time. */
  readonly sparing?: true
}

function sparing(source: FileSource): FileSource {
  const bare = (shown: FileNodeInfo): FileNodeInfo =>
    shown.kind === 'dir' ? { kind: 'dir', mode: shown.mode, at: shown.at } : shown
  return {
    ...source,
    async node(path) {
      const shown = await source.node(path)
      if (shown?.kind !== 'dir') return shown
      return { ...shown, entries: new Map([...(shown.entries ?? [])].map(([name, child]) => [name, bare(child)])) }
    },
  }
}

/** Runs a body on a snapshot. */
export async function runOn<Value>(
  tree: DirNode,
  body: Body<Value>,
  { store, at, quotaBytes = Infinity, ...world }: World,
): Promise<Ran<Value>> {
  const source = createTreeSource({ tree, at, quotaBytes, blobs: store })
  const copy = createWorkingCopy(async () => (world.sparing ? sparing(source) : source))
  const value = await body(copy.files)
  const done = await copy.done()
  for (const bytes of done.contents.values()) await store.put(bytes)
  return { value, ...done }
}

/** Runs a body on a tree and gives what it leaves. */
export async function settleOn<Value>(
  tree: DirNode,
  body: Body<Value>,
  world: World,
): Promise<Ran<Value> & { readonly tree: DirNode }> {
  const ran = await runOn(tree, body, world)
  return { ...ran, tree: applyChanges(tree, ran.changes, world.at) }
}

/** What a host does with a body that ran earlier, when its turn comes. */
export async function settle<Value>(
  tree: DirNode,
  ran: Ran<Value>,
  { body, world }: { body: Body<Value>; world: World },
): Promise<Ran<Value> & { readonly tree: DirNode; readonly again: boolean }> {
  const again = stale(tree, ran.reads)
  const last = again ? await runOn(tree, body, world) : ran
  return { ...last, again, tree: applyChanges(tree, last.changes, world.at) }
}
