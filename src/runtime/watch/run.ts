/**
 * A run: a handle on one turn of a thread. It is not a promise and holds nothing: every consumer follows the
 * journal by itself, so there may be any number of them, and a late one gets the whole run (R1).
 *
 * - The run's id is the id of the message that began it; a message that steers shares the turn that it joined.
 * - Consuming a run starts nothing: the turn runs whether anyone consumes it or not.
 */
import type { Backend } from '../../backend/port.js'
import type { SkeinEvent } from '../../core/records/event.js'
import { defined } from '../../core/defined.js'
import { fromFailure } from '../../core/failure.js'
import { checkOptions } from '../../core/options.js'
import type { Message } from '../../core/records/message.js'
import type { ThreadRecord } from '../../core/records/record.js'
import { abortable } from '../../models/retry/abort.js'
import { follow, followRecords } from './events.js'
import { createIteration } from './iteration.js'
import { viewSchema, waitSchema } from './options.js'
import { textPieces } from './run-text.js'
import { TurnView } from './turn-view.js'
import type { ProjectionChanges, ContextUpdate, RunCall, RunResult } from './projection.js'
import { wakeTo } from '../journal/wake.js'
import { runChanges } from './view.js'
import type { RunScope, ThreadChange, ViewOptions } from './view.js'
import { removed, watch } from './watch.js'

export interface Run {
  readonly id: string
  /** Resolves when the message is durable; rejects when it was refused. Every consumer below does too. */
  accepted(): Promise<void>
  /** What the turn came to, when it has ended. */
  result(options?: WaitOptions): Promise<RunResult>
  /** The last text; rejects when the turn failed. */
  text(options?: WaitOptions): Promise<string>
  /** All calls of the run with their outcomes, when it has ended. */
  toolCalls(options?: WaitOptions): Promise<readonly RunCall[]>
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

export interface WaitOptions {
  /** Ends the wait, which rejects with the signal's reason; what is waited for goes on. */
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
  /** Aborted when the skein is closed: no consumer will get anything more. */
  readonly closed: AbortSignal
  /** The root of its tree. */
  readonly root: string
  readonly thread: string
}

interface ChangesOptions extends WaitOptions {
  readonly until?: 'now'
}

function waitFor<Value>(promise: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  return signal ? abortable(promise, signal) : promise
}

export function createRun(services: RunServices, id: string, find: () => Promise<RunLocation>): Run {
  let found: Promise<RunLocation> | undefined
  const locate = (): Promise<RunLocation> => (found ??= find())
  const streamOf = <Source, Item>(
    source: () => AsyncIterable<Source>,
    make: (from: AsyncIterable<Source>) => AsyncIterable<Item>,
  ): AsyncIterable<Item> => ({ [Symbol.asyncIterator]: () => make(source())[Symbol.asyncIterator]() })
  const events = (): AsyncIterable<SkeinEvent> => runEvents(services, locate)
  const changes = (options?: ChangesOptions): AsyncIterable<ProjectionChanges> => turnChanges(services, locate, options)
  const result = async (options: WaitOptions = {}, what = 'result'): Promise<RunResult> => {
    checkOptions(waitSchema, options, what)
    const { signal } = options
    return resultOf(services, await waitFor(locate(), signal), signal)
  }
  return {
    id,
    accepted: async () => void (await locate()),
    result: (options) => result(options),
    text: async (options) => {
      const { text, failure } = await result(options, 'text')
      if (failure) throw fromFailure(failure)
      return text
    },
    async toolCalls(options = {}) {
      checkOptions(waitSchema, options, 'toolCalls')
      return callsOf(changes(options))
    },
    pendingToolCalls: async () => (await callsOf(changes({ until: 'now' }))).filter(({ outcome }) => !outcome),
    view: (options = {}) =>
      createIteration(
        (signal) => {
          checkOptions(viewSchema, options, 'view')
          return runView(services, locate, { ...options, signal })
        },
        [options.signal],
      ),
    fullStream: { [Symbol.asyncIterator]: () => treeEvents(services, locate) },
    textStream: streamOf(events, (from) => textPieces(from, 'text')),
    reasoningStream: streamOf(events, (from) => textPieces(from, 'reasoning')),
    toolStream: streamOf(events, toolEvents),
    toolCallsStream: streamOf(changes, answeredCalls),
    messagesStream: streamOf(changes, messagesIn),
    contextStream: streamOf(changes, contextsIn),
  }
}

/** Events of the turn. Deltas are heard while the run is looked for. */
async function* runEvents(
  { backend, closed, root, thread }: RunServices,
  find: () => Promise<RunLocation>,
): AsyncGenerator<SkeinEvent, void, undefined> {
  let run = ''
  const start = async (): Promise<string> => {
    const location = await find()
    ;({ run } = location)
    return `0.${location.after}`
  }
  let active = false
  for await (const event of follow(backend, { root, thread, closed, start, awaited: () => thread })) {
    if (event.type === 'tree.reset') throw removed(thread)
    if (event.type === 'turn.started' && event.run === run) active = true
    if (belongs(event, run, active)) yield event
    if (ends(event, run)) return
  }
}

/** Events of the turn and of all threads below while it runs; the tree is followed from the turn's first record. */
async function* treeEvents(
  { backend, closed, root }: RunServices,
  find: () => Promise<RunLocation>,
): AsyncGenerator<SkeinEvent, void, undefined> {
  let location: RunLocation | undefined
  const start = async (): Promise<string | undefined> => {
    location = await find()
    const [entry] = await backend.journal.read(location.thread, { after: location.after, limit: 1 })
    // The cursor before that entry: records of it that are not of this turn are left out below.
    return entry && `${entry.position - 1}.0`
  }
  let active = false
  for await (const event of follow(backend, { root, closed, start, awaited: () => location?.thread })) {
    if (!location) continue
    const { thread, run } = location
    if (event.type === 'tree.reset') throw removed(thread)
    const own = event.thread === thread
    if (own && event.type === 'turn.started' && event.run === run) active = true
    if (own ? belongs(event, run, active) : active && event.path.includes(thread)) yield event
    if (own && ends(event, run)) return
  }
}

async function* runView(
  services: RunServices,
  find: () => Promise<RunLocation>,
  options: ViewOptions,
): AsyncGenerator<ThreadChange, void, undefined> {
  const { root, thread } = services
  let run = ''
  let active = false
  const scope: RunScope = {
    root,
    thread,
    async start() {
      const location = await find()
      ;({ run } = location)
      return location.after
    },
    belongs(event) {
      if (event.thread !== thread) return active
      active ||= event.type === 'turn.started' && event.run === run
      return belongs(event, run, active)
    },
    hasBegun: () => active,
  }
  yield* runChanges(services, scope, options)
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

/** Watches records without making events of them: waiting for a long turn is cheap. */
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
      { root, thread, from: `0.${after}`, closed, awaited: () => thread },
      { records: ({ records }) => records.forEach(take), ended: (thrown) => end(() => reject(thrown)) },
    )
    signal?.addEventListener('abort', abort, { once: true })
    if (signal?.aborted) abort()
  })
}

/** What each record of the run changes, beginning with the state that the thread had before the run. */
async function* turnChanges(
  { backend, closed }: RunServices,
  find: () => Promise<RunLocation>,
  { until, signal }: ChangesOptions = {},
): AsyncGenerator<ProjectionChanges, void, undefined> {
  const { root, thread, run, after } = await waitFor(find(), signal)
  const view = new TurnView(run, await wakeTo(backend, thread, after))
  const following = { root, thread, from: `0.${after}`, closed, awaited: () => thread, ...defined({ until, signal }) }
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

async function callsOf(all: AsyncIterable<ProjectionChanges>): Promise<RunCall[]> {
  const known = new Map<string, RunCall>()
  for await (const { calls } of all) for (const call of calls) known.set(call.id, call)
  return [...known.values()]
}

async function* answeredCalls(all: AsyncIterable<ProjectionChanges>): AsyncGenerator<RunCall> {
  for await (const { calls } of all) for (const call of calls) if (call.outcome) yield call
}

async function* contextsIn(all: AsyncIterable<ProjectionChanges>): AsyncGenerator<ContextUpdate> {
  for await (const { contexts } of all) yield* contexts
}

async function* messagesIn(all: AsyncIterable<ProjectionChanges>): AsyncGenerator<Message> {
  for await (const { messages } of all) yield* messages
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
