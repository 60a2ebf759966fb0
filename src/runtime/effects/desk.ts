/**
 * The desk of a call: the window through which a body sees its thread. Files are those of one instant; values are read
 * with their version, which is compared at the call's turn.
 *
 * - A call that may run ahead sees the thread as it is when it first looks; any other waits until the calls before it
 *   are settled, so that what it reads is what they left (T3).
 */
import { kvKey } from '../../core/records/change.js'
import { createTreeSource } from '../../files/tree-source.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { Blobs } from '../../backend/port.js'
import type { FileQuota } from '../../core/tree.js'
import type { SnapshotAccess, Snapshot, ValueAt } from '../../pool/port.js'
import { entriesOf } from '../resolve/entries.js'

export interface SnapshotOptions {
  readonly state: ThreadState
  readonly index: number
  readonly blobs: Blobs
  readonly quota: FileQuota
  /** Resolves when every call before this one is settled. */
  turn(): Promise<void>
  /** Keys of the contexts that the body reads without waiting. */
  readonly contexts: readonly string[]
}

const unset: ValueAt = { version: 0 }

export function createSnapshotAccess({ state, index, blobs, quota, turn, contexts }: SnapshotOptions): SnapshotAccess {
  const slot = state.slots.items[index]
  const value = (key: string): ValueAt => (Object.hasOwn(state.values, key) ? (state.values[key] ?? unset) : unset)
  const snapshot = (): Snapshot => ({
    files: createTreeSource({ tree: state.files, at: state.stepAt, blobs, ...quota }),
    value: async (key) => value(key),
    entries: async (prefix) => ({ version: value(kvKey).version, entries: entriesOf(state.values, prefix) }),
  })
  return {
    async open() {
      if (!slot?.call.ahead || slot.again) await turn()
      return snapshot()
    },
    ...(contexts.length > 0 && { contexts: Object.fromEntries(contexts.map((key) => [key, value(key)])) }),
  }
}
