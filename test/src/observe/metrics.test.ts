/** Metrics and logs of a host, and what is left where nobody observes: nothing. */
import { expect, it, onTestFinished } from 'vitest'
import { memory } from '../../../src/backend/memory/memory.js'
import { manualClock } from '../../../src/core/manual-clock.js'
import { log, metrics, otel, otlp } from '../../../src/observe.js'
import { MetricRegistry } from '../../../src/observe/registry.js'
import { scriptedModel } from '../../../src/models/scripted.js'
import { createSkein } from '../../../src/runtime/skein.js'
import type { SkeinOptions } from '../../../src/runtime/options.js'
import { appOn, calls, looseTool, tinyApp } from '../../helpers/app.js'
import { startCollector } from '../../helpers/collector.js'
import { recordsOf } from '../../helpers/cut.js'
import { until } from '../../helpers/deferred.js'
import { keys, served } from '../../helpers/served.js'

const tools = [looseTool('look_up', () => 'found'), looseTool('fails', () => Promise.reject(new Error('no')))]
const usage = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 60, costUsd: 0.5 }
const app = () =>
  appOn(
    scriptedModel(({ step }) =>
      step === 0
        ? { calls: ['look_up', 'look_up', 'fails', 'invented'].map((tool) => ({ tool, args: {} })), usage }
        : { text: 'done', usage },
    ),
    { tools },
  )

it('O1: metrics count turns, steps, tokens, cost and calls by names of definitions, for keys that are bound to nothing', async () => {
  await using skein = await createSkein({ app: app(), backend: memory(), observe: metrics() })
  const server = await served(skein)
  onTestFinished(() => server.close())
  const thread = await skein.threads.create({ agent: 'helper' })
  await thread.send('go').result()
  const { status, headers, body } = await server.ask('/metrics', { key: keys.reader })
  expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
  const lines = String(body).split('\n')
  for (const line of [
    '# TYPE skein_turns_total counter',
    'skein_turns_total{agent="helper",reason="completed"} 1',
    'skein_model_calls_total{model="scripted",outcome="ok"} 2',
    'skein_tokens_total{model="scripted",type="input"} 200',
    'skein_tokens_total{model="scripted",type="cached_input"} 120',
    'skein_cost_usd_total{model="scripted"} 1',
    'skein_tool_calls_total{tool="look_up",outcome="ok"} 2',
    'skein_tool_calls_total{tool="fails",outcome="TOOL_THREW"} 1',
    'skein_tool_calls_total{tool="unknown",outcome="UNKNOWN_TOOL"} 1',
    'skein_tool_seconds_count{tool="look_up"} 2',
    '# TYPE skein_commit_seconds histogram',
    '# TYPE skein_threads_awake gauge',
    'skein_threads_awake 1',
  ])
    expect(lines).toContain(line)
  // The form of the whole: every line is a comment or a sample.
  for (const line of lines.filter((each) => each !== ''))
    expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [-+.\deE]+)$/)
  expect((await server.ask('/metrics', { key: '' })).status).toBe(401)
  const { token } = (
    await server.ask(`/threads/${thread.id}/tokens`, {
      body: { name: 'x', scopes: ['read'], ttlMs: 60_000 },
    })
  ).body as { readonly token: string }
  expect((await server.ask('/metrics', { key: token })).status).toBeGreaterThanOrEqual(403)
})

it('O1: a host that counts nothing has no metrics, and says how to have them', async () => {
  await using skein = await createSkein({ app: app(), backend: memory() })
  const server = await served(skein)
  onTestFinished(() => server.close())
  expect(skein.metrics()).toBeUndefined()
  expect(await server.ask('/metrics')).toMatchObject({
    status: 404,
    body: { code: 'NOT_FOUND', detail: expect.stringContaining('metrics()') },
  })
})

it('RG1: names past the limit of a metric count as other', () => {
  const registry = new MetricRegistry(2)
  registry.define('calls_total', 'counter', 'Calls.')
  for (const tool of ['a', 'b', 'c', 'd', 'a']) registry.add('calls_total', { tool })
  expect(registry.text()).toBe(
    '# HELP calls_total Calls.\n# TYPE calls_total counter\n' +
      'calls_total{tool="a"} 2\ncalls_total{tool="b"} 1\ncalls_total{tool="other"} 2\n',
  )
})

/** All bytes of the journal of one turn. */
async function journalOf(options: Partial<SkeinOptions>, headers = {}): Promise<string> {
  const backend = memory()
  const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].values()
  const skein = await createSkein({
    app: app(),
    backend,
    clock: manualClock(1_700_000_000_000),
    random: { id: () => ids.next().value ?? 'z', fraction: () => 0 },
    ...options,
  })
  const server = await served(skein)
  await skein.threads.create({ agent: 'helper', id: 't' })
  await server.ask('/threads/t/messages?wait=20000', { body: { text: 'go', id: 'm' }, headers })
  await server.close()
  await skein.close()
  return JSON.stringify(await recordsOf(backend, 't'))
}

it('O1: without a trace no byte of a journal changes, whatever a client sends; with one, only the trace is there', async () => {
  const headers = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' }
  const off = await journalOf({})
  expect(off).not.toMatch(/"trace/)
  expect(await journalOf({}, headers)).toBe(off)
  expect(await journalOf({ observe: [metrics(), log({ to: () => undefined })] }, headers)).toBe(off)
  const on = await journalOf({ observe: otel({ processor: { onEnd: () => undefined } }) }, headers)
  expect(on.replace(/,"trace":"00-[0-9a-f]{32}-[0-9a-f]{16}-01"/, '').replace(/,"traced":true/, '')).toBe(off)
})

it('O1: an observer that throws, and a collector that is away or refuses, cost no thread anything and are told of once', async () => {
  const sink = await startCollector()
  const warnings: string[] = []
  const broken = {
    observed() {
      throw new Error('full disk')
    },
  }
  sink.answers = [400, 400]
  const { app: tiny } = tinyApp({ script: () => 'done' })
  const skein = await createSkein({
    app: tiny,
    backend: memory(),
    observe: [broken, otlp({ url: sink.url, delayMs: 0, env: {} })],
    warn: (what) => void warnings.push(what),
  })
  const thread = await skein.threads.create({ agent: 'helper' })
  expect(await thread.send('one').text()).toBe('done')
  await until('spans were refused', () => sink.requests >= 1)
  expect(await thread.send('two').text()).toBe('done')
  await until('more spans were refused', () => sink.answers.length === 0)
  await sink.close()
  expect(await thread.send('three').text()).toBe('done')
  await skein.close()
  expect(warnings.filter((what) => what.includes('observer threw'))).toHaveLength(1)
  expect(warnings.filter((what) => /spans were not sent to http/.test(what))).toHaveLength(1)
})

it('O1: wrong options of observers are refused, and the environment says where spans go', async () => {
  expect(() => otlp({ url: 'ftp://x' })).toThrow(/otlp/)
  expect(() => otlp({ env: { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' } })).toThrow(/http\/json/)
  expect(() => otlp({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'nowhere' } })).toThrow(/no http or https URL/)
  // @ts-expect-error: no span processor
  expect(() => otel({ processor: {} })).toThrow(/span processor/)
  // @ts-expect-error: no logger
  expect(() => log({ to: { info: () => undefined } })).toThrow(/logger/)
  // @ts-expect-error: no observer
  await expect(createSkein({ app: [], backend: memory(), observe: { on: true } })).rejects.toThrow(/skein\/observe/)
  const sink = await startCollector()
  onTestFinished(() => sink.close())
  const { app: tiny } = tinyApp({ script: () => calls() })
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `${sink.url}/`,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc',
    OTEL_SERVICE_NAME: 'shop',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  }
  const skein = await createSkein({ app: tiny, backend: memory(), observe: otlp({ env }) })
  await (await skein.threads.create({ agent: 'helper' })).send('go').result()
  await skein.close()
  expect(sink.spans).toHaveLength(2)
  for (const part of ['"Bearer abc"', '"shop"', 'deployment.environment.name']) expect(sink.bytes).toContain(part)
  const disabled = otlp({ env: { OTEL_SDK_DISABLED: 'true' } })
  expect(disabled.traces).toBeUndefined()
})
