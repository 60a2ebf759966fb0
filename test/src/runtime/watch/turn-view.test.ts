/** What is told of a turn, over random lives of threads: it is what the thread keeps. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fold } from '../../../../actors/thread/fold.js'
import { childrenOf } from '../../../../actors/thread/children/list.js'
import { createState } from '../../../../actors/thread/state.js'
import type { ThreadState } from '../../../../actors/thread/state.js'
import { failure } from '../../../../src/core/failure.js'
import { resultText } from '../../../../src/core/records/message.js'
import type { Message } from '../../../../src/core/records/message.js'
import type { ThreadRecord } from '../../../../src/core/records/record.js'
import { addUsage, noUsage } from '../../../../src/core/usage.js'
import { beginsRun } from '../../../../src/runtime/watch/run-streams.js'
import { TurnView } from '../../../../src/runtime/watch/turn-view.js'
import type { ChildView } from '../../../../src/runtime/watch/child-views.js'
import { Projector } from '../../../../src/runtime/watch/projection.js'
import type {
  ProjectionChanges,
  RunCall,
  RunResult,
  ThreadProjection,
} from '../../../../src/runtime/watch/projection.js'
import { happenings, live } from '../../../helpers/life.js'
import { times } from '../../../helpers/soak.js'

const runs = { numRuns: times(200, 500) }

interface Lived {
  readonly run: string
  /** As the thread has them in the end. */
  readonly messages: readonly Message[]
  readonly over: boolean
}

/** The turns of a life, with what each has added to the transcript. */
function turnsOf(records: readonly ThreadRecord[]): readonly Lived[] {
  const state = createState('t')
  const turns: { run: string; from: number; to?: number }[] = []
  for (const record of records) {
    const from = state.transcript.items.length
    const before = state.turn
    fold(state, record)
    if (state.turn && state.turn !== before) turns.push({ run: state.turn.run, from })
    const last = turns.at(-1)
    if (before && !state.turn && last) last.to = state.transcript.items.length
  }
  return turns.map(({ run, from, to }) => ({
    run,
    messages: state.transcript.items.slice(from, to),
    over: to !== undefined,
  }))
}

/** A view of one turn, from the beginning of the journal on; `whole`: with the state before it. */
function viewOf(
  records: readonly ThreadRecord[],
  { run, nth }: { readonly run: string; readonly nth: number },
  whole: boolean,
) {
  const starts = records.flatMap((record, index) =>
    record.type === 'turn.started' && record.run === run ? [index] : [],
  )
  const first = starts[nth] ?? 0
  const before = createState('t')
  if (whole) for (const record of records.slice(0, first)) fold(before, record)
  const view = new TurnView((record) => beginsRun(record, { run }), whole ? before : undefined)
  const messages: Message[] = []
  const answers: RunCall[] = []
  for (const record of records.slice(first)) {
    const seen = view.take(record)
    messages.push(...seen.messages)
    answers.push(...seen.calls.filter(({ outcome }) => outcome))
    if (seen.result) return { messages, answers, result: seen.result }
  }
  return { messages, answers }
}

function eachTurn(
  check: (view: ReturnType<typeof viewOf>, lived: Lived, bare: { readonly result?: RunResult }) => void,
): void {
  fc.assert(
    fc.property(happenings, (all) => {
      const { records } = live(all)
      const seen = new Map<string, number>()
      for (const lived of turnsOf(records)) {
        const nth = seen.get(lived.run) ?? 0
        seen.set(lived.run, nth + 1)
        check(viewOf(records, { run: lived.run, nth }, true), lived, viewOf(records, { run: lived.run, nth }, false))
      }
    }),
    runs,
  )
}

interface LivedRecord {
  readonly record: ThreadRecord
  readonly changes: ProjectionChanges
  /** The thread as the projection has it, and as the fold has it. */
  readonly value: ThreadProjection
  readonly state: ThreadState
}

/** A projection of the whole life, looked at after every record. */
function eachRecord(look: (lived: LivedRecord) => void): void {
  fc.assert(
    fc.property(happenings, (all) => {
      const projector = new Projector(createState('t'), { keepMessages: true })
      const state = createState('t')
      for (const record of live(all).records) {
        fold(state, record)
        look({ record, changes: projector.take(record), value: projector.value, state })
      }
    }),
    runs,
  )
}

describe('a projection of a thread', () => {
  it('R1: its children are those that the thread lists, after every record', () => {
    eachRecord(({ value, state }) => {
      const rows = value.children.map(({ topic: _topic, usage: _usage, failure: _failure, ...entry }) => entry)
      expect(rows).toEqual(childrenOf(state))
    })
  })

  it('R1: the rows that it tells of, put together, are the rows that it has', () => {
    let told = new Map<string, ChildView>()
    eachRecord(({ value, changes, state }) => {
      if (state.seq === 1) told = new Map()
      for (const row of changes.children)
        if (row.status === 'not started') told.delete(row.reference)
        else told.set(row.reference, row)
      // Places in line move on by themselves; these lives use a reference twice, which a thread never does.
      const plain = (rows: Iterable<ChildView>) =>
        new Map([...rows].map(({ place: _, ...row }) => [row.reference, row] as const))
      expect(plain(told.values())).toEqual(plain(value.children))
    })
  })

  it('R1: what its children have spent is what the thread has heard of', () => {
    eachRecord(({ value, state }) => {
      expect(value.children.reduce((sum, { usage }) => addUsage(sum, usage), noUsage)).toEqual(state.usageBelow)
    })
  })

  it('R1: every child that was called says what it was asked', () => {
    eachRecord(({ value }) => {
      for (const { topic, status } of value.children) expect(topic).toBe(status === 'in line' ? undefined : 'write')
    })
  })

  it('R1: its messages, calls and result are those of its turns', () => {
    const messages: Message[] = []
    const answered = new Set<string>()
    eachRecord(({ value, changes, state, record }) => {
      if (state.seq === 1) messages.length = 0
      if (state.seq === 1) answered.clear()
      messages.push(...changes.messages)
      expect(messages).toEqual(state.transcript.items)
      expect(value.messages.slice(0, messages.length)).toEqual(messages)
      if (record.type === 'turn.started') answered.clear()
      for (const { id, outcome } of changes.calls) if (outcome) answered.add(id)
      expect(
        value.calls
          .filter(({ outcome }) => outcome)
          .map(({ id }) => id)
          .toSorted(),
      ).toEqual([...answered].toSorted())
      expect(value.turn?.run).toBe(state.turn?.run)
      expect(value.result === undefined).toBe(state.turn !== undefined || state.lastTurn === undefined)
    })
  })
})

describe('a view of a turn', () => {
  it('R1: its messages are those that the thread keeps, in their order', () => {
    eachTurn(({ messages }, lived) => expect(messages).toEqual(lived.messages))
  })

  const hookTexts = ['[the result was dropped]', 'in other words']

  it('R1: each call is answered once, with what the model reads of it', () => {
    eachTurn(({ answers, messages }, { over }) => {
      expect(new Set(answers.map(({ id }) => id)).size).toBe(answers.length)
      const told = messages.filter(({ role }) => role === 'tool')
      for (const { call, failed, text } of told) {
        const outcome = answers.find(({ id }) => id === call)?.outcome
        expect(outcome && !outcome.ok ? outcome.failure : undefined).toEqual(failed)
        // What hooks say in its place (life.ts) is not the outcome.
        if (hookTexts.some((said) => text.includes(said))) continue
        expect(text).toContain(outcome?.ok ? resultText(outcome.value) : '')
      }
      const ids = (all: readonly (string | undefined)[]) => (over ? all.toSorted() : [])
      expect(ids(answers.map(({ id }) => id))).toEqual(ids(told.map(({ call }) => call)))
    })
  })

  it('R1, O2: what a child that was called before the turn and is restarted in it has spent is counted without what was before it', () => {
    const terms = { blocking: false, lasting: false, reports: 'implicit', maxParallel: 2 } as const
    const writer = { thread: 'kid', create: true, agent: 'writer', reference: 'writer-1', text: 'write' } as const
    const { records } = live([
      { kind: 'command', command: { kind: 'message', text: 'go', role: 'user', delivery: 'steer' } },
      {
        kind: 'reply',
        text: '',
        calls: [
          { tool: 'fail', args: {}, sideEffect: true, session: { does: 'fail' } },
          { tool: 'writer', args: {}, child: { ...writer, ...terms, supervision: { maxRestarts: 2 } } },
        ],
        stop: false,
      },
      { kind: 'returned', pick: 0, landed: { outcome: { ok: true, value: 1 }, messages: [{ text: 'by the way' }] } },
      { kind: 'reply', text: '', calls: [{ tool: 'look', args: {} }], stop: true },
      { kind: 'reported', pick: 0, outcome: { ok: false, failure: failure('TOOL_THREW', 'no luck') }, over: false },
      { kind: 'reported', pick: 1, outcome: { ok: true, value: 'found' }, over: false },
      { kind: 'returned', pick: 0, landed: { outcome: { ok: true, value: 'found' } } },
    ])
    const turn = { run: turnsOf(records)[1]?.run ?? '', nth: 0 }
    expect(records.map(({ type }) => type)).toContain('child.restarted')
    const { result } = viewOf(records, turn, true)
    expect(result?.subtreeUsage).not.toEqual(result?.usage)
    expect(viewOf(records, turn, false).result).toEqual(result)
  })

  it('R1, L3: a summary before the first reply of a later turn is counted without what was before it', () => {
    const say = { kind: 'command', command: { kind: 'message', text: '', role: 'user', delivery: 'steer' } } as const
    const hooked = { kind: 'hooked', decided: { asked: [] } } as const
    const { records } = live([
      hooked,
      say,
      { kind: 'reply', text: '', calls: [{ tool: 'look', args: {} }], stop: false },
      { kind: 'again', pick: 0 },
      { kind: 'returned', pick: 0, landed: { outcome: { ok: false, failure: failure('TOOL_THREW', 'no luck') } } },
      { kind: 'deadline' },
      { kind: 'model_failed' },
      say,
      { kind: 'reduced', summarised: true },
      { kind: 'reply', text: '', calls: [], stop: false },
      hooked,
      say,
    ])
    const turn = { run: turnsOf(records)[1]?.run ?? '', nth: 0 }
    expect(records.map(({ type }) => type)).toContain('context.reduced')
    expect(viewOf(records, turn, false).result).toEqual(viewOf(records, turn, true).result)
  })

  it('R1: what the turn came to is the same without what was before it', () => {
    eachTurn((view, { over }, bare) => {
      expect('result' in view).toBe(over)
      expect(bare).toMatchObject({ ...('result' in view && { result: view.result }) })
      expect('result' in bare).toBe(over)
    })
  })
})
