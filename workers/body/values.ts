/**
 * Values of the thread as one call sees and changes them: contexts, key-value entries, the todo list
 * (src/core/records/change.ts).
 *
 * - A body sees its own changes at once; nobody else does before the call is settled.
 * - Each read of the snapshot is recorded once, with its version.
 * - Values are copied on their way in and out: a body that changes an object changes nothing else.
 */
import { kvKey, kvSpace } from '../../src/core/records/change.js'
import type { ValueChange, ValueRead } from '../../src/core/records/change.js'
import { toJson } from '../../src/core/json.js'
import type { Json } from '../../src/core/json.js'
import type { SnapshotAccess, Entries, Snapshot, ValueAt } from '../../src/pool/port.js'

export interface Values {
  read(key: string): Promise<Json | undefined>
  /** Synchronous: only contexts that came with the job, and values that were fetched. */
  readNow(key: string): Json | undefined
  /** The key-value store, with this call's own changes, in order of keys. */
  list(prefix: string): Promise<Entries['entries']>
  /** Makes a value available to `readNow`. */
  fetch(key: string): Promise<void>
  /** Undefined removes it. */
  write(key: string, value: Json | undefined): void
  done(): { readonly reads: readonly ValueRead[]; readonly changes: readonly ValueChange[] }
}

export function createValues(access: SnapshotAccess, open: () => Promise<Snapshot>): Values {
  const fetched = new Map<string, ValueAt>()
  const reads = new Map<string, ValueRead>()
  const changes = new Map<string, ValueChange>()
  const available = (key: string): ValueAt | undefined =>
    fetched.get(key) ?? (access.contexts && Object.hasOwn(access.contexts, key) ? access.contexts[key] : undefined)
  const record = (key: string, found: ValueAt): Json | undefined => {
    reads.set(key, { key, version: found.version })
    return copied(found.value)
  }
  const fetch = async (key: string): Promise<ValueAt> => {
    const known = available(key)
    if (known) return known
    const found = await (await open()).value(key)
    fetched.set(key, found)
    return found
  }
  return {
    async read(key) {
      const own = changes.get(key)
      if (own) return copied(own.value)
      const found = await fetch(key)
      // The body may have changed it meanwhile.
      const since = changes.get(key)
      return since ? copied(since.value) : record(key, found)
    },
    readNow(key) {
      const own = changes.get(key)
      return own ? copied(own.value) : record(key, available(key) ?? { version: 0 })
    },
    async list(prefix) {
      const { version, entries } = await (await open()).entries(prefix)
      reads.set(kvKey, { key: kvKey, version })
      const all = new Map(entries.map(({ key, value }) => [key, value]))
      for (const { key, value } of changes.values()) {
        const own = key.startsWith(kvSpace + prefix) ? key.slice(kvSpace.length) : undefined
        if (own === undefined) continue
        if (value === undefined) all.delete(own)
        else all.set(own, value)
      }
      return [...all].map(([key, value]) => ({ key, value: toJson(value) })).sort((a, b) => (a.key < b.key ? -1 : 1))
    },
    async fetch(key) {
      await fetch(key)
    },
    write(key, value) {
      // Moved to the end: changes are in the order in which they were made.
      changes.delete(key)
      changes.set(key, value === undefined ? { key } : { key, value: toJson(value) })
    },
    done: () => ({ reads: [...reads.values()], changes: [...changes.values()] }),
  }
}

function copied(value: Json | undefined): Json | undefined {
  return value === undefined ? undefined : toJson(value)
}
