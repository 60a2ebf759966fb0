/**
 * Following a tree: durable events from the journal, then live ones, without a gap and without a repetition.
 * Every consumer follows by itself, so any number may, early or late, here or in another process.
 *
 * FW1 Durable events of a thread come in order of `seq`, each once, from the cursor on; a missed signal is
 *     healed from the journal.
 * FW2 A delta is passed on only while its step is unanswered, and only in its place: text that was missed is
 *     replaced by a `stream.reset` with the text so far.
 */
import type { Backend } from '../backend/port.js'
import type { DeltaEvent, DurableEvent, SkeinEvent } from '../core/event.js'
import { SkeinError } from '../core/failure.js'
import { callId } from '../core/message.js'
import type { ThreadRecord } from '../core/record.js'
import { createInbox } from './inbox.js'
import { decode } from './journal.js'
import { catchUpTopic, toNews, treeTopic } from './news.js'
import type { Committed, News } from './news.js'

export interface Following {
  readonly root: string
  /** Only this thread of the tree. */
  readonly thread?: string
  /** Cursor of the last event that was seen; absent: from the beginning. */
  readonly from?: string
  readonly signal?: AbortSignal
  /** End when everything that is durable now was given. */
  readonly until?: 'now'
}

const batch = 1_000

export async function* follow(backend: Backend, following: Following): AsyncGenerator<SkeinEvent, void, undefined> {
  const { root, from, signal, until } = following
  const reading = createReading(following, parseCursor(from))
  const inbox = createInbox<News>(signal)
  const stop = until === 'now' ? () => undefined : backend.signals.subscribe(treeTopic(root), (value) => push(inbox, toNews(value)))
  try {
    yield* catchUp(backend, following, reading)
    if (until === 'now') return
    backend.signals.publish(catchUpTopic, { root })
    for (let news = await inbox.next(); news; news = await inbox.next()) {
      if (news.kind === 'spoken') yield* reading.hear(news.event)
      else if (reading.misses(news)) yield* catchUp(backend, following, reading)
      else yield* reading.take(news)
    }
  } finally {
    stop()
  }
}

function push(inbox: { push(news: News): void }, news: News | undefined): void {
  if (news) inbox.push(news)
}

async function* catchUp(backend: Backend, { root, thread }: Following, reading: Reading): AsyncGenerator<SkeinEvent, void, undefined> {
  for (;;) {
    const entries = await (thread === undefined
      ? backend.journal.readTree(root, { after: reading.after, limit: batch })
      : backend.journal.read(thread, { after: reading.seqOf(thread), limit: batch }))
    for (const entry of entries) {
      const path = await reading.pathOf(backend, entry.thread)
      yield* reading.take({ kind: 'committed', thread: entry.thread, path, position: entry.position, records: decode(entry.thread, entry) })
    }
    if (entries.length < batch) return
  }
}

type Reading = ReturnType<typeof createReading>

function createReading({ thread: only }: Following, start: Cursor) {
  const seqs = new Map<string, number>(only === undefined ? [] : [[only, start.seq]])
  const paths = new Map<string, readonly string[]>()
  const spoken = createSpoken()
  let after = start.position - 1
  return {
    get after() {
      return after
    },
    /** The last record of the thread that was given. */
    seqOf: (thread: string): number => seqs.get(thread) ?? 0,
    async pathOf(backend: Backend, thread: string): Promise<readonly string[]> {
      const known = paths.get(thread) ?? (await backend.heads.get(thread))?.path ?? [thread]
      paths.set(thread, known)
      return known
    },
    /** A commit before this one was not heard of. */
    misses({ thread, records }: Committed): boolean {
      const last = seqs.get(thread)
      const first = records[0]?.seq ?? 0
      return last === undefined ? first > 1 : first > last + 1
    },
    *take({ thread, path, position, records }: Committed): Generator<DurableEvent> {
      if (position > after) after = position
      const seen = Math.max(seqs.get(thread) ?? 0, position <= start.position ? start.seq : 0)
      for (const record of records) {
        if (record.seq <= seen) continue
        spoken.answered(thread, record)
        if (only === undefined || only === thread) yield toEvent(record, { thread, path, cursor: `${position}.${record.seq}` })
      }
      seqs.set(thread, Math.max(seen, records.at(-1)?.seq ?? 0))
    },
    *hear(event: DeltaEvent): Generator<DeltaEvent> {
      if (only !== undefined && only !== event.thread) return
      if (spoken.fits(event)) yield event
    },
  }
}

/** What was heard of the step that each thread is speaking. */
function createSpoken() {
  const steps = new Map<string, { answered: number; step: number; attempt: number; length: number }>()
  return {
    answered(thread: string, record: ThreadRecord): void {
      if (record.type === 'model.replied') steps.set(thread, { answered: record.step, step: 0, attempt: 0, length: 0 })
    },
    fits(event: DeltaEvent): boolean {
      const heard = steps.get(event.thread) ?? { answered: 0, step: 0, attempt: 0, length: 0 }
      const { step, attempt } = event
      if (step <= heard.answered || step < heard.step || (step === heard.step && attempt < heard.attempt)) return false
      const fresh = step !== heard.step || attempt !== heard.attempt
      const length = fresh ? 0 : heard.length
      steps.set(event.thread, { ...heard, step, attempt, length: event.type === 'stream.reset' ? event.text.length : event.type === 'text.delta' ? Math.max(length, event.offset + event.text.length) : length })
      // Asked for by another watcher: we have heard all of it.
      if (event.type === 'stream.reset') return fresh ? attempt > 1 || event.text !== '' : event.text.length > length || event.text === ''
      return event.type !== 'text.delta' || event.offset === length
    },
  }
}

function toEvent(record: ThreadRecord, place: { thread: string; path: readonly string[]; cursor: string }): DurableEvent {
  if (record.type === 'call.returned') {
    const { seq, at, step, index, outcome } = record
    return { type: 'tool.result', ...place, seq, at, step, index, call: callId(step, index), outcome }
  }
  if (record.type === 'model.replied') return { ...record, ...place, callIds: record.calls.map((_, index) => callId(record.step, index)) }
  return { ...record, ...place }
}

interface Cursor {
  readonly position: number
  readonly seq: number
}

function parseCursor(cursor: string | undefined): Cursor {
  if (cursor === undefined) return { position: 0, seq: 0 }
  const [, position, seq] = /^(\d+)\.(\d+)$/.exec(cursor) ?? []
  if (position === undefined || seq === undefined) throw new SkeinError('BAD_OPTION', `${JSON.stringify(cursor)} is not a cursor; pass the \`cursor\` of an event`)
  return { position: Number(position), seq: Number(seq) }
}
