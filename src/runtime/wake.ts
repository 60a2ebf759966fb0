/**
 * Waking a thread: from its snapshot and the tail of its journal to a state, by the one fold. Used by the host
 * that owns the thread and by readers (messages, run results) alike.
 */
import { fold } from '../../actors/thread/fold.js'
import { createState } from '../../actors/thread/state.js'
import type { Backend } from '../backend/port.js'
import { chainStart, createReader } from './journal.js'
import { thaw } from './snapshot.js'
import type { Waking } from './snapshot.js'

export interface Woken extends Waking {
  /** Records folded since the snapshot (or since the beginning). */
  readonly folded: number
}

/** The state after the whole journal; the transcript may be skipped up to the snapshot. */
export async function wake(backend: Backend, id: string): Promise<Woken> {
  const from = thaw(id, await backend.snapshots.get(id)) ?? { state: createState(id), chain: chainStart }
  return advance(backend, from)
}

/** The state after the whole journal, with the whole transcript. */
export function wakeWhole(backend: Backend, id: string): Promise<Woken> {
  return advance(backend, { state: createState(id), chain: chainStart })
}

async function advance(backend: Backend, { state, chain }: Waking): Promise<Woken> {
  const { seq } = state
  const reader = createReader(state.id, { seq, chain })
  for (const entry of await backend.journal.read(state.id, { after: seq })) {
    for (const record of reader.unpack(entry)) fold(state, record)
  }
  return { state, chain: reader.chain, folded: state.seq - seq }
}
