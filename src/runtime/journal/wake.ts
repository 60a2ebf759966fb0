/**
 * Waking a thread: from its snapshot and the tail of its journal to a state, by the one fold. Used by the host that
 * owns the thread and by readers (messages, run results) alike.
 *
 * - A state waker folds no record twice. It keeps what a snapshot would hold, and so no transcript.
 * - A state that was retained is continued only if the journal still has the entry that it ended with, by its hash:
 *   another host may have written since, or the thread may be another one of the same id.
 */
import { fold } from '../../../actors/thread/fold.js'
import { boundaryOf } from '../../../actors/thread/turn/context.js'
import { createState } from '../../../actors/thread/state.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import { serialOf } from '../../../actors/thread/travel/lineage.js'
import type { Backend, StoredEntry, StoredHead } from '../../backend/port.js'
import { chainStart, createEntryReader, chainHash } from './journal.js'
import { thaw, thawHistory } from './snapshot.js'
import type { JournalTail, SnapshotSource } from './snapshot.js'

/** Entries that are read at once. */
const batchSize = 1_000

export interface Woken extends SnapshotSource, JournalTail {}

/** The state of a thread that has no record. */
export function newborn(id: string): Woken {
  return { state: createState(id), chain: chainStart, folded: 0, foldedBytes: 0, snapshotBytes: 0 }
}

/** The state after the whole journal; the transcript may be skipped up to the snapshot. */
export async function wake(backend: Backend, id: string): Promise<Woken> {
  const snapshot = await backend.snapshots.get(id)
  const from = thaw(id, snapshot)
  return from ? advance(backend, from, snapshot?.length) : wakeWhole(backend, id)
}

/** A state that was folded before, with the records since; undefined if the journal does not continue it. */
export async function continueFrom(backend: Backend, { state, chain, ...tail }: Woken): Promise<Woken | undefined> {
  if (state.seq === 0) return undefined
  const [last, ...since] = await backend.journal.read(state.id, { after: state.seq - 1 })
  if (!last || last.hash !== chainHash(chain) || last.first + last.count - 1 !== state.seq) return undefined
  const { folded, foldedBytes, ...woken } = foldAll({ state, chain }, since)
  return {
    ...tail,
    ...woken,
    folded: tail.folded + folded,
    foldedBytes: tail.foldedBytes + foldedBytes,
  }
}

/** The state after the whole journal, with the whole transcript. */
export function wakeWhole(backend: Backend, id: string): Promise<Woken> {
  return advance(backend, { state: createState(id), chain: chainStart })
}

/** The state after the record `last`. */
export async function wakeTo(backend: Backend, id: string, last: number): Promise<ThreadState> {
  const cached = thaw(id, await backend.snapshots.get(id))
  const { state, chain } = cached && cached.state.seq <= last ? cached : { state: createState(id), chain: chainStart }
  const reader = createEntryReader(id, { seq: state.seq, chain })
  while (state.seq < last) {
    const entries = await backend.journal.read(id, { after: state.seq, limit: batchSize })
    if (entries.length === 0) return state
    for (const entry of entries) for (const record of reader.unpack(entry)) if (record.seq <= last) fold(state, record)
  }
  return state
}

/** The whole state after the record `last`, or after all: with its transcript, as a reader of the past needs it. */
export async function foldTo(backend: Backend, id: string, last = Infinity): Promise<ThreadState> {
  const cached = thaw(id, await backend.snapshots.get(id))
  const isWhole = cached?.state.transcript.skipped === 0 && cached.state.seq <= last
  const { state, chain } = isWhole ? cached : { state: createState(id), chain: chainStart }
  const reader = createEntryReader(id, { seq: state.seq, chain })
  for (let more = true; more && state.seq < last;) {
    const entries = await backend.journal.read(id, { after: state.seq, limit: batchSize })
    for (const entry of entries) for (const record of reader.unpack(entry)) if (record.seq <= last) fold(state, record)
    more = entries.length === batchSize
  }
  return state
}

/** Reads the part of the transcript that was skipped: from the snapshot if that has it, else by folding the journal. */
export async function hydrate(backend: Backend, { id, transcript, lineage }: ThreadState): Promise<void> {
  // A snapshot may be from before a rewind: its messages are then others.
  const packed = lineage.rewound === undefined ? thawHistory(id, await backend.snapshots.get(id)) : undefined
  const isEnough = packed && packed.length >= transcript.skipped
  const messages = isEnough ? packed : (await wakeWhole(backend, id)).state.transcript.items
  transcript.items = [...messages.slice(0, transcript.skipped), ...transcript.items]
  transcript.skipped = 0
}

/** Lets go of the messages that no model is shown any more. A cache: they are in the journal. */
export function forgetSummarised(state: ThreadState): void {
  const { transcript } = state
  const count = boundaryOf(state) - transcript.skipped
  if (count <= 0) return
  transcript.items = transcript.items.slice(count)
  transcript.skipped += count
}

async function advance(backend: Backend, from: SnapshotSource, snapshotBytes = 0): Promise<Woken> {
  return { ...foldAll(from, await backend.journal.read(from.state.id, { after: from.state.seq })), snapshotBytes }
}

function foldAll({ state, chain }: SnapshotSource, entries: readonly StoredEntry[]): Omit<Woken, 'snapshotBytes'> {
  const { seq } = state
  const before = serialOf(state)
  let foldedBytes = 0
  const reader = createEntryReader(state.id, { seq, chain })
  for (const entry of entries) {
    foldedBytes += entry.body.length
    for (const record of reader.unpack(entry)) fold(state, record)
  }
  return { state, chain: reader.chain, folded: serialOf(state) - before, foldedBytes }
}

/** A thread's state after the whole journal, for a reader that asks for it again and again. Without its transcript. */
export interface StateWaker {
  /** `see` may use the state while it runs, and must keep nothing of it that is changed in place. */
  look<Seen>(see: (state: ThreadState) => Seen): Promise<Seen>
  /** This record is known to be in the journal: later looks see it. */
  wrote(seq: number): void
}

export function createStateWaker(backend: Backend, id: string): StateWaker {
  let known: SnapshotSource | undefined
  /** One look at a time: folding changes the state. */
  let previous: Promise<unknown> = Promise.resolve()
  let leastSeq = 0
  async function upTo(head: StoredHead | undefined): Promise<ThreadState> {
    // A thread that was removed and created again is another one.
    const same = head?.createdAt === known?.state.createdAt ? known : undefined
    if (same && same.state.seq >= Math.max(head?.seq ?? 0, leastSeq)) return same.state
    known = undefined // if folding fails in the middle, the state is of no use
    const woken = same ? await advance(backend, same) : await wake(backend, id)
    const { transcript } = woken.state
    woken.state.transcript = { skipped: transcript.skipped + transcript.items.length, items: [] }
    known = woken
    return woken.state
  }
  return {
    async look(see) {
      const head = await backend.heads.get(id)
      const seen = previous.then(() => upTo(head)).then(see)
      previous = Promise.allSettled([seen])
      return seen
    },
    wrote(seq) {
      leastSeq = Math.max(leastSeq, seq)
    },
  }
}
