/**
 * Watching a tree: its records from the journal, then live, without a gap or a repetition, and deltas of its models and
 * tools. Every watcher reads for itself, so there may be any number of them, early or late, in any process.
 *
 * FW1 Each record is given once, from the cursor on: of one thread by `seq`, of a tree by position. A lost signal is
 *     healed from the journal.
 * FW2 A delta is given only while its step is unanswered and only where it continues the text given so far; missed
 *     text is replaced by a `stream.reset` with the text so far.
 * FW3 After `stop` nothing is given, and no listener is left.
 * FW5 Where the record given last is not in the journal (the id is used again, or the store is an older copy), the
 *     watcher is told, and everything that is there follows.
 * FW6 A delta is given after the record that its thread had last when it was made.
 */
import type { Backend, StoredEntry } from '../../backend/port.js'
import { TextInTurns } from '../../core/async/next-turn.js'
import { defined } from '../../core/defined.js'
import type { DeltaEvent } from '../../core/records/event.js'
import { fromFailure } from '../../core/failure.js'
import type { SkeinError } from '../../core/failure.js'
import type { Json } from '../../core/json.js'
import { decode } from '../journal/journal.js'
import { catchUpTopic, commitsTopic, removalTopic, threadTopic, toTreeSignal, treeTopic } from './topics.js'
import type { CommitSignal, DeltaSignal, ThreadParkedSignal, TreeSignal } from './topics.js'
import { holds, lastOf, parseCursor } from './cursor.js'
import type { Cursor } from './cursor.js'
import { EarlyDeltas } from './early-deltas.js'
import { standsOnPast } from '../../core/records/travel.js'
import { createDeltaFilter } from './delta-filter.js'
import { lagged, mostWaitingBytes, removed, skeinClosed } from './watch-errors.js'

export interface WatchOptions {
  /** Finds the cursor to begin with, in place of `from`; signals are buffered until then. */
  readonly start?: () => Promise<string | undefined>
  readonly root: string
  /** Only this thread of the tree. */
  readonly thread?: string
  /** Cursor of the last event that was seen; absent: from the beginning. */
  readonly from?: string
  /** `now`: ends when everything that is durable now was given. */
  readonly until?: 'now'
  /** The thread that must go on: when it is parked, the watch ends with THREAD_PARKED. */
  readonly awaited?: () => string | undefined
  /** Ends the watch with a failure: the skein was closed. */
  readonly closed?: AbortSignal
  /** Deltas that may wait while the journal is read; more end the watch with STREAM_LAGGED. Default: any number. */
  readonly maxBuffered?: number
}

export interface Watcher {
  /** Records that were not given before. */
  records(committed: CommitSignal): void
  delta?(event: DeltaEvent): void
  /** What was given is of a deleted tree; another follows (FW5). Absent: the watch ends with UNKNOWN_THREAD. */
  reset?(path: readonly string[]): void
  /** Whether more should stay in the journal until there is room. */
  readonly isFull?: () => boolean
  /** Resolves when that is not so any more. */
  room?(): Promise<void>
  /** The end of `until: 'now'`, or a failure; nothing is given after it. */
  ended(failed?: unknown): void
}

/** What is read of the journal at once: a commit may be large, and whoever asked for it may never take it. */
const batch = { limit: 1_000, bytes: 2 ** 20 }
/** Commits that wait until the journal was read; of more, the journal is read again. */
const mostWaiting = 8

/** Begins to watch; returns the function that stops it. */
export function watch(backend: Backend, options: WatchOptions, watcher: Watcher): () => void {
  const watching = new Watch(backend, options, watcher)
  watching.begin()
  return () => watching.stop()
}

class Watch {
  readonly #backend: Backend
  readonly #options: WatchOptions
  readonly #watcher: Watcher
  /** The last record that was given. */
  #at: Cursor
  /** Of a tree: the last record of each thread that was given or is before the cursor. */
  readonly #lastSeqs = new Map<string, number>()
  /** The watch began before the tree's first record: a thread of which nothing was given has none before the cursor. */
  #wholeTree = false
  readonly #paths = new Map<string, readonly string[]>()
  #deltas = createDeltaFilter()
  /** Commits that wait until the journal was read; undefined while live. */
  #waiting: CommitSignal[] | undefined = []
  /** Why the watch ends when all that is durable was given. */
  #endsWith: SkeinError | undefined
  /** Something was committed, or signals were lost, while the journal was read. */
  #readAgain = false
  /** A host has told that the tree was removed: the next read looks. */
  #removalTold = false
  readonly #pastInTurns = new TextInTurns()
  readonly #early = new EarlyDeltas()
  #stopped = false
  #unsubscribe: () => void = () => undefined

  constructor(backend: Backend, options: WatchOptions, watcher: Watcher) {
    this.#backend = backend
    this.#options = options
    this.#watcher = watcher
    this.#at = parseCursor(options.from)
    this.#wholeTree = !options.start && this.#at.position === 0
  }

  begin(): void {
    const { root, thread, until, closed } = this.#options
    const { signals } = this.#backend
    if (until !== 'now') {
      const take = (value: Json): void => {
        const signal = toTreeSignal(value)
        if (signal) this.#onSignal(signal)
      }
      const stops = [signals.subscribe(this.#topicOf(thread), take, () => this.#catchUp())]
      if (thread) stops.push(signals.subscribe(removalTopic(root), take))
      this.#unsubscribe = () => stops.splice(0).forEach((stop) => stop())
      signals.publish(catchUpTopic, { root, ...defined({ thread }) })
    }
    closed?.addEventListener('abort', this.#onClosed, { once: true })
    if (closed?.aborted) queueMicrotask(this.#onClosed)
    const { start } = this.#options
    if (!start) return this.#readThenGoLive()
    start().then(
      (from) => {
        this.#at = parseCursor(from)
        this.#wholeTree = this.#at.position === 0
        this.#readThenGoLive()
      },
      (thrown: unknown) => this.#end(thrown),
    )
  }

  #topicOf(thread: string | undefined): string {
    if (!thread) return treeTopic(this.#options.root)
    const { role, together } = this.#backend
    // The thread is in this process. Another host may be an earlier Skein, which does not tell commits apart.
    return !this.#watcher.delta && role === 'host' && together ? commitsTopic(thread) : threadTopic(thread)
  }

  /** FW3: nothing is given after it, and no listener is left. */
  stop(): void {
    this.#stopped = true
    this.#unsubscribe()
    this.#options.closed?.removeEventListener('abort', this.#onClosed)
  }

  readonly #onClosed = (): void => this.#end(skeinClosed())

  #end(failed?: unknown): void {
    if (this.#stopped) return
    this.stop()
    this.#watcher.ended(failed)
  }

  #concerns(thread: string): boolean {
    return this.#options.thread === undefined || this.#options.thread === thread
  }

  #onSignal(signal: TreeSignal): void {
    if (this.#stopped) return
    if (signal.kind === 'removed') return this.#onRemoved()
    if (signal.kind === 'parked') return this.#onParked(signal)
    if (signal.kind === 'spoken') return this.#onDelta(signal)
    if (!this.#concerns(signal.thread)) return
    if (this.#options.thread === undefined) this.#paths.set(signal.thread, signal.path)
    if (!this.#waiting) return this.#onCommit(signal)
    if (this.#waiting.length < mostWaiting && !this.#isFull) this.#waiting.push(signal)
    else this.#readAgain = true
  }

  /** The signal may be late, and the tree another one by now: the journal says whether it is gone. */
  #onRemoved(): void {
    this.#removalTold = true
    this.#catchUp()
  }

  #onParked({ thread, failure }: ThreadParkedSignal): void {
    if (this.#options.awaited?.() === thread) this.#endSoon(fromFailure(failure))
  }

  #endSoon(why: SkeinError): void {
    this.#endsWith ??= why
    if (!this.#waiting) this.#end(why)
  }

  /** FW6: a delta waits for the record that it follows. */
  #onDelta(delta: DeltaSignal): void {
    const { thread } = delta.event
    if (!this.#concerns(thread)) return
    const given = this.#lastGiven(thread)
    if (given !== undefined && delta.after <= given) return this.#giveDelta(delta.event)
    this.#early.add(delta)
    this.#checkBuffered()
    // Only a read tells whether that record is before the cursor.
    if (given === undefined) this.#catchUp()
  }

  /** The last record of the thread that was given; undefined: not known, it may be before the cursor. */
  #lastGiven(thread: string): number | undefined {
    if (this.#options.thread !== undefined) return this.#at.seq
    return this.#lastSeqs.get(thread) ?? (this.#wholeTree ? 0 : undefined)
  }

  #giveDelta(event: DeltaEvent): void {
    if (!this.#stopped && this.#deltas.fits(event)) this.#watcher.delta?.(event)
  }

  #giveEarlyDeltas(thread: string, given: number): void {
    for (const event of this.#early.take(thread, given)) this.#giveDelta(event)
  }

  /** FW6: the records of a commit, with early deltas between them. */
  #giveInOrder(committed: CommitSignal): void {
    const { thread, records } = committed
    let shown = 0
    while (shown < records.length) {
      const after = this.#early.firstAfter(thread)
      const later = after === undefined ? -1 : records.findIndex(({ seq }) => seq > after)
      const end = later < 0 ? records.length : later
      const some = shown === 0 && end === records.length ? records : records.slice(shown, end)
      if (some.length > 0) this.#giveRecords(some === records ? committed : { ...committed, records: some })
      this.#giveEarlyDeltas(thread, (records[end]?.seq ?? lastSeq(records) + 1) - 1)
      shown = end
    }
  }

  #giveRecords(committed: CommitSignal): void {
    for (const record of committed.records) {
      if (record.type === 'model.replied' || record.type === 'calls.made')
        this.#deltas.answered(committed.thread, record.step)
    }
    this.#watcher.records(committed)
  }

  #checkBuffered(): void {
    const { maxBuffered = Infinity } = this.#options
    const mostBytes = maxBuffered === Infinity ? Infinity : mostWaitingBytes
    if (this.#early.size > maxBuffered || this.#early.bytes > mostBytes) this.#end(lagged(this.#options))
  }

  #onCommit(signal: CommitSignal): void {
    if (!this.#isNext(signal) || signal.records.some(standsOnPast) || this.#isFull) this.#catchUp()
    else this.#take(signal, lastSeq(signal.records))
  }

  /** A tree may say more than its reader can take, and it is read from the journal then. */
  get #isFull(): boolean {
    return this.#options.thread === undefined && this.#watcher.isFull?.() === true
  }

  /** False: there may be something between what was given and it. What was given already counts as next. */
  #isNext({ position, follows, records }: CommitSignal): boolean {
    const at = this.#at
    // Commits of several threads are signalled in any order (J7): only the store knows which entry is the next one.
    if (this.#options.thread === undefined) return position <= at.position || follows === at.position
    // A gap; a later commit with an earlier record, of another thread with the same id (FW5).
    const isOther = position > at.position && lastSeq(records) <= at.seq
    return (records[0]?.seq ?? 0) <= at.seq + 1 && !isOther
  }

  #take(committed: CommitSignal, last: number): void {
    const { thread, position, records } = committed
    if (this.#stopped || this.#wasGiven(position, last)) return
    const seen = this.#options.thread !== undefined || position === this.#at.position ? this.#at.seq : 0
    this.#at = { position, seq: last }
    if (this.#options.thread === undefined) this.#lastSeqs.set(thread, last)
    const fresh = (records[0]?.seq ?? 0) > seen ? records : records.filter(({ seq }) => seq > seen)
    this.#giveInOrder(fresh === records ? committed : { ...committed, records: fresh })
  }

  /** Whether all up to this record of an entry was given. */
  #wasGiven(position: number, last: number): boolean {
    const { position: at, seq } = this.#at
    return this.#options.thread !== undefined ? last <= seq : position < at || (position === at && last <= seq)
  }

  /** FW1: reads the journal for what the signals did not tell; signals wait meanwhile. */
  #catchUp(): void {
    if (this.#stopped) return
    if (this.#waiting) this.#readAgain = true
    else {
      this.#waiting = []
      this.#readThenGoLive()
    }
  }

  #readThenGoLive(): void {
    this.#readJournal().then(
      () => this.#goLive(),
      (thrown: unknown) => this.#end(thrown),
    )
  }

  async #readJournal(): Promise<void> {
    const before = await this.#lastOfUnknown()
    let isThere = false
    for (let more = true; more && !this.#stopped;) {
      const entries = await this.#next(isThere)
      if (!isThere && this.#at.seq > 0 && !holds(entries[0], this.#at)) {
        await this.#reset(entries.length > 0)
        continue
      }
      isThere = entries.length > 0
      for (const entry of entries) if (!this.#wasGiven(entry.position, lastOf(entry))) await this.#takeEntry(entry)
      more = entries.length === batch.limit || sizeOf(entries) >= batch.bytes
      if (entries.length === 0 && this.#options.thread !== undefined) await this.#checkExists()
    }
    for (const [thread, seq] of before) this.#learnLast(thread, seq)
    if (!this.#removalTold) return
    this.#removalTold = false
    await this.#checkExists()
  }

  /** The last records of threads with early deltas and unknown position: before the cursor, or about to be given. */
  async #lastOfUnknown(): Promise<ReadonlyMap<string, number>> {
    const found = new Map<string, number>()
    for (const thread of this.#early.threads) {
      if (this.#lastGiven(thread) === undefined) found.set(thread, (await this.#backend.heads.get(thread))?.seq ?? 0)
    }
    return found
  }

  #learnLast(thread: string, seq: number): void {
    if (this.#stopped || this.#lastSeqs.has(thread)) return
    this.#lastSeqs.set(thread, seq)
    this.#giveEarlyDeltas(thread, seq)
  }

  /** Begins with the entry of the record given last, to see whether that is still there, or after it. */
  #next(isThere: boolean): Promise<readonly StoredEntry[]> {
    const { root, thread } = this.#options
    const { journal } = this.#backend
    const at = thread !== undefined ? this.#at.seq : this.#at.position
    const range = { ...batch, after: Math.max(0, isThere ? at : at - 1) }
    return thread !== undefined ? journal.read(thread, range) : journal.readTree(root, range)
  }

  async #takeEntry(entry: StoredEntry): Promise<void> {
    const { thread, position } = entry
    const path = await this.#pathOf(thread)
    if (this.#isFull) this.#forgetWaiting()
    await this.#watcher.room?.()
    const size = entry.body.length
    await this.#pastInTurns.take(size)
    this.#take({ kind: 'committed', thread, path, position, size, records: decode(thread, entry) }, lastOf(entry))
  }

  /** While a reader stands still nothing is kept for it. */
  #forgetWaiting(): void {
    if (!this.#waiting || this.#waiting.length === 0) return
    this.#waiting = []
    this.#readAgain = true
  }

  /** FW5: everything that is there now follows. */
  async #reset(isThere: boolean): Promise<void> {
    const { root, thread = root } = this.#options
    if (!isThere) await this.#checkExists()
    if (!this.#watcher.reset) throw removed(thread)
    this.#at = parseCursor(undefined)
    this.#deltas = createDeltaFilter()
    this.#lastSeqs.clear()
    this.#wholeTree = true
    this.#paths.clear()
    const path = await this.#pathOf(thread)
    if (!this.#stopped) this.#watcher.reset(path)
  }

  async #checkExists(): Promise<void> {
    const thread = this.#options.thread ?? this.#options.root
    if (!(await this.#backend.heads.get(thread))) throw removed(thread)
  }

  async #pathOf(thread: string): Promise<readonly string[]> {
    if (thread === this.#options.root) return [thread]
    const path = this.#paths.get(thread) ?? (await this.#backend.heads.get(thread))?.path ?? [thread]
    this.#paths.set(thread, path)
    return path
  }

  #goLive(): void {
    if (this.#stopped) return
    if (this.#readAgain) {
      this.#readAgain = false
      return this.#readThenGoLive()
    }
    if (this.#options.until === 'now') return this.#end()
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const signal of waiting) this.#onSignal(signal)
    if (this.#endsWith) this.#end(this.#endsWith)
  }
}

const sizeOf = (entries: readonly StoredEntry[]): number => entries.reduce((sum, { body }) => sum + body.length, 0)

const lastSeq = (records: CommitSignal['records']): number => records.at(-1)?.seq ?? 0
