/**
 * Waking a thread: from its snapshot and the tail of its journal to a state, by the one fold. Used by the host
 * that owns the thread and by readers (messages, run results) alike.
 *
 * WV1 What a waker has folded it does not fold again. It keeps what a snapshot would hold, and so no transcript.
 */
import { fold } from '../../actors/thread/fold.js'
import { createState } from '../../actors/thread/state.js'
import type { Backend, StoredHead } from '../backend/port.js'
import type { DirNode } from '../core/tree.js'
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

/** Gives the files of a thread after the whole journal, time after time; `least`: a record that is known to be in it. */
export function createFilesWaker(backend: Backend, id: string): (least: number) => Promise<DirNode> {
  let kept: Waking | undefined
  let turn: Promise<unknown> = Promise.resolve()
  async function upTo(head: StoredHead | undefined, least: number): Promise<DirNode> {
    // A thread that was removed and made again is another one.
    const same = head?.createdAt === kept?.state.createdAt ? kept : undefined
    if (same && same.state.seq >= Math.max(head?.seq ?? 0, least)) return same.state.files
    kept = undefined // until it is whole again: folding changes it
    const woken = same ? await advance(backend, same) : await wake(backend, id)
    const { transcript } = woken.state
    woken.state.transcript = { skipped: transcript.skipped + transcript.items.length, items: [] }
    kept = woken
    return woken.state.files
  }
  return async (least) => {
    const head = await backend.heads.get(id)
    const files = turn.then(() => upTo(head, least))
    turn = Promise.allSettled([files])
    return files
  }
}
