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
  const { root, thread: only, until, closed } = watching
  const start = parseCursor(watching.from)
  const seqs = new Map<string, number>(only === undefined ? [] : [[only, start.seq]])
  const paths = new Map<string, readonly string[]>()
  const spoken = createSpoken()
  /** News that waits until the journal was read; undefined when watching live. */
  let waiting: News[] | undefined = []
  let after = start.position - 1
  /** Signals were lost while the journal was being read. */
  let again = false
  let stopped = false
  let stopHearing: () => void = () => undefined

  function stop(): void {
    stopped = true
    stopHearing()
    closed?.removeEventListener('abort', end)
  }

  function end(): void {
    if (stopped) return
    stop()
    watcher.ended(new SkeinError('STORE_CLOSED', 'the skein was closed; what was watched goes on when it is opened again', { retry: true }))
  }

  function take(committed: Committed): void {
    const { thread, position, records } = committed
    if (position > after) after = position
    const seen = Math.max(seqs.get(thread) ?? 0, position <= start.position ? start.seq : 0)
    const last = records.at(-1)?.seq ?? 0
    if (stopped || last <= seen) return
    seqs.set(thread, last)
    for (const record of records) if (record.type === 'model.replied') spoken.answered(thread, record.step)
    if (only !== undefined && only !== thread) return
    watcher.records(records[0] && records[0].seq <= seen ? { ...committed, records: records.filter(({ seq }) => seq > seen) } : committed)
  }

  function hear(news: News): void {
    if (stopped) return
    if (waiting) return void waiting.push(news)
    if (news.kind === 'spoken') {
      if ((only === undefined || only === news.event.thread) && spoken.fits(news.event)) watcher.delta?.(news.event)
    } else if ((news.records[0]?.seq ?? 0) > (seqs.get(news.thread) ?? 0) + 1 && (only === undefined || only === news.thread)) {
      missed() // a commit before this one was not heard of
    } else take(news)
  }

  /** FW1: reads what was said meanwhile; news that comes in the meantime waits. */
  function missed(): void {
    if (stopped) return
    if (waiting) again = true
    else {
      waiting = []
      readUp()
    }
  }

  async function readJournal(): Promise<void> {
    for (let more = true; more && !stopped; ) {
      const entries = await (only === undefined
        ? backend.journal.readTree(root, { after, limit: batch })
        : backend.journal.read(only, { after: seqs.get(only) ?? 0, limit: batch }))
      for (const entry of entries) {
        const { thread, position } = entry
        const path = paths.get(thread) ?? (await backend.heads.get(thread))?.path ?? [thread]
        paths.set(thread, path)
        take({ kind: 'committed', thread, path, position, records: decode(thread, entry) })
      }
      more = entries.length === batch
    }
  }

  function readUp(): void {
    readJournal().then(goLive, (thrown: unknown) => {
      stop()
      watcher.ended(thrown)
    })
  }

  function goLive(): void {
    if (stopped) return
    if (again) {
      again = false
      return readUp()
    }
    if (until === 'now') {
      stop()
      return watcher.ended()
    }
    const heard = waiting ?? []
    waiting = undefined
    for (const news of heard) hear(news)
  }

  if (until !== 'now') {
    const heard = (value: Json): void => {
      const news = toNews(value)
      if (news) hear(news)
    }
    stopHearing = backend.signals.subscribe(treeTopic(root), heard, missed)
    backend.signals.publish(catchUpTopic, { root })
  }
  closed?.addEventListener('abort', end, { once: true })
  if (closed?.aborted) queueMicrotask(end)
  readUp()
  return stop
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
