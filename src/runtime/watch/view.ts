/**
 * Views: a thread, or a run of it, and the threads below as projections that follow the journal. Made of the same
 * projector as the streams of a run; owns only which records a view takes and when it begins and ends.
 *
 * - A view holds nothing until it is iterated, and every iteration follows the journal by itself.
 * - A change is given with the projection as it is after that change, however slow its reader is.
 * - A thread below that has ended is let go: a view of a long-lived tree costs what is alive in it.
 */
import { createState } from '../../../actors/thread/state.js'
import type { Backend } from '../../backend/port.js'
import { defined } from '../../core/defined.js'
import { checkOptions } from '../../core/options.js'
import type { DeltaEvent, DurableEvent } from '../../core/records/event.js'
import { decode } from '../journal/journal.js'
import { followWithRecords } from './events.js'
import type { FollowOptions, FollowedEvent } from './events.js'
import { createIteration } from '../../core/async/iteration.js'
import { threadViewSchema } from './options.js'
import { Projector, noChanges } from './projection.js'
import type { ProjectionChanges, ThreadProjection } from './projection.js'
import type { StreamOptions } from './run-streams.js'
import { endsThread, neverBegun } from './turn-view.js'
import { removed } from './watch-errors.js'

export interface ViewOptions extends StreamOptions {
  /** Changes of the threads below it too. Default: of the thread alone, with what it knows of its children. */
  readonly tree?: boolean
}

export interface ThreadViewOptions extends ViewOptions {
  /**
   * Begins after the event with this cursor; `start`: with the first record. Without it a view begins with how things
   * stand now.
   */
  readonly from?: string
  /** `now`: ends after what is durable now. */
  readonly until?: 'now'
}

/** One step of a view: what happened, what it changed, and the thread afterwards. */
export interface ThreadChange extends ProjectionChanges {
  /** The thread that changed: the one that is viewed or, with `tree`, one below it. */
  readonly thread: string
  /** Ids from the root down to the thread. */
  readonly path: readonly string[]
  /**
   * What happened; words of models and tools too, which change nothing. Absent of the first change of a thread's
   * view without `from`, which says how things stand when it begins.
   */
  readonly event?: DurableEvent | DeltaEvent
  /** The thread that changed, as it is now. */
  readonly value: ThreadProjection
  /** The viewed thread and, with `tree`, all below it that were seen and have not ended, by id. */
  readonly threads: ReadonlyMap<string, ThreadProjection>
}

/**
 * A live view of a thread: messages, calls, children and ends of turns, as the thread itself has them.
 *
 * ```ts
 * for await (const { children, value, result } of thread.view()) {
 *   for (const { reference, status } of children) console.log(reference, status)
 *   if (result) console.log(result.text, value.usage)
 * }
 * ```
 */
export interface ThreadView extends AsyncIterable<ThreadChange> {
  /** The thread as it is now; a copy. */
  now(): Promise<ThreadProjection>
}

export interface ViewServices {
  readonly backend: Backend
  /** Aborted when the skein is closed. */
  readonly closed: AbortSignal
}

/** A thread, and the tree that it is in. */
export interface ThreadLocation {
  readonly root: string
  readonly thread: string
}

export function createThreadView(
  { backend, closed }: ViewServices,
  location: ThreadLocation,
  options: ThreadViewOptions = {},
): ThreadView {
  const changes = createIteration(
    (signal) => {
      checkOptions(threadViewSchema(), options, 'view')
      return threadChanges(backend, location, { ...options, signal })
    },
    [closed, options.signal],
  )
  return {
    ...changes,
    async now() {
      checkOptions(threadViewSchema(), options, 'view')
      const threads = new Projectors(backend, location.thread)
      await readUpToNow(threads, { ...location, closed })
      return { ...threads.top.value }
    },
  }
}

async function* threadChanges(
  backend: Backend,
  { root, thread }: ThreadLocation,
  { tree = false, from, until, signal, maxBuffered }: ThreadViewOptions & { readonly signal: AbortSignal },
): AsyncGenerator<ThreadChange, void, undefined> {
  const threads = new Projectors(backend, thread)
  const following = { root, signal, ...defined({ thread: tree ? undefined : thread }) }
  let cursor = from === 'start' ? undefined : from
  if (from === undefined) {
    cursor = await readUpToNow(threads, following)
    if (signal.aborted) return
    const { value } = threads.top
    yield { ...noChanges, thread, path: value.path, value, threads: threads.values }
  }
  for await (const followed of followWithRecords(backend, {
    ...following,
    ...defined({ from: cursor, until, maxBuffered }),
  })) {
    const change = await threads.take(followed)
    if (change) yield change
  }
}

/** Takes what is durable now; gives the cursor to go on from. */
async function readUpToNow(threads: Projectors, following: FollowOptions): Promise<string | undefined> {
  let cursor: string | undefined
  for await (const followed of followWithRecords(threads.backend, { ...following, until: 'now' })) {
    await threads.take(followed)
    if ('cursor' in followed.event) ({ cursor } = followed.event)
  }
  return cursor
}

/** A run of the viewed thread: where it begins, and which events of the tree are the run's. */
export interface RunScope extends ThreadLocation {
  /** Gives the sequence before the first record of the run; called once, before the other two. */
  start(): Promise<number>
  /** Asked of every event, in order. */
  belongs(event: DurableEvent | DeltaEvent): boolean
  /** Whether the turn of the run was seen to begin. */
  hasBegun(): boolean
}

/** The changes of a run, from its first record to its result. Deltas are heard while the run is looked for. */
export async function* runChanges(
  { backend, closed }: ViewServices,
  { root, thread, start: findStart, belongs, hasBegun }: RunScope,
  { tree = false, signal, maxBuffered }: ViewOptions,
): AsyncGenerator<ThreadChange, void, undefined> {
  const threads = new Projectors(backend, thread)
  const start = async (): Promise<string | undefined> => {
    const after = await findStart()
    await threads.load(thread, after)
    if (!tree) return `0.${after}`
    const [entry] = await backend.journal.read(thread, { after, limit: 1 })
    // The cursor before that entry: records of it that were taken already change nothing.
    return entry && `${entry.position - 1}.0`
  }
  const following = { root, closed, start, ...defined({ thread: tree ? undefined : thread, signal, maxBuffered }) }
  for await (const followed of followWithRecords(backend, following)) {
    const change = await threads.take(followed)
    if (!change) continue
    const { event } = followed
    const isOfRun = belongs(event)
    const unread = event.thread === thread && !hasBegun() && endsThread(event)
    if (unread) yield { ...change, result: neverBegun }
    else if (isOfRun) yield change
    if (unread || (event.thread === thread && hasBegun() && change.result)) return
  }
}

/** The projectors of the viewed thread and of those below it. */
class Projectors {
  readonly backend: Backend
  readonly #thread: string
  readonly #projectors = new Map<string, Projector>()
  readonly values = new Map<string, ThreadProjection>()

  constructor(backend: Backend, thread: string) {
    this.backend = backend
    this.#thread = thread
  }

  get top(): Projector {
    const top = this.#projectors.get(this.#thread)
    if (!top) throw removed(this.#thread)
    return top
  }

  /**
   * Undefined where the event is about a thread beside or above the viewed one, or was taken already. Words of a
   * thread of which no record was seen are passed over: its projection begins with its next record.
   */
  async take({ event, record }: FollowedEvent): Promise<ThreadChange | undefined> {
    const { thread, path } = event
    if (!path.includes(this.#thread)) return undefined
    const projector = this.#projectors.get(thread) ?? (record && (await this.load(thread, record.seq - 1)))
    if (!projector || (record && record.seq <= projector.state.seq)) return undefined
    const changes = record ? projector.take(record) : noChanges
    if (record && thread !== this.#thread && endsThread(record)) this.#letGo(thread)
    return { ...changes, thread, path, event, value: projector.value, threads: this.values }
  }

  /** Reads a thread up to a record. */
  async load(thread: string, last: number): Promise<Projector> {
    const projector = new Projector(createState(thread), { keepMessages: true })
    for (let more = last > 0; more; more = projector.state.seq < last) {
      const after = projector.state.seq
      const entries = await this.backend.journal.read(thread, { after, limit: batch })
      for (const entry of entries)
        for (const record of decode(thread, entry))
          if (record.seq > projector.state.seq && record.seq <= last) projector.take(record)
      if (projector.state.seq === after) break
    }
    this.#projectors.set(thread, projector)
    this.values.set(thread, projector.value)
    return projector
  }

  #letGo(thread: string): void {
    this.#projectors.delete(thread)
    this.values.delete(thread)
  }
}

/** Entries that are read at once. */
const batch = 1_000
