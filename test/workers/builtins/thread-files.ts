/**
 * The files of a thread as calls see them one after another: each works on a copy, and what it did counts when it
 * returned.
 */
import { createHash } from 'node:crypto'
import type { FileRead } from '../../../src/core/records/change.js'
import { applyChanges, emptyTree } from '../../../src/core/tree.js'
import type { Files } from '../../../src/files/port.js'
import { createTreeSource } from '../../../src/files/tree-source.js'
import type { ContentStore } from '../../../src/files/tree-source.js'
import { createWorkingCopy } from '../../../src/files/working-copy.js'

export interface ThreadFiles {
  /** Gives the body's value; a throw drops what it changed. */
  call<Value>(body: (files: Files) => Promise<Value>): Promise<Value>
  /** What the last call saw, as `look path`. */
  reads(): readonly string[]
}

export function createThreadFiles(quotaBytes = 1e9): ThreadFiles {
  const contents = new Map<string, Uint8Array>()
  const blobs: ContentStore = {
    async put(parts) {
      const all: Uint8Array[] = []
      for await (const part of parts instanceof Uint8Array ? [parts] : parts) all.push(part)
      const bytes = Buffer.concat(all)
      const hash = createHash('sha256').update(bytes).digest('hex')
      contents.set(hash, bytes)
      return { hash, size: bytes.length }
    },
    async *get(hash) {
      yield contents.get(hash) ?? new Uint8Array()
    },
  }
  let tree = emptyTree
  let at = 0
  let seen: readonly FileRead[] = []
  return {
    async call(body) {
      at += 1000
      const copy = createWorkingCopy(async () => createTreeSource({ tree, at, quotaBytes, blobs }))
      const value = await body(copy.files)
      const done = await copy.done()
      for (const [hash, bytes] of done.contents) contents.set(hash, bytes)
      tree = applyChanges(tree, done.changes, at)
      seen = done.reads
      return value
    },
    reads: () => seen.map(({ look, path }) => `${look} ${path}`).sort(),
  }
}
