/** The scripted model: what tests and benchmarks lean on. */
import { describe, expect, test, vi } from 'vitest'
import { SkeinError } from '../../../src/core/failure.js'
import type { Message } from '../../../src/core/records/message.js'
import { noUsage } from '../../../src/core/usage.js'
import { scriptedModel } from '../../../src/models/scripted.js'
import { modelRequest, user, watched } from '../../helpers/model-request.js'

test('a function sees the request and answers with text, calls, usage and finish', async () => {
  const model = scriptedModel(({ step, thread, messages }) =>
    step === 0
      ? { calls: [{ tool: 'search', args: { query: messages[0]?.text } }], usage: { inputTokens: 3 } }
      : { text: `done in ${thread}`, reasoning: 'hm', finish: 'length' },
  )
  await expect(model.call(modelRequest(), watched().options)).resolves.toEqual({
    text: '',
    calls: [{ tool: 'search', args: { query: 'hello' } }],
    usage: { inputTokens: 3, outputTokens: 0, costUsd: 0 },
    finish: 'tool_calls',
  })
  const { options, deltas } = watched()
  await expect(model.call(modelRequest({ step: 1 }), options)).resolves.toEqual({
    text: 'done in t1',
    reasoning: 'hm',
    calls: [],
    usage: noUsage,
    finish: 'length',
  })
  expect(deltas).toEqual([
    { type: 'reasoning', text: 'hm' },
    { type: 'text', text: 'done in t1' },
  ])
})

test('the n-th request gets the n-th reply, and running out says how many there were', async () => {
  const model = scriptedModel(['one', { text: 'two' }])
  const texts = [
    await model.call(modelRequest(), watched().options),
    await model.call(modelRequest(), watched().options),
  ]
  expect(texts.map((reply) => reply.text)).toEqual(['one', 'two'])
  await expect(model.call(modelRequest(), watched().options)).rejects.toMatchObject({
    code: 'MODEL_REJECTED',
    message: expect.stringContaining('has 2 replies and this is request 3'),
    data: { replies: 2, request: 3 },
  })
})

describe('streaming', () => {
  test('a generator streams pieces; their text is the text of the reply', async () => {
    const model = scriptedModel(async function* () {
      yield { reasoning: 'let me see' }
      yield 'Hel'
      yield { text: 'lo' }
      return { calls: [{ tool: 't', args: {} }], text: 'Hello' }
    })
    const { options, deltas } = watched()
    await expect(model.call(modelRequest(), options)).resolves.toEqual({
      text: 'Hello',
      reasoning: 'let me see',
      calls: [{ tool: 't', args: {} }],
      usage: noUsage,
      finish: 'tool_calls',
    })
    expect(deltas).toEqual([
      { type: 'reasoning', text: 'let me see' },
      { type: 'text', text: 'Hel' },
      { type: 'text', text: 'lo' },
    ])
  })

  test('what was not streamed is taken, and emitted, from the returned reply', async () => {
    const model = scriptedModel(async function* () {
      yield { reasoning: 'r' }
      return 'the answer'
    })
    const { options, deltas } = watched()
    await expect(model.call(modelRequest(), options)).resolves.toMatchObject({
      text: 'the answer',
      reasoning: 'r',
      finish: 'stop',
    })
    expect(deltas).toEqual([
      { type: 'reasoning', text: 'r' },
      { type: 'text', text: 'the answer' },
    ])
  })

  test.each([
    [' world', 'Hello world', ' world'],
    ['Hello world', 'Hello world', ' world'],
    [{ text: '!' }, 'Hello!', '!'],
  ])('a text that is returned after yields is the rest of the reply, or all of it: %j', async (last, text, rest) => {
    const model = scriptedModel(async function* () {
      yield 'Hello'
      return last
    })
    const { options, deltas } = watched()
    await expect(model.call(modelRequest(), options)).resolves.toMatchObject({ text, finish: 'stop' })
    expect(deltas).toEqual([
      { type: 'text', text: 'Hello' },
      { type: 'text', text: rest },
    ])
  })

  test('an abort rejects while the generator waits', async () => {
    const model = scriptedModel(async function* () {
      yield 'a'
      await new Promise(() => undefined)
    })
    const watch = watched(() => watch.abort('stop'))
    await expect(model.call(modelRequest(), watch.options)).rejects.toBe('stop')
  })
})

test('an async script is awaited, and SC3: an abort does not wait for it', async () => {
  await expect(scriptedModel(async () => 'later').call(modelRequest(), watched().options)).resolves.toMatchObject({
    text: 'later',
  })
  const watch = watched()
  const call = scriptedModel(() => new Promise<string>(() => undefined)).call(modelRequest(), watch.options)
  watch.abort('stop')
  await expect(call).rejects.toBe('stop')
})

test('a reply whose promise resolves twice is said once', async () => {
  const watch = watched()
  const twice = Promise.resolve('')
  vi.spyOn(twice, 'then').mockImplementation((take) => {
    for (const reply of ['one', 'two']) void take?.(reply)
    return Promise.resolve(undefined as never)
  })
  const model = scriptedModel(() => twice)
  await expect(model.call(modelRequest(), watch.options)).resolves.toMatchObject({ text: 'one' })
  expect(watch.deltas).toEqual([{ type: 'text', text: 'one' }])
})

test('a script that answers at once never looks at the signal', async () => {
  const options = {
    get signal(): AbortSignal {
      throw new Error('looked')
    },
    emit: () => undefined,
  }
  await expect(scriptedModel(['x']).call(modelRequest(), options)).resolves.toMatchObject({ text: 'x' })
})

test('errors: a text, a failure, a SkeinError, a throwing script', async () => {
  const own = new SkeinError('MODEL_RATE_LIMITED', 'slow', { retry: true })
  const model = scriptedModel([
    { error: 'no' },
    { error: { code: 'MODEL_UNAVAILABLE', message: 'down', retry: true } },
    { error: own },
  ])
  const call = () => model.call(modelRequest(), watched().options)
  await expect(call()).rejects.toMatchObject({ code: 'MODEL_REJECTED', message: 'no', retry: false })
  await expect(call()).rejects.toMatchObject({ code: 'MODEL_UNAVAILABLE', message: 'down', retry: true })
  await expect(call()).rejects.toBe(own)
  const bug = new Error('script bug')
  const throwing = scriptedModel(() => {
    throw bug
  })
  await expect(throwing.call(modelRequest(), watched().options)).rejects.toBe(bug)
})

describe('requests', () => {
  test('each shows the transcript as it was, without keeping a copy', async () => {
    const messages: Message[] = [user('one')]
    const model = scriptedModel(() => 'ok')
    await model.call(modelRequest({ messages }), watched().options)
    messages.push(user('two'))
    await model.call(modelRequest({ messages, step: 1 }), watched().options)
    messages.push(user('three'))
    expect(model.requests.map((request) => request.messages.map((message) => message.text))).toEqual([
      ['one'],
      ['one', 'two'],
    ])
    expect(model.requests[1]).toMatchObject({ system: 'You help.', step: 1, thread: 't1', tools: [] })
    expect(
      Object.values(Object.getOwnPropertyDescriptors(model.requests[0])).some(
        (field) => Array.isArray(field.value) && field.value.length > 0,
      ),
    ).toBe(false)
  })

  test('each has all that was asked for', async () => {
    const model = scriptedModel(() => 'ok')
    const asked = {
      toolChoice: 'required',
      parallelToolCalls: false,
      reasoning: 'high',
      temperature: 0.5,
      maxOutputTokens: 9,
      providerOptions: { x: { y: 1 } },
    } as const
    await model.call(modelRequest(asked), watched().options)
    expect(model.requests).toMatchObject([asked])
  })

  test('record: false keeps none', async () => {
    const model = scriptedModel(() => 'ok', { record: false, name: 'quiet' })
    await model.call(modelRequest(), watched().options)
    expect([model.name, model.requests]).toEqual(['quiet', []])
  })
})

test('a script that answers at once is settled after one turn of the microtask queue', async () => {
  const order: string[] = []
  const done = scriptedModel(() => 'ok')
    .call(modelRequest(), watched().options)
    .then(() => order.push('reply'))
  const tick = Promise.resolve().then(() => order.push('tick'))
  await Promise.all([done, tick])
  expect(order).toEqual(['reply', 'tick'])
})
