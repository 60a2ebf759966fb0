/** The AI SDK adapter against made-up models: prompt, options, stream parts, errors. The wire is wire.test.ts. */
import { describe, expect, test } from 'vitest'
import type { Failure } from '../../../src/core/failure.js'
import { manualClock } from '../../../src/core/manual-clock.js'
import type { Message } from '../../../src/core/records/message.js'
import { fromAiSdk } from '../../../src/models/ai-sdk/adapter.js'
import type { ModelRequest, ToolSpec } from '../../../src/models/port.js'
import { modelRequest, user, watched } from '../../helpers/model-request.js'
import { fakeSdkModel } from '../../helpers/sdk-model.js'

const finish = {
  type: 'finish',
  finishReason: { unified: 'stop', raw: 'stop' },
  usage: { inputTokens: { total: 5 }, outputTokens: { total: 2 } },
}
const tool: ToolSpec = { name: 'search', description: 'Searches', parameters: { type: 'object', properties: {} } }
const bytes = new Uint8Array([1, 2, 3])
const failed: Failure = { code: 'TOOL_THREW', message: 'boom', retry: false }

async function sent(
  fields: Partial<ModelRequest>,
  options: Parameters<typeof fakeSdkModel>[1] = {},
): Promise<Record<string, unknown>> {
  const sdk = fakeSdkModel([finish], options)
  await fromAiSdk(sdk).call(modelRequest(fields), watched().options)
  return sdk.seen[0] ?? {}
}

describe('prompt', () => {
  test('calls and results carry our ids; consecutive tool messages are one', async () => {
    const messages: Message[] = [
      user('go'),
      {
        id: 'm2',
        role: 'assistant',
        text: '',
        at: 0,
        reasoning: 'secret thoughts',
        calls: [
          { id: 'call_0_0', tool: 'search', args: { q: 1 } },
          { id: 'call_0_1', tool: 'search', args: 'not {json' },
        ],
      },
      { id: 'm3', role: 'tool', text: 'found', at: 0, call: 'call_0_0', tool: 'search' },
      { id: 'm4', role: 'tool', text: 'Error TOOL_THREW: boom', at: 0, call: 'call_0_1', tool: 'search', failed },
      { id: 'm5', role: 'assistant', text: 'so', at: 0 },
    ]
    const { prompt } = await sent({ messages })
    expect(prompt).toEqual([
      { role: 'system', content: 'You help.' },
      { role: 'user', content: [{ type: 'text', text: 'go' }] },
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', toolCallId: 'call_0_0', toolName: 'search', input: { q: 1 } },
          { type: 'tool-call', toolCallId: 'call_0_1', toolName: 'search', input: { raw: 'not {json' } },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'call_0_0', toolName: 'search', output: { type: 'text', value: 'found' } },
          {
            type: 'tool-result',
            toolCallId: 'call_0_1',
            toolName: 'search',
            output: { type: 'error-text', value: 'Error TOOL_THREW: boom' },
          },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'so' }] },
    ])
  })

  test('results of different steps stay apart', async () => {
    const step = (id: string): Message[] => [
      { id: `a${id}`, role: 'assistant', text: '', at: 0, calls: [{ id, tool: 'search', args: {} }] },
      { id: `t${id}`, role: 'tool', text: id, at: 0, call: id, tool: 'search' },
    ]
    const { prompt } = await sent({ messages: [user('go'), ...step('call_0_0'), ...step('call_1_0')] })
    expect(prompt).toMatchObject([
      { role: 'system' },
      { role: 'user' },
      { role: 'assistant', content: [{ toolCallId: 'call_0_0' }] },
      { role: 'tool', content: [{ toolCallId: 'call_0_0' }] },
      { role: 'assistant', content: [{ toolCallId: 'call_1_0' }] },
      { role: 'tool', content: [{ toolCallId: 'call_1_0' }] },
    ])
  })

  test('nothing blank is sent; a system message of the transcript is a marked user message', async () => {
    const messages: Message[] = [
      user(' '),
      { id: 'a', role: 'assistant', text: ' \n', at: 0 },
      { id: 's', role: 'system', text: 'Be brief.', at: 0 },
    ]
    expect((await sent({ system: '', messages })).prompt).toEqual([
      { role: 'user', content: [{ type: 'text', text: '(empty message)' }] },
      { role: 'user', content: [{ type: 'text', text: '<system-message>\nBe brief.\n</system-message>' }] },
    ])
  })

  test('a message is converted once', async () => {
    const sdk = fakeSdkModel([finish])
    const model = fromAiSdk(sdk)
    const messages = [user('one')]
    await model.call(modelRequest({ messages }), watched().options)
    messages.push(user('two'))
    await model.call(modelRequest({ messages }), watched().options)
    const [first, second] = sdk.seen.map((options) => options['prompt'])
    if (!Array.isArray(first) || !Array.isArray(second)) throw new Error('no prompt')
    expect(second).toHaveLength(3)
    expect(second[1]).toBe(first[1])
  })
})

describe('options', () => {
  test('tools and tool choice', async () => {
    const options = await sent({ tools: [tool], toolChoice: { tool: 'search' } })
    expect(options.tools).toEqual([
      { type: 'function', name: 'search', description: 'Searches', inputSchema: tool.parameters },
    ])
    expect(options.toolChoice).toEqual({ type: 'tool', toolName: 'search' })
    expect((await sent({ tools: [tool], toolChoice: 'required' })).toolChoice).toEqual({ type: 'required' })
  })

  test('what was not asked for is not sent', async () => {
    const options = await sent({ toolChoice: 'none', parallelToolCalls: false })
    expect(Object.keys(options).sort()).toEqual(['abortSignal', 'prompt'])
  })

  test.each([
    ['openai.responses', { openai: { store: false, parallelToolCalls: false, reasoningEffort: 'low' } }],
    ['anthropic.messages', { anthropic: { disableParallelToolUse: true, effort: 'low' } }],
    ['vertex.anthropic.messages', { anthropic: { disableParallelToolUse: true, effort: 'low' } }],
    ['google.generative-ai', { google: { thinkingConfig: { thinkingLevel: 'low' } } }],
    ['local.chat', { local: { parallel_tool_calls: false, reasoningEffort: 'low' } }],
  ])('%s reads settings under its own key', async (provider, expected) => {
    const options = await sent({ tools: [tool], parallelToolCalls: false, reasoning: 'low' }, { provider })
    expect(options.providerOptions).toEqual(expected)
  })

  test('v4 has a word for reasoning', async () => {
    const options = await sent({ reasoning: 'high' }, { specificationVersion: 'v4' })
    expect([options.reasoning, options.providerOptions]).toEqual(['high', undefined])
  })
})

test.each([
  ['v2', bytes, { type: 'media', data: 'AQID', mediaType: 'image/png' }],
  ['v3', bytes, { type: 'image-data', data: 'AQID', mediaType: 'image/png' }],
  ['v4', { type: 'data', data: bytes }, { type: 'file', data: { type: 'data', data: 'AQID' }, mediaType: 'image/png' }],
] as const)('E1, S8: %s has its own form for files, of messages and of results', async (version, data, item) => {
  const media = [{ hash: 'h', mediaType: 'image/png', size: 3 }]
  const messages: Message[] = [
    { ...user('see'), media },
    { id: 'm2', role: 'assistant', text: '', at: 0, calls: [{ id: 'call_0_0', tool: 'search', args: {} }] },
    { id: 'm3', role: 'tool', text: 'found', at: 0, call: 'call_0_0', tool: 'search', media },
  ]
  const options = { specificationVersion: version, provider: 'anthropic.messages' }
  const { prompt } = await sent({ messages, read: async () => bytes }, options)
  expect(prompt).toMatchObject([
    {},
    { content: [{ type: 'text' }, { type: 'file', data, mediaType: 'image/png' }] },
    {},
    { content: [{ output: { type: 'content', value: [{ type: 'text', text: 'found' }, item] } }] },
  ])
})

describe('stream', () => {
  test('AT3: deltas and calls agree on their index; v3 usage and finish', async () => {
    const sdk = fakeSdkModel([
      { type: 'stream-start', warnings: [] },
      { type: 'reasoning-delta', id: 'r', delta: 'hm' },
      { type: 'text-delta', id: 't', delta: 'Hel' },
      { type: 'text-delta', id: 't', delta: 'lo' },
      { type: 'tool-input-start', id: 'x', toolName: 'a' },
      { type: 'tool-input-start', id: 'y', toolName: 'b' },
      { type: 'tool-input-delta', id: 'y', delta: '{"k":' },
      { type: 'tool-input-delta', id: 'x', delta: '{}' },
      { type: 'tool-input-delta', id: 'y', delta: '1}' },
      { type: 'tool-call', toolCallId: 'y', toolName: 'b', input: '{"k":1}' },
      { type: 'tool-call', toolCallId: 'x', toolName: 'a', input: '' },
      { ...finish, finishReason: { unified: 'tool-calls', raw: 'tool_use' } },
    ])
    const { options, deltas } = watched()
    await expect(fromAiSdk(sdk).call(modelRequest(), options)).resolves.toEqual({
      text: 'Hello',
      reasoning: 'hm',
      kept: {
        origin: 'fake.chat/m1',
        parts: [
          { type: 'reasoning', length: 2 },
          { type: 'text', length: 5 },
          { type: 'call', index: 0 },
          { type: 'call', index: 1 },
        ],
      },
      calls: [
        { tool: 'a', args: '{}' },
        { tool: 'b', args: '{"k":1}' },
      ],
      usage: { inputTokens: 5, outputTokens: 2, costUsd: 0 },
      finish: 'tool_calls',
    })
    expect(deltas.slice(3)).toEqual([
      { type: 'call', index: 1, tool: 'b', text: '{"k":' },
      { type: 'call', index: 0, tool: 'a', text: '{}' },
      { type: 'call', index: 1, tool: 'b', text: '1}' },
    ])
  })

  test('v2 shapes, unknown parts and calls the provider runs itself', async () => {
    const sdk = fakeSdkModel(
      [
        'nonsense',
        { type: 'from-the-future', text: 'x' },
        { type: 'tool-call', toolCallId: 'w', toolName: 'web', input: '{}', providerExecuted: true },
        { type: 'text-delta', id: 't', delta: 'ok' },
        { type: 'finish', finishReason: 'length', usage: { inputTokens: 3, outputTokens: undefined, totalTokens: 3 } },
      ],
      { specificationVersion: 'v2' },
    )
    await expect(fromAiSdk(sdk).call(modelRequest(), watched().options)).resolves.toEqual({
      text: 'ok',
      calls: [],
      usage: { inputTokens: 3, outputTokens: 0, costUsd: 0 },
      finish: 'length',
    })
  })

  test('no finish part, an error part and an error finish are MODEL_UNAVAILABLE', async () => {
    const text = { type: 'text-delta', id: 't', delta: 'half' }
    for (const parts of [
      [text],
      [text, { type: 'error', error: new Error('broke') }, finish],
      [text, { ...finish, finishReason: 'error' }],
      [text, { ...finish, finishReason: { unified: 'interrupted', raw: undefined } }],
    ]) {
      await expect(fromAiSdk(fakeSdkModel(parts)).call(modelRequest(), watched().options)).rejects.toMatchObject({
        code: 'MODEL_UNAVAILABLE',
        retry: true,
      })
    }
  })

  test('an abort throws its reason and cancels the stream, though the model ignores the signal', async () => {
    const sdk = fakeSdkModel([{ type: 'text-delta', id: 't', delta: 'half' }], { hangs: true })
    const reason = new Error('enough')
    const watch = watched(() => queueMicrotask(() => watch.abort(reason)))
    await expect(fromAiSdk(sdk).call(modelRequest(), watch.options)).rejects.toBe(reason)
    expect(sdk.cancelled).toEqual([reason])
  })

  test('an abort does not wait for a model that opens its stream late', async () => {
    const sdk = fakeSdkModel([], { hangs: true })
    let openStream = (): void => undefined
    const gate = new Promise<void>((resolve) => (openStream = resolve))
    const slow = {
      ...sdk,
      doStream: async (options: { prompt: readonly unknown[] }) => gate.then(() => sdk.doStream(options)),
    }
    const watch = watched()
    const call = fromAiSdk(slow).call(modelRequest(), watch.options)
    watch.abort('stop')
    await expect(call).rejects.toBe('stop')
    // The stream that opens after all is closed again: nobody will read it.
    openStream()
    await sdk.whenCancelled
  })
})

describe('errors', () => {
  const thrown = async (refusal: unknown, now = 0): Promise<unknown> => {
    const model = fromAiSdk(fakeSdkModel([], { throws: refusal }), { clock: manualClock(now) })
    return model.call(modelRequest(), watched().options).catch((caught: unknown) => caught)
  }
  const api = (statusCode: number | undefined, extra: object = {}): Error =>
    Object.assign(new Error('it said so'), { statusCode, ...extra })

  test.each([
    [{ 'retry-after': '7' }, 7_000],
    [{ 'Retry-After': '1.5' }, 1_500],
    [{ 'retry-after-ms': '250', 'retry-after': '7' }, 250],
    [{ 'retry-after': 'Thu, 01 Jan 1970 00:01:00 GMT' }, 50_000],
    [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:05 GMT' }, 0],
  ])("MP3: a 429 becomes MODEL_RATE_LIMITED with the provider's wait %o", async (responseHeaders, retryAfterMs) => {
    expect(await thrown(api(429, { responseHeaders }), 10_000)).toMatchObject({
      code: 'MODEL_RATE_LIMITED',
      retry: true,
      data: { model: 'fake.chat/m1', status: 429, retryAfterMs },
    })
  })

  test('MP3: a 429 that says nothing, or nonsense, has no wait', async () => {
    const error = await thrown(api(429, { responseHeaders: { 'retry-after': 'soon' } }))
    expect(error).toHaveProperty('data', { model: 'fake.chat/m1', status: 429 })
  })

  test.each([
    [408, 'MODEL_UNAVAILABLE'],
    [409, 'MODEL_UNAVAILABLE'],
    [500, 'MODEL_UNAVAILABLE'],
    [503, 'MODEL_UNAVAILABLE'],
    [529, 'MODEL_UNAVAILABLE'],
    [200, 'MODEL_UNAVAILABLE'],
    [undefined, 'MODEL_UNAVAILABLE'],
    [400, 'MODEL_REJECTED'],
    [401, 'MODEL_REJECTED'],
    [404, 'MODEL_REJECTED'],
    [413, 'MODEL_REJECTED'],
  ])('MP3: status %s is %s', async (status, code) => {
    expect(await thrown(api(status))).toMatchObject({
      code,
      retry: code === 'MODEL_UNAVAILABLE',
      message: expect.stringContaining('it said so'),
    })
  })

  test.each([
    [{ type: 'overloaded_error', message: 'x' }, 'MODEL_UNAVAILABLE'],
    [{ type: 'rate_limit_error', message: 'x' }, 'MODEL_RATE_LIMITED'],
    [{ type: 'invalid_request_error', message: 'x' }, 'MODEL_REJECTED'],
    [{ code: 429, message: 'x' }, 'MODEL_RATE_LIMITED'],
    [api(500, { isRetryable: false, responseBody: '{"type":"authentication_error"}' }), 'MODEL_REJECTED'],
    [api(500, { isRetryable: true, data: { error: { type: 'invalid_request_error' } } }), 'MODEL_UNAVAILABLE'],
    [api(400, { isRetryable: true }), 'MODEL_UNAVAILABLE'],
    [Object.assign(new Error('no key'), { name: 'AI_LoadAPIKeyError' }), 'MODEL_REJECTED'],
    ['a bare text', 'MODEL_UNAVAILABLE'],
  ])('%o is %s', async (error, code) => {
    expect(await thrown(error)).toMatchObject({ code })
  })

  test('keys, bodies and headers stay out of messages and data; long messages are cut', async () => {
    const error = await thrown(
      Object.assign(
        new Error(
          `Incorrect API key provided: sk-proj-abcdef123456. Authorization: Bearer tok.en-1 ${'x'.repeat(2_000)}`,
        ),
        {
          statusCode: 401,
          url: 'https://host/v1?key=AIzaSyABCDEFGHIJK',
          requestBodyValues: { messages: ['private words'] },
          responseHeaders: { 'set-cookie': 'cookie-value' },
          cause: new Error('x-api-key: raw-key-value'),
        },
      ),
    )
    const all = `${String(error)} ${JSON.stringify(error)} ${String(error instanceof Error && error.cause)}`
    for (const secret of ['abcdef123456', 'tok.en-1', 'AIza', 'private words', 'cookie-value', 'raw-key-value'])
      expect(all).not.toContain(secret)
    expect(error).toMatchObject({
      code: 'MODEL_REJECTED',
      message: expect.stringContaining('Incorrect API key provided: [masked]'),
    })
    expect(String(error).length).toBeLessThan(500)
  })
})

test('what is no AI SDK model is refused', () => {
  expect(() => Reflect.apply(fromAiSdk, undefined, [{ specificationVersion: 'v1' }])).toThrow(
    /specificationVersion v2, v3 or v4/,
  )
})
