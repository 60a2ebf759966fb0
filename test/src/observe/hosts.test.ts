/** Traces over processes: two hosts of one store, and workers. */
import { fileURLToPath } from 'node:url'
import { context, propagation, trace } from '@opentelemetry/api'
import { expect, it, onTestFinished } from 'vitest'
import { memory } from '../../../src/backend/memory/memory.js'
import { ownTrace, readTrace, spanIdOf } from '../../../src/core/trace/trace.js'
import { otlp } from '../../../src/observe.js'
import { createSkein } from '../../../src/runtime/skein.js'
import { startCollector } from '../../helpers/collector.js'
import { family, write } from '../../helpers/family.js'
import { recordsOf } from '../../helpers/cut.js'
import { until } from '../../helpers/deferred.js'
import { onEveryStore } from '../../helpers/world.js'

onEveryStore(
  'a trace',
  (world) => {
    it('O1: of a parent and its children on two hosts is one trace, and each span comes of one host', async () => {
      const sink = await startCollector()
      onTestFinished(() => sink.close())
      const app = family({
        lead: ({ step }) => (step === 0 ? { calls: Array.from({ length: 24 }, (_, n) => write(`part ${n}`)) } : 'done'),
        writer: () => 'wrote',
      })
      const open = (name: string) =>
        world.open(app, { observe: otlp({ url: sink.url, resource: { 'service.instance.id': name } }) })
      const [one, two] = [await open('one'), await open('two')]
      await until('both hold partitions', async () =>
        (await one.hosts()).hosts.every(({ partitions }) => partitions.length > 0),
      )
      const lead = await one.threads.create({ agent: 'lead', id: 'lead' })
      expect(await lead.send('go', { id: 'm' }).text()).toBe('done')
      await lead.settled()
      await world.close(one)
      await world.close(two)
      expect(sink.spans).toHaveLength(1 + 2 + 24 * 3)
      expect(new Set(sink.spans.map(({ spanId }) => spanId)).size).toBe(sink.spans.length)
      expect(new Set(sink.spans.map(({ traceId }) => traceId))).toEqual(
        new Set([readTrace(ownTrace('lead', 'm'))?.trace]),
      )
      const known = new Set(sink.spans.map(({ spanId }) => spanId))
      expect(sink.spans.filter(({ parent }) => parent !== undefined && !known.has(parent))).toEqual([])
      expect(new Set(sink.spans.map(({ host }) => host)).size).toBe(2)
    })
  },
  'several',
)

it('O1: a body on a worker runs in the span of its call; its record says what it took, in line apart from at work', async () => {
  const sink = await startCollector()
  const backend = memory()
  onTestFinished(() => {
    trace.disable()
    context.disable()
    propagation.disable()
    return sink.close()
  })
  const skein = await createSkein({
    app: fileURLToPath(new URL('fixtures/traced-app.mjs', import.meta.url)),
    backend,
    workers: { threads: 1 },
    observe: otlp({ url: sink.url }),
  })
  const thread = await skein.threads.create({ agent: 'helper', id: 't' })
  const [pid, ...seen] = (await thread.send('go', { id: 'm' }).text()).split(' ')
  await skein.close()
  expect(pid).not.toBe(String(process.pid))
  expect(seen).toEqual([readTrace(ownTrace('t', 'm'))?.trace, spanIdOf('t', 'step/1/call/0')])
  // One worker for calls that compute: the second had to wait for the first, and that is no work.
  const burnt = (await recordsOf(backend, 't')).flatMap((record) =>
    record.type === 'call.returned' && record.tool === 'burn' ? [record.took] : [],
  )
  const waits = burnt.map((took) => took?.waitedMs ?? 0)
  expect(Math.max(...waits)).toBeGreaterThanOrEqual(45)
  const spans = sink.spans.filter(({ name }) => name === 'execute_tool burn')
  expect(spans.map(({ startMs, endMs }) => endMs - startMs).toSorted()).toEqual(
    burnt.map((took) => took?.ranMs).toSorted(),
  )
  expect(spans.map(({ attributes }) => attributes['skein.waited_ms'] ?? 0).toSorted()).toEqual(waits.toSorted())
})
