/** Fallback from model to model. */
import { expect, test } from 'vitest'
import { SkeinError } from '../../../src/core/failure.js'
import { withFallback } from '../../../src/models/retry/fallback.js'
import { scriptedModel } from '../../../src/models/scripted.js'
import { modelRequest, watched } from '../../helpers/model-request.js'

const limited = new SkeinError('MODEL_RATE_LIMITED', 'slow down', { retry: true, data: { status: 429 } })
const refused = new SkeinError('MODEL_REJECTED', 'too long', { data: { status: 400 } })

test('the reply says which model answered', async () => {
  const first = scriptedModel([{ error: limited }, 'again'], { name: 'a' })
  const model = withFallback([first, scriptedModel(['from b'], { name: 'b' })])
  await expect(model.call(modelRequest(), watched().options)).resolves.toMatchObject({ text: 'from b', model: 'b' })
  await expect(model.call(modelRequest(), watched().options)).resolves.toMatchObject({ text: 'again', model: 'a' })
})

test('a refusal moves on too; a nested fallback keeps the name of who answered', async () => {
  const inner = withFallback([scriptedModel([{ error: 'no' }], { name: 'b' }), scriptedModel(['yes'], { name: 'c' })])
  const model = withFallback([scriptedModel([{ error: refused }], { name: 'a' }), inner])
  await expect(model.call(modelRequest(), watched().options)).resolves.toMatchObject({ text: 'yes', model: 'c' })
})

test('when all fail, the last error is thrown with the earlier ones in its data', async () => {
  const model = withFallback([
    scriptedModel([{ error: limited }], { name: 'a' }),
    scriptedModel([{ error: new TypeError('bug') }], { name: 'b' }),
    scriptedModel([{ error: refused }], { name: 'c' }),
  ])
  await expect(model.call(modelRequest(), watched().options)).rejects.toMatchObject({
    code: 'MODEL_REJECTED',
    message: 'too long; before it failed: a MODEL_RATE_LIMITED, b MODEL_UNAVAILABLE',
    retry: false,
    data: {
      status: 400,
      earlier: [
        { model: 'a', failure: { code: 'MODEL_RATE_LIMITED', message: 'slow down', retry: true } },
        { model: 'b', failure: { code: 'MODEL_UNAVAILABLE', message: 'TypeError: bug' } },
      ],
    },
  })
})

test('the consumer is told to forget what the failed model had said', async () => {
  async function* broken() {
    yield 'half an ans'
    throw limited
  }
  const model = withFallback([scriptedModel(broken, { name: 'a' }), scriptedModel(['whole'], { name: 'b' })])
  const { options, deltas } = watched()
  await model.call(modelRequest(), options)
  expect(deltas).toEqual([{ type: 'text', text: 'half an ans' }, 'restarted', { type: 'text', text: 'whole' }])
})

test('an abort is thrown at once and asks no further model', async () => {
  const watch = watched()
  const second = scriptedModel(['x'])
  const first = scriptedModel(() => {
    watch.abort('stop')
    return new Promise<string>(() => undefined)
  })
  await expect(withFallback([first, second]).call(modelRequest(), watch.options)).rejects.toBe('stop')
  expect(second.requests).toEqual([])
})

test('an empty list is refused, one model is that model', () => {
  const only = scriptedModel([])
  expect(withFallback([only])).toBe(only)
  expect(() => withFallback([])).toThrow(/at least one/)
})
