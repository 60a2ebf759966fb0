/**
 * Watching a tree: its records from the journal, then live, without a gap and without a repetition; and what its models
 * say meanwhile. Every watcher reads for itself, so any number may, early or late, here or in another process.
 *
 * FW1 Each record is given once, from the cursor on: of one thread in order of `seq`, of a tree in order of position.
 *     So whoever is cut off anywhere and goes on from the last cursor misses nothing; a lost signal is healed from
 *     the journal.
 * FW2 A delta is given only while its step is unanswered, and only in its place: text that was missed is replaced by
 *     a `stream.reset` with the text so far.
 * FW3 Nothing is given after `stop`, and nothing is left behind.
 * - News of a whole tree is a bell: commits of several threads are told in any order (J7), and only the journal
 *   knows theirs.
 * FW6 A delta is given after the record that its thread had last when it was said, although that may become durable
 *     later.
 * FW5 Where the record that was given last is not in the journal (the tree was deleted and its id is used again, or
 *     the store is an older copy), that is told, and everything that is there follows.
 */
import type { Backend, StoredEntry } from '../../backend/port.js'
import type { DeltaEvent } from '../../core/records/event.js'
import { fromFailure, SkeinError } from '../../core/failure.js'
import type { Json } from '../../core/json.js'
import { decode } from '../journal/journal.js'
import { catchUpTopic, toTreeSignal, treeTopic } from './topics.js'
import type { CommitSignal, TreeSignal, DeltaSignal } from './topics.js'
import { EarlyDeltas } from './early-deltas.js'
import { createDeltaFilter } from './delta-filter.js'

export interface WatchOptions {
  /** Gives the cursor to begin with, in place of `from`; what is said until then is heard already. */
  readonly start?: () => Promise<string | undefined>
  readonly root: string
  /** Only this thread of the tree. */
  readonly thread?: string
  /** Cursor of the last event that was seen; absent: from the beginning. */
  readonly from?: string
  /** `now`: end when everything that is durable now was given. */
  readonly until?: 'now'
  /** The thread that must go on: when it is parked, the watch ends with THREAD_PARKED. */
  readonly awaited?: () => string | undefined
  /** Ends the watch with a failure: the skein was closed. */
  readonly closed?: AbortSignal
  /** News that may wait until the journal was read; more ends the watch with STREAM_LAGGED. Default: any number. */
  readonly maxBuffered?: number
}

export interface Watcher {
  /** Records that were not given before. */
  records(committed: CommitSignal): void
  delta?(event: DeltaEvent): void
  /** What was given is of a tree that is gone; another follows (FW5). Absent: that is the end. */
  reset?(path: readonly string[]): void
  /** Resolves when it can take more of the past. */
  room?(): Promise<void>
  /** The end of `until: 'now'`, or what went wrong; nothing is given after it. */
  ended(failed?: unknown): void
}

const batch = 1_000

/** Begins to watch; returns what stops it. */
export function watch(backend: Backend, watching: WatchOptions, watcher: Watcher): () => void {
  const life = new Watch(backend, watching, watcher)
  life.begin()
  return () => life.stop()
}

class Watch {
  readonly #backend: Backend
  readonly #watching: WatchOptions
  readonly #watcher: Watcher
  /** The last record that was given. */
  #at: Cursor
  /** Of a tree: the last record of each thread that was given, or that is before the cursor. */
  readonly #given = new Map<string, number>()
  /**
   * It began before the first record of the tree, so a thread of which nothing was given has no record before the
   * cursor.
   */
  #wholeTree = false
  readonly #paths = new Map<string, readonly string[]>()
  #spoken = createDeltaFilter()
  /** Commits that wait until the journal was read; undefined when watching live. */
  #waiting: CommitSignal[] | undefined = []
  /** Why the watch ends when all that is durable was given. */
  #doomed: SkeinError | undefined
  /** Something was committed, or signals were lost, while the journal was being read. */
  #again = false
  readonly #early = new EarlyDeltas()
  #stopped = false
  #stopHearing: () => void = () => undefined

  constructor(backend: Backend, watching: WatchOptions, watcher: Watcher) {
    this.#backend = backend
    this.#watching = watching
    this.#watcher = watcher
    this.#at = parseCursor(watching.from)
    this.#wholeTree = !watching.start && this.#at.position === 0
  }

  begin(): void {
    const { root, until, closed } = this.#watching
    const { signals } = this.#backend
    if (until !== 'now') {
      const heard = (value: Json): void => {
        const news = toTreeSignal(value)
        if (news) this.#hear(news)
      }
      this.#stopHearing = signals.subscribe(treeTopic(root), heard, () => this.#missed())
      signals.publish(catchUpTopic, { root })
    }
    closed?.addEventListener('abort', this.#onClosed, { once: true })
    if (closed?.aborted) queueMicrotask(this.#onClosed)
    const { start } = this.#watching
    if (!start) return this.#readUp()
    start().then(
      (from) => {
        this.#at = parseCursor(from)
        this.#wholeTree = this.#at.position === 0
        this.#readUp()
      },
      (thrown: unknown) => this.#end(thrown),
    )
  }

  /** FW3 */
  stop(): void {
    this.#stopped = true
    this.#stopHearing()
    this.#watching.closed?.removeEventListener('abort', this.#onClosed)
  }

  readonly #onClosed = (): void => this.#end(skeinClosed())

  #end(failed?: unknown): void {
    if (this.#stopped) return
    this.stop()
    this.#watcher.ended(failed)
  }

  #concerns(thread: string): boolean {
    return this.#watching.thread === undefined || this.#watching.thread === thread
  }

  #hear(news: TreeSignal): void {
    if (this.#stopped) return
    if (news.kind === 'removed') return this.#endSoon(removed(this.#watching.root))
    if (news.kind === 'parked')
      return this.#watching.awaited?.() === news.thread ? this.#endSoon(fromFailure(news.failure)) : undefined
    if (news.kind === 'spoken') return this.#hearSpoken(news)
    if (this.#watching.thread === undefined) return this.#ring(news)
    if (!this.#concerns(news.thread)) return
    if (!this.#waiting) return this.#hearCommitted(news)
    this.#waiting.push(news)
    this.#checkHeld()
  }

  #endSoon(why: SkeinError): void {
    this.#doomed ??= why
    if (!this.#waiting) this.#end(why)
  }

  /** FW6 */
  #hearSpoken(spoken: DeltaSignal): void {
    const { thread } = spoken.event
    if (!this.#concerns(thread)) return
    const given = this.#lastGiven(thread)
    if (given !== undefined && spoken.after <= given) return this.#say(spoken.event)
    this.#early.add(spoken)
    this.#checkHeld()
    // Whether that record is before the cursor is known after a read.
    if (given === undefined) this.#missed()
  }

  /** The last record of the thread that was given; undefined: not known, it may be before the cursor. */
  #lastGiven(thread: string): number | undefined {
    if (this.#watching.thread !== undefined) return this.#at.seq
    return this.#given.get(thread) ?? (this.#wholeTree ? 0 : undefined)
  }

  #say(event: DeltaEvent): void {
    if (!this.#stopped && this.#spoken.fits(event)) this.#watcher.delta?.(event)
  }

  #sayEarly(thread: string, given: number): void {
    for (const event of this.#early.take(thread, given)) this.#say(event)
  }

  /** FW6 */
  #show(committed: CommitSignal): void {
    const { thread, records } = committed
    let shown = 0
    while (shown < records.length) {
      const said = this.#early.firstAfter(thread)
      const later = said === undefined ? -1 : records.findIndex(({ seq }) => seq > said)
      const end = later < 0 ? records.length : later
      const some = shown === 0 && end === records.length ? records : records.slice(shown, end)
      if (some.length > 0) this.#showRecords({ ...committed, records: some })
      this.#sayEarly(thread, (records[end]?.seq ?? lastSeq(records) + 1) - 1)
      shown = end
    }
  }

  #showRecords(committed: CommitSignal): void {
    for (const record of committed.records) {
      if (record.type === 'model.replied' || record.type === 'calls.made')
        this.#spoken.answered(committed.thread, record.step)
    }
    this.#watcher.records(committed)
  }

  #checkHeld(): void {
    const { maxBuffered = Infinity } = this.#watching
    if (this.#early.size + (this.#waiting?.length ?? 0) > maxBuffered) this.#end(lagged(this.#watching))
  }

  #ring(news: CommitSignal): void {
    this.#paths.set(news.thread, news.path)
    if (news.position > this.#at.position) this.#missed()
  }

  #hearCommitted(news: CommitSignal): void {
    const first = news.records[0]?.seq ?? 0
    const last = lastSeq(news.records)
    // A gap; or a later commit with an earlier record, which is another thread's of the same id (FW5).
    if (first > this.#at.seq + 1 || (news.position > this.#at.position && last <= this.#at.seq)) this.#missed()
    else this.#take(news, last)
  }

  #take(committed: CommitSignal, last: number): void {
    const { thread, position, records } = committed
    if (this.#stopped || this.#isGiven(position, last)) return
    const seen = this.#watching.thread !== undefined || position === this.#at.position ? this.#at.seq : 0
    this.#at = { position, seq: last }
    if (this.#watching.thread === undefined) this.#given.set(thread, last)
    const fresh = (records[0]?.seq ?? 0) > seen ? records : records.filter(({ seq }) => seq > seen)
    this.#show(fresh === records ? committed : { ...committed, records: fresh })
  }

  /** Whether all up to this record of an entry was given. */
  #isGiven(position: number, last: number): boolean {
    const { position: at, seq } = this.#at
    return this.#watching.thread !== undefined ? last <= seq : position < at || (position === at && last <= seq)
  }

  /** FW1: reads what was said meanwhile; news that comes in the meantime waits. */
  #missed(): void {
    if (this.#stopped) return
    if (this.#waiting) this.#again = true
    else {
      this.#waiting = []
      this.#readUp()
    }
  }

  #readUp(): void {
    this.#readJournal().then(
      () => this.#goLive(),
      (thrown: unknown) => this.#end(thrown),
    )
  }

  async #readJournal(): Promise<void> {
    const before = await this.#lastOfUnknown()
    for (let more = true; more && !this.#stopped;) {
      const entries = await this.#next()
      if (this.#at.seq > 0 && !holds(entries[0], this.#at)) {
        await this.#reset(entries.length > 0)
        continue
      }
      for (const entry of entries) if (!this.#isGiven(entry.position, lastOf(entry))) await this.#give(entry)
      more = entries.length === batch
      if (entries.length === 0 && this.#watching.thread !== undefined) await this.#expectThere()
    }
    for (const [thread, seq] of before) this.#know(thread, seq)
  }

  /**
   * Of threads that speak and of which nothing was given: what is durable now is before the cursor, or is about to be
   * given.
   */
  async #lastOfUnknown(): Promise<ReadonlyMap<string, number>> {
    const found = new Map<string, number>()
    for (const thread of this.#early.threads) {
      if (this.#lastGiven(thread) === undefined) found.set(thread, (await this.#backend.heads.get(thread))?.seq ?? 0)
    }
    return found
  }

  #know(thread: string, seq: number): void {
    if (this.#stopped || this.#given.has(thread)) return
    this.#given.set(thread, seq)
    this.#sayEarly(thread, seq)
  }

  /** From the entry of the last record that was given on, so that it is seen whether that is still there. */
  #next(): Promise<readonly StoredEntry[]> {
    const { root, thread } = this.#watching
    const { position, seq } = this.#at
    const { journal } = this.#backend
    if (thread !== undefined) return journal.read(thread, { after: Math.max(0, seq - 1), limit: batch })
    return journal.readTree(root, { after: Math.max(0, position - 1), limit: batch })
  }

  async #give(entry: StoredEntry): Promise<void> {
    const { thread, position } = entry
    const path = await this.#pathOf(thread)
    await this.#watcher.room?.()
    this.#take({ kind: 'committed', thread, path, position, records: decode(thread, entry) }, lastOf(entry))
  }

  /** FW5 */
  async #reset(isThere: boolean): Promise<void> {
    const { root, thread = root } = this.#watching
    if (!isThere) await this.#expectThere()
    if (!this.#watcher.reset) throw removed(thread)
    this.#at = parseCursor(undefined)
    this.#spoken = createDeltaFilter()
    this.#given.clear()
    this.#wholeTree = true
    this.#paths.clear()
    const path = await this.#pathOf(thread)
    if (!this.#stopped) this.#watcher.reset(path)
  }

  async #expectThere(): Promise<void> {
    const thread = this.#watching.thread ?? this.#watching.root
    if (!(await this.#backend.heads.get(thread))) throw removed(thread)
  }

  async #pathOf(thread: string): Promise<readonly string[]> {
    const path = this.#paths.get(thread) ?? (await this.#backend.heads.get(thread))?.path ?? [thread]
    this.#paths.set(thread, path)
    return path
  }

  #goLive(): void {
    if (this.#stopped) return
    if (this.#again) {
      this.#again = false
      return this.#readUp()
    }
    if (this.#watching.until === 'now') return this.#end()
    const heard = this.#waiting ?? []
    this.#waiting = undefined
    for (const news of heard) this.#hear(news)
    if (this.#doomed) this.#end(this.#doomed)
  }
}

function lastSeq(records: CommitSignal['records']): number {
  return records.at(-1)?.seq ?? 0
}

function lastOf({ first, count }: StoredEntry): number {
  return first + count - 1
}

/** A run is looked for by the sequence alone: its position is 0. */
function holds(entry: StoredEntry | undefined, { position, seq }: Cursor): boolean {
  return (
    entry !== undefined && (position === 0 || entry.position === position) && entry.first <= seq && lastOf(entry) >= seq
  )
}

export function removed(thread: string): SkeinError {
  return new SkeinError(
    'UNKNOWN_THREAD',
    `there is no thread ${JSON.stringify(thread)} in this store; it was deleted`,
    { data: { thread } },
  )
}

export function lagged({ root, thread = root, maxBuffered }: WatchOptions): SkeinError {
  return new SkeinError(
    'STREAM_LAGGED',
    `more than ${maxBuffered} events of ${thread} waited to be read; go on from the cursor of the last one that ` +
      `was read`,
    { retry: true, data: { thread, maxBuffered } },
  )
}

export function skeinClosed(): SkeinError {
  return new SkeinError('STORE_CLOSED', 'the skein was closed; what was waited for goes on when it is opened again', {
    retry: true,
  })
}

interface Cursor {
  readonly position: number
  readonly seq: number
}

function parseCursor(cursor: string | undefined): Cursor {
  if (cursor === undefined) return { position: 0, seq: 0 }
  const [, position, seq] = /^(\d+)\.(\d+)$/.exec(cursor) ?? []
  if (position === undefined || seq === undefined)
    throw new SkeinError('BAD_OPTION', `${JSON.stringify(cursor)} is not a cursor; pass the \`cursor\` of an event`)
  return { position: Number(position), seq: Number(seq) }
}
