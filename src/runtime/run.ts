/**
 * A run: a handle on one turn of a thread. It is not a promise and holds nothing: every consumer follows the
 * journal by itself, so there may be any number of them, and a late one gets the whole run (R1).
 *
 * RN1 The run's id is the id of the message that began it; a message that steers shares the turn it joined.
 * RN2 Consuming a run starts nothing: the turn goes on whether anyone looks or not.
 */
import type { Backend } from '../backend/port.js'
import type { Outcome } from '../core/effect.js'
import type { DurableEvent, SkeinEvent } from '../core/event.js'
import { SkeinError, fromFailure } from '../core/failure.js'
import type { Failure } from '../core/failure.js'
import type { Json } from '../core/json.js'
import type { Message } from '../core/message.js'
import type { StopReason } from '../core/record.js'
import { addUsage, noUsage } from '../core/usage.js'
import type { Usage } from '../core/usage.js'
import { follow } from './follow.js'
import { createAssembly } from './assembly.js'
import { spokenText } from './speech.js'

export interface RunResult {
  /** What the agent said last. */
  readonly text: string
  readonly stopReason: StopReason
  readonly usage: Usage
  readonly steps: number
  readonly failure?: Failure
}

export interface RunCall {
  readonly id: string
  readonly tool: string
  readonly args: Json
  /** Absent while the call is not answered. */
  readonly outcome?: Outcome
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
  /** Deltas of args, and results. */
  readonly toolStream: AsyncIterable<Extract<SkeinEvent, { type: 'call.delta' | 'tool.result' }>>
  /** Each call when it is answered. */
  readonly toolCallsStream: AsyncIterable<RunCall>
  /** The run's messages, results in call order. */
  readonly messagesStream: AsyncIterable<Message>
}

/** Where a run is found in the journal. */
export interface RunPlace {
  readonly root: string
  readonly thread: string
  readonly run: string
  /** Its first record has a greater sequence. */
  readonly after: number
}

type Until = 'now' | undefined

export function createRun(backend: Backend, id: string, find: () => Promise<RunPlace>): Run {
  let found: Promise<RunPlace> | undefined
  const place = (): Promise<RunPlace> => (found ??= find())
  const events = (until?: Until): AsyncGenerator<SkeinEvent> => runEvents(backend, place, until)
  const stream = <Item>(make: (from: AsyncIterable<SkeinEvent>) => AsyncIterable<Item>): AsyncIterable<Item> => ({
    [Symbol.asyncIterator]: () => make(events())[Symbol.asyncIterator](),
  })
  const result = (): Promise<RunResult> => resultOf(events(), id)
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
    toolCalls: async () => [...(await callsOf(events())).values()],
    pendingToolCalls: async () => [...(await callsOf(events('now'))).values()].filter(({ outcome }) => !outcome),
    fullStream: stream((from) => from),
    textStream: stream((from) => spokenText(from, 'text')),
    reasoningStream: stream((from) => spokenText(from, 'reasoning')),
    toolStream: stream(toolEvents),
    toolCallsStream: stream(answeredCalls),
    messagesStream: stream(messages),
  }
}

async function* runEvents(backend: Backend, find: () => Promise<RunPlace>, until: Until): AsyncGenerator<SkeinEvent, void, undefined> {
  const { root, thread, run, after } = await find()
  let active = false
  for await (const event of follow(backend, { root, thread, from: `0.${after}`, ...(until && { until }) })) {
    if (event.type === 'turn.started' && event.run === run) active = true
    if (belongs(event, run, active)) yield event
    if (event.type === 'thread.terminated' || event.type === 'thread.ended' || (event.type === 'turn.ended' && event.run === run)) return
  }
}

function belongs(event: SkeinEvent, run: string, active: boolean): boolean {
  if ('run' in event) return event.run === run
  return active || event.type === 'thread.terminated'
}

async function resultOf(events: AsyncIterable<SkeinEvent>, id: string): Promise<RunResult> {
  let text = ''
  let usage = noUsage
  let steps = 0
  for await (const event of events) {
    if (event.type === 'model.replied') {
      steps++
      usage = addUsage(usage, event.usage)
      if (event.text !== '') text = event.text
    }
    if (event.type === 'turn.ended') return { text, usage, steps, stopReason: event.reason, ...(event.failure && { failure: event.failure }) }
    if (event.type === 'thread.terminated') return { text, usage, steps, stopReason: 'terminated' }
  }
  throw new SkeinError('UNKNOWN_RUN', `run ${id} has no end in the journal; the skein was closed while it went on`, { retry: true })
}

async function callsOf(events: AsyncIterable<SkeinEvent>): Promise<Map<string, RunCall>> {
  const calls = new Map<string, RunCall>()
  for await (const event of events) for (const call of callsIn(event, calls)) calls.set(call.id, call)
  return calls
}

async function* answeredCalls(events: AsyncIterable<SkeinEvent>): AsyncGenerator<RunCall> {
  const calls = new Map<string, RunCall>()
  for await (const event of events) {
    for (const call of callsIn(event, calls)) {
      if (call.outcome) yield call
      calls.set(call.id, call)
    }
  }
}

function callsIn(event: SkeinEvent, known: ReadonlyMap<string, RunCall>): readonly RunCall[] {
  if (event.type === 'model.replied') {
    return event.calls.map(({ tool, args, refused }, index) => ({ id: event.callIds[index] ?? '', tool, args, ...(refused && { outcome: { ok: false as const, failure: refused } }) }))
  }
  if (event.type !== 'tool.result') return []
  const call = known.get(event.call)
  return call ? [{ ...call, outcome: event.outcome }] : []
}

async function* toolEvents(events: AsyncIterable<SkeinEvent>): AsyncGenerator<Extract<SkeinEvent, { type: 'call.delta' | 'tool.result' }>> {
  for await (const event of events) if (event.type === 'call.delta' || event.type === 'tool.result') yield event
}

async function* messages(events: AsyncIterable<SkeinEvent>): AsyncGenerator<Message> {
  const assembly = createAssembly()
  for await (const event of events) if ('seq' in event) yield* assembly.take(event satisfies DurableEvent)
}
