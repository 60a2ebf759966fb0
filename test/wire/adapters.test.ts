/**
 * The real provider packages against a server on the loopback: what goes over the wire, and what comes of
 * it when the wire misbehaves. No sleeping: retries wait on a manual clock that is moved as they ask.
 */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { afterEach, describe, expect, test } from 'vitest'
import { manualClock } from '../../src/core/manual-clock.js'
import type { Message } from '../../src/core/records/message.js'
import { fromAiSdk } from '../../src/models/ai-sdk/adapter.js'
import { withFallback } from '../../src/models/retry/fallback.js'
import type { Model, ToolSpec } from '../../src/models/port.js'
import { type RetryInfo, withRetries } from '../../src/models/retry/retry.js'
import { modelRequest, user, watched } from '../helpers/model-request.js'
import {
  anthropicAnswer,
  type AnswerRequest,
  blockEvents,
  chatAnswer,
  chatChunk,
  failing,
  messageStart,
  type ModelServer,
  startModelServer,
} from '../helpers/model-server.js'

type Wire = 'openai-compatible' | 'anthropic'
const wires: readonly Wire[] = ['openai-compatible', 'anthropic']
const apiKey = 'sk-test-0123456789abcdef'
const weather: ToolSpec = {
  name: 'weather',
  description: 'Weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

const open: ModelServer[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()))
})

interface Setup {
  readonly server: ModelServer
  readonly model: Model
  readonly retried: Model
  readonly infos: readonly RetryInfo[]
}

async function serve(wire: Wire, answers: readonly AnswerRequest[]): Promise<Setup> {
  const server = await startModelServer(answers)
  open.push(server)
  const clock = manualClock(1_000_000)
  const model = fromAiSdk(
    wire === 'anthropic'
      ? createAnthropic({ baseURL: server.url, apiKey })('claude-test')
      : createOpenAICompatible({ name: 'local', baseURL: server.url, apiKey, includeUsage: true })('test-model'),
    { clock },
  )
  const infos: RetryInfo[] = []
  const retried = withRetries(model, {
    clock,
    random: { id: () => 'id', fraction: () => 0.5 },
    retrying: (info) => {
      infos.push(info)
      queueMicrotask(() => clock.next())
    },
  })
  return { server, model, retried, infos }
}

const saying = (wire: Wire, pieces: readonly string[]): AnswerRequest =>
  wire === 'anthropic'
    ? anthropicAnswer([{ type: 'text', pieces }])
    : chatAnswer(pieces.map((content) => ({ content })))

/** Streams 'half' and then does as told, once the client has seen it. */
const halfway =
  (wire: Wire, seen: Promise<void>, then: (exchange: Parameters<AnswerRequest>[0]) => void): AnswerRequest =>
  async (exchange) => {
    if (wire === 'anthropic') {
      messageStart(exchange)
      exchange.event(
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        'content_block_start',
      )
      exchange.event(
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'half' } },
        'content_block_delta',
      )
    } else {
      exchange.event(chatChunk({ content: 'half' }))
    }
    await seen
    then(exchange)
  }

const half = { type: 'text', text: 'half' }

describe.each(wires)('%s', (wire) => {
  test('text is streamed as it comes, with usage and finish', async () => {
    const { model, server } = await serve(wire, [saying(wire, ['Hel', 'lo'])])
    const { options, deltas } = watched()
    await expect(model.call(modelRequest(), options)).resolves.toEqual({
      text: 'Hello',
      calls: [],
      usage: { inputTokens: 11, outputTokens: 7, costUsd: 0 },
      finish: 'stop',
    })
    expect(deltas).toEqual([
      { type: 'text', text: 'Hel' },
      { type: 'text', text: 'lo' },
    ])
    expect(server.bodies[0]).toMatchObject({ stream: true })
  })

  test('reasoning is kept apart from text', async () => {
    const answer =
      wire === 'anthropic'
        ? anthropicAnswer([
            { type: 'thinking', pieces: ['let ', 'me see'] },
            { type: 'text', pieces: ['42'] },
          ])
        : chatAnswer([{ reasoning_content: 'let ' }, { reasoning_content: 'me see' }, { content: '42' }])
    const { model } = await serve(wire, [answer])
    const { options, deltas } = watched()
    await expect(model.call(modelRequest(), options)).resolves.toMatchObject({ text: '42', reasoning: 'let me see' })
    expect(deltas.map((delta) => delta !== 'restarted' && delta.type)).toEqual(['reasoning', 'reasoning', 'text'])
  })

  test('two parallel calls with args split over chunks', async () => {
    const answer =
      wire === 'anthropic'
        ? anthropicAnswer(
            [
              { type: 'text', pieces: ['looking'] },
              { type: 'tool_use', id: 'toolu_1', name: 'weather', pieces: ['{"ci', 'ty": "Oslo"}'] },
              { type: 'tool_use', id: 'toolu_2', name: 'weather', pieces: ['{"city": ', '"Rome"}'] },
            ],
            'tool_use',
          )
        : chatAnswer(
            [
              { content: 'looking' },
              { tool_calls: [{ index: 0, id: 'c_a', function: { name: 'weather', arguments: '' } }] },
              { tool_calls: [{ index: 0, function: { arguments: '{"ci' } }] },
              { tool_calls: [{ index: 1, id: 'c_b', function: { name: 'weather', arguments: '{"city": ' } }] },
              { tool_calls: [{ index: 0, function: { arguments: 'ty": "Oslo"}' } }] },
              { tool_calls: [{ index: 1, function: { arguments: '"Rome"}' } }] },
            ],
            'tool_calls',
          )
    const { model } = await serve(wire, [answer])
    const { options, deltas } = watched()
    const reply = await model.call(modelRequest({ tools: [weather] }), options)
    expect(reply).toMatchObject({ text: 'looking', finish: 'tool_calls' })
    expect(reply.calls.map(({ tool, args }) => [tool, JSON.parse(String(args))])).toEqual([
      ['weather', { city: 'Oslo' }],
      ['weather', { city: 'Rome' }],
    ])
    const texts = ['', '']
    for (const delta of deltas) if (delta !== 'restarted' && delta.type === 'call') texts[delta.index] += delta.text
    expect(texts.map((text) => JSON.parse(text))).toEqual([{ city: 'Oslo' }, { city: 'Rome' }])
  })

  test("MP3, T6: a 429 waits as long as the provider says, then succeeds; provider retries are separate from a tool's", async () => {
    const { retried, infos, server } = await serve(wire, [
      failing(429, 'slow down', { 'retry-after': '12' }),
      saying(wire, ['ok']),
    ])
    await expect(retried.call(modelRequest(), watched().options)).resolves.toMatchObject({ text: 'ok' })
    expect(infos).toMatchObject([
      {
        attempt: 1,
        waitMs: 12_250,
        error: { code: 'MODEL_RATE_LIMITED', data: { status: 429, retryAfterMs: 12_000 } },
      },
    ])
    expect(server.bodies).toHaveLength(2)
  })

  test('500s are tried until the cap and no further; the package adds no retries of its own', async () => {
    const { retried, infos, server } = await serve(
      wire,
      Array.from({ length: 9 }, () => failing(500, 'oops')),
    )
    await expect(retried.call(modelRequest(), watched().options)).rejects.toMatchObject({
      code: 'MODEL_UNAVAILABLE',
      retry: true,
      message: expect.stringMatching(/oops.*gave up after 5 attempts/),
      data: { status: 500, attempts: 5 },
    })
    expect([server.bodies.length, infos.map((info) => info.waitMs)]).toEqual([5, [250, 500, 1_000, 2_000]])
  })

  test("MP3: a 400 is MODEL_REJECTED with the provider's words, without a retry and without the key", async () => {
    const { retried, server } = await serve(wire, [
      failing(400, `prompt is too long (key ${apiKey})`),
      saying(wire, ['never']),
    ])
    const error = await retried.call(modelRequest(), watched().options).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'MODEL_REJECTED',
      retry: false,
      message: expect.stringContaining('prompt is too long'),
      data: { status: 400 },
    })
    expect(String(error) + JSON.stringify(error)).not.toContain(apiKey)
    expect(server.bodies).toHaveLength(1)
  })

  test('a connection cut in mid-stream is tried again and the deltas start anew', async () => {
    let sawHalf = (): void => undefined
    const seen = new Promise<void>((resolve) => (sawHalf = resolve))
    const { retried, infos } = await serve(wire, [
      halfway(wire, seen, (exchange) => exchange.cut()),
      saying(wire, ['whole']),
    ])
    const { options, deltas } = watched(() => sawHalf())
    await expect(retried.call(modelRequest(), options)).resolves.toMatchObject({ text: 'whole' })
    expect(infos).toMatchObject([{ error: { code: 'MODEL_UNAVAILABLE', retry: true } }])
    expect(deltas).toEqual([half, 'restarted', { type: 'text', text: 'whole' }])
  })

  test('a stream that ends politely but too early is a failure, not a short answer', async () => {
    const { model } = await serve(wire, [halfway(wire, Promise.resolve(), (exchange) => exchange.end())])
    await expect(model.call(modelRequest(), watched().options)).rejects.toMatchObject({
      code: 'MODEL_UNAVAILABLE',
      retry: true,
    })
  })

  test('broken JSON in the stream fails the call and closes the connection', async () => {
    let closed: Promise<void> | undefined
    const broken = halfway(wire, Promise.resolve(), (exchange) => {
      closed = exchange.closed
      exchange.raw('data: {"id": "c1", "choi\n\n')
    })
    const { model } = await serve(wire, [broken])
    await expect(model.call(modelRequest(), watched().options)).rejects.toMatchObject({
      code: 'MODEL_UNAVAILABLE',
      retry: true,
    })
    expect(closed).toBeDefined()
    await closed
  })

  test('an abort in mid-stream throws its reason and closes the connection', async () => {
    let closed: Promise<void> | undefined
    const hanging = halfway(wire, Promise.resolve(), (exchange) => (closed = exchange.closed))
    const { retried, infos } = await serve(wire, [hanging])
    const reason = new Error('the user left')
    const watch = watched(() => watch.abort(reason))
    await expect(retried.call(modelRequest(), watch.options)).rejects.toBe(reason)
    expect(closed).toBeDefined()
    await closed
    expect(infos).toEqual([])
  })

  test('a server that is not there is MODEL_UNAVAILABLE', async () => {
    const { model, server } = await serve(wire, [])
    await server.close()
    open.length = 0
    await expect(model.call(modelRequest(), watched().options)).rejects.toMatchObject({
      code: 'MODEL_UNAVAILABLE',
      retry: true,
      message: expect.stringContaining('ECONNREFUSED'),
    })
  })
})

describe('history over the wire', () => {
  const messages: readonly Message[] = [
    user('compare'),
    {
      id: 'm2',
      role: 'assistant',
      text: 'looking',
      at: 0,
      reasoning: 'unsigned thoughts',
      calls: [
        { id: 'call_0_0', tool: 'weather', args: { city: 'Oslo' } },
        { id: 'call_0_1', tool: 'weather', args: { city: 'Rome' } },
      ],
    },
    { id: 'm3', role: 'tool', text: 'rain', at: 0, call: 'call_0_0', tool: 'weather' },
    {
      id: 'm4',
      role: 'tool',
      text: 'Error TOOL_THREW: no data',
      at: 0,
      call: 'call_0_1',
      tool: 'weather',
      failed: { code: 'TOOL_THREW', message: 'no data', retry: false },
    },
    { id: 'm5', role: 'assistant', text: '', at: 0 },
    { id: 'm6', role: 'system', text: 'Be brief.', at: 0 },
  ]
  const request = modelRequest({
    messages,
    tools: [weather],
    toolChoice: 'required',
    parallelToolCalls: false,
    promptCache: false,
    step: 1,
  })
  const marked = '<system-message>\nBe brief.\n</system-message>'

  test('openai-compatible gets system, calls and results in order with matching ids', async () => {
    const { model, server } = await serve('openai-compatible', [chatAnswer([{ content: 'ok' }])])
    await model.call(request, watched().options)
    const call = (id: string, city: string) => ({
      id,
      type: 'function',
      function: { name: 'weather', arguments: JSON.stringify({ city }) },
    })
    expect(server.bodies[0]).toMatchObject({
      model: 'test-model',
      tool_choice: 'required',
      parallel_tool_calls: false,
      tools: [
        {
          type: 'function',
          function: { name: 'weather', description: 'Weather of a city', parameters: weather.parameters },
        },
      ],
    })
    expect(server.bodies[0]?.['messages']).toEqual([
      { role: 'system', content: 'You help.' },
      { role: 'user', content: 'compare' },
      { role: 'assistant', content: 'looking', tool_calls: [call('call_0_0', 'Oslo'), call('call_0_1', 'Rome')] },
      { role: 'tool', tool_call_id: 'call_0_0', content: 'rain' },
      { role: 'tool', tool_call_id: 'call_0_1', content: 'Error TOOL_THREW: no data' },
      { role: 'user', content: marked },
    ])
  })

  test('anthropic gets both results in one user message, the failed one marked', async () => {
    const { model, server } = await serve('anthropic', [anthropicAnswer([{ type: 'text', pieces: ['ok'] }])])
    await model.call(request, watched().options)
    expect(server.bodies[0]).toMatchObject({
      model: 'claude-test',
      system: [{ type: 'text', text: 'You help.' }],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      tools: [{ name: 'weather', description: 'Weather of a city', input_schema: weather.parameters }],
    })
    expect(server.bodies[0]?.['messages']).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'compare' }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'looking' },
          { type: 'tool_use', id: 'call_0_0', name: 'weather', input: { city: 'Oslo' } },
          { type: 'tool_use', id: 'call_0_1', name: 'weather', input: { city: 'Rome' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_0_0', content: 'rain' },
          { type: 'tool_result', tool_use_id: 'call_0_1', content: 'Error TOOL_THREW: no data', is_error: true },
          { type: 'text', text: marked },
        ],
      },
    ])
  })
})

test('Anthropic answers 200 and says overloaded, or refuses, in the stream', async () => {
  const inStream =
    (type: string, message: string): AnswerRequest =>
    (exchange) => {
      exchange.event({ type: 'error', error: { type, message } }, 'error')
      exchange.end()
    }
  const late =
    (type: string): AnswerRequest =>
    (exchange) => {
      messageStart(exchange)
      blockEvents(exchange, { type: 'text', pieces: ['a'] }, 0)
      exchange.event({ type: 'error', error: { type, message: 'later' } }, 'error')
      exchange.end()
    }
  const answers = [
    inStream('overloaded_error', 'busy'),
    inStream('invalid_request_error', 'bad'),
    inStream('api_error', 'internal'),
    late('overloaded_error'),
    late('rate_limit_error'),
  ]
  const { model } = await serve('anthropic', answers)
  for (const code of [
    'MODEL_UNAVAILABLE',
    'MODEL_REJECTED',
    'MODEL_UNAVAILABLE',
    'MODEL_UNAVAILABLE',
    'MODEL_RATE_LIMITED',
  ]) {
    await expect(model.call(modelRequest(), watched().options)).rejects.toMatchObject({ code })
  }
})

test('when one provider is given up, the other answers and the reply names it', async () => {
  const down = await serve(
    'anthropic',
    Array.from({ length: 5 }, () => failing(529, 'overloaded')),
  )
  const up = await serve('openai-compatible', [chatAnswer([{ content: 'here' }])])
  const { options, deltas } = watched()
  await expect(withFallback([down.retried, up.retried]).call(modelRequest(), options)).resolves.toMatchObject({
    text: 'here',
    model: 'local.chat/test-model',
  })
  expect(deltas).toEqual([...Array.from({ length: 5 }, () => 'restarted'), { type: 'text', text: 'here' }])
})
