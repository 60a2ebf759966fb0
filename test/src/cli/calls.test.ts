/** The calls of a turn as the views see them, out of records in every order in which these may come. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createState } from '../../../actors/thread/state.js'
import { callLine, durationOf } from '../../../src/cli/turn/call-line.js'
import { createCalls } from '../../../src/cli/turn/calls.js'
import type { CallChange } from '../../../src/cli/turn/calls.js'
import type { Fact, ThreadRecord } from '../../../src/core/records/record.js'
import type { DurableEvent, Outcome, ThreadChange } from '../../../src/index.js'
import { Projector } from '../../../src/runtime/watch/projection.js'

type Asked = Extract<Fact, { type: 'model.replied' }>['calls'][number]

interface Timed {
  readonly fact: Fact
  readonly time: number
}

const at = (fact: Fact, time = 0): Timed => ({ fact, time })
const value = (text: string): Outcome => ({ ok: true, value: text })
const asked = (calls: readonly Asked[]): Timed =>
  at({
    type: 'model.replied',
    step: 1,
    model: 'm',
    text: '',
    calls,
    usage: { inputTokens: 0, outputTokens: 0, costUsd: 0 },
    finish: 'tool_calls',
  })

const begin: readonly Timed[] = [
  at({ type: 'thread.created', agent: 'helper', tags: [], path: ['t1'] }),
  at({ type: 'message.received', id: 'r', text: 'go', role: 'user', run: 'r', delivery: 'steer' }),
  at({ type: 'turn.started', run: 'r' }),
]

/** The view of a thread that has these records. */
function changesOf(facts: readonly Timed[]): readonly ThreadChange[] {
  const projector = new Projector(createState('t1'), { keepMessages: true })
  return [...begin, ...facts].map(({ fact, time }, index): ThreadChange => {
    const record: ThreadRecord = { ...fact, seq: index + 1, at: time }
    const changes = projector.take(record)
    const { value: thread } = projector
    return {
      ...changes,
      thread: 't1',
      path: ['t1'],
      event: eventOf(record),
      value: thread,
      threads: new Map([['t1', thread]]),
    }
  })
}

function eventOf(record: ThreadRecord): DurableEvent {
  const place = { thread: 't1', path: ['t1'], cursor: `1.${record.seq}` }
  if (record.type === 'model.replied') return { ...record, ...place, callIds: [] }
  if (record.type !== 'call.returned') return { ...record, ...place }
  const { seq, at: time, step, index, tool, outcome } = record
  return { type: 'tool.result', ...place, seq, at: time, step, index, call: `call_${step}_${index}`, tool, outcome }
}

function shown(facts: readonly Timed[]): readonly CallChange[] {
  const calls = createCalls()
  return changesOf(facts).flatMap((change) => calls.take(change))
}

/** What happens to one call, in this order, and how it must end. */
interface Life {
  readonly hold?: Asked['hold']
  /** Another thread answers it. */
  readonly child?: 'waited for' | 'forked' | 'away'
  readonly facts: (index: number) => readonly Fact[]
  readonly end: 'denied' | { readonly outcome: string; readonly cached?: true }
}

const result = (index: number, text: string, provisional?: true): Extract<Fact, { type: 'call.returned' }> => ({
  type: 'call.returned',
  step: 1,
  index,
  tool: 'add',
  outcome: value(text),
  ...(provisional && { provisional }),
})
const settled = (index: number, verdict: 'kept' | 'stale' | 'cached', text?: string): Fact => ({
  type: 'call.settled',
  step: 1,
  index,
  verdict,
  ...(text !== undefined && { outcome: value(text) }),
})
const approved = (index: number): Fact => ({ type: 'call.decided', step: 1, index, decision: 'approve' })
const called: Record<'called' | 'reported' | 'noted' | 'forked', (index: number) => Fact> = {
  called: (index) => ({ type: 'child.called', step: 1, index }),
  reported: (index) => ({
    type: 'child.reported',
    child: `c${index}`,
    reference: `writer-${index}`,
    outcome: value('a'),
    call: `call_1_${index}`,
    over: true,
  }),
  noted: (index) => ({
    type: 'child.reported',
    child: `c${index}`,
    reference: `writer-${index}`,
    outcome: value('a'),
    over: true,
  }),
  forked: (index) => ({
    type: 'child.reported',
    child: `c${index}`,
    reference: `writer-${index}`,
    outcome: value('old'),
    call: `call_1_${index}`,
    over: true,
    tree: [],
  }),
}
const childOf = (index: number, child: Life['child']): Pick<Asked, 'child'> =>
  child
    ? {
        child: {
          thread: `c${index}`,
          create: true,
          agent: 'writer',
          reference: `writer-${index}`,
          text: '',
          blocking: child !== 'away',
          lasting: false,
          reports: 'implicit',
          maxParallel: 8,
          ...(child === 'forked' && { files: 'fork' }),
        },
      }
    : {}

const lives: Readonly<Record<string, Life>> = {
  'at once': { facts: (index) => [result(index, 'a')], end: { outcome: 'a' } },
  kept: { facts: (index) => [result(index, 'a', true), settled(index, 'kept')], end: { outcome: 'a' } },
  stale: {
    facts: (index) => [
      result(index, 'old', true),
      settled(index, 'stale'),
      { ...result(index, 'new', true), again: true },
      settled(index, 'kept'),
    ],
    end: { outcome: 'new' },
  },
  cached: { facts: (index) => [settled(index, 'cached', 'a')], end: { outcome: 'a', cached: true } },
  approved: {
    hold: { why: 'approval' },
    facts: (index) => [approved(index), { type: 'call.began', step: 1, index }, result(index, 'a')],
    end: { outcome: 'a' },
  },
  denied: {
    hold: { why: 'approval' },
    facts: (index) => [{ type: 'call.decided', step: 1, index, decision: 'reject' }],
    end: 'denied',
  },
  answered: {
    facts: (index) => [
      { type: 'call.held', step: 1, index, why: 'person' },
      { type: 'call.answered', step: 1, index, output: 'x' },
      result(index, 'a', true),
      settled(index, 'kept'),
    ],
    end: { outcome: 'a' },
  },
  'by a child': {
    child: 'waited for',
    facts: (index) => [called.called(index), called.reported(index)],
    end: { outcome: 'a' },
  },
  'by a child that nobody waits for': {
    child: 'away',
    facts: (index) => [called.called(index), called.noted(index)],
    end: { outcome: 'a' },
  },
  'by a child with files': {
    child: 'forked',
    facts: (index) => [called.called(index), called.forked(index), result(index, 'a', true), settled(index, 'kept')],
    end: { outcome: 'a' },
  },
}

/** Lives in one order: those of each call in their own; a verdict is passed when all calls before it are done. */
const interleaved = (queues: readonly (readonly Fact[])[]): fc.Arbitrary<readonly Fact[]> =>
  fc
    .shuffledSubarray(
      queues.flatMap((facts, index) => facts.map(() => index)),
      { minLength: queues.flat().length },
    )
    .map((order) => {
      const left = queues.map((facts) => [...facts])
      return order.flatMap((index) => {
        const first = left.findIndex((facts) => facts.length > 0)
        const next = left[index]?.[0]
        const mayCome = next && (next.type !== 'call.settled' || index === first)
        return left[mayCome ? index : first]?.splice(0, 1) ?? []
      })
    })

const turns = fc.array(fc.constantFrom(...Object.keys(lives)), { minLength: 1, maxLength: 6 }).chain((names) => {
  const led = names.map((name) => lives[name] as Life)
  return interleaved(led.map(({ facts }, index) => facts(index))).map((facts) => ({ led, facts }))
})

describe('the calls of a turn', () => {
  it('each is answered once and last, with the outcome that counts, in whatever order they go', () => {
    fc.assert(
      fc.property(turns, ({ led, facts }) => {
        const changes = shown([
          asked(
            led.map(({ hold, child }, index) => ({
              tool: 'add',
              args: {},
              ...(hold && { hold }),
              ...childOf(index, child),
            })),
          ),
          ...facts.map((fact) => at(fact)),
        ])
        led.forEach(({ end }, index) => {
          const own = changes.filter(({ call }) => call.id === `call_1_${index}`)
          const ends = own.filter(({ state }) => state === 'answered' || state === 'denied')
          expect(ends).toEqual([own.at(-1)])
          expect(ends[0]).toMatchObject(
            end === 'denied'
              ? { state: 'denied' }
              : { state: 'answered', outcome: value(end.outcome), ...(end.cached && { cached: true }) },
          )
        })
      }),
    )
  })

  const after = (...facts: readonly Timed[]): readonly CallChange[] => shown(facts)
  const line = (change: CallChange | undefined): string | undefined =>
    change && callLine((_, text) => text, change, change.state === 'answered' ? durationOf(change) : '')

  it('a call that waits from the beginning is asked for and held', () => {
    const changes = after(asked([{ tool: 'pay', args: { sum: 3 }, hold: { why: 'approval', prompt: 'Pay\nthree?' } }]))
    expect(changes.map(line)).toEqual(['→ pay {"sum":3}', '‖ pay waits for approval: Pay three?'])
  })

  it('the time of a call is that of its body: not while it waited for someone, nor for its verdict', () => {
    const decided = at(
      {
        type: 'call.decided',
        step: 1,
        index: 0,
        decision: 'approve',
        decidedBy: 'ann',
        call: { tool: 'pay', args: { sum: 2 } },
      },
      60_000,
    )
    const changes = after(
      asked([{ tool: 'pay', args: { sum: 3 }, hold: { why: 'approval' } }]),
      decided,
      at(result(0, 'ok', true), 60_005),
      at(settled(0, 'kept'), 90_000),
    )
    expect(changes.slice(2).map(line)).toEqual([
      '→ pay approved by ann with other args {"sum":2}',
      undefined,
      '✓ pay 5 ms',
    ])
  })

  it('a call that is refused, or whose args are its result, is answered at once and took no time', () => {
    const changes = after(
      asked([
        { tool: 'nope', args: {}, refused: { code: 'UNKNOWN_TOOL', message: 'no such tool', retry: false } },
        { tool: 'response', args: { a: 1 }, answered: { a: 1 } },
      ]),
    )
    expect(changes.map(line)).toEqual(['✗ nope UNKNOWN_TOOL: no such tool', '✓ response'])
  })

  it('calls without a model are calls like others; a stale one is told to run again; denied says who and why', () => {
    const made = at({
      type: 'calls.made',
      step: 1,
      calls: [
        { tool: 'add', args: {} },
        { tool: 'pay', args: {} },
      ],
    })
    const denied = at({
      type: 'call.decided',
      step: 1,
      index: 1,
      decision: 'reject',
      decidedBy: 'deadline',
      comment: 'nobody decided in time',
    })
    const changes = after(made, at(result(0, 'a', true)), at(settled(0, 'stale')), denied)
    expect(changes.map(line)).toEqual([
      '→ add {}',
      '→ pay {}',
      undefined,
      '↻ add runs again: what it read has changed',
      '✗ pay denied by deadline: nobody decided in time',
    ])
  })

  it('a child is told when it is called, not while it waits in line; its time begins there, and a report that nobody waits for any more says nothing', () => {
    const two = asked(
      [0, 1].map((index) => ({ tool: 'writer', args: { message: 'x' }, ...childOf(index, 'waited for') })),
    )
    const ended = at({ type: 'turn.ended', run: 'r', reason: 'cancelled' })
    const changes = after(
      two,
      at(called.called(0), 10),
      at(called.reported(0), 40),
      at(called.called(1), 50),
      ended,
      at(called.reported(1), 60),
    )
    expect(changes.map(line)).toEqual(['→ writer-0 {"message":"x"}', '✓ writer-0 30 ms', '→ writer-1 {"message":"x"}'])
    const refused = at({
      ...{ type: 'child.called', step: 1, index: 0 },
      refused: { code: 'TOOL_INPUT_INVALID', message: 'no such file', retry: false },
    })
    expect(after(two, refused).map(line)).toEqual(['✗ writer-0 TOOL_INPUT_INVALID: no such file'])
  })
})
