/**
 * Watching a tree: its records from the journal, then live, without a gap and without a repetition; and what its
 * models say meanwhile. Every watcher reads for itself, so any number may, early or late, here or in another process.
 *
 * FW1 Records of a thread are given in order of `seq`, each once, from the cursor on; a missed signal is healed from
 *     the journal.
 * FW2 A delta is given only while its step is unanswered, and only in its place: text that was missed is replaced by
 *     a `stream.reset` with the text so far.
 * FW3 Nothing is given after `stop`, and nothing is left behind.
 */
import type { Backend } from '../backend/port.js'
import type { DeltaEvent } from '../core/event.js'
import { SkeinError } from '../core/failure.js'
import type { Json } from '../core/json.js'
import { decode } from './journal.js'
import { catchUpTopic, toNews, treeTopic } from './news.js'
import type { Committed, News } from './news.js'
import { createSpoken } from './spoken.js'

export interface Watching {
  readonly root: string
  /** Only this thread of the tree. */
  readonly thread?: string
  /** Cursor of the last event that was seen; absent: from the beginning. */
  readonly from?: string
  /** `now`: end when everything that is durable now was given. */
  readonly until?: 'now'
  /** Ends the watch with a failure: the skein was closed. */
  readonly closed?: AbortSignal
}

export interface Watcher {
  /** Records that were not given before. */
  records(committed: Committed): void
  delta?(event: DeltaEvent): void
  /** The end of `until: 'now'`, or what went wrong; nothing is given after it. */
  ended(failed?: unknown): void
}

const batch = 1_000

/** Begins to watch; returns what stops it. */
export function watch(backend: Backend, watching: Watching, watcher: Watcher): () => void {
  const life = new Watch(backend, watching, watcher)
  life.begin()
  return () => life.stop()
}

class Watch {
  readonly #backend: Backend
  readonly #watching: Watching
  readonly #watcher: Watcher
  readonly #start: Cursor
  /** Last record of each thread that was given. */
  readonly #seqs = new Map<string, number>()
  /** Where the last commit of each thread lies that was given. */
  readonly #positions = new Map<string, number>()
  readonly #paths = new Map<string, readonly string[]>()
  readonly #spoken = createSpoken()
  /** News that waits until the journal was read; undefined when watching live. */
  #waiting: News[] | undefined = []
  /** Signals were lost while the journal was being read. */
  #again = false
  /** Last position that was given. */
  #after: number
  #stopped = false
  #stopHearing: () => void = () => undefined

  constructor(backend: Backend, watching: Watching, watcher: Watcher) {
    this.#backend = backend
    this.#watching = watching
    this.#watcher = watcher
    this.#start = parseCursor(watching.from)
    this.#after = this.#start.position - 1
    if (watching.thread !== undefined) this.#seqs.set(watching.thread, this.#start.seq)
  }

  begin(): void {
    const { root, until, closed } = this.#watching
    const { signals } = this.#backend
    if (until !== 'now') {
      const heard = (value: Json): void => {
        const news = toNews(value)
        if (news) this.#hear(news)
      }
      this.#stopHearing = signals.subscribe(treeTopic(root), heard, () => this.#missed())
      signals.publish(catchUpTopic, { root })
    }
    closed?.addEventListener('abort', this.#onClosed, { once: true })
    if (closed?.aborted) queueMicrotask(this.#onClosed)
    this.#readUp()
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

  #hear(news: News): void {
    if (this.#stopped) return
    if (this.#waiting) return void this.#waiting.push(news)
    if (news.kind === 'removed') return this.#end(removed(this.#watching.root))
    if (news.kind === 'spoken') {
      if (this.#concerns(news.event.thread) && this.#spoken.fits(news.event)) this.#watcher.delta?.(news.event)
      return
    }
    const next = (this.#seqs.get(news.thread) ?? 0) + 1
    if (this.#concerns(news.thread) && (news.records[0]?.seq ?? 0) > next) {
      // Other threads may have gone on since: what this one lost lies before them.
      this.#after = Math.min(this.#after, this.#positions.get(news.thread) ?? this.#start.position - 1)
      this.#missed()
    } else this.#take(news)
  }

  #take(committed: Committed): void {
    const { thread, position, records } = committed
    if (position > this.#after) this.#after = position
    if (!this.#concerns(thread)) return
    const seen = Math.max(this.#seqs.get(thread) ?? 0, position <= this.#start.position ? this.#start.seq : 0)
    const last = records.at(-1)?.seq ?? 0
    if (this.#stopped || last <= seen) return
    this.#seqs.set(thread, last)
    this.#positions.set(thread, position)
    for (const record of records) if (record.type === 'model.replied') this.#spoken.answered(thread, record.step)
    const fresh = (records[0]?.seq ?? 0) > seen ? records : records.filter(({ seq }) => seq > seen)
    this.#watcher.records(fresh === records ? committed : { ...committed, records: fresh })
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
    const { root, thread: only } = this.#watching
    const { journal } = this.#backend
    for (let more = true; more && !this.#stopped; ) {
      const entries = await (only === undefined
        ? journal.readTree(root, { after: this.#after, limit: batch })
        : journal.read(only, { after: this.#seqs.get(only) ?? 0, limit: batch }))
      for (const entry of entries) {
        const { thread, position } = entry
        this.#take({ kind: 'committed', thread, path: await this.#pathOf(thread), position, records: decode(thread, entry) })
      }
      more = entries.length === batch
      if (entries.length === 0 && only !== undefined && !(await this.#backend.heads.get(only))) throw removed(only)
    }
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
  }
}

function removed(thread: string): SkeinError {
  return new SkeinError('UNKNOWN_THREAD', `there is no thread ${JSON.stringify(thread)} in this store; it was deleted`, { data: { thread } })
}

export function skeinClosed(): SkeinError {
  return new SkeinError('STORE_CLOSED', 'the skein was closed; what was waited for goes on when it is opened again', { retry: true })
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
