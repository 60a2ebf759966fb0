/** Retries and their waits, on a manual clock. */
import { describe, expect, test } from 'vitest'
import { SkeinError } from '../../../src/core/failure.js'
import { manualClock } from '../../../src/core/manual-clock.js'
import type { Model, ModelReply } from '../../../src/models/port.js'
import { type RetryInfo, type RetryOptions, withRetries } from '../../../src/models/retry/retry.js'
import { noUsage } from '../../../src/core/usage.js'
import { modelRequest, watched } from '../../helpers/model-request.js'

const reply: ModelReply = { text: 'ok', calls: [], usage: noUsage, finish: 'stop' }
const down = (data?: Record<string, unknown>): SkeinError =>
  new SkeinError('MODEL_UNAVAILABLE', 'down', { retry: true, ...(data && { data }) })
const limited = (retryAfterMs: number): SkeinError =>
  new SkeinError('MODEL_RATE_LIMITED', 'slow down', { retry: true, data: { status: 429, retryAfterMs } })

/** Fails with each error in turn, then replies. */
function failing(errors: readonly unknown[]): Model & { calls: number } {
  return {
    name: 'm',
    calls: 0,
    async call(_request, { emit }) {
      const error = errors[this.calls++]
      emit({ type: 'text', text: `try ${this.calls}` })
      if (error !== undefined) throw error
      return reply
    },
  }
}

function setUp(errors: readonly unknown[], options: Partial<RetryOptions> = {}) {
  const clock = manualClock()
  const infos: RetryInfo[] = []
  const inner = failing(errors)
  const model = withRetries(inner, {
    clock,
    random: { id: () => 'id', fraction: () => 0.5 },
    retrying: (info) => {
      infos.push(info)
      // The wait is set in the same turn, after this callback.
      queueMicrotask(() => clock.next())
    },
    ...options,
  })
  return { clock, infos, inner, model, waits: () => infos.map((info) => info.waitMs) }
}

test('waits double up to the cap, with full jitter', async () => {
  const { model, waits, clock } = setUp([down(), down(), down(), down()], { capMs: 3_000 })
  await expect(model.call(modelRequest(), watched().options)).resolves.toEqual(reply)
  expect(waits()).toEqual([250, 500, 1_000, 1_500])
  expect(clock.now()).toBe(3_250)
})

test('full jitter reaches from no wait to the whole', async () => {
  const none = setUp([down()], { random: { id: () => 'id', fraction: () => 0 } })
  await none.model.call(modelRequest(), watched().options)
  expect(none.waits()).toEqual([0])
  expect(none.clock.pending).toBe(0)
  const most = setUp([down()], { random: { id: () => 'id', fraction: () => 0.999 } })
  await most.model.call(modelRequest(), watched().options)
  expect(most.waits()).toEqual([499])
})

test("never waits less than the provider's Retry-After", async () => {
  const { model, waits } = setUp([limited(20_000), limited(300_000)])
  await model.call(modelRequest(), watched().options)
  expect(waits()).toEqual([20_250, 300_500])
})

test('a provider that asks for more than five minutes is given up at once', async () => {
  const { model, inner, infos } = setUp([limited(300_001)])
  await expect(model.call(modelRequest(), watched().options)).rejects.toMatchObject({
    code: 'MODEL_RATE_LIMITED',
    retry: true,
    data: { retryAfterMs: 300_001, attempts: 1 },
  })
  expect([inner.calls, infos.length]).toEqual([1, 0])
})

describe('RY1', () => {
  test('gives up after maxRetries with the last failure and the number of attempts', async () => {
    const { model, inner } = setUp([down(), down(), down({ status: 503 })], { maxRetries: 2 })
    await expect(model.call(modelRequest(), watched().options)).rejects.toMatchObject({
      code: 'MODEL_UNAVAILABLE',
      message: 'down; gave up after 3 attempts',
      data: { status: 503, attempts: 3 },
    })
    expect(inner.calls).toBe(3)
  })

  test('the default is four retries, and maxRetries 0 means none', async () => {
    const many = setUp(Array.from({ length: 9 }, () => down()))
    await expect(many.model.call(modelRequest(), watched().options)).rejects.toMatchObject({
      code: 'MODEL_UNAVAILABLE',
    })
    expect(many.inner.calls).toBe(5)
    const none = setUp([down()], { maxRetries: 0 })
    await expect(none.model.call(modelRequest(), watched().options)).rejects.toMatchObject({
      code: 'MODEL_UNAVAILABLE',
    })
    expect(none.inner.calls).toBe(1)
  })

  test('a refusal and a foreign error are thrown as they are, at once', async () => {
    for (const error of [new SkeinError('MODEL_REJECTED', 'no'), new TypeError('bug')]) {
      const { model, inner } = setUp([error])
      await expect(model.call(modelRequest(), watched().options)).rejects.toBe(error)
      expect(inner.calls).toBe(1)
    }
  })
})

test('a new attempt is announced, and late deltas of the old one are dropped', async () => {
  const late: (() => void)[] = []
  const inner: Model = {
    name: 'm',
    async call(_request, { emit }) {
      emit({ type: 'text', text: 'a' })
      late.push(() => emit({ type: 'text', text: 'late' }))
      if (late.length === 1) throw down()
      late[0]?.()
      return reply
    },
  }
  const clock = manualClock()
  const model = withRetries(inner, {
    clock,
    random: { id: () => 'id', fraction: () => 0.5 },
    retrying: () => queueMicrotask(() => clock.next()),
  })
  const { options, deltas } = watched()
  await model.call(modelRequest(), options)
  expect(deltas).toEqual([{ type: 'text', text: 'a' }, 'restarted', { type: 'text', text: 'a' }])
})

test('an abort ends the wait at once with its reason and leaves no wake-up', async () => {
  const watch = watched()
  const reason = new Error('enough')
  const { model, clock, inner } = setUp([down()], { retrying: () => queueMicrotask(() => watch.abort(reason)) })
  await expect(model.call(modelRequest(), watch.options)).rejects.toBe(reason)
  expect([clock.pending, inner.calls]).toEqual([0, 1])
})

test('an abort during an attempt throws the reason and does not retry', async () => {
  const watch = watched(() => watch.abort('stop'))
  const { model, inner } = setUp([down()])
  await expect(model.call(modelRequest(), watch.options)).rejects.toBe('stop')
  expect(inner.calls).toBe(1)
})

test('T6: provider retries tell who waits for what, and stay outside the reply', async () => {
  const { model, infos } = setUp([limited(1_000)])
  await expect(model.call(modelRequest({ thread: 't9' }), watched().options)).resolves.toEqual(reply)
  expect(infos).toMatchObject([
    { model: 'm', thread: 't9', attempt: 1, waitMs: 1_250, error: { code: 'MODEL_RATE_LIMITED' } },
  ])
})
