/**
 * The directory: one projection in memory of the heads of all threads, for lists, counts, the inbox and who watches
 * them. Shared by all who ask within a skein or client; owns what it follows.
 *
 * DY1 What it gives is what the store would list at the position that it names: whatever was acknowledged before it was
 *     asked is in it.
 * - It is opened by the first who asks, and followed until the skein is closed. Where the store is away when it begins,
 *   the next who asks begins anew.
 * - A watcher that reads slowly is given each thread as it is then: what waits for it is bounded by the threads.
 */
import type { Backend, HeadChange, HeadFollower, StoredHead } from '../../../backend/port.js'
import { createIteration } from '../../../core/async/iteration.js'
import { nextTurn } from '../../../core/async/next-turn.js'
import { defined } from '../../../core/defined.js'
import { SkeinError } from '../../../core/failure.js'
import { checkOptions } from '../../../core/options.js'
import { createQueue } from '../async-queue.js'
import { RecentRemovals, WaitingChanges } from './head-changes.js'
import type { DirectoryPage, RemovedTree } from './head-changes.js'
import { HeadTable } from './head-table.js'
import type { HeadPage } from './listed-rows.js'
import { inboxOf } from './inbox-item.js'
import type { InboxItem } from './inbox-item.js'
import type { TreeCounts } from './subtree-counts.js'
import { toHeadFilter, toThreadInfo } from './thread-info.js'
import type { ThreadInfo, ThreadQuery } from './thread-info.js'
import { changesSchema, isListed, querySchema, watchQuerySchema } from './thread-query.js'
import type { HeadQuery } from './thread-query.js'

/** What a thread and all below it come to. */
export interface ThreadCounts extends Omit<TreeCounts, 'nanoUsd'> {
  readonly costUsd: number
}

/** A thread that is among those that are watched, as it is now; or the id of one that is not any more. */
export type DirectoryChange =
  | { readonly position: number; readonly thread: ThreadInfo }
  | { readonly position: number; readonly left: string }

/** `position`: what the answer is true for; later answers have it or a later one. */
export interface ThreadDirectory {
  /** Resolves when all threads have been read. Everything else waits for it, too. */
  ready(): Promise<void>
  list(
    query?: ThreadQuery,
  ): Promise<{ readonly threads: readonly ThreadInfo[]; readonly position: number; readonly next?: string }>
  /** Of a thread and all below it. */
  counts(thread: string): Promise<ThreadCounts & { readonly position: number }>
  inbox(filter?: {
    readonly root?: string
  }): Promise<{ readonly items: readonly InboxItem[]; readonly position: number }>
  /** The threads that a query finds now, then each of them that changes, comes or goes. */
  watch(
    query?: Omit<ThreadQuery, 'sort' | 'limit' | 'cursor'> & { readonly signal?: AbortSignal },
  ): AsyncIterable<DirectoryChange>
  /**
   * All threads as of one position, then what changes, page by page. `from`: a `position` that it gave, here or in
   * another process of the same store: only what has changed since, where that is still known.
   */
  changes(options?: { readonly from?: number; readonly signal?: AbortSignal }): AsyncIterable<DirectoryPage>
}

/** Told after every change: the head that it brought, and those that it replaced or removed. */
type DirectoryListener = (heads: readonly StoredHead[], change: HeadChange) => void

interface Progress {
  position: number
  isReady: boolean
}

interface Followed {
  readonly table: HeadTable
  readonly follower: HeadFollower
  readonly ready: Promise<void>
  readonly progress: Progress
  readonly removals: RecentRemovals
}

export class SharedDirectory implements ThreadDirectory {
  readonly #backend: Backend
  readonly #closed: AbortSignal
  readonly #listeners = new Set<DirectoryListener>()
  #followed: Followed | undefined

  constructor(backend: Backend, closed: AbortSignal) {
    this.#backend = backend
    this.#closed = closed
    closed.addEventListener('abort', () => this.#followed?.follower.stop(), { once: true })
  }

  /** Begins to follow. */
  open(): ThreadDirectory {
    this.#follow()
    return this
  }

  /** Whether lists can be answered from it now. */
  get isReady(): boolean {
    return this.#followed?.progress.isReady ?? false
  }

  ready(): Promise<void> {
    return this.#follow().ready
  }

  async list(query: ThreadQuery = {}): ReturnType<ThreadDirectory['list']> {
    checkOptions(querySchema(), query, 'directory.list')
    const { table, position } = await this.#current()
    const { heads, next } = await listedSlowly(table.listing(toHeadQuery(query), sliceRows))
    return { threads: heads.map(toThreadInfo), position, ...defined({ next }) }
  }

  async counts(thread: string): ReturnType<ThreadDirectory['counts']> {
    const { table, position } = await this.#current()
    const counts = table.countsOf(thread)
    if (!counts)
      throw new SkeinError('UNKNOWN_THREAD', `there is no thread ${JSON.stringify(thread)} in this store`, {
        data: { thread },
      })
    const { nanoUsd, ...rest } = counts
    return { ...rest, costUsd: nanoUsd / 1e9, position }
  }

  async inbox({ root }: { readonly root?: string } = {}): ReturnType<ThreadDirectory['inbox']> {
    const { table, position } = await this.#current()
    return { items: inboxOf(table.pending(root), (id) => table.get(id)), position }
  }

  watch(query: Parameters<ThreadDirectory['watch']>[0] = {}): AsyncIterable<DirectoryChange> {
    const { signal, ...filter } = query
    return createIteration(
      (ended) => {
        checkOptions(watchQuerySchema(), filter, 'directory.watch')
        return this.#changes(toHeadQuery(filter), ended)
      },
      [this.#closed, signal],
    )
  }

  changes(options: Parameters<ThreadDirectory['changes']>[0] = {}): AsyncIterable<DirectoryPage> {
    const { signal, ...rest } = options
    return createIteration(
      (ended) => {
        checkOptions(changesSchema(), rest, 'directory.changes')
        return this.#pages(rest.from, ended)
      },
      [this.#closed, signal],
    )
  }

  /** Returns what stops it. */
  listen(listener: DirectoryListener): () => void {
    const own: DirectoryListener = (heads, change) => listener(heads, change)
    this.#listeners.add(own)
    return () => void this.#listeners.delete(own)
  }

  #follow(): Followed {
    if (this.#followed) return this.#followed
    const table = new HeadTable()
    const progress: Progress = { position: 0, isReady: false }
    const removals = new RecentRemovals()
    const follower = this.#backend.heads.follow((change) => {
      const before = table.apply(change)
      progress.position = Math.max(progress.position, change.position)
      if (!progress.isReady) return
      if ('removed' in change) removals.add(removedOf(change.removed, before), progress.position)
      const heads = 'head' in change ? [change.head, ...before] : before
      for (const listener of this.#listeners) listener(heads, change)
    })
    const ready = follower.ready.then(async (position) => {
      for (const _ of table.completing(sliceRows)) await nextTurn()
      progress.position = Math.max(progress.position, position)
      progress.isReady = true
      removals.begin(progress.position)
    })
    const followed: Followed = { table, follower, ready, progress, removals }
    ready.catch(() => {
      follower.stop()
      if (this.#followed === followed) this.#followed = undefined
    })
    this.#followed = followed
    return followed
  }

  /** DY1. */
  async #current(): Promise<Followed & { readonly position: number }> {
    const followed = this.#follow()
    const { follower, ready, progress } = followed
    await ready
    const position = await follower.current()
    progress.position = Math.max(progress.position, position)
    return { ...followed, position: progress.position }
  }

  /** DY2. */
  async *#pages(from: number | undefined, signal: AbortSignal): AsyncGenerator<DirectoryPage> {
    const { table, removals, progress } = await this.#current()
    const waiting = new WaitingChanges()
    const bell = createQueue<'ring'>(signal)
    const known = from === undefined ? undefined : removals.since(from, progress.position)
    waiting.begin(table, from ?? -1, known)
    bell.push('ring') // who has missed nothing is told so
    const stop = this.listen((heads, change) => {
      if (bell.size === 0) bell.push('ring')
      if ('head' in change) waiting.put(change.head)
      else waiting.remove(removedOf(change.removed, heads), heads)
    })
    try {
      while (await bell.next()) yield* waiting.take(progress.position)
    } finally {
      stop()
      bell.close()
    }
  }

  async *#changes(query: HeadQuery, signal: AbortSignal): AsyncGenerator<DirectoryChange> {
    const { table, ready, progress } = this.#follow()
    await ready
    const waiting = new Map<string, DirectoryChange>()
    const bell = createQueue<'ring'>(signal)
    const tell = (thread: string, change: DirectoryChange): void => {
      if (waiting.size === 0) bell.push('ring')
      waiting.delete(thread) // so that the order is that of positions
      waiting.set(thread, change)
    }
    const { position } = progress
    for (const head of table.list({ ...query, limit: Infinity }).heads)
      tell(head.thread, { position, thread: toThreadInfo(head) })
    const stop = this.listen((heads, change) => {
      for (const head of heads) {
        const isNow = 'head' in change && head === heads[0]
        if (!isListed(head, query)) continue
        if (isNow) tell(head.thread, { position: change.position, thread: toThreadInfo(head) })
        else if (!('head' in change && isListed(change.head, query)))
          tell(head.thread, { position: change.position, left: head.thread })
      }
    })
    try {
      while (await bell.next()) {
        const changes = [...waiting.values()]
        waiting.clear()
        yield* changes
      }
    } finally {
      stop()
      bell.close()
    }
  }
}

/** Rows that a list looks at before others go on: a text that nobody has is looked for in all. */
const sliceRows = 2_000

async function listedSlowly(listing: ReturnType<HeadTable['listing']>): Promise<HeadPage> {
  for (;;) {
    const step = listing.next()
    if (step.done) return step.value
    await nextTurn()
  }
}

function removedOf(root: string, heads: readonly StoredHead[]): RemovedTree {
  return { root, tags: heads.find(({ thread }) => thread === root)?.tags ?? [] }
}

function toHeadQuery(query: ThreadQuery): HeadQuery {
  const { rootsOnly, q, sort } = query
  return { ...toHeadFilter(query), ...defined({ rootsOnly, q, sort }) }
}
