/**
 * Values of the thread as one call sees and changes them: contexts, key-value entries, the todo list
 * (src/core/change.ts).
 *
 * - A body sees its own changes at once; nobody else does before the call is settled.
 * - What was seen of the snapshot is noted with its version, once.
 * - A value is copied on its way in and out: a body that changes what it was given changes nothing else.
 */
import { kvKey, kvSpace } from '../../src/core/records/change.js'
import type { ValueChange, ValueRead } from '../../src/core/records/change.js'
import { toJson } from '../../src/core/json.js'
import type { Json } from '../../src/core/json.js'
import type { SnapshotAccess, Entries, Snapshot, ValueAt } from '../../src/pool/port.js'

export interface Values {
  read(key: string): Promise<Json | undefined>
  /** Of the values that the desk has given beforehand, or that were fetched. */
  readNow(key: string): Json | undefined
  /** The key-value store, with this call's own changes, in order of keys. */
  list(prefix: string): Promise<Entries['entries']>
  /** So that `readNow` finds it. */
  fetch(key: string): Promise<void>
  /** Undefined removes it. */
  write(key: string, value: Json | undefined): void
  done(): { readonly reads: readonly ValueRead[]; readonly changes: readonly ValueChange[] }
}

export function createValues(desk: SnapshotAccess, open: () => Promise<Snapshot>): Values {
  const seen = new Map<string, ValueAt>()
  const noted = new Map<string, ValueRead>()
  const changed = new Map<string, ValueChange>()
  const given = (key: string): ValueAt | undefined =>
    seen.get(key) ?? (desk.contexts && Object.hasOwn(desk.contexts, key) ? desk.contexts[key] : undefined)
  const look = (key: string, found: ValueAt): Json | undefined => {
    noted.set(key, { key, version: found.version })
    return copied(found.value)
  }
  const fetch = async (key: string): Promise<ValueAt> => {
    const known = given(key)
    if (known) return known
    const found = await (await open()).value(key)
    seen.set(key, found)
    return found
  }
  return {
    async read(key) {
      const own = changed.get(key)
      if (own) return copied(own.value)
      const found = await fetch(key)
      // It may have been changed while it was fetched.
      const since = changed.get(key)
      return since ? copied(since.value) : look(key, found)
    },
    readNow(key) {
      const own = changed.get(key)
      return own ? copied(own.value) : look(key, given(key) ?? { version: 0 })
    },
    async list(prefix) {
      const { version, entries } = await (await open()).entries(prefix)
      noted.set(kvKey, { key: kvKey, version })
      const all = new Map(entries.map(({ key, value }) => [key, value]))
      for (const { key, value } of changed.values()) {
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
      // Again at the end: the order of changes is the order in which they were made.
      changed.delete(key)
      changed.set(key, value === undefined ? { key } : { key, value: toJson(value) })
    },
    done: () => ({ reads: [...noted.values()], changes: [...changed.values()] }),
  }
}

function copied(value: Json | undefined): Json | undefined {
  return value === undefined ? undefined : toJson(value)
}
