/**
 * Spans of a tree: when each model call, call of a tool, child and decision of a person was asked for, began and ended.
 * A fold of the events of a tree, without any body. Owns the spans of the threads it has seen.
 *
 * - Records say when a call was asked for and when it returned. Between the two it waits where its intent, a decision
 *   or its child came later: that part is the queue, with its reason.
 * - A model call has no record of its beginning: it begins with what made it possible, the record before it.
 */
import type { DurableEvent, SkeinEvent } from '../../index.js'
import { defined } from '../../core/defined.js'
import type { ChangeList } from './change-list.js'

export type SpanKind = 'model' | 'tool' | 'child' | 'person'

export type SpanState = 'queued' | 'running' | 'ok' | 'failed' | 'unknown' | 'stale' | 'stopped'

export interface WorkSpan {
  readonly id: string
  readonly thread: string
  readonly kind: SpanKind
  readonly step: number
  /** Of a call. */
  readonly index?: number
  /** The model, the tool, or what a person is asked for. */
  readonly name: string
  readonly queuedAt: number
  /** Absent while it is in line. */
  readonly startedAt?: number
  readonly endedAt?: number
  readonly state: SpanState
  /** What it waited for before it began, or why it ended so. */
  readonly why?: string
  /** How often it was begun, where that is more than once. */
  readonly attempt?: number
  /** The thread that answers it. */
  readonly child?: string
}

interface Lane {
  /** Of the last record that lets the model be called. */
  readyAt: number
  models: number
  step: number
  /** Spans that have not ended. */
  readonly open: Set<string>
  /** The last attempt of each call of the step. */
  readonly calls: Map<string, string>
}

/** Records that change nothing about when the model may be called. */
const besides: ReadonlySet<string> = new Set(['message.received', 'message.edited', 'env.changed', 'thread.changed'])

type Of<Type extends DurableEvent['type']> = Extract<DurableEvent, { readonly type: Type }>
type Calls = Of<'model.replied'>['calls']

export class SpanFold {
  readonly #spans: ChangeList<WorkSpan>
  readonly #lanes = new Map<string, Lane>()

  constructor(spans: ChangeList<WorkSpan>) {
    this.#spans = spans
  }

  take(event: SkeinEvent, now: number): void {
    if (event.type === 'model.waiting') this.#waits(event, now)
    else if ('cursor' in event) {
      this.#record(event)
      const lane = this.#lane(event.thread)
      if (!besides.has(event.type)) lane.readyAt = event.at
    }
  }

  /** The model of a thread is being called, or is not. */
  thinks(thread: string, isThinking: boolean): void {
    const lane = this.#lane(thread)
    const id = `${thread}/m${lane.models}`
    if (isThinking === lane.open.has(id) || lane.readyAt === 0) return
    if (isThinking) {
      const at = lane.readyAt
      const base = { id, thread, kind: 'model', step: lane.step + 1, name: '' } as const
      this.#put({ ...base, queuedAt: at, startedAt: at, state: 'running' })
    }
  }

  #lane(thread: string): Lane {
    const known = this.#lanes.get(thread)
    if (known) return known
    const lane: Lane = { readyAt: 0, models: 0, step: 0, open: new Set(), calls: new Map() }
    this.#lanes.set(thread, lane)
    return lane
  }

  #put(span: WorkSpan): void {
    const { open } = this.#lane(span.thread)
    if (span.endedAt === undefined) open.add(span.id)
    else open.delete(span.id)
    this.#spans.set(span.id, span)
  }

  #change(id: string | undefined, change: (span: WorkSpan) => WorkSpan): void {
    const span = id === undefined ? undefined : this.#spans.get(id)
    if (span) this.#put(change(span))
  }

  #record(event: DurableEvent): void {
    switch (event.type) {
      case 'model.replied':
        return this.#replied(event)
      case 'calls.made':
        return this.#asked(event, event.calls)
      case 'turn.ended':
      case 'thread.terminated':
        return this.#ended(event)
      case 'child.reported':
        return this.#reported(event)
      default:
        if ('index' in event) this.#ofCall(event)
    }
  }

  #replied(event: Of<'model.replied'>): void {
    const { thread, step, model, at, stop } = event
    const lane = this.#lane(thread)
    const id = `${thread}/m${lane.models++}`
    const began = this.#spans.get(id)
    const queuedAt = began?.queuedAt ?? (lane.readyAt || at)
    const startedAt = startOf(event, queuedAt) ?? began?.startedAt ?? queuedAt
    const why = began?.why ?? (startedAt - queuedAt >= longWaitMs ? 'its turn at the model' : undefined)
    const state = stop === 'failed' ? 'failed' : 'ok'
    const base = { id, thread, kind: 'model', step, name: model, queuedAt, startedAt, endedAt: at, state } as const
    this.#put({ ...base, ...defined({ why, attempt: event.took?.attempts }) })
    this.#asked(event, event.calls)
  }

  #asked({ thread, step, at }: { thread: string; step: number; at: number }, calls: Calls): void {
    const lane = this.#lane(thread)
    lane.step = step
    lane.calls.clear()
    calls.forEach((call, index) => {
      const id = `${thread}/c${step}.${index}`
      lane.calls.set(`${step}.${index}`, id)
      const kind = call.child ? 'child' : 'tool'
      const base = { id, thread, kind, step, index, name: call.tool, queuedAt: at } as const
      if (call.refused) this.#put({ ...base, endedAt: at, state: 'failed', why: call.refused.code })
      else if (call.answered !== undefined) this.#put({ ...base, startedAt: at, endedAt: at, state: 'ok' })
      else if (call.child) this.#put({ ...base, state: 'queued', why: 'room for a child', child: call.child.thread })
      else if (call.sideEffect) this.#put({ ...base, state: 'queued', why: 'its turn' })
      else this.#put({ ...base, startedAt: at, state: 'running' })
      if (call.hold) this.#held({ thread, step, index, at, why: call.hold.why })
    })
  }

  #held(held: { thread: string; step: number; index: number; at: number; why: string }): void {
    const { thread, step, index, at, why } = held
    if (why === 'children') return
    const id = `${thread}/p${step}.${index}`
    const base = { id, thread, kind: 'person', step, index, name: why, queuedAt: at, startedAt: at } as const
    this.#put({ ...base, state: 'running' })
    this.#change(this.#lane(thread).calls.get(`${step}.${index}`), ({ startedAt: _, ...span }) => ({
      ...span,
      state: 'queued',
      why: why === 'variables' ? 'variables' : 'a person',
    }))
  }

  #ofCall(event: Extract<DurableEvent, { readonly index?: number }>): void {
    const { thread, at } = event
    if (event.type === 'call.held') return this.#held({ ...event, why: event.why })
    if (!('step' in event) || event.index === undefined) return
    const place = `${event.step}.${event.index}`
    const id = this.#lane(thread).calls.get(place) ?? `${thread}/c${place}`
    const person = `${thread}/p${place}`
    switch (event.type) {
      case 'call.began':
      case 'call.unbegun':
        return this.#change(id, (span) => withStart(span, event.type === 'call.began' ? at : undefined))
      case 'call.tried':
        return this.#change(id, (span) => ({ ...span, attempt: event.tries + 1, why: 'its host died' }))
      case 'child.called':
        return this.#change(id, (span) =>
          event.refused ? withEnd(span, at, ['failed', event.refused.code]) : withStart(span, at),
        )
      case 'call.freed':
      case 'call.answered':
      case 'call.decided': {
        const isRejected = event.type === 'call.decided' && event.decision === 'reject'
        this.#change(person, (span) => withEnd(span, at, [isRejected ? 'stopped' : 'ok', isRejected ? 'rejected' : '']))
        return this.#change(id, (span) => withStart(span, at))
      }
      case 'tool.result':
        return this.#change(id, (span) => withEnd(withRun(span, event), at, resultOf(event.outcome)))
      case 'call.settled':
        return this.#settled(event, id)
    }
  }

  #settled({ thread, step, index, verdict, outcome, at }: Of<'call.settled'>, id: string): void {
    if (verdict === 'kept') return
    if (verdict !== 'stale')
      return this.#change(id, (span) => withEnd(span, at, outcome ? resultOf(outcome) : ['ok', verdict]))
    const before = this.#spans.get(id)
    this.#change(id, (span) => ({ ...span, state: 'stale', why: 'what it read had changed' }))
    if (!before) return
    const attempt = (before.attempt ?? 1) + 1
    const again = `${thread}/c${step}.${index}.${attempt}`
    this.#lane(thread).calls.set(`${step}.${index}`, again)
    const { id: _id, endedAt: _ended, why: _why, ...rest } = before
    this.#put({ ...rest, id: again, queuedAt: at, startedAt: at, state: 'running', attempt })
  }

  #reported({ thread, call, outcome, at, again }: Of<'child.reported'>): void {
    const [, place] = /^call_(\d+_\d+)$/.exec(call ?? '') ?? []
    if (place === undefined || again === true) return
    const id = this.#lane(thread).calls.get(place.replace('_', '.')) ?? `${thread}/c${place.replace('_', '.')}`
    this.#change(id, (span) => withEnd(span, at, resultOf(outcome)))
  }

  #ended({ thread, at, ...event }: Of<'turn.ended'> | Of<'thread.terminated'>): void {
    const why = event.type === 'turn.ended' ? event.reason : 'terminated'
    const lane = this.#lane(thread)
    const isFailed = why === 'failed'
    for (const id of lane.open) {
      if (id === `${thread}/m${lane.models}`) lane.models++
      this.#change(id, (span) => withEnd(span, at, [isFailed ? 'failed' : 'stopped', why]))
    }
  }

  /** A limit of the provider: the call is in line until its place is 0. */
  #waits({ thread, model, place }: Extract<SkeinEvent, { readonly type: 'model.waiting' }>, now: number): void {
    this.thinks(thread, true)
    this.#change(`${thread}/m${this.#lane(thread).models}`, ({ startedAt, ...span }) =>
      place > 0
        ? { ...span, name: model, state: 'queued', why: 'the rate limit of the model' }
        : { ...span, startedAt: startedAt ?? now, state: 'running' },
    )
  }
}

/** Shorter waits are those of any call. */
const longWaitMs = 20

/** When the last attempt began, where that was measured. */
function startOf({ at, took }: Pick<Of<'model.replied'>, 'at' | 'took'>, queuedAt: number): number | undefined {
  return took && Math.max(queuedAt, at - took.ranMs)
}

function withRun(span: WorkSpan, { at, took }: Of<'tool.result'>): WorkSpan {
  const startedAt = startOf({ at, ...defined({ took }) }, span.startedAt ?? span.queuedAt)
  if (startedAt === undefined) return span
  const isLong = startedAt - span.queuedAt >= longWaitMs && span.why === undefined
  return { ...span, startedAt, ...defined({ attempt: took?.attempts }), ...(isLong && { why: 'a free worker' }) }
}

function withStart({ startedAt: _, ...span }: WorkSpan, at: number | undefined): WorkSpan {
  if (span.endedAt !== undefined) return span
  return at === undefined ? { ...span, state: 'queued' } : { ...span, startedAt: at, state: 'running' }
}

function withEnd(span: WorkSpan, at: number, [state, why]: readonly [SpanState, string]): WorkSpan {
  if (span.endedAt !== undefined && span.state === state) return span
  const { why: before, ...rest } = span
  const reason = why === '' ? before : why
  return { ...rest, endedAt: at, state, ...(reason !== undefined && { why: reason }) }
}

function resultOf(outcome: Of<'tool.result'>['outcome']): readonly [SpanState, string] {
  if (outcome.ok) return ['ok', '']
  const { code } = outcome.failure
  return [code === 'EFFECT_UNKNOWN' ? 'unknown' : 'failed', code]
}
