/** The calls of a turn as the views see them, out of events in every order in which these may come. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { callLine, durationOf } from '../../../src/cli/turn/call-line.js'
import { createCalls } from '../../../src/cli/turn/calls.js'
import type { CallNews } from '../../../src/cli/turn/calls.js'
import type { DurableEvent, Outcome, SkeinEvent } from '../../../src/index.js'

type Facts = DurableEvent extends infer Event
  ? Event extends DurableEvent
    ? Omit<Event, 'seq' | 'thread' | 'path' | 'at' | 'cursor'>
    : never
  : never
type Asked = Extract<SkeinEvent, { type: 'model.replied' }>['calls'][number]

const event = (fact: Facts, at = 0): SkeinEvent => ({ ...fact, seq: 1, thread: 't1', path: ['t1'], at, cursor: '1.1' })
const value = (text: string): Outcome => ({ ok: true, value: text })
const asked = (calls: readonly Asked[]): SkeinEvent =>
  event({
    type: 'model.replied',
    step: 1,
    model: 'm',
    text: '',
    calls,
    usage: { inputTokens: 0, outputTokens: 0, costUsd: 0 },
    finish: 'tool_calls',
    callIds: calls.map((_, index) => `call_1_${index}`),
  })

/** What happens to one call, in this order, and how it must end. */
interface Life {
  readonly hold?: Asked['hold']
  /** Another thread answers it. */
  readonly child?: 'waited for' | 'forked' | 'away'
  readonly facts: (index: number) => readonly Facts[]
  readonly end: 'denied' | { readonly outcome: string; readonly cached?: true }
}

const result = (index: number, text: string, provisional?: true): Facts => ({
  type: 'tool.result',
  step: 1,
  index,
  call: `call_1_${index}`,
  tool: 'add',
  outcome: value(text),
  ...(provisional && { provisional }),
})
const settled = (index: number, verdict: 'kept' | 'stale' | 'cached', text?: string): Facts => ({
  type: 'call.settled',
  step: 1,
  index,
  verdict,
  ...(text !== undefined && { outcome: value(text) }),
})
const approved = (index: number): Facts => ({ type: 'call.decided', step: 1, index, decision: 'approve' })
const called: Record<'called' | 'reported' | 'noted' | 'forked', (index: number) => Facts> = {
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
  'at once': { facts: (at) => [result(at, 'a')], end: { outcome: 'a' } },
  kept: { facts: (at) => [result(at, 'a', true), settled(at, 'kept')], end: { outcome: 'a' } },
  stale: {
    facts: (at) => [result(at, 'old', true), settled(at, 'stale'), result(at, 'new', true), settled(at, 'kept')],
    end: { outcome: 'new' },
  },
  cached: { facts: (at) => [settled(at, 'cached', 'a')], end: { outcome: 'a', cached: true } },
  approved: {
    hold: { why: 'approval' },
    facts: (at) => [approved(at), { type: 'call.began', step: 1, index: at }, result(at, 'a')],
    end: { outcome: 'a' },
  },
  denied: {
    hold: { why: 'approval' },
    facts: (at) => [{ type: 'call.decided', step: 1, index: at, decision: 'reject' }],
    end: 'denied',
  },
  answered: {
    facts: (at) => [
      { type: 'call.held', step: 1, index: at, why: 'person' },
      { type: 'call.answered', step: 1, index: at, output: 'x' },
      result(at, 'a', true),
      settled(at, 'kept'),
    ],
    end: { outcome: 'a' },
  },
  'by a child': { child: 'waited for', facts: (at) => [called.called(at), called.reported(at)], end: { outcome: 'a' } },
  'by a child that nobody waits for': {
    child: 'away',
    facts: (at) => [called.called(at), called.noted(at)],
    end: { outcome: 'a' },
  },
  'by a child with files': {
    child: 'forked',
    facts: (at) => [called.called(at), called.forked(at), result(at, 'a', true), settled(at, 'kept')],
    end: { outcome: 'a' },
  },
}

/** Lives in one order: those of each call in their own. */
const interleaved = (queues: readonly (readonly Facts[])[]): fc.Arbitrary<readonly Facts[]> =>
  fc
    .shuffledSubarray(
      queues.flatMap((facts, index) => facts.map(() => index)),
      { minLength: queues.flat().length },
    )
    .map((order) => {
      const left = queues.map((facts) => [...facts])
      return order.flatMap((index) => left[index]?.splice(0, 1) ?? [])
    })

const turns = fc.array(fc.constantFrom(...Object.keys(lives)), { minLength: 1, maxLength: 6 }).chain((names) => {
  const led = names.map((name) => lives[name] as Life)
  return interleaved(led.map(({ facts }, index) => facts(index))).map((facts) => ({ led, facts }))
})

describe('the calls of a turn', () => {
  it('each is answered once and last, with the outcome that counts, in whatever order they go', () => {
    fc.assert(
      fc.property(turns, ({ led, facts }) => {
        const calls = createCalls()
        const news = [
          asked(
            led.map(({ hold, child }, index) => ({
              tool: 'add',
              args: {},
              ...(hold && { hold }),
              ...childOf(index, child),
            })),
          ),
          ...facts.map((fact) => event(fact)),
        ].flatMap((one) => calls.take(one))
        led.forEach(({ end }, index) => {
          const own = news.filter(({ call }) => call.id === `call_1_${index}`)
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

  const after = (...events: readonly SkeinEvent[]): readonly CallNews[] => {
    const calls = createCalls()
    return events.flatMap((one) => calls.take(one))
  }
  const line = (news: CallNews | undefined): string | undefined =>
    news && callLine((_, text) => text, news, news.state === 'answered' ? durationOf(news) : '')

  it('a call that waits from the beginning is asked for and held', () => {
    const news = after(asked([{ tool: 'pay', args: { sum: 3 }, hold: { why: 'approval', prompt: 'Pay\nthree?' } }]))
    expect(news.map(line)).toEqual(['→ pay {"sum":3}', '‖ pay waits for approval: Pay three?'])
  })

  it('the time of a call is that of its body: not while it waited for someone, nor for its verdict', () => {
    const decided = event(
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
    const news = after(
      asked([{ tool: 'pay', args: { sum: 3 }, hold: { why: 'approval' } }]),
      decided,
      event(result(0, 'ok', true), 60_005),
      event(settled(0, 'kept'), 90_000),
    )
    expect(news.slice(2).map(line)).toEqual([
      '→ pay approved by ann with other args {"sum":2}',
      undefined,
      '✓ add 5 ms',
    ])
  })

  it('a call that is refused, or whose args are its result, is answered at once and took no time', () => {
    const news = after(
      asked([
        { tool: 'nope', args: {}, refused: { code: 'UNKNOWN_TOOL', message: 'no such tool', retry: false } },
        { tool: 'response', args: { a: 1 }, answered: { a: 1 } },
      ]),
    )
    expect(news.map(line)).toEqual(['✗ nope UNKNOWN_TOOL: no such tool', '✓ response'])
  })

  it('calls without a model are calls like others; a stale one is told to run again; denied says who and why', () => {
    const made = event({
      type: 'calls.made',
      step: 1,
      calls: [
        { tool: 'add', args: {} },
        { tool: 'pay', args: {} },
      ],
    })
    const denied = event({
      type: 'call.decided',
      step: 1,
      index: 1,
      decision: 'reject',
      decidedBy: 'deadline',
      comment: 'nobody decided in time',
    })
    const news = after(made, event(result(0, 'a', true)), event(settled(0, 'stale')), denied)
    expect(news.map(line)).toEqual([
      '→ add {}',
      '→ pay {}',
      undefined,
      '↻ add runs again: what it read has changed',
      '✗ pay denied by deadline: nobody decided in time',
    ])
  })

  it('a call that was asked for before the first event is called by its id until its result names it', () => {
    expect(
      after(event({ type: 'call.held', step: 2, index: 1, why: 'person' }), event({ ...result(1, 'a') })).map(line),
    ).toEqual(['‖ call_2_1 waits for an answer', '✓ add 0 ms'])
    expect(after(event(settled(0, 'kept')))).toEqual([])
  })

  it('a child is told when it is called, not while it waits in line; its time begins there, and a report that nobody waits for any more says nothing', () => {
    const two = asked(
      [0, 1].map((index) => ({ tool: 'writer', args: { message: 'x' }, ...childOf(index, 'waited for') })),
    )
    const ended = event({ type: 'turn.ended', run: 'r', reason: 'cancelled' })
    const news = after(
      two,
      event(called.called(0), 10),
      event(called.reported(0), 40),
      event(called.called(1), 50),
      ended,
      event(called.reported(1), 60),
    )
    expect(news.map(line)).toEqual(['→ writer-0 {"message":"x"}', '✓ writer-0 30 ms', '→ writer-1 {"message":"x"}'])
    const refused = event({
      ...{ type: 'child.called', step: 1, index: 0 },
      refused: { code: 'TOOL_INPUT_INVALID', message: 'no such file', retry: false },
    })
    expect(after(two, refused).map(line)).toEqual(['✗ writer-0 TOOL_INPUT_INVALID: no such file'])
  })
})
