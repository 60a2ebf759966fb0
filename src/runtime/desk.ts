/**
 * The desk of a call: the window through which a body sees its thread. Files are those of one instant; values are read
 * with their version, which is compared at the call's turn.
 *
 * DK1 A call that may run ahead sees the thread as it is when it first looks; any other waits until the calls before it
 *     are settled, so that what it reads is what they left (T3).
 */
import { createTreeSource } from '../files/tree-source.js'
import type { ThreadState } from '../../actors/thread/state.js'
import type { Blobs } from '../backend/port.js'
import type { Desk, Snapshot, ValueAt } from '../pool/port.js'

export interface DeskOptions {
  readonly state: ThreadState
  readonly index: number
  readonly blobs: Blobs
  readonly quotaBytes: number
  /** Resolves when every call before this one is settled. */
  turn(): Promise<void>
  /** Keys of the contexts that the body reads without waiting. */
  readonly contexts: readonly string[]
}

const unset: ValueAt = { version: 0 }

export function createDesk({ state, index, blobs, quotaBytes, turn, contexts }: DeskOptions): Desk {
  const slot = state.slots.items[index]
  const value = (key: string): ValueAt => (Object.hasOwn(state.values, key) ? (state.values[key] ?? unset) : unset)
  const snapshot = (): Snapshot => ({
    files: createTreeSource({ tree: state.files, at: state.stepAt, quotaBytes, blobs }),
    value: async (key) => value(key),
  })
  return {
    async open() {
      if (!slot?.call.ahead || slot.again) await turn()
      return snapshot()
    },
    ...(contexts.length > 0 && { given: Object.fromEntries(contexts.map((key) => [key, value(key)])) }),
  }
}
