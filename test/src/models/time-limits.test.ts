/** A provider that hangs, on a manual clock. */
import { expect, test } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../../src/agent/define.js'
import { memory } from '../../../src/backend/memory/memory.js'
import { createCancel } from '../../../src/core/async/cancel.js'
import { manualClock } from '../../../src/core/manual-clock.js'
import { noUsage } from '../../../src/core/usage.js'
import { abortable } from '../../../src/models/retry/abort.js'
import { ModelAttempt } from '../../../src/models/retry/attempt.js'
import { withFallback } from '../../../src/models/retry/fallback.js'
import type { Model, ModelCallOptions, ModelReply } from '../../../src/models/port.js'
import { withRetries } from '../../../src/models/retry/retry.js'
import { defaultTimeLimits, withTimeLimits } from '../../../src/models/retry/time-limits.js'
import { createSkein } from '../../../src/runtime/skein.js'
import { quiet, until } from '../../helpers/deferred.js'
import { modelRequest, watched } from '../../helpers/model-request.js'

const limits = { idleMs: 1_000, totalMs: 5_000 }
const reply: ModelReply = { text: 'ok', calls: [], usage: noUsage, finish: 'stop' }

/** Hangs until it is told to answer; `signal`: it looks at its signal, as real ones do. */
function hanging(looks = true) {
  const asked: ModelCallOptions[] = []
  const reasons: unknown[] = []
  let answer: (given: ModelReply) => void = () => undefined
  const model: Model = {
    name: 'slow',
    call(_request, options) {
      asked.push(options)
      if (looks) options.signal.addEventListener('abort', () => reasons.push(options.signal.reason))
      return new Promise((resolve) => (answer = resolve))
    },
  }
  return { model, asked, reasons, answer: () => answer(reply) }
}

test.each([true, false])(
  'silence for too long is MODEL_UNAVAILABLE, and the call is aborted (it looks at its signal: %s)',
  async (looks) => {
    const clock = manualClock()
    const { model, reasons } = hanging(looks)
    const call = withTimeLimits(model, limits, clock).call(modelRequest(), watched().options)
    clock.advance(999)
    expect(reasons).toEqual([])
    clock.advance(1)
    await expect(call).rejects.toMatchObject({
      code: 'MODEL_UNAVAILABLE',
      retry: true,
      message: expect.stringContaining('nothing was heard of it for 1 s'),
      data: { timeout: 'idle' },
    })
    expect(reasons).toHaveLength(looks ? 1 : 0)
    expect(clock.pending).toBe(0)
  },
)

test('what is said, or only heard, keeps it; the whole has its limit', async () => {
  const clock = manualClock()
  const { model, asked } = hanging()
  const call = withTimeLimits(model, limits, clock).call(modelRequest(), watched().options)
  for (let piece = 0; piece < 5; piece++) {
    clock.advance(900)
    if (piece % 2) asked[0]?.heard?.()
    else asked[0]?.emit({ type: 'text', text: '.' })
  }
  clock.advance(499)
  expect(clock.pending).toBe(1)
  clock.advance(1)
  await expect(call).rejects.toMatchObject({
    message: expect.stringContaining('it was not done after 5 s'),
    data: { timeout: 'total' },
  })
})

test('an abort from outside stays what it is; an answer in time is one', async () => {
  const clock = manualClock()
  const { model, reasons, answer } = hanging()
  const timely = withTimeLimits(model, limits, clock)
  const watch = watched()
  const left = timely.call(modelRequest(), watch.options)
  watch.abort(new Error('the user left'))
  expect(reasons).toEqual([expect.objectContaining({ message: 'the user left' })])
  answer()
  await left
  const call = timely.call(modelRequest(), watched().options)
  clock.advance(500)
  answer()
  await expect(call).resolves.toBe(reply)
  expect(clock.pending).toBe(0)
})

test('a model that throws at once leaves no wake-up behind', async () => {
  const clock = manualClock()
  const model: Model = {
    name: 'rash',
    call: () => {
      throw new Error('at once')
    },
  }
  await expect(withTimeLimits(model, limits, clock).call(modelRequest(), watched().options)).rejects.toThrow('at once')
  expect(clock.pending).toBe(0)
})

test('a thousand calls at once share one wake-up, and each has its own time', async () => {
  const clock = manualClock()
  const { model } = hanging()
  const timely = withTimeLimits(model, limits, clock)
  const ended: number[] = []
  for (let index = 0; index < 1_000; index++) {
    timely.call(modelRequest(), watched().options).catch(() => ended.push(index))
    if (index === 499) clock.advance(600)
  }
  expect(clock.pending).toBe(1)
  clock.advance(400)
  await Promise.resolve().then(() => undefined)
  expect(ended).toHaveLength(500)
  clock.advance(600)
  await Promise.resolve().then(() => undefined)
  expect(ended).toHaveLength(1_000)
  expect(clock.pending).toBe(0)
})

test('silence is tried once more, then the fallback answers; what is late for good is not tried again', async () => {
  for (const [totalMs, tries] of [
    [5_000, 2],
    [1_000, 1],
  ] as const) {
    const clock = manualClock()
    const { model, asked } = hanging()
    const retried = withRetries(withTimeLimits(model, { idleMs: 1_000, totalMs }, clock), {
      clock,
      random: { id: () => 'id', fraction: () => 0 },
    })
    const other: Model = { name: 'other', call: async () => reply }
    const { options, deltas } = watched()
    const call = withFallback([retried, other]).call(modelRequest(), options)
    for (let step = 0; step < 50 && clock.pending > 0; step++) {
      clock.next()
      await new Promise((resolve) => setImmediate(resolve))
    }
    await expect(call).resolves.toMatchObject({ text: 'ok', model: 'other' })
    expect(asked).toHaveLength(tries)
    expect(deltas).toEqual(Array.from({ length: tries }, () => 'restarted'))
  }
})

test.each([
  ['none are said', {}, defaultTimeLimits.idleMs],
  ['the model says so', { timeouts: { idleMs: 2_000 } }, 2_000],
])('a turn whose provider hangs goes on after its limits, where %s', async (_, timeouts, idleMs) => {
  const clock = manualClock()
  const { model, asked } = hanging()
  const other: Model = { name: 'other', call: async () => reply }
  const app = [
    defineModel({ name: 'slow', model, fallback: ['other'], ...timeouts }),
    defineModel({ name: 'other', model: other }),
    definePrompt({ name: 'p', prompt: 'x', model: 'slow' }),
    defineAgent({ name: 'helper', type: 'ai_human', sideA: { prompt: 'p' } }),
  ]
  const random = { id: () => 'id', fraction: () => 0 }
  const skein = await createSkein({ app, backend: memory(), clock, random })
  const run = (await skein.threads.create({ agent: 'helper', id: 't' })).send('go', { id: 'm' })
  await run.accepted()
  for (const tries of [1, 2]) {
    await until('it to be asked', () => asked.length === tries)
    clock.advance(idleMs - 1)
    await quiet()
    expect(asked).toHaveLength(tries)
    clock.advance(1)
  }
  expect(await run.text()).toBe('ok')
  await skein.close()
})

test('an abort reaches a model that listens without a signal, through all attempts, and no signal is made', async () => {
  const clock = manualClock()
  const cancel = createCancel()
  const options: ModelCallOptions = {
    get signal(): AbortSignal {
      return expect.fail('the signal was read')
    },
    onAbort: (listener) => cancel.onAbort(listener),
    emit: () => undefined,
  }
  const model: Model = {
    name: 'slow',
    call: (_request, call) => abortable(new Promise<never>(() => undefined), call),
  }
  const call = withTimeLimits(model, limits, clock).call(modelRequest(), new ModelAttempt(options))
  cancel.abort(new Error('enough'))
  await expect(call).rejects.toThrow('enough')
  expect(clock.pending).toBe(0)
})
