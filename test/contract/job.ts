/**
 * A snapshot for tests of bodies: real files over a tree and contents in memory, values by key, and a gate in front
 * of it all.
 */
import { createHash } from 'node:crypto'
import { applyChanges, emptyTree } from '../../src/core/tree.js'
import type { FileChange } from '../../src/core/records/change.js'
import { createCancel } from '../../src/core/async/cancel.js'
import { SkeinError } from '../../src/core/failure.js'
import type { Json } from '../../src/core/json.js'
import { createTreeSource } from '../../src/files/tree-source.js'
import type { ContentStore } from '../../src/files/tree-source.js'
import type { SnapshotAccess, ToolJob, ToolOutput, ValueAt } from '../../src/pool/port.js'
import { deferred } from '../helpers/deferred.js'

export interface TestSnapshot extends SnapshotAccess {
  /** Contents by hash. */
  readonly contents: Map<string, Uint8Array>
  opened: number
  /** Resolves when it was first asked for. */
  readonly asked: Promise<void>
}

export interface SnapshotState {
  readonly files?: Readonly<Record<string, string | Uint8Array>>
  readonly values?: Readonly<Record<string, Json>>
  /** Keys that are handed out beforehand. */
  readonly given?: readonly string[]
  /** Resolves when the call may see it. */
  readonly gate?: Promise<unknown>
  /** Bytes in a part of a stream. */
  readonly part?: number
}

export function testSnapshot({
  files = {},
  values = {},
  given,
  gate,
  part = 65_536,
}: SnapshotState = {}): TestSnapshot {
  const contents = new Map<string, Uint8Array>()
  const changes = Object.entries(files).map(([path, content]): FileChange => {
    const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
    return { op: 'file', path, ...put(contents, bytes) }
  })
  const tree = applyChanges(emptyTree, changes, 1)
  const value = (key: string): ValueAt =>
    Object.hasOwn(values, key) ? { value: values[key] ?? null, version: 7 } : { version: 0 }
  const asked = deferred()
  return {
    contents,
    opened: 0,
    asked: asked.promise,
    async open() {
      this.opened++
      asked.resolve()
      await gate
      const entries = async (prefix: string) => ({
        version: 7,
        entries: Object.entries(values).flatMap(([key, found]) =>
          key.startsWith(`kv/${prefix}`) ? [{ key: key.slice(3), value: found }] : [],
        ),
      })
      return {
        files: createTreeSource({ tree, at: 5, quotaBytes: 2 ** 31, blobs: storeOf(contents, part) }),
        value: async (key) => value(key),
        entries,
      }
    },
    ...(given && { contexts: Object.fromEntries(given.map((key) => [key, value(key)])) }),
  }
}

function put(contents: Map<string, Uint8Array>, bytes: Uint8Array): { readonly hash: string; readonly size: number } {
  const hash = createHash('sha256').update(bytes).digest('hex')
  contents.set(hash, bytes)
  return { hash, size: bytes.length }
}

function storeOf(contents: Map<string, Uint8Array>, part: number): ContentStore {
  return {
    async put(bytes) {
      if (bytes instanceof Uint8Array) return put(contents, bytes)
      const parts: Uint8Array[] = []
      for await (const each of bytes) parts.push(each)
      return put(contents, Buffer.concat(parts))
    },
    async *get(hash) {
      const bytes = contents.get(hash)
      if (!bytes) throw new SkeinError('BLOB_MISSING', `no content ${hash}`)
      for (let at = 0; at < bytes.length; at += part) yield bytes.subarray(at, at + part)
    },
  }
}

export type JobOptions = Partial<Omit<ToolJob, 'tool' | 'args'>> & { readonly heard?: ToolOutput[] }

export function jobFor(tool: string, args: Json = {}, { heard, ...options }: JobOptions = {}): ToolJob {
  return {
    tool,
    args,
    threadId: 'thread-1',
    idempotencyKey: 'key-1',
    cancel: createCancel(),
    run: { part: 'execute' },
    env: {},
    secrets: options.env?.['TOKEN'] === undefined ? [] : [options.env['TOKEN']],
    snapshot: testSnapshot(),
    emit: (what) => void heard?.push(what),
    ...options,
  }
}
