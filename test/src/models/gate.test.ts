/** The gate before a model, on a manual clock: who goes when, and how many requests a provider gets. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SkeinError } from '../../../src/core/failure.js'
import { manualClock } from '../../../src/core/manual-clock.js'
import type { ManualClock } from '../../../src/core/manual-clock.js'
import { noUsage } from '../../../src/core/usage.js'
import { RateLimitGate } from '../../../src/models/rate-limit/gate.js'
import type { Model, ModelCallOptions, ModelReply } from '../../../src/models/port.js'
import { withRetries } from '../../../src/models/retry/retry.js'
import { turn } from '../../helpers/deferred.js'
import { modelRequest } from '../../helpers/model-request.js'

const ok: ModelReply = { text: 'ok', calls: [], usage: noUsage, finish: 'stop' }
const limited = (retryAfterMs?: number): SkeinError =>
  new SkeinError('MODEL_RATE_LIMITED', 'slow down', {
    retry: true,
    data: { status: 429, ...(retryAfterMs !== undefined && { retryAfterMs }) },
  })

interface Sent {
  readonly thread: string
  readonly at: number
  reply(): void
  fail(error: unknown): void
  emit: ModelCallOptions['emit']
}

/** A provider that answers when the test says so, behind one gate. */
function setUp({ fraction = 0.5, maxRetries = 4 } = {}) {
  const clock = manualClock()
  const sent: Sent[] = []
  const news: number[] = []
  const inner: Model = {
    name: 'm',
    call: ({ thread }, { emit }) =>
      new Promise((resolve, reject) => {
        sent.push({ thread, at: clock.now(), reply: () => resolve(ok), fail: reject, emit })
      }),
  }
  const chance = { id: () => 'id', fraction: () => fraction }
  const gate = new RateLimitGate('m', { clock, random: chance, maxRetries, closed: (waitMs) => news.push(waitMs) })
  const model = withRetries(inner, { clock, random: chance, maxRetries, gate })
  const waits = new Map<string, (readonly [place: number, until: number])[]>()
  const ask = (thread: string) => {
    const control = new AbortController()
    const told: (readonly [number, number])[] = []
    waits.set(thread, told)
    const outcome = model
      .call(modelRequest({ thread }), {
        signal: control.signal,
        emit: () => undefined,
        waiting: ({ place, until }) => void told.push([place, until]),
      })
      .then(
        () => 'ok',
        (thrown: unknown) => thrown,
      )
    return { outcome, abort: (why: unknown) => control.abort(why) }
  }
  return { clock, gate, sent, news, ask, waits, threads: () => sent.map(({ thread }) => thread) }
}

const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `t${n}`)

async function pass(clock: ManualClock, ms: number): Promise<void> {
  clock.advance(ms)
  await turn()
}

/** Answers everything that is under way, round by round, and gives how many each round had. */
async function rounds({ sent, clock }: ReturnType<typeof setUp>, from: number, ms = 100): Promise<number[]> {
  const sizes: number[] = []
  for (let done = from; done < sent.length;) {
    const under = sent.slice(done)
    sizes.push(under.length)
    done = sent.length
    await pass(clock, ms)
    for (const { reply } of under) reply()
    await turn()
  }
  return sizes
}

describe('AG1', () => {
  it('a model that was never limited passes everything at once, and sets no timer', async () => {
    const { sent, ask, clock, gate } = setUp()
    for (const thread of names(100)) ask(thread)
    expect([sent.length, clock.pending, gate.free]).toEqual([100, 0, true])
  })
})

describe('L5: one limit is for all', () => {
  it('of 1,000 threads 50 are let in; the rest wait as long as was asked, and come back in order, one at first', async () => {
    const world = setUp()
    const { sent, ask, clock, threads, waits, news } = world
    const outcomes = names(1_000).map((thread) => ask(thread).outcome)
    expect(sent).toHaveLength(1_000)
    sent.slice(0, 50).forEach(({ reply }) => reply())
    sent.slice(50).forEach(({ fail }) => fail(limited(10_000)))
    await turn()
    // 10 s, and half of the 500 ms of the first closing.
    expect(news).toEqual([10_250])
    expect(waits.get('t50')).toEqual([[1, 10_250]])
    await pass(clock, 10_249)
    expect(sent).toHaveLength(1_000)
    await pass(clock, 1)
    expect(threads().slice(1_000)).toEqual(['t50'])
    const sizes = await rounds(world, 1_000)
    expect(sizes).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 439])
    expect(threads().slice(1_000)).toEqual(names(1_000).slice(50))
    expect(new Set(await Promise.all(outcomes))).toEqual(new Set(['ok']))
    expect(clock.pending).toBe(0)
  })

  it('beyond half of what was too much, one more for each round', async () => {
    const world = setUp()
    const { sent, ask, clock } = world
    names(100).forEach((thread) => ask(thread))
    sent.slice(0, 80).forEach(({ reply }) => reply())
    await turn()
    sent.slice(80).forEach(({ fail }) => fail(limited(1_000)))
    await turn()
    names(200).forEach((thread) => ask(`later ${thread}`))
    await pass(clock, 1_250)
    // 20 were under way when it closed.
    expect(await rounds(world, 100)).toEqual([1, 2, 4, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 19])
  })

  it('the first word of an answer lets the next go, and so does a provider that has not refused within 10 s', async () => {
    const { sent, ask, clock } = setUp()
    names(8).forEach((thread) => ask(thread))
    sent.forEach(({ fail }) => fail(limited(1_000)))
    await turn()
    await pass(clock, 1_250)
    expect(sent).toHaveLength(9)
    sent[8]?.emit({ type: 'text', text: 'Hel' })
    sent[8]?.emit({ type: 'text', text: 'lo' })
    await turn()
    expect(sent).toHaveLength(10)
    await pass(clock, 9_999)
    expect(sent).toHaveLength(10)
    await pass(clock, 1)
    expect(sent).toHaveLength(11)
  })

  it('late refusals of what was sent before change nothing, unless they ask for longer', async () => {
    const { sent, ask, clock, news } = setUp()
    names(4).forEach((thread) => ask(thread))
    sent[0]?.fail(limited(5_000))
    await turn()
    await pass(clock, 100)
    sent[1]?.fail(limited(5_000))
    sent[2]?.fail(limited())
    await turn()
    expect(news).toEqual([5_250])
    sent[3]?.fail(limited(8_000))
    await turn()
    expect(news).toEqual([5_250, 8_250])
    await pass(clock, 8_249)
    expect(sent).toHaveLength(4)
    await pass(clock, 1)
    expect(sent).toHaveLength(5)
  })

  it('a probe that is refused closes it again, for longer each time', async () => {
    const { sent, ask, clock, news } = setUp()
    names(3).forEach((thread) => ask(thread))
    sent.forEach(({ fail }) => fail(limited()))
    await turn()
    for (const waitMs of [250, 500, 1_000]) {
      const before = sent.length
      await pass(clock, waitMs)
      expect(sent.slice(before).map(({ thread }) => thread)).toEqual(['t0'])
      sent.at(-1)?.fail(limited())
      await turn()
    }
    expect(news).toEqual([250, 500, 1_000, 2_000])
    await pass(clock, 2_000)
    sent.at(-1)?.reply()
    await turn()
    // One was let in: the next refusal is the first again.
    sent.at(-1)?.fail(limited())
    await turn()
    expect(news.at(-1)).toBe(250)
  })

  it('a minute after it opened, with nobody in line, it never was closed', async () => {
    const world = setUp()
    const { sent, ask, clock, gate } = world
    ask('t0')
    sent[0]?.fail(limited(1_000))
    await turn()
    await pass(clock, 1_250)
    await rounds(world, 1)
    names(10).forEach((thread) => ask(thread))
    await turn()
    // Two: one was let in since.
    expect([gate.free, sent.length]).toEqual([false, 4])
    await rounds(world, 2)
    await pass(clock, 60_000)
    names(50).forEach((thread) => ask(thread))
    expect([gate.free, sent.length]).toEqual([true, 62])
  })

  it('another host was limited: this one waits too, a time of its own longer, and tells nobody', async () => {
    const { sent, ask, clock, gate, news } = setUp()
    gate.heard(10_000)
    names(3).forEach((thread) => ask(thread))
    await pass(clock, 10_249)
    expect(sent).toHaveLength(0)
    gate.heard(1)
    await pass(clock, 1)
    // What was heard is shorter than what is left, so nothing changed.
    expect([sent.length, news]).toEqual([1, []])
  })
})

describe('waiting', () => {
  it('waiting is no attempt: one refusal and two waits are within one retry, two refusals are not', async () => {
    const { sent, ask, clock, threads } = setUp({ maxRetries: 1 })
    const [t0, t1, t2, t3] = names(4).map((thread) => ask(thread).outcome)
    sent.forEach(({ fail }) => fail(limited(1_000)))
    await turn()
    await pass(clock, 1_250)
    sent.at(-1)?.reply()
    await turn()
    expect(threads().slice(4)).toEqual(['t0', 't1', 't2'])
    sent.at(-1)?.fail(limited(1_000))
    sent.at(-2)?.reply()
    await turn()
    expect(await t2).toMatchObject({ code: 'MODEL_RATE_LIMITED', data: { attempts: 2 } })
    await pass(clock, 1_250)
    sent.at(-1)?.reply()
    expect(await Promise.all([t0, t1, t3])).toEqual(['ok', 'ok', 'ok'])
  })

  it('an abort ends a wait at once with its reason; those behind move up, and no wake-up is left', async () => {
    const { sent, ask, clock, waits, gate } = setUp()
    const asked = names(4).map((thread) => ask(thread))
    sent.forEach(({ fail }) => fail(limited(1_000)))
    await turn()
    const reason = new Error('enough')
    asked[0]?.abort(reason)
    expect(await asked[0]?.outcome).toBe(reason)
    expect(gate.waiting(10).map(({ thread, place }) => [thread, place])).toEqual([
      ['t1', 1],
      ['t2', 2],
      ['t3', 3],
    ])
    expect(waits.get('t1')?.at(-1)).toEqual([1, 1_250])
    for (const { abort } of asked) abort(reason)
    await turn()
    expect([clock.pending, sent.length, gate.waiting(10)]).toEqual([0, 4, []])
  })

  it('who waits is told when it begins to, at places that are powers of two, and when it goes', async () => {
    const world = setUp()
    const { sent, ask, clock, waits } = world
    names(21).forEach((thread) => ask(thread))
    sent.forEach(({ fail }) => fail(limited(1_000)))
    await turn()
    await pass(clock, 1_250)
    await rounds(world, 21)
    const places = waits.get('t20')?.map(([place]) => place) ?? []
    expect(places[0]).toBe(21)
    expect(
      places
        .slice(1)
        .filter((place) => place > 0)
        .every((place) => Number.isInteger(Math.log2(place))),
    ).toBe(true)
    expect(places.at(-1)).toBe(0)
  })

  it('closed more often in a row than a call is tried again, it is given up, by all that wait', async () => {
    const { sent, ask, clock } = setUp({ maxRetries: 2 })
    const outcomes = names(100).map((thread) => ask(thread).outcome)
    sent.forEach(({ fail }) => fail(limited(1_000)))
    await turn()
    for (const waitMs of [1_250, 1_500]) {
      await pass(clock, waitMs)
      sent.at(-1)?.fail(limited(1_000))
      await turn()
    }
    const failures = await Promise.all(outcomes)
    expect(failures[0]).toMatchObject({ code: 'MODEL_RATE_LIMITED', data: { attempts: 3 } })
    expect(failures[99]).toMatchObject({ code: 'MODEL_RATE_LIMITED', retry: true, data: { model: 'm', times: 3 } })
    expect(sent).toHaveLength(102)
    // Who comes then may try as often.
    const next = ask('next')
    await pass(clock, 60_000)
    sent.at(-1)?.reply()
    expect(await next.outcome).toBe('ok')
  })

  it('where more than five minutes are asked, nobody waits; whoever comes within five is not sent, then one asks', async () => {
    const { sent, ask, clock, news } = setUp()
    const outcomes = names(3).map((thread) => ask(thread).outcome)
    sent[1]?.fail(limited(1_000))
    sent[2]?.fail(limited(1_000))
    await turn()
    sent[0]?.fail(limited(3_600_000))
    expect(await Promise.all(outcomes)).toMatchObject([
      { code: 'MODEL_RATE_LIMITED', data: { attempts: 1, retryAfterMs: 3_600_000 } },
      { data: { until: 300_000 } },
      { data: { until: 300_000 } },
    ])
    expect(news).toEqual([1_250, 3_600_000])
    expect(await ask('soon').outcome).toMatchObject({ code: 'MODEL_RATE_LIMITED' })
    await pass(clock, 300_000)
    const later = [ask('later'), ask('last')]
    await turn()
    expect(sent.map(({ thread }) => thread)).toEqual(['t0', 't1', 't2', 'later'])
    sent.at(-1)?.reply()
    await turn()
    sent.at(-1)?.reply()
    expect(await Promise.all(later.map(({ outcome }) => outcome))).toEqual(['ok', 'ok'])
  })
})

describe('whatever happens', () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('ask' as const), count: fc.integer({ min: 1, max: 12 }) }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('reply' as const), which: fc.nat() }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('limit' as const),
        which: fc.nat(),
        askedMs: fc.integer({ min: 0, max: 5_000 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('break' as const), which: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('abort' as const), which: fc.nat() }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('time' as const), ms: fc.integer({ min: 1, max: 8_000 }) }) },
  )

  type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

  /** How many calls that waited may have gone in this step. */
  const mostFromLine = ({ kind }: Step, { free, isClosed }: { readonly free: boolean; readonly isClosed: boolean }) => {
    if (kind === 'time' || free) return Infinity
    // A reply or a first word lets two go at most: its own place, and one more.
    return isClosed ? 0 : 2
  }

  it('nobody overtakes, nothing is sent while it is closed, and never more go than were let in', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { clock, sent, ask, gate } = setUp({ maxRetries: 100 })
        const open = new Map<string, ReturnType<typeof ask>>()
        const answered = new Set<Sent>()
        const under = (which: number): Sent | undefined => {
          const live = sent.filter((each) => !answered.has(each))
          const one = live[which % Math.max(1, live.length)]
          if (one) answered.add(one)
          return one
        }
        let asked = 0
        const take = (each: Step): void => {
          switch (each.kind) {
            case 'ask':
              for (let count = 0; count < each.count; count++) open.set(`t${++asked}`, ask(`t${asked}`))
              return
            case 'reply':
              return under(each.which)?.reply()
            case 'limit':
              return under(each.which)?.fail(limited(each.askedMs))
            case 'break':
              return under(each.which)?.fail(new SkeinError('MODEL_REJECTED', 'no'))
            case 'abort':
              return [...open.values()][each.which % Math.max(1, open.size)]?.abort('enough')
            case 'time':
              return clock.advance(each.ms)
          }
        }
        for (const each of steps) {
          const before = sent.length
          const line = gate.waiting(1_000).map(({ thread }) => thread)
          const free = gate.free
          const until = gate.waiting(1)[0]?.until ?? 0
          take(each)
          await turn()
          const went = sent.slice(before).map(({ thread }) => thread)
          // From the front of the line, in its order; behind it whoever has just come.
          const fromLine = went.filter((thread) => line.includes(thread))
          const kept = line.filter(
            (thread) => fromLine.includes(thread) || gate.waiting(1_000).some((waits) => waits.thread === thread),
          )
          expect(fromLine).toEqual(kept.slice(0, fromLine.length))
          expect(fromLine.length).toBeLessThanOrEqual(mostFromLine(each, { free, isClosed: until > clock.now() }))
          const tickets = gate.waiting(1_000).map(({ thread }) => Number(thread.slice(1)))
          expect(tickets).toEqual([...tickets].sort((one, other) => one - other))
        }
      }),
      { numRuns: 150 },
    )
  })
})
