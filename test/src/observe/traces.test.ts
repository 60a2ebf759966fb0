/** Traces of threads: one tree of spans from a request through threads and children, with ids that no crash changes. */
import { expect, it, onTestFinished } from 'vitest'
import type { Definition } from '../../../src/agent/define.js'
import { memory } from '../../../src/backend/memory/memory.js'
import type { Store } from '../../../src/backend/port.js'
import { SkeinError, failure } from '../../../src/core/failure.js'
import { manualClock } from '../../../src/core/manual-clock.js'
import { ownTrace, readTrace, spanIdOf, traceBelow } from '../../../src/core/trace/trace.js'
import { otlp } from '../../../src/observe.js'
import type { Observation, Observer } from '../../../src/observe.js'
import { spanOf } from '../../../src/observe/span.js'
import { connectSkein } from '../../../src/runtime/handles/client.js'
import { createSkein } from '../../../src/runtime/skein.js'
import { appOn, calls, looseTool, tinyApp } from '../../helpers/app.js'
import { startCollector, treeOf } from '../../helpers/collector.js'
import type { Collector } from '../../helpers/collector.js'
import { turn } from '../../helpers/deferred.js'
import { family, last, write } from '../../helpers/family.js'
import { served } from '../../helpers/served.js'
import { apart, tapped } from '../../helpers/tap.js'
import type { Tap } from '../../helpers/tap.js'
import { scriptedModel } from '../../../src/models/scripted.js'

const incoming = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const usage = { inputTokens: 120, outputTokens: 30, cachedInputTokens: 100, costUsd: 0.002 }

async function collector(): Promise<Collector> {
  const started = await startCollector()
  onTestFinished(() => started.close())
  return started
}

const lookUp = looseTool('look_up', () => 'found')

/** A lead that looks something up and has two writers write; the second one fails once. */
function swarm(): readonly Definition[] {
  return family({
    tools: [lookUp],
    ofLead: { supervision: { strategy: 'one_for_one', maxRestarts: 1 } },
    lead: ({ step }) =>
      step === 0
        ? { calls: [{ tool: 'look_up', args: {} }, write('one'), write('two')], usage }
        : { text: 'done', usage },
    writer: ({ messages, step, thread }) => {
      if (last(messages) === 'two' && !thread.endsWith('_2')) return { error: 'no' }
      return step === 0 ? calls('look_up') : 'wrote'
    },
  })
}

const swarmTree = [
  'invoke_agent lead',
  '  chat lead_model',
  '  execute_tool look_up',
  '  execute_tool writer',
  '    invoke_agent writer',
  '      chat writer_model',
  '      execute_tool look_up',
  '      chat writer_model',
  '  execute_tool writer',
  '    invoke_agent writer ✗',
  '      chat ✗',
  '    invoke_agent writer',
  '      chat writer_model',
  '      execute_tool look_up',
  '      chat writer_model',
  '  chat lead_model',
]

it('O1, E4, E5: a message over MCP, by either kind of tool, and over A2A is part of the trace of its request', async () => {
  const sink = await collector()
  const { app } = tinyApp({ script: () => 'fine' })
  const skein = await createSkein({ app, backend: memory(), observe: otlp({ url: sink.url }) })
  const server = await served(skein)
  await skein.threads.create({ agent: 'helper', id: 'one' })
  const trace = (digit: string): string => incoming.replace('4bf92f35', digit.repeat(8))
  const callMcp = (name: string, args: object, traceparent: string) =>
    server.ask('/mcp', {
      headers: {
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': name,
        traceparent,
      },
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name,
          arguments: args,
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      },
    })
  await callMcp('ask_helper', { message: 'hi' }, trace('a'))
  await callMcp('send_message', { thread: 'one', text: 'hi', wait: 20_000 }, trace('b'))
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
  await server.ask('/a2a/helper', {
    headers: { traceparent: trace('c') },
    body: { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } },
  })
  await server.close()
  await skein.close()
  const turns = sink.spans.filter(({ name }) => name === 'invoke_agent helper').map(({ traceId }) => traceId)
  expect(turns.toSorted()).toEqual(['a', 'b', 'c'].map((digit) => readTrace(trace(digit))?.trace))
})

it('O1: one trace from the request of a client over HTTP through a thread, its tools and its children', async () => {
  const sink = await collector()
  const clock = ticking()
  const skein = await createSkein({ app: swarm(), backend: memory(), clock, observe: otlp({ url: sink.url }) })
  const server = await served(skein)
  await skein.threads.create({ agent: 'lead', id: 'lead' })
  const { status } = await server.ask('/threads/lead/messages?wait=20000', {
    body: { text: 'go', id: 'm' },
    headers: { traceparent: incoming },
  })
  expect(status).toBe(200)
  await server.close()
  await skein.close()
  expect(new Set(sink.spans.map(({ traceId }) => traceId))).toEqual(new Set([readTrace(incoming)?.trace]))
  expect(treeOf(sink.spans)).toEqual(swarmTree)
  const [root] = sink.spans.filter(({ name }) => name === 'invoke_agent lead')
  expect(root).toMatchObject({
    parent: '00f067aa0ba902b7',
    spanId: spanIdOf('lead', 'turn/m'),
    kind: 1,
    scope: 'skein',
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'lead',
      'gen_ai.conversation.id': 'lead',
      'gen_ai.usage.input_tokens': 240,
      'skein.stop_reason': 'completed',
    },
  })
  expect(sink.spans.find(({ name }) => name === 'chat lead_model')).toMatchObject({
    kind: 3,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'lead_model',
      'gen_ai.response.finish_reasons': ['tool_calls'],
      'gen_ai.usage.input_tokens': 120,
      'gen_ai.usage.output_tokens': 30,
      'gen_ai.usage.cache_read.input_tokens': 100,
      'skein.step': 1,
    },
  })
  expect(sink.spans.find(({ name }) => name === 'execute_tool look_up')?.attributes).toMatchObject({
    'gen_ai.tool.name': 'look_up',
    'gen_ai.tool.call.id': 'call_1_0',
  })
})

/** A clock that goes on by one millisecond whenever it is read, so that what comes later has a later time. */
function ticking(): ReturnType<typeof manualClock> {
  const clock = manualClock(1_700_000_000_000)
  return {
    ...clock,
    now() {
      clock.advance(1)
      return clock.now()
    },
  }
}

/** Whoever observes, told of everything once. */
function memo(): Observer & { readonly seen: Observation[] } {
  const seen: Observation[] = []
  return { traces: true, seen, observed: (each) => void seen.push(each) }
}

/** Runs until the store has taken that many commits, and no further. */
async function live(source: Store, observe: Observer, commits = Infinity): Promise<number> {
  let taken = 0
  const tap: Tap = {
    commit: (_, go) => (taken++ < commits ? go() : Promise.reject(new SkeinError('STORE_FAILED', 'the power is gone'))),
  }
  const clock = manualClock(1_700_000_000_000)
  const backend = tapped(source, tap)
  const skein = await createSkein({ app: swarm(), backend, clock, observe, warn: () => undefined })
  const begun = (async () => {
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    return lead.send('go', { id: 'm' }).accepted()
  })()
  begun.catch(() => undefined) // where the power is gone before
  for (let quietTurns = 0, before = -1; quietTurns < 40; await turn()) {
    quietTurns = taken === before ? quietTurns + 1 : 0
    before = taken
  }
  const closed = skein.close()
  clock.advance(60_000)
  await closed
  return Math.min(taken, commits)
}

it('O1: cut off after every commit and gone on with, a tree has the same spans, each once, and all parents are there', async () => {
  const whole = memo()
  const cuts = await live(apart(memory()), whole)
  const names = (seen: readonly Observation[]): string[] =>
    seen.map((each) => spanOf(each)?.name ?? 'not traced').toSorted()
  expect(names(whole.seen)).toEqual(swarmTree.map((line) => line.replace(' ✗', '').trim()).toSorted())
  expect(cuts).toBeGreaterThan(10)
  for (let commits = 1; commits < cuts; commits++) {
    // In turn: threads that are written together, and each by itself.
    const store = commits % 2 === 0 ? memory() : apart(memory())
    const both = memo()
    await live(store, both, commits)
    await live(store, both)
    const spans = both.seen.flatMap((each) => spanOf(each) ?? [])
    expect(names(both.seen), `${commits}`).toEqual(names(whole.seen))
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length)
    const known = new Set(spans.map(({ spanId }) => spanId))
    expect(spans.filter(({ parentId }) => parentId !== undefined && !known.has(parentId))).toEqual([])
    // Nobody gave a trace: it is made of the root and the run.
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([readTrace(ownTrace('lead', 'm'))?.trace]))
    const turnOf = spans.find(({ name }) => name === 'invoke_agent lead')
    expect(turnOf).toMatchObject({ spanId: spanIdOf('lead', 'turn/m') })
    expect(turnOf?.parentId).toBeUndefined()
  }
})

it('TC1: an id is a function of thread and key; a context that is none is no trace, and one that is not sampled is not recorded', async () => {
  expect(spanIdOf('t', 'step/1/model')).toBe(spanIdOf('t', 'step/1/model'))
  expect(spanIdOf('t', 'step/1/model')).not.toBe(spanIdOf('t', 'step/2/model'))
  expect(readTrace(traceBelow(incoming, 't', 'k'))).toEqual({
    trace: '4bf92f3577b34da6a3ce929d0e0e4736',
    parent: spanIdOf('t', 'k'),
    sampled: true,
  })
  for (const wrong of [
    '',
    'x',
    incoming.slice(1),
    `${incoming}-00`,
    incoming.toUpperCase(),
    `00-${'0'.repeat(32)}-1-01`,
  ])
    expect(readTrace(wrong)).toBeUndefined()
  const client = await connectSkein({ backend: memory(), traces: true })
  expect([client.traceparent(incoming), client.traceparent('x'), client.traceparent()]).toEqual([
    incoming,
    undefined,
    undefined,
  ])
  await client.close()
  const observe = memo()
  const { app } = tinyApp({ script: () => 'done' })
  await using skein = await createSkein({ app, backend: memory(), observe })
  const thread = await skein.threads.create({ agent: 'helper' })
  await expect(thread.send('go', { trace: 'nonsense' }).text()).rejects.toThrow(/must be a W3C traceparent/)
  await thread.send('go', { trace: incoming.replace(/01$/, '00') }).text()
  expect(observe.seen.map(({ kind }) => kind)).toEqual(['model', 'turn'])
  expect(observe.seen.flatMap((each) => spanOf(each) ?? [])).toEqual([])
})

it('O1: a turn that failed and is resumed stays in its trace; retries, waiting for people and errors are on their spans', async () => {
  const observe = memo()
  let broken = true
  let tries = 0
  const flaky = looseTool(
    'flaky',
    () => {
      tries++
      if (tries < 3) throw new Error('not yet')
      return 'ok'
    },
    { retry: { maxRetries: 3 }, needsApproval: true },
  )
  const model = scriptedModel(({ messages }) => {
    if (last(messages) === 'go') return calls('flaky')
    if (!broken) return 'done'
    broken = false
    return { error: failure('MODEL_REJECTED', 'the provider says no') }
  })
  await using skein = await createSkein({ app: appOn(model, { tools: [flaky] }), backend: memory(), observe })
  const thread = await skein.threads.create({ agent: 'helper', id: 't' })
  const run = thread.send('go', { id: 'm', trace: incoming })
  await run.accepted()
  await thread.settled()
  await skein.inbox.approve('t/call_1_0', { by: 'ada' })
  await run.result()
  await thread.resume()
  await thread.settled()
  const spans = observe.seen.flatMap((each) => spanOf(each) ?? [])
  const turns = spans.filter(({ name }) => name === 'invoke_agent helper')
  expect(turns.map(({ error, parentId }) => [error !== undefined, parentId])).toEqual([
    [true, '00f067aa0ba902b7'],
    [false, '00f067aa0ba902b7'],
  ])
  expect(turns[0]?.attributes).toMatchObject({ 'error.type': 'MODEL_REJECTED', 'skein.stop_reason': 'failed' })
  const call = spans.find(({ name }) => name === 'execute_tool flaky')
  expect(call?.attributes).toMatchObject({ 'skein.attempts': 3, 'gen_ai.tool.call.id': 'call_1_0' })
  expect(spans.find(({ name }) => name === 'wait approval')).toMatchObject({ parentId: call?.spanId })
  expect(spans.filter(({ name, error }) => name === 'chat' && error !== undefined)).toHaveLength(1)
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
})

it('O1: the environment of the process can be given as it is: it is no plain object', async () => {
  const { otlpSettings } = await import('../../../src/observe/otlp/settings.js')
  expect(otlpSettings({ env: process.env, url: 'http://127.0.0.1:4318' }).url).toBe('http://127.0.0.1:4318/v1/traces')
  const wrong: unknown[] = ['text', null, { OTEL_SERVICE_NAME: 1 }]
  for (const env of wrong) expect(() => Reflect.apply(otlp, undefined, [{ env }])).toThrow(/env/)
})
