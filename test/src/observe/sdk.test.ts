/** With a real OpenTelemetry SDK in the process: its exporter takes Skein's spans, and its spans hang below Skein's. */
import { context, propagation, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { BatchSpanProcessor, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'
import { expect, it, onTestFinished } from 'vitest'
import { memory } from '../../../src/backend/memory/memory.js'
import { otel } from '../../../src/observe.js'
import { scriptedModel } from '../../../src/models/scripted.js'
import { createSkein } from '../../../src/runtime/skein.js'
import { appOn, calls, looseTool } from '../../helpers/app.js'
import { startCollector, treeOf } from '../../helpers/collector.js'

it("O1: spans of the app's own SDK are in the same trace: above a turn that is sent in one, below models and tools", async () => {
  const sink = await startCollector()
  onTestFinished(() => sink.close())
  const exporter = new OTLPTraceExporter({ url: `${sink.url}/v1/traces` })
  const processor = new BatchSpanProcessor(exporter)
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  provider.register()
  onTestFinished(() => {
    trace.disable()
    context.disable()
    propagation.disable()
  })
  const tracer = trace.getTracer('shop')
  const own = <Value>(name: string, run: () => Value): Value =>
    tracer.startActiveSpan(name, (span) => {
      try {
        return run()
      } finally {
        span.end()
      }
    })
  const model = scriptedModel(({ step }) => own('provider request', () => (step === 0 ? calls('fetch_price') : 'done')))
  const price = looseTool('fetch_price', async () => {
    await Promise.resolve()
    return own('GET /price', () => 3)
  })
  const skein = await createSkein({
    app: appOn(model, { tools: [price] }),
    backend: memory(),
    observe: otel({ processor }),
  })
  const thread = await skein.threads.create({ agent: 'helper' })
  const run = own('POST /orders', () => thread.send('go'))
  await run.text()
  await skein.close()
  await provider.shutdown()
  expect(treeOf(sink.spans)).toEqual([
    'POST /orders',
    '  invoke_agent helper',
    '    chat scripted',
    '      provider request',
    '    execute_tool fetch_price',
    '      GET /price',
    '    chat scripted',
    '      provider request',
  ])
  expect(new Set(sink.spans.map(({ traceId }) => traceId)).size).toBe(1)
  expect(new Set(sink.spans.map(({ scope }) => scope))).toEqual(new Set(['shop', 'skein']))
})
