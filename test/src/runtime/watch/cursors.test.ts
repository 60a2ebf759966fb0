/**
 * A watcher of a tree is cut off anywhere and goes on from the last cursor that it was given: it sees each record
 * once, in the order of the journal, on every store, with several hosts, and whatever becomes of the news.
 */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../../../src/agent/define.js'
import { memory } from '../../../../src/backend/memory/memory.js'
import type { Store } from '../../../../src/backend/port.js'
import type { DurableEvent, SkeinEvent } from '../../../../src/core/records/event.js'
import type { SkeinClient } from '../../../../src/runtime/handles/client.js'
import { createSkein } from '../../../../src/runtime/skein.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { collect, deferred, quiet, turns } from '../../../helpers/deferred.js'
import { family, write } from '../../../helpers/family.js'
import { createChance } from '../../../helpers/lives.js'
import { times } from '../../../helpers/soak.js'
import { onEveryStore } from '../../../helpers/world.js'

const children = 12

const swarm = () =>
  family({
    tools: [
      looseTool('look', async () => {
        await turns(2)
        return 1
      }),
    ],
    lead: ({ step }) =>
      step === 0 ? calls(...Array.from({ length: children }, (_, n) => write(`part ${n}`))) : 'all written',
    writer: ({ step }) => (step < 2 ? calls('look', 'look') : 'written'),
  })

const isDurable = (event: SkeinEvent): event is DurableEvent => 'cursor' in event
const placeOf = ({ cursor, thread, seq, type }: DurableEvent): string => `${cursor} ${thread} ${seq} ${type}`

/** What the journal has of a tree. */
async function journalOf(skein: SkeinClient, root: string, from?: string): Promise<DurableEvent[]> {
  return (await collect(skein.events({ root, until: 'now', ...(from !== undefined && { from }) }))).filter(isDurable)
}

/**
 * Watches until the lead has ended its turn; is cut off after so many records, and goes on from the last one's cursor.
 */
async function watchInPieces(skein: SkeinClient, root: string, length: () => number): Promise<string[]> {
  const seen: DurableEvent[] = []
  const ended = (): boolean => seen.some(({ type, thread }) => type === 'turn.ended' && thread === root)
  while (!ended()) {
    const from = seen.at(-1)?.cursor
    const most = seen.length + length()
    for await (const event of skein.events({ root, ...(from !== undefined && { from }) })) {
      if (isDurable(event)) seen.push(event)
      if (ended() || seen.length >= most) break
    }
  }
  return seen.map(placeOf)
}

/** Many watchers, each cut off elsewhere, and the same afterwards: from every cursor on the rest comes once. */
async function seenAndThere(
  skeins: readonly SkeinClient[],
): Promise<{ readonly seen: readonly string[][]; readonly there: readonly string[][] }> {
  const chance = createChance(7)
  const [skein] = skeins
  if (!skein) throw new Error('there is no skein')
  const lead = await skein.threads.create({ agent: 'lead', id: 'root' })
  const lengths = [
    () => Infinity,
    () => 1,
    () => 3,
    () => 1 + Math.floor(chance() * 20),
    () => 1 + Math.floor(chance() * 60),
  ]
  const watched = skeins.flatMap((each) => lengths.map((length) => watchInPieces(each, 'root', length)))
  await lead.send('go').text()
  const seen = await Promise.all(watched)
  await lead.settled({ tree: true })
  const whole = await journalOf(skein, 'root')
  const end = whole.findIndex(({ type, thread }) => type === 'turn.ended' && thread === 'root') + 1
  const cuts = Array.from({ length: times(20, 200) }, () => Math.floor(chance() * whole.length))
  const rests = await Promise.all(
    cuts.map(async (cut) => (await journalOf(skein, 'root', whole[cut]?.cursor)).map(placeOf)),
  )
  const places = whole.map(placeOf)
  return {
    seen: [...seen, ...rests],
    there: [...seen.map(() => places.slice(0, end)), ...cuts.map((cut) => places.slice(cut + 1))],
  }
}

onEveryStore('cursors of a tree', (world) => {
  it('R2, FW1: a watcher that is cut off anywhere and goes on sees each record once, in order', async () => {
    const { seen, there } = await seenAndThere([await world.open(swarm())])
    expect(there[0]?.length).toBeGreaterThan(100)
    expect(seen).toEqual(there)
  })

  it('R2, FW5: a cursor of a tree that was deleted and whose id is used again is told, and everything of the new one follows', async () => {
    const { app } = tinyApp({ script: () => 'done' })
    const skein = await world.open(app)
    const first = await skein.threads.create({ agent: 'helper', id: 'again' })
    await first.send('one').result()
    const old = await journalOf(skein, 'again')
    await skein.threads.delete('again')
    for (const from of [old[0]?.cursor ?? '', old.at(-1)?.cursor ?? '']) {
      await expect(collect(skein.events({ root: 'again', from, until: 'now' }))).rejects.toMatchObject({
        code: 'UNKNOWN_THREAD',
      })
    }
    const second = await skein.threads.create({ agent: 'helper', id: 'again' })
    for (const text of ['two', 'three']) await second.send(text).result()
    const whole = await journalOf(skein, 'again')
    for (const { cursor: from } of old) {
      for (const events of [
        skein.events({ root: 'again', from, until: 'now' }),
        second.events({ from, until: 'now' }),
      ]) {
        const [reset, ...rest] = await collect(events)
        expect(reset).toEqual({ type: 'tree.reset', thread: 'again', path: ['again'] })
        expect(rest.filter(isDurable).map(placeOf)).toEqual(whole.map(placeOf))
      }
    }
  })

  it('R2: a reader that falls behind by more than it allows is told, has what was kept for it, and goes on from there', async () => {
    const gate = deferred()
    const { app } = tinyApp({
      script: async function* ({ step }) {
        if (step > 0) return undefined
        for (let n = 0; n < 50; n++) yield `word ${n} `
        await gate.promise
        return undefined
      },
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 'long' })
    const slow = thread.events({ maxBuffered: 10 })[Symbol.asyncIterator]()
    await slow.next()
    const run = thread.send('go')
    await run.accepted()
    await quiet()
    gate.resolve()
    await run.result()
    const seen: SkeinEvent[] = []
    const rest = async (): Promise<void> => {
      for (let next = await slow.next(); !next.done; next = await slow.next()) seen.push(next.value)
    }
    await expect(rest()).rejects.toMatchObject({ code: 'STREAM_LAGGED', retry: true })
    expect(seen.length).toBeLessThanOrEqual(10)
    const last = [...seen].reverse().find(isDurable)?.cursor
    const after = await journalOf(skein, 'long', last)
    const whole = await journalOf(skein, 'long')
    expect(after.map(placeOf)).toEqual(whole.slice(whole.length - after.length).map(placeOf))
    expect(after.at(-1)?.type).toBe('turn.ended')
    for (const maxBuffered of [0, -1, 1.5])
      await expect(collect(thread.events({ maxBuffered }))).rejects.toMatchObject({ code: 'BAD_OPTION' })
  })

  it('R2: who reads a long past, however slowly, is given it whole with a small buffer', async () => {
    const { app } = tinyApp({ script: () => 'done' })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 'past' })
    for (let n = 0; n < 20; n++) await thread.send(`${n}`).result()
    const whole = await journalOf(skein, 'past')
    const slowly = async (events: AsyncIterable<SkeinEvent>): Promise<string[]> => {
      const seen: string[] = []
      for await (const event of events) {
        await turns(1)
        if (isDurable(event)) seen.push(placeOf(event))
      }
      return seen
    }
    expect(await slowly(skein.events({ root: 'past', maxBuffered: 3, until: 'now' }))).toEqual(whole.map(placeOf))
    expect(await slowly(thread.events({ maxBuffered: 3, until: 'now' }))).toEqual(whole.map(placeOf))
  })

  it('R2: of a long past that nobody takes, a few megabytes are read, and the whole of it where it is taken', async () => {
    const { app } = tinyApp({ script: () => 'done' })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 'large' })
    // Many small commits say nothing about those that follow.
    for (let n = 0; n < 40; n++) await thread.inject('small', { id: `s${n}` })
    for (let n = 0; n < 40; n++) await thread.inject('x'.repeat(300_000), { id: `m${n}` })
    let read = 0
    world.tap.entry = (entry) => {
      read += entry.body.length
      return entry
    }
    for (const events of [skein.events({ root: 'large' }), thread.events()]) {
      const unread = events[Symbol.asyncIterator]()
      for (let n = 0; n < 42; n++) await unread.next()
      await quiet()
      expect(read).toBeLessThan(4_000_000)
      await unread.return?.()
      read = 0
    }
    const events = await collect(skein.events({ root: 'large', until: 'now' }))
    expect(events.filter(({ type }) => type === 'message.received')).toHaveLength(80)
    delete world.tap.entry
  })

  it('R2: a reader that falls behind by megabytes is told, however few events they are', async () => {
    const { app } = tinyApp({ script: () => 'done' })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 'heavy' })
    const slow = thread.events({ maxBuffered: 1_000 })[Symbol.asyncIterator]()
    await slow.next()
    await quiet()
    for (let n = 0; n < 40; n++) await thread.inject('x'.repeat(500_000), { id: `m${n}` })
    await quiet()
    let seen = 0
    const rest = async (): Promise<void> => {
      for (let next = await slow.next(); !next.done; next = await slow.next()) seen++
    }
    await expect(rest()).rejects.toMatchObject({ code: 'STREAM_LAGGED', retry: true })
    expect(seen).toBeGreaterThan(10)
    expect(seen).toBeLessThan(25)
  })
})

onEveryStore(
  'cursors of a tree that two hosts serve',
  (world) => {
    it('R2, FW1: watchers on both of them see each record once, in order', async () => {
      const { seen, there } = await seenAndThere([await world.open(swarm()), await world.open(swarm())])
      expect(there[0]?.length).toBeGreaterThan(100)
      expect(seen).toEqual(there)
    })
  },
  'several',
)

describe('memory with news that is late and in no order', () => {
  it.each(Array.from({ length: times(3, 30) }, (_, seed) => seed + 1))(
    'R2, FW1: each record comes once, in order (seed %i)',
    async (seed) => {
      const skein = await createSkein({ app: swarm(), backend: shuffled(memory(), createChance(seed)) })
      const { seen, there } = await seenAndThere([skein])
      expect(there[0]?.length).toBeGreaterThan(100)
      expect(seen).toEqual(there)
      await skein.close()
    },
  )
})

/** What is published is heard some turns later, each by itself. */
function shuffled(source: Store, chance: () => number): Store {
  return {
    async open(role, self) {
      const backend = await source.open(role, self)
      const { signals } = backend
      let open = true
      const late: typeof signals.publish = (topic, value, unheard) =>
        void turns(Math.floor(chance() * 12)).then(() => open && signals.publish(topic, value, unheard))
      return {
        ...backend,
        signals: { ...signals, publish: late },
        close: () => {
          open = false
          return backend.close()
        },
      }
    },
  }
}

onEveryStore(
  'what is said in a tree',
  (world) => {
    it('R2, FW2: has its place between the records of its thread, also where the turn is over in a moment', async () => {
      let gate = deferred()
      const tell = defineTool({
        name: 'tell',
        description: 'tells',
        args: z.object({}),
        eventSchema: z.object({ page: z.number() }),
        async *execute() {
          await gate.promise
          for (let page = 1; page <= 3; page++) yield { page }
          return 'told'
        },
      })
      const { app } = tinyApp({
        script: ({ messages }) => (messages.at(-1)?.role === 'tool' ? 'done' : calls('tell')),
        tools: [tell],
      })
      const skein = await world.open(app)
      const thread = await skein.threads.create({ agent: 'helper', id: 't' })
      for (let round = 0; round < 10; round++) {
        gate = deferred()
        const types: string[] = []
        for await (const { type } of thread.send('go', { delivery: 'new_turn' }).fullStream) {
          types.push(type)
          // Whoever has seen it hears what is said from now on.
          if (type === 'model.replied') gate.resolve()
        }
        expect(types.filter((type) => type === 'tool.preliminary')).toHaveLength(3)
        expect(types.lastIndexOf('tool.preliminary')).toBeLessThan(types.indexOf('tool.result'))
      }
    })
  },
  'one',
)
