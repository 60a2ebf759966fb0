/**
 * A run: a handle on one turn of a thread. It is not a promise and holds nothing: every consumer follows the
 * journal by itself, so there may be any number of them, and a late one gets the whole run (R1).
 *
 * RN1 The run's id is the id of the message that began it; a message that steers shares the turn it joined.
 * RN2 Consuming a run starts nothing: the turn goes on whether anyone looks or not.
 */
import type { Backend } from '../backend/port.js'
import type { DurableEvent, SkeinEvent } from '../core/event.js'
import { fromFailure } from '../core/failure.js'
import type { Failure } from '../core/failure.js'
import type { Json } from '../core/json.js'
import type { Message } from '../core/message.js'
import type { StopReason, ThreadRecord, TurnEnded } from '../core/record.js'
import { addUsage, noUsage, sumUsage } from '../core/usage.js'
import type { Usage } from '../core/usage.js'
import { follow } from './follow.js'
import { createAssembly } from './assembly.js'
import { RunCalls } from './run-calls.js'
import type { ContextUpdate, RunCall } from './run-calls.js'
import { spokenText } from './speech.js'
import { watch } from './watch.js'

export interface RunResult {
  /** What the agent said last. */
  readonly text: string
  readonly stopReason: StopReason
  readonly usage: Usage
  /** With what children that reported in this turn have spent, and all below them. */
  readonly subtreeUsage: Usage
  readonly steps: number
  /** In the form of the prompt's `outputSchema`, when it has one. */
  readonly output?: Json
  /** Why it stopped, where there is more to say. */
  readonly detail?: string
  readonly failure?: Failure
  /** Paths of the thread's files that go with the answer. */
  readonly attachments?: readonly string[]
}

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
  readonly fullStream: AsyncIterable<SkeinEvent>
  readonly textStream: AsyncIterable<string>
  readonly reasoningStream: AsyncIterable<string>
  /** Deltas of args, what bodies say while they run, and results. */
  readonly toolStream: AsyncIterable<ToolEvent>
  /** Each call when it is answered. */
  readonly toolCallsStream: AsyncIterable<RunCall>
  /** The run's messages, results in call order. */
  readonly messagesStream: AsyncIterable<Message>
  /** Contexts that tools changed, when that counts. */
  readonly contextUpdates: AsyncIterable<ContextUpdate>
}

export type ToolEvent = Extract<SkeinEvent, { readonly type: 'call.delta' | 'tool.progress' | 'tool.preliminary' | 'tool.log' | 'tool.result' }>

/** Where a run is found in the journal. */
export interface RunPlace {
  readonly root: string
  readonly thread: string
  readonly run: string
  /** Its first record has a greater sequence. */
  readonly after: number
}

export interface RunMeans {
  readonly backend: Backend
  /** Aborted when the skein is closed: nobody will answer any more. */
  readonly closed: AbortSignal
}

type Until = 'now' | undefined

export function createRun({ backend, closed }: RunMeans, id: string, find: () => Promise<RunPlace>): Run {
  let found: Promise<RunPlace> | undefined
  const place = (): Promise<RunPlace> => (found ??= find())
  const events = (until?: Until): AsyncGenerator<SkeinEvent> => runEvents({ backend, closed }, place, until)
  const stream = <Item>(make: (from: AsyncIterable<SkeinEvent>) => AsyncIterable<Item>): AsyncIterable<Item> => ({
    [Symbol.asyncIterator]: () => make(events())[Symbol.asyncIterator](),
  })
  const result = async (): Promise<RunResult> => resultOf({ backend, closed }, await place())
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
    toolCalls: () => callsOf(events()),
    pendingToolCalls: async () => (await callsOf(events('now'))).filter(({ outcome }) => !outcome),
    fullStream: stream((from) => from),
    textStream: stream((from) => spokenText(from, 'text')),
    reasoningStream: stream((from) => spokenText(from, 'reasoning')),
    toolStream: stream(toolEvents),
    toolCallsStream: stream(answeredCalls),
    messagesStream: stream(messages),
    contextUpdates: stream(contextUpdates),
  }
}

async function* runEvents({ backend, closed }: RunMeans, find: () => Promise<RunPlace>, until: Until): AsyncGenerator<SkeinEvent, void, undefined> {
  const { root, thread, run, after } = await find()
  let active = false
  for await (const event of follow(backend, { root, thread, from: `0.${after}`, closed, ...(until && { until }) })) {
    if (event.type === 'turn.started' && event.run === run) active = true
    if (belongs(event, run, active)) yield event
    if (event.type === 'thread.terminated' || event.type === 'thread.ended' || (event.type === 'turn.ended' && event.run === run)) return
  }
}

function belongs(event: SkeinEvent, run: string, active: boolean): boolean {
  if ('run' in event) return event.run === run
  return active || event.type === 'thread.terminated'
}

/** Watches records and makes no events of them: a long turn is waited for as cheaply as a short one. */
function resultOf({ backend, closed }: RunMeans, { root, thread, run, after }: RunPlace): Promise<RunResult> {
  return new Promise((resolve, reject) => {
    let text = ''
    let usage = noUsage
    let below = noUsage
    let steps = 0
    let active = false
    let output: Json | undefined
    const end = (stopReason: StopReason, told: Pick<TurnEnded, 'text' | 'failure' | 'detail' | 'attachments'> = {}): void => {
      stop()
      const { failure: failed, detail, attachments } = told
      resolve({ text: told.text ?? text, usage, subtreeUsage: addUsage(usage, below), steps, stopReason, ...(output !== undefined && { output }), ...(detail !== undefined && { detail }), ...(failed && { failure: failed }), ...(attachments && { attachments }) })
    }
    const take = (record: ThreadRecord): void => {
      if (record.type === 'turn.started') active = record.run === run
      else if (record.type === 'model.replied' && active) {
        steps++
        usage = addUsage(usage, record.usage)
        if (record.text !== '') text = record.text
        output = record.calls.find(({ tool, answered }) => tool === 'response' && answered !== undefined)?.answered ?? output
      } else if (record.type === 'child.reported' && active) below = addUsage(below, sumUsage(record.spent?.byModel ?? []))
      else if (record.type === 'turn.ended' && record.run === run) end(record.reason, record)
      else if (record.type === 'thread.terminated') end('terminated')
    }
    const stop = watch(backend, { root, thread, from: `0.${after}`, closed }, { records: ({ records }) => records.forEach(take), ended: reject })
  })
}

async function callsOf(events: AsyncIterable<SkeinEvent>): Promise<RunCall[]> {
  const log = new RunCalls()
  for await (const event of events) log.take(event)
  return [...log.calls.values()]
}

async function* answeredCalls(events: AsyncIterable<SkeinEvent>): AsyncGenerator<RunCall> {
  const log = new RunCalls()
  for await (const event of events) for (const call of log.take(event)) if (call.outcome) yield call
}

async function* contextUpdates(events: AsyncIterable<SkeinEvent>): AsyncGenerator<ContextUpdate> {
  const log = new RunCalls()
  for await (const event of events) {
    log.take(event)
    yield* log.contexts(event)
  }
}

const toolEventTypes: ReadonlySet<SkeinEvent['type']> = new Set(['call.delta', 'tool.progress', 'tool.preliminary', 'tool.log', 'tool.result'])

async function* toolEvents(events: AsyncIterable<SkeinEvent>): AsyncGenerator<ToolEvent> {
  for await (const event of events) if (isToolEvent(event)) yield event
}

function isToolEvent(event: SkeinEvent): event is ToolEvent {
  return toolEventTypes.has(event.type)
}

async function* messages(events: AsyncIterable<SkeinEvent>): AsyncGenerator<Message> {
  const assembly = createAssembly()
  for await (const event of events) if ('seq' in event) yield* assembly.take(event satisfies DurableEvent)
}
