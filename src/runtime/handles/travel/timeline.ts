/**
 * The timeline of a thread: its turns and steps as rows, made of records without a fold, for people who look for a
 * point to go back to.
 *
 * - A row has the number of its first record: a page goes on after the last row that was given.
 * - What a rewind has undone is still there, and says so.
 */
import { z } from 'zod'
import type { Backend, StoredHead } from '../../../backend/port.js'
import { defined } from '../../../core/defined.js'
import type { Outcome } from '../../../core/effect.js'
import { checkOptions } from '../../../core/options.js'
import { callId, revertedBy } from '../../../core/records/message.js'
import type {
  CallSettled,
  ChildReported,
  RecordedCall,
  StopReason,
  ThreadRecord,
} from '../../../core/records/record.js'
import type { Usage } from '../../../core/usage.js'
import { decode } from '../../journal/journal.js'
import { lazy } from '../../../core/schema.js'

export interface TimelineCall {
  readonly call: string
  readonly tool: string
  /** Absent while it has no outcome. */
  readonly ok?: boolean
  /** It acts on the world; `unknown`: nobody knows whether it has. */
  readonly effect?: 'begun' | 'done' | 'failed' | 'unknown'
  /** It undoes this call, for a rewind: `call_3_0`. */
  readonly reverts?: string
  /** A rewind has undone its effect. */
  readonly undone?: true
  /** What became of its outcome, where that was decided. */
  readonly verdict?: CallSettled['verdict']
}

export interface TimelineRow {
  /** Of its first record. */
  readonly seq: number
  /** In the whole store: the same for all threads of a tree. */
  readonly position: number
  readonly at: number
  /** `effect`: a person found out about one. `forked`: the thread began with the past of another. */
  readonly kind: 'turn' | 'step' | 'effect' | 'reduced' | 'rewound' | 'forked'
  readonly step?: number
  readonly run?: string
  /** How the message or the reply begins. */
  readonly text?: string
  readonly calls?: readonly TimelineCall[]
  /** Paths that its calls changed. */
  readonly files?: readonly string[]
  readonly usage?: Usage
  /** Of a turn: how it ended. */
  readonly ended?: StopReason
  /** Of a rewind: the record that it went back to. */
  readonly to?: number
  /** Of a fork: where its past is from. */
  readonly from?: { readonly thread: string; readonly seq: number }
  /** One can go back to it: all its results are in (`{ step }`). */
  readonly point?: true
  /** A rewind has undone it. */
  readonly undone?: true
}

export interface TimelinePage {
  /** Rows after this record. Default 0. */
  readonly after?: number
  /** How many at most. Default 100. */
  readonly limit?: number
}

const pageSchema = lazy(() =>
  z.strictObject({
    after: z.number().int().min(0).optional(),
    limit: z.number().int().min(1).max(10_000).optional(),
  }),
)

const batchSize = 256
const longestText = 80

export async function readTimeline(
  backend: Backend,
  { thread, rewound }: Pick<StoredHead, 'thread' | 'rewound'>,
  page: TimelinePage = {},
): Promise<readonly TimelineRow[]> {
  const { after = 0, limit = 100 } = checkOptions(pageSchema(), page, 'timeline')
  const rows = new Rows(limit)
  // Whether a row was undone is said by a later record.
  for (let read = after; !rows.isFull || rewound !== undefined;) {
    const entries = await backend.journal.read(thread, { after: read, limit: batchSize })
    for (const entry of entries)
      for (const record of decode(thread, entry)) if (record.seq > after) rows.take(record, entry.position)
    const last = entries.at(-1)
    if (!last) break
    read = last.first + last.count - 1
  }
  return rows.all
}

type Writable<Type> = { -readonly [Field in keyof Type]: Type[Field] }
type Row = Writable<Omit<TimelineRow, 'calls' | 'files'>> & { calls?: Writable<TimelineCall>[]; files?: string[] }

class Rows {
  readonly #limit: number
  readonly #rows: Row[] = []
  readonly #texts = new Map<string, string>()
  /** Rows of steps and turns whose end was not seen yet. */
  #step: Row | undefined
  #turn: Row | undefined
  /** Calls of children that nobody waits for. */
  readonly #unawaited = new Set<string>()
  /** Calls that undo others, and these: they may stand in rows that are not given. */
  readonly #reverts = new Map<string, string>()
  /** One row more was seen: those that are given are complete. */
  #beyond = false

  constructor(limit: number) {
    this.#limit = limit
  }

  get isFull(): boolean {
    return this.#beyond && !this.#turn
  }

  get all(): readonly TimelineRow[] {
    return this.#rows.map((row) => (isPoint(row) ? { ...row, point: true } : row))
  }

  take(record: ThreadRecord, position: number): void {
    const { seq, at } = record
    const place = { seq, position, at }
    switch (record.type) {
      case 'message.received':
        this.#texts.set(record.id, begins(record.text))
        return
      case 'turn.started':
        this.#turn = this.#add({
          ...place,
          kind: 'turn',
          run: record.run,
          ...defined({ text: this.#textOf(record.run) }),
        })
        return
      case 'turn.ended':
        if (this.#turn) this.#turn.ended = record.reason
        this.#turn = undefined
        return
      case 'model.replied':
        this.#noteChildren(record)
        this.#step = this.#add({
          ...place,
          kind: 'step',
          step: record.step,
          text: begins(record.text),
          usage: record.usage,
          ...callsOf(record),
        })
        return
      case 'calls.made':
        this.#noteChildren(record)
        this.#noteReverts(record)
        this.#step = this.#add({ ...place, kind: 'step', step: record.step, ...callsOf(record) })
        return
      case 'context.reduced':
        this.#add({ ...place, kind: 'reduced', step: record.step })
        return
      case 'effect.resolved':
        if (record.happened) this.#undo(record)
        this.#add({
          ...place,
          kind: 'effect',
          step: record.step,
          text: record.happened ? 'happened' : 'did not happen',
        })
        return
      default:
        this.#takeOfCall(record)
        this.#takeTravel(record, place)
    }
  }

  #takeTravel(record: ThreadRecord, place: Pick<Row, 'seq' | 'position' | 'at'>): void {
    if (record.type === 'thread.based') {
      const { thread, seq } = record.from
      this.#add({ ...place, kind: 'forked', from: { thread, seq } })
    }
    if (record.type !== 'thread.rewound') return
    for (const row of this.#rows) if (row.seq > record.to) row.undone = true
    this.#add({ ...place, kind: 'rewound', to: record.to })
  }

  #textOf(run: string): string | undefined {
    return this.#texts.get(run)
  }

  #noteChildren({ step, calls }: RequestedCalls): void {
    for (const [index, { child }] of calls.entries())
      if (child && !child.blocking) this.#unawaited.add(callId(step, index))
  }

  #noteReverts({ step, calls }: RequestedCalls): void {
    for (const [index, call] of calls.entries()) {
      const reverts = revertedBy(call)
      if (reverts !== undefined) this.#reverts.set(callId(step, index), reverts)
    }
  }

  /** A call has happened: what it reverts is undone. */
  #undo({ step, index }: { readonly step: number; readonly index: number }): void {
    const undone = this.#reverts.get(callId(step, index))
    if (undone === undefined) return
    for (const { calls = [] } of this.#rows) for (const each of calls) if (each.call === undone) each.undone = true
  }

  #add(row: Row): Row | undefined {
    if (this.#rows.length === this.#limit) {
      this.#beyond = true
      return undefined
    }
    this.#rows.push(row)
    return row
  }

  #takeOfCall(record: ThreadRecord): void {
    const row = this.#step
    if (record.type === 'call.returned' && record.outcome.ok) this.#undo(record)
    if (record.type === 'child.reported') return void takeReport(row, record)
    const call = row && callIn(row, record)
    if (!call) return
    if (record.type === 'child.called' && (record.refused || this.#unawaited.has(call.call))) call.ok = !record.refused
    noteCall(call, record)
    if (record.type !== 'call.returned') return
    addOutcome(call, record.outcome)
    const paths = record.changes?.files?.map(({ path }) => path) ?? []
    if (paths.length > 0) row.files = [...new Set([...(row.files ?? []), ...paths])]
  }
}

function callIn({ step, calls }: Row, record: ThreadRecord): Writable<TimelineCall> | undefined {
  if (!calls || !('index' in record) || record.step !== step) return undefined
  return record.index === undefined ? undefined : calls[record.index]
}

function takeReport(row: Row | undefined, { call: id, outcome }: ChildReported): void {
  const answered = row?.calls?.find(({ call }) => call === id)
  if (answered) answered.ok = outcome.ok
}

function noteCall(call: Writable<TimelineCall>, record: ThreadRecord): void {
  switch (record.type) {
    case 'call.began':
      call.effect = 'begun'
      return
    case 'call.unbegun':
      delete call.effect
      return
    case 'call.decided':
      if (record.decision === 'reject') call.ok = false
      return
    case 'call.settled':
      call.verdict = record.verdict
      if (record.outcome) addOutcome(call, record.outcome)
      if (record.verdict === 'stale') delete call.ok
      return
    default:
  }
}

function addOutcome(call: Writable<TimelineCall>, outcome: Outcome): void {
  call.ok = outcome.ok
  if (!call.effect) return
  if (outcome.ok) call.effect = 'done'
  else call.effect = outcome.failure.code === 'EFFECT_UNKNOWN' ? 'unknown' : 'failed'
}

/** Calls of children are answered by other records: what became of them is not said here. */
function isPoint({ kind, calls = [] }: Row): boolean {
  return kind === 'step' && calls.every(({ ok }) => ok !== undefined)
}

interface RequestedCalls {
  readonly step: number
  readonly calls: readonly RecordedCall[]
}

function callsOf({ step, calls }: RequestedCalls): Pick<Row, 'calls'> {
  if (calls.length === 0) return {}
  return {
    calls: calls.map(({ tool, refused, answered, revert }, index) => ({
      call: callId(step, index),
      tool,
      ...defined({ reverts: revertedBy({ revert }) }),
      ...(refused && { ok: false }),
      ...(answered !== undefined && { ok: true }),
    })),
  }
}

function begins(text: string): string {
  const line = text
    .slice(0, 8 * longestText)
    .replaceAll(/\s+/g, ' ')
    .trim()
  return line.length <= longestText ? line : `${line.slice(0, longestText - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}
