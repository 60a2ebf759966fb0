/**
 * A run: a handle on one turn of a thread. It is not a promise and holds nothing: every consumer follows the
 * journal by itself, so there may be any number of them, and a late one gets the whole run (R1).
 *
 * - The run's id is the id of the message that began it; a message that steers shares the turn it joined.
 * - Consuming a run starts nothing: the turn goes on whether anyone looks or not.
 */
import type { Backend } from '../../backend/port.js'
import type { SkeinEvent } from '../../core/records/event.js'
import { fromFailure } from '../../core/failure.js'
import type { Message } from '../../core/records/message.js'
import type { ThreadRecord } from '../../core/records/record.js'
import { follow, followRecords } from './events.js'
import { textPieces } from './run-text.js'
import { TurnView } from './turn-view.js'
import type { ContextUpdate, RunCall, RunResult, TurnChange } from './turn-view.js'
import { wakeTo } from '../journal/wake.js'
import { removed, watch } from './watch.js'

export interface Run {
  readonly id: string
  /** Resolves when the message is durable; rejects when it was refused. Every consumer below does too. */
  accepted(): Promise<void>
  result(): Promise<RunResult>
  /** The last text; rejects when the turn failed. */
  text(): Promise<string>
  response(): Promise<Omit<RunResult, 'text'>>
  /** All calls of the run with their outcomes, when it has ended. */
  toolCalls(): Promise<readonly RunCall[]>
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
  /** Contexts that tools changed, when that counts. */
  readonly contextUpdates: AsyncIterable<ContextUpdate>
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

type Until = 'now' | undefined

export function createRun({ backend, closed, root }: RunServices, id: string, find: () => Promise<RunLocation>): Run {
  let found: Promise<RunLocation> | undefined
  const place = (): Promise<RunLocation> => (found ??= find())
  const events = (): AsyncGenerator<SkeinEvent> => runEvents({ backend, closed, root }, place)
  const views = (until?: Until): AsyncGenerator<TurnChange> => runViews({ backend, closed, root }, place, until)
  const stream = <Item>(make: (from: AsyncIterable<SkeinEvent>) => AsyncIterable<Item>): AsyncIterable<Item> => ({
    [Symbol.asyncIterator]: () => make(events())[Symbol.asyncIterator](),
  })
  const viewed = <Item>(make: (from: AsyncIterable<TurnChange>) => AsyncIterable<Item>): AsyncIterable<Item> => ({
    [Symbol.asyncIterator]: () => make(views())[Symbol.asyncIterator](),
  })
  const result = async (): Promise<RunResult> => resultOf({ backend, closed, root }, await place())
  return {
    id,
    accepted: async () => void (await place()),
    result,
    text: async () => {
      const { text, failure } = await result()
      if (failure) throw fromFailure(failure)
      return text
    },
    response: async () => {
      const { text: _, ...response } = await result()
      return response
    },
    toolCalls: () => callsOf(views()),
    pendingToolCalls: async () => (await callsOf(views('now'))).filter(({ outcome }) => !outcome),
    fullStream: { [Symbol.asyncIterator]: () => treeEvents({ backend, closed, root }, place)[Symbol.asyncIterator]() },
    textStream: stream((from) => textPieces(from, 'text')),
    reasoningStream: stream((from) => textPieces(from, 'reasoning')),
    toolStream: stream(toolEvents),
    toolCallsStream: viewed(answeredCalls),
    messagesStream: viewed(messages),
    contextUpdates: viewed(contextUpdates),
  }
}

async function* runEvents(
  { backend, closed }: RunServices,
  find: () => Promise<RunLocation>,
): AsyncGenerator<SkeinEvent, void, undefined> {
  const { root, thread, run, after } = await find()
  let active = false
  for await (const event of follow(backend, { root, thread, from: `0.${after}`, closed, awaited: () => thread })) {
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
  for await (const event of follow(backend, { root, closed, start, awaited: () => place?.thread })) {
    if (!place) continue
    const { thread, run } = place
    if (event.type === 'tree.reset') throw removed(thread)
    const own = event.thread === thread
    if (own && event.type === 'turn.started' && event.run === run) active = true
    if (own ? belongs(event, run, active) : active && event.path.includes(thread)) yield event
    if (own && ends(event, run)) return
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
function resultOf({ backend, closed }: RunServices, { root, thread, run, after }: RunLocation): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    const view = new TurnView(run)
    const take = (record: ThreadRecord): void => {
      const { result } = view.take(record)
      if (!result) return
      stop()
      resolve(result)
    }
    const stop = watch(
      backend,
      { root, thread, from: `0.${after}`, closed, awaited: () => thread },
      { records: ({ records }) => records.forEach(take), ended: reject },
    )
  })
}

/** What each record of the run changes, with the state before it as the thread had it. */
async function* runViews(
  { backend, closed }: RunServices,
  find: () => Promise<RunLocation>,
  until: Until,
): AsyncGenerator<TurnChange, void, undefined> {
  const { root, thread, run, after } = await find()
  const view = new TurnView(run, await wakeTo(backend, thread, after))
  for await (const { records } of followRecords(backend, {
    root,
    thread,
    from: `0.${after}`,
    closed,
    awaited: () => thread,
    ...(until && { until }),
  })) {
    for (const record of records) {
      const seen = view.take(record)
      yield seen
      if (seen.result) return
    }
  }
}

async function callsOf(views: AsyncIterable<TurnChange>): Promise<RunCall[]> {
  const known = new Map<string, RunCall>()
  for await (const { calls } of views) for (const call of calls) known.set(call.id, call)
  return [...known.values()]
}

async function* answeredCalls(views: AsyncIterable<TurnChange>): AsyncGenerator<RunCall> {
  for await (const { calls } of views) for (const call of calls) if (call.outcome) yield call
}

async function* contextUpdates(views: AsyncIterable<TurnChange>): AsyncGenerator<ContextUpdate> {
  for await (const { contexts } of views) yield* contexts
}

async function* messages(views: AsyncIterable<TurnChange>): AsyncGenerator<Message> {
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
