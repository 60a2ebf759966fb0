/**
 * The streams of a run. Each is made anew for every reader, of the events or of the changes of the turn (R1).
 *
 * - A stream of strings ends as `text()` does: with the failure of a turn that failed, and with CANCELLED of one that
 *   was cancelled (run-text.ts).
 */
import type { Backend } from '../../backend/port.js'
import { defined } from '../../core/defined.js'
import { checkOptions } from '../../core/options.js'
import type { SkeinEvent } from '../../core/records/event.js'
import type { Message } from '../../core/records/message.js'
import { abortable } from '../../models/retry/abort.js'
import { wakeTo } from '../journal/wake.js'
import { follow, followRecords } from './events.js'
import { createIteration } from '../../core/async/iteration.js'
import { streamSchema } from './options.js'
import type { ContextUpdate, ProjectionChanges, RunCall } from './projection.js'
import { textPieces } from '../../core/records/run-text.js'
import { TurnView, endsThread } from './turn-view.js'
import { removed } from './watch-errors.js'

export interface StreamOptions {
  /** Ends the iteration. */
  readonly signal?: AbortSignal
  /**
   * Events that may wait for a reader that is slow; one more ends the iteration with STREAM_LAGGED. Default: any
   * number.
   */
  readonly maxBuffered?: number
}

export interface RunStreams {
  /** All that happens in the turn, and meanwhile to all threads below its own. */
  readonly fullStream: AsyncIterable<SkeinEvent>
  readonly textStream: AsyncIterable<string>
  readonly reasoningStream: AsyncIterable<string>
  /** Deltas of args, what bodies say while they run, and results. */
  readonly toolStream: AsyncIterable<ToolEvent>
  /** Each call when it is answered. */
  readonly toolCallsStream: AsyncIterable<RunCall>
  /** The run's messages as the thread keeps them, silent ones too. */
  readonly messagesStream: AsyncIterable<Message>
  /** Contexts that tools changed, when that counts. */
  readonly contextStream: AsyncIterable<ContextUpdate>
}

export type ToolEvent = Extract<
  SkeinEvent,
  { readonly type: 'call.delta' | 'tool.progress' | 'tool.preliminary' | 'tool.log' | 'tool.result' }
>

/** Where a run is found in the journal. */
export interface RunLocation {
  readonly root: string
  readonly thread: string
  readonly run: string
  /** Its first record has a greater sequence. */
  readonly after: number
  /** The thread was forked in the middle of it: it begins with the fork. */
  readonly isCarried?: true
}

/** Whether the run begins with this. */
export function beginsRun(
  { type, run }: { readonly type: string; readonly run?: unknown },
  location: Pick<RunLocation, 'run' | 'isCarried'> | undefined,
): boolean {
  if (type === 'thread.based') return location?.isCarried === true
  return type === 'turn.started' && run === location?.run
}

export interface RunServices {
  readonly backend: Backend
  /** Aborted when the skein is closed: no consumer will get anything more. */
  readonly closed: AbortSignal
  /** The root of its tree. */
  readonly root: string
  readonly thread: string
}

/** Where the run is; asked once. */
export type FindRun = () => Promise<RunLocation>

interface ChangesOptions extends StreamOptions {
  readonly until?: 'now'
}

export function createRunStreams(services: RunServices, find: FindRun, options: StreamOptions = {}): RunStreams {
  const streamOf = <Item>(begin: (reading: StreamOptions) => AsyncGenerator<Item, void, undefined>) =>
    createIteration(
      (signal) => {
        checkOptions(streamSchema(), options, 'streams')
        return begin({ ...options, signal })
      },
      [options.signal],
    )
  const ofEvents = <Item>(make: (from: AsyncIterable<SkeinEvent>) => AsyncGenerator<Item, void, undefined>) =>
    streamOf((reading) => make(runEvents(services, find, reading)))
  const ofChanges = <Item>(make: (from: AsyncIterable<ProjectionChanges>) => AsyncGenerator<Item, void, undefined>) =>
    streamOf((reading) => make(changesOfTurn(services, find, reading)))
  return {
    fullStream: streamOf((reading) => treeEvents(services, find, reading)),
    textStream: ofEvents((from) => textPieces(from, 'text')),
    reasoningStream: ofEvents((from) => textPieces(from, 'reasoning')),
    toolStream: ofEvents(toolEvents),
    toolCallsStream: ofChanges(answeredCalls),
    messagesStream: ofChanges(messagesIn),
    contextStream: ofChanges(contextsIn),
  }
}

export function waitFor<Value>(promise: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  return signal ? abortable(promise, { signal }) : promise
}

/** Events of the turn. Deltas are heard while the run is looked for. */
async function* runEvents(
  { backend, closed, root, thread }: RunServices,
  find: FindRun,
  options: StreamOptions = {},
): AsyncGenerator<SkeinEvent, void, undefined> {
  let location: RunLocation | undefined
  const start = async (): Promise<string> => {
    location = await find()
    return `0.${location.after}`
  }
  let active = false
  for await (const event of follow(backend, { ...options, root, thread, closed, start, awaited: () => thread })) {
    if (event.type === 'tree.reset') throw removed(thread)
    const run = location?.run ?? ''
    active ||= beginsRun(event, location)
    // Before it is given away: the reader may change it.
    const isLast = ends(event, run)
    if (belongs(event, run, active)) yield event
    if (isLast) return
  }
}

/** Events of the turn and of all threads below while it runs; the tree is followed from the turn's first record. */
async function* treeEvents(
  { backend, closed, root }: RunServices,
  find: FindRun,
  options: StreamOptions = {},
): AsyncGenerator<SkeinEvent, void, undefined> {
  let location: RunLocation | undefined
  const start = async (): Promise<string | undefined> => {
    location = await find()
    const [entry] = await backend.journal.read(location.thread, { after: location.after, limit: 1 })
    // The cursor before that entry: records of it that are not of this turn are left out below.
    return entry && `${entry.position - 1}.0`
  }
  let active = false
  for await (const event of follow(backend, { ...options, root, closed, start, awaited: () => location?.thread })) {
    if (!location) continue
    const { thread, run } = location
    if (event.type === 'tree.reset') throw removed(thread)
    const own = event.thread === thread
    active ||= own && beginsRun(event, location)
    const isLast = own && ends(event, run)
    if (own ? belongs(event, run, active) : active && event.path.includes(thread)) yield event
    if (isLast) return
  }
}

function ends(event: SkeinEvent, run: string): boolean {
  return endsThread(event) || (event.type === 'turn.ended' && event.run === run)
}

/** Of events of the run's own thread. */
export function belongs(event: SkeinEvent, run: string, active: boolean): boolean {
  if ('run' in event) return event.run === run
  return active || endsThread(event)
}

/** What each record of the run changes, beginning with the state that the thread had before the run. */
export async function* changesOfTurn(
  { backend, closed }: RunServices,
  find: FindRun,
  { until, signal, maxBuffered }: ChangesOptions = {},
): AsyncGenerator<ProjectionChanges, void, undefined> {
  const location = await waitFor(find(), signal)
  const { root, thread, after } = location
  const view = new TurnView((record) => beginsRun(record, location), await wakeTo(backend, thread, after))
  const following = {
    root,
    thread,
    from: `0.${after}`,
    closed,
    awaited: () => thread,
    ...defined({ until, signal, maxBuffered }),
  }
  for await (const { records } of followRecords(backend, following)) {
    for (const record of records) {
      const changes = view.take(record)
      yield changes
      if (changes.result) return
    }
  }
  // An iteration ends quietly at its signal; a wait does not.
  signal?.throwIfAborted()
}

async function* answeredCalls(all: AsyncIterable<ProjectionChanges>): AsyncGenerator<RunCall, void, undefined> {
  for await (const { calls } of all) for (const call of calls) if (call.outcome) yield call
}

async function* contextsIn(all: AsyncIterable<ProjectionChanges>): AsyncGenerator<ContextUpdate, void, undefined> {
  for await (const { contexts } of all) yield* contexts
}

async function* messagesIn(all: AsyncIterable<ProjectionChanges>): AsyncGenerator<Message, void, undefined> {
  for await (const { messages } of all) yield* messages
}

const toolEventTypes: ReadonlySet<SkeinEvent['type']> = new Set([
  'call.delta',
  'tool.progress',
  'tool.preliminary',
  'tool.log',
  'tool.result',
])

async function* toolEvents(events: AsyncIterable<SkeinEvent>): AsyncGenerator<ToolEvent, void, undefined> {
  for await (const event of events) if (isToolEvent(event)) yield event
}

function isToolEvent(event: SkeinEvent): event is ToolEvent {
  return toolEventTypes.has(event.type)
}
