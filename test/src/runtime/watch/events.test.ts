/** Events by cursor: whoever was cut off goes on after what it saw, with everything once. */
import { expect, it } from 'vitest'
import { appOn, calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { collect, deferred, quiet, until } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'
import type { DurableEvent, SkeinEvent } from '../../../../src/core/records/event.js'
import type { Store } from '../../../../src/backend/port.js'
import { createSkein, memory } from '../../../../src/index.js'

/** Reads durable events until there are `count`. */
async function take(events: AsyncIterable<SkeinEvent>, count: number): Promise<DurableEvent[]> {
  const all: DurableEvent[] = []
  if (count === 0) return all
  for await (const event of events) {
    if ('seq' in event) all.push(event)
    if (all.length === count) return all
  }
  return all
}

const script = ({ step }: { step: number }) => (step === 0 ? calls('look', 'look') : 'done')

onEveryStore('cursors', (world) => {
  it('R2: a long past is read in many turns of the event loop, and others go on in between', async () => {
    const steps = 300
    const { app } = tinyApp({
      script: ({ step }) => (step < steps ? calls({ tool: 'look', args: { step } }) : 'done'),
      tools: [looseTool('look', (_state, { step }) => step)],
      maxSteps: steps + 1,
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    await thread.send('go').result()
    const { seq: count } = await thread.info()
    for (const events of [thread.events({ until: 'now' }), skein.events({ root: thread.id, until: 'now' })]) {
      let [given, last, most, isOn] = [0, 0, 0, true]
      const look = (): void => {
        most = Math.max(most, given - last)
        last = given
        if (isOn) setImmediate(look)
      }
      look()
      for await (const event of events) if ('seq' in event) given++
      isOn = false
      expect(given).toBe(count)
      expect(most).toBeLessThan(count / 3)
    }
  })

  it('R2: from every cut point the rest comes exactly once, of a thread and of its tree', async () => {
    const { app } = tinyApp({ script, tools: [looseTool('look', () => 1)] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    await thread.send('go').result()
    await thread.inject('aside')
    await thread.send('again').result()
    const { seq: count } = await thread.info()
    const whole = await take(thread.events(), count)
    expect(whole.map(({ seq }) => seq)).toEqual(Array.from({ length: count }, (_, index) => index + 1))
    for (const [index, { cursor }] of whole.entries()) {
      const rest = whole.slice(index + 1)
      expect(await take(thread.events({ from: cursor }), rest.length)).toEqual(rest)
      expect(await take(skein.events({ root: thread.id, from: cursor }), rest.length)).toEqual(rest)
    }
  })

  it('R2: a cursor from the middle of a commit goes on in the middle of it', async () => {
    const { app } = tinyApp({ script: ['done'] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const [, received, started] = await take((await thread.send('go').result(), thread.events()), 3)
    const positionOf = (event: DurableEvent | undefined): string | undefined => event?.cursor.split('.')[0]
    expect(positionOf(received)).toBe(positionOf(started))
    expect(await take(skein.events({ root: thread.id, from: received?.cursor ?? '' }), 1)).toEqual([started])
  })

  it('FW1, R2: going on while the thread runs misses nothing and repeats nothing', async () => {
    const gates = [deferred(), deferred()]
    const { app } = tinyApp({
      script: async ({ step }) => {
        await gates[step]?.promise
        return script({ step })
      },
      tools: [looseTool('look', () => 1)],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    await run.accepted()
    const first = await take(thread.events(), 3)
    const second = take(thread.events({ from: first[1]?.cursor ?? '' }), 6)
    const third = take(skein.events({ root: thread.id, from: first[2]?.cursor ?? '' }), 5)
    await quiet()
    gates[0]?.resolve()
    gates[1]?.resolve()
    await run.result()
    expect((await second).map(({ seq }) => seq)).toEqual([3, 4, 5, 6, 7, 8])
    expect((await third).map(({ seq }) => seq)).toEqual([4, 5, 6, 7, 8])
  })

  it('FW1: signals that are lost are healed from the journal', async () => {
    const { app } = tinyApp({ script, tools: [looseTool('look', () => 1)] })
    let lose = true
    const skein = await world.open(app, { backend: losing(world.store.source, () => lose) })
    const thread = await skein.threads.create({ agent: 'helper' })
    const heard: DurableEvent[] = []
    const watching = new AbortController()
    const watch = (async () => {
      for await (const event of thread.events({ signal: watching.signal })) if ('seq' in event) heard.push(event)
    })()
    await until('the beginning', () => heard.length === 1)
    await thread.send('go').accepted()
    await until('the end of the turn', async () => (await thread.info()).seq >= 8)
    expect(heard).toHaveLength(1)
    lose = false
    await thread.inject('and one that is heard')
    await until('everything', () => heard.length === 9)
    expect(heard.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    watching.abort()
    await watch
  })

  it('R2: a text that is no cursor is refused', async () => {
    const { app } = tinyApp({ script: [] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    for (const from of ['', 'x', '1', '1.x', '-1.2'])
      await expect(collect(thread.events({ from }))).rejects.toMatchObject({ code: 'BAD_OPTION' })
  })

  it('R2: a tree is told apart from its neighbours, and every event says where it is from', async () => {
    const { app } = tinyApp({ script: () => 'done' })
    const skein = await world.open(app)
    const [one, two] = [
      await skein.threads.create({ agent: 'helper' }),
      await skein.threads.create({ agent: 'helper' }),
    ]
    await Promise.all([
      one.send('a').result(),
      two.send('b').result(),
      one.send('c', { delivery: 'new_turn' }).result(),
    ])
    const { seq } = await one.info()
    const events = await take(skein.events({ root: one.id }), seq)
    expect(new Set(events.map(({ thread }) => thread))).toEqual(new Set([one.id]))
    expect(events.every(({ path }) => path.length === 1 && path[0] === one.id)).toBe(true)
    const cursors = events.map(({ cursor }) => cursor.split('.').map(Number))
    expect([...cursors].sort(([a = 0, b = 0], [c = 0, d = 0]) => a - c || b - d)).toEqual(cursors)
  })

  it('R2: an aborted signal ends the stream, before and in the middle', async () => {
    const { app } = tinyApp({ script: () => 'done' })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await collect(thread.events({ signal: AbortSignal.abort() }))).toEqual([])
    const controller = new AbortController()
    const heard: string[] = []
    for await (const event of skein.events({ root: thread.id, signal: controller.signal })) {
      heard.push(event.type)
      controller.abort()
    }
    expect(heard).toEqual(['thread.created'])
  })
})

it('FW1, R1: what a reader does with an event is seen by nobody else: no reader, no model, no store', async () => {
  const told = ({ step }: { step: number }) =>
    step < 2 ? { text: 'so', calls: [{ tool: 'look', args: { at: ['home'] } }] } : 'done'
  const { app, model } = tinyApp({ script: told, tools: [looseTool('look', () => ({ seen: ['all'] }))] })
  const skein = await createSkein({ app, backend: memory() })
  const thread = await skein.threads.create({ agent: 'helper' })
  const run = thread.send('go')
  const heard: SkeinEvent[] = []
  const readers = [run.fullStream, run.streams().fullStream, thread.events(), skein.events({ root: thread.id })]
  const spoil = async (events: AsyncIterable<SkeinEvent>): Promise<void> => {
    for await (const event of events) {
      heard.push(structuredClone(event))
      overwrite(event)
      if (heard.at(-1)?.type === 'turn.ended') return
    }
  }
  await Promise.all(readers.map(spoil))
  const result = await run.result()
  expect(result).toMatchObject({ text: 'done', usage: { inputTokens: 0 } })
  overwrite(result)
  await expect(run.result()).resolves.toMatchObject({ usage: { inputTokens: 0 } })
  // Whatever was heard, live by a reader that spoils it or from the journal later, is the same.
  const kept = await take(thread.events({ until: 'now' }), 100)
  const durable = heard.filter((event) => 'seq' in event)
  expect(durable.length).toBeGreaterThan(readers.length * 4)
  for (const event of durable) expect(kept).toContainEqual(event)
  expect(JSON.stringify([kept, await thread.messages(), model.requests])).not.toContain('spoilt')
  await skein.close()
})

it('R1: a model that uses the objects of its reply again changes no record', async () => {
  const usage = { inputTokens: 1, outputTokens: 1, costUsd: 0 }
  const kept = { origin: 'here', parts: [{ type: 'reasoning' as const, length: 0, meta: { round: 1 } }] }
  const model = { name: 'own', call: async () => ({ text: 'hm', calls: [], usage, kept, finish: 'stop' as const }) }
  const skein = await createSkein({ app: appOn(model), backend: memory() })
  const thread = await skein.threads.create({ agent: 'helper' })
  await thread.send('go').result()
  overwrite([usage, kept])
  const events = await take(thread.events({ until: 'now' }), 100)
  expect(events).toContainEqual(expect.objectContaining({ usage: { inputTokens: 1, outputTokens: 1, costUsd: 0 } }))
  expect(JSON.stringify(events)).not.toContain('spoilt')
  await skein.close()
})

/** All that is below, whatever its type says. */
function overwrite(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, field] of Object.entries(value)) {
    overwrite(field)
    if (typeof field !== 'object') Reflect.set(value, name, 'spoilt')
  }
}

/** Loses the news of commits while `lost`; answers and everything else go through. */
function losing(source: Store, lost: () => boolean): Store {
  return {
    async open(role) {
      const backend = await source.open(role)
      const { signals } = backend
      return {
        ...backend,
        signals: {
          ...signals,
          publish: (topic, value) =>
            void (lost() && /^(tree|thread)\//.test(topic) ? undefined : signals.publish(topic, value)),
        },
      }
    },
  }
}
