/**
 * Waking a thread: from its snapshot and the tail of its journal to a state, by the one fold. Used by the host
 * that owns the thread and by readers (messages, run results) alike.
 *
 * WV1 What a waker has folded it does not fold again. It keeps what a snapshot would hold, and so no transcript.
 */
import { fold } from '../../actors/thread/fold.js'
import { createState } from '../../actors/thread/state.js'
import type { ThreadState } from '../../actors/thread/state.js'
import type { Backend, StoredHead } from '../backend/port.js'
import { chainStart, createReader } from './journal.js'
import { thaw } from './snapshot.js'
import type { Tail, Waking } from './snapshot.js'

export interface Woken extends Waking, Tail {}

/** The state after the whole journal; the transcript may be skipped up to the snapshot. */
export async function wake(backend: Backend, id: string): Promise<Woken> {
  const snapshot = await backend.snapshots.get(id)
  const from = thaw(id, snapshot)
  return from ? advance(backend, from, snapshot?.length) : wakeWhole(backend, id)
}

/** The state after the whole journal, with the whole transcript. */
export function wakeWhole(backend: Backend, id: string): Promise<Woken> {
  return advance(backend, { state: createState(id), chain: chainStart })
}

/** Reads what was skipped of the transcript. */
export async function hydrate(backend: Backend, { id, transcript }: ThreadState): Promise<void> {
  const { state } = await wakeWhole(backend, id)
  transcript.items = [...state.transcript.items.slice(0, transcript.skipped), ...transcript.items]
  transcript.skipped = 0
}

async function advance(backend: Backend, { state, chain }: Waking, snapshotBytes = 0): Promise<Woken> {
  const { seq } = state
  let foldedBytes = 0
  const reader = createReader(state.id, { seq, chain })
  for (const entry of await backend.journal.read(state.id, { after: seq })) {
    foldedBytes += entry.body.length
    for (const record of reader.unpack(entry)) fold(state, record)
  }
  return { state, chain: reader.chain, folded: state.seq - seq, foldedBytes, snapshotBytes }
}

/** A thread's state after the whole journal, looked at time after time (WV1). Without its transcript. */
export interface StateWaker {
  /** `see` is given the state for as long as it runs, and must keep nothing of it that is changed in place. */
  look<Seen>(see: (state: ThreadState) => Seen): Promise<Seen>
  /** A record that is known to be in the journal: whoever looks from now on sees it. */
  wrote(seq: number): void
}

export function createStateWaker(backend: Backend, id: string): StateWaker {
  let kept: Waking | undefined
  let turn: Promise<unknown> = Promise.resolve()
  let least = 0
  async function upTo(head: StoredHead | undefined): Promise<ThreadState> {
    // A thread that was removed and made again is another one.
    const same = head?.createdAt === kept?.state.createdAt ? kept : undefined
    if (same && same.state.seq >= Math.max(head?.seq ?? 0, least)) return same.state
    kept = undefined // until it is whole again: folding changes it
    const woken = same ? await advance(backend, same) : await wake(backend, id)
    const { transcript } = woken.state
    woken.state.transcript = { skipped: transcript.skipped + transcript.items.length, items: [] }
    kept = woken
    return woken.state
  }
  return {
    async look(see) {
      const head = await backend.heads.get(id)
      const seen = turn.then(() => upTo(head)).then(see)
      turn = Promise.allSettled([seen])
      return seen
    },
    wrote(seq) {
      least = Math.max(least, seq)
    },
  }
}
