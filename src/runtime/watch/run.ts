/**
 * A run: a handle on one turn of a thread. It is not a promise and holds nothing: every consumer follows the
 * journal by itself, so there may be any number of them, and a late one gets the whole run (R1).
 *
 * - The run's id is the id of the message that began it; a message that steers shares the turn it joined.
 * - Consuming a run starts nothing: the turn goes on whether anyone looks or not.
 */
import type { Backend } from '../../backend/port.js'
import type { SkeinEvent } from '../../core/records/event.js'
import { defined } from '../../core/defined.js'
import { fromFailure } from '../../core/failure.js'
import type { Message } from '../../core/records/message.js'
import type { ThreadRecord } from '../../core/records/record.js'
import { abortable } from '../../models/retry/abort.js'
import { follow, followRecords } from './events.js'
import { textPieces } from './run-text.js'
import { TurnView } from './turn-view.js'
import type { Changes, ContextUpdate, RunCall, RunResult } from './projection.js'
import { wakeTo } from '../journal/wake.js'
import { runChanges } from './view.js'
import type { RunScope, ThreadChange, ViewOptions } from './view.js'
import { removed, watch } from './watch.js'

export interface Run {
  readonly id: string
  /** Resolves when the message is durable; rejects when it was refused. Every consumer below does too. */
  accepted(): Promise<void>
  /** What the turn came to, when it has ended. */
  result(options?: RunWaitOptions): Promise<RunResult>
  /** The last text; rejects when the turn failed. */
  text(options?: RunWaitOptions): Promise<string>
  /** All calls of the run with their outcomes, when it has ended. */
  toolCalls(options?: RunWaitOptions): Promise<readonly RunCall[]>
  /** Calls that are not answered now. */
  pendingToolCalls(): Promise<readonly RunCall[]>
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
  /** The thread from the first record of the run to its result: what each record changed, and the thread then. */
  view(options?: ViewOptions): AsyncIterable<ThreadChange>
  /** Contexts that tools changed, when that counts. */
  readonly contextStream: AsyncIterable<ContextUpdate>
}

export interface RunWaitOptions {
  /** Ends the wait, which rejects with the signal's reason; the turn goes on. */
  readonly signal?: AbortSignal
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
}

export interface RunServices {
  readonly backend: Backend
  /** Aborted when the skein is closed: nobody will answer any more. */
  readonly closed: AbortSignal
  /** Of the tree that it is in. */
  readonly root: string
}

interface ViewsOptions extends RunWaitOptions {
  readonly until?: 'now'
}

function waitFor<Value>(promise: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  return signal ? abortable(promise, signal) : promise
}

export function createRun({ backend, closed, root }: RunServices, id: string, find: () => Promise<RunLocation>): Run {
  let found: Promise<RunLocation> | undefined
  const place = (): Promise<RunLocation> => (found ??= find())
  const events = (): AsyncGenerator<SkeinEvent> => runEvents({ backend, closed, root }, place)
  const views = (options?: ViewsOptions): AsyncGenerator<Changes> => runViews({ backend, closed, root }, place, options)
  const stream = <Item>(make: (from: AsyncIterable<SkeinEvent>) => AsyncIterable<Item>): AsyncIterable<Item> => ({
    [Symbol.asyncIterator]: () => make(events())[Symbol.asyncIterator](),
  })
  const viewed = <Item>(make: (from: AsyncIterable<Changes>) => AsyncIterable<Item>): AsyncIterable<Item> => ({
    [Symbol.asyncIterator]: () => make(views())[Symbol.asyncIterator](),
  })
  const result = async ({ signal }: RunWaitOptions = {}): Promise<RunResult> =>
    resultOf({ backend, closed, root }, await waitFor(place(), signal), signal)
  return {
    id,
    accepted: async () => void (await place()),
    result,
    text: async (options) => {
      const { text, failure } = await result(options)
      if (failure) throw fromFailure(failure)
      return text
    },
    view: (options = {}) => ({
      [Symbol.asyncIterator]: () => runView({ backend, closed, root }, place, options),
    }),
    toolCalls: (options) => callsOf(views(options)),
    pendingToolCalls: async () => (await callsOf(views({ until: 'now' }))).filter(({ outcome }) => !outcome),
    fullStream: { [Symbol.asyncIterator]: () => treeEvents({ backend, closed, root }, place)[Symbol.asyncIterator]() },
    textStream: stream((from) => textPieces(from, 'text')),
    reasoningStream: stream((from) => textPieces(from, 'reasoning')),
    toolStream: stream(toolEvents),
    toolCallsStream: viewed(answeredCalls),
    messagesStream: viewed(messages),
    contextStream: viewed(contextUpdates),
  }
}

async function* runEvents(
  { backend, closed }: RunServices,
  find: () => Promise<RunLocation>,
): AsyncGenerator<SkeinEvent, void, undefined> {
  const { root, thread, run, after } = await find()
  let active = false
  for await (const event of follow(backend, { root, thread, from: `0.${after}`, closed })) {
    if (event.type === 'tree.reset') throw removed(thread)
    if (event.type === 'turn.started' && event.run === run) active = true
    if (belongs(event, run, active)) yield event
    if (ends(event, run)) return
  }
}

/**
 * What happens in the turn, and meanwhile to all threads below; the tree is followed from the first record of the
 * turn on.
 */
async function* treeEvents(
  { backend, closed, root }: RunServices,
  find: () => Promise<RunLocation>,
): AsyncGenerator<SkeinEvent, void, undefined> {
  let place: RunLocation | undefined
  const start = async (): Promise<string | undefined> => {
    place = await find()
    const [entry] = await backend.journal.read(place.thread, { after: place.after, limit: 1 })
    // Before that entry, whatever its records: the ones that are not of this turn are left out below.
    return entry && `${entry.position - 1}.0`
  }
  let active = false
  for await (const event of follow(backend, { root, closed, start })) {
    if (!place) continue
    const { thread, run } = place
    if (event.type === 'tree.reset') throw removed(thread)
    const own = event.thread === thread
    if (own && event.type === 'turn.started' && event.run === run) active = true
    if (own ? belongs(event, run, active) : active && event.path.includes(thread)) yield event
    if (own && ends(event, run)) return
  }
}

function runView(
  services: RunServices,
  find: () => Promise<RunLocation>,
  options: ViewOptions,
): AsyncGenerator<ThreadChange, void, undefined> {
  return runChanges(services, async () => scopeOf(await find()), options)
}

function scopeOf(location: RunLocation): RunScope {
  const { run, thread } = location
  let active = false
  return {
    ...location,
    belongs(event) {
      if (event.thread === thread && event.type === 'turn.started' && event.run === run) active = true
      return event.thread === thread ? belongs(event, run, active) : active
    },
    ends: (event) => event.thread === thread && ends(event, run),
  }
}

function ends(event: SkeinEvent, run: string): boolean {
  return (
    event.type === 'thread.terminated' ||
    event.type === 'thread.ended' ||
    (event.type === 'turn.ended' && event.run === run)
  )
}

function belongs(event: SkeinEvent, run: string, active: boolean): boolean {
  if ('run' in event) return event.run === run
  return active || event.type === 'thread.terminated'
}

/** Watches records and makes no events of them: a long turn is waited for as cheaply as a short one. */
function resultOf(
  { backend, closed }: RunServices,
  { root, thread, run, after }: RunLocation,
  signal?: AbortSignal,
): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    const view = new TurnView(run)
    const end = (settle: () => void): void => {
      stop()
      signal?.removeEventListener('abort', abort)
      settle()
    }
    const abort = (): void => end(() => reject(signal?.reason))
    const take = (record: ThreadRecord): void => {
      const { result } = view.take(record)
      if (result) end(() => resolve(result))
    }
    const stop = watch(
      backend,
      { root, thread, from: `0.${after}`, closed },
      { records: ({ records }) => records.forEach(take), ended: (thrown) => end(() => reject(thrown)) },
    )
    signal?.addEventListener('abort', abort, { once: true })
    if (signal?.aborted) abort()
  })
}

/** What each record of the run changes, with the state before it as the thread had it. */
async function* runViews(
  { backend, closed }: RunServices,
  find: () => Promise<RunLocation>,
  { until, signal }: ViewsOptions = {},
): AsyncGenerator<Changes, void, undefined> {
  const { root, thread, run, after } = await waitFor(find(), signal)
  const view = new TurnView(run, await wakeTo(backend, thread, after))
  const following = { root, thread, from: `0.${after}`, closed, ...defined({ until, signal }) }
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

async function callsOf(views: AsyncIterable<Changes>): Promise<RunCall[]> {
  const known = new Map<string, RunCall>()
  for await (const { calls } of views) for (const call of calls) known.set(call.id, call)
  return [...known.values()]
}

async function* answeredCalls(views: AsyncIterable<Changes>): AsyncGenerator<RunCall> {
  for await (const { calls } of views) for (const call of calls) if (call.outcome) yield call
}

async function* contextUpdates(views: AsyncIterable<Changes>): AsyncGenerator<ContextUpdate> {
  for await (const { contexts } of views) yield* contexts
}

async function* messages(views: AsyncIterable<Changes>): AsyncGenerator<Message> {
  for await (const seen of views) yield* seen.messages
}

const toolEventTypes: ReadonlySet<SkeinEvent['type']> = new Set([
  'call.delta',
  'tool.progress',
  'tool.preliminary',
  'tool.log',
  'tool.result',
])

async function* toolEvents(events: AsyncIterable<SkeinEvent>): AsyncGenerator<ToolEvent> {
  for await (const event of events) if (isToolEvent(event)) yield event
}

function isToolEvent(event: SkeinEvent): event is ToolEvent {
  return toolEventTypes.has(event.type)
}
