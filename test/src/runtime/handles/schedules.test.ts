/** The key-value store from outside, and calls that are made later. Time stands still unless the test moves it. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../../../src/agent/define.js'
import type { ToolDefinition } from '../../../../src/agent/define.js'
import { connectSkein } from '../../../../src/runtime/handles/client.js'
import type { Skein } from '../../../../src/runtime/skein.js'
import type { Thread } from '../../../../src/runtime/handles/thread.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { results } from '../../../helpers/asking.js'
import { deferred, quiet, until } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'
import type { World } from '../../../helpers/world.js'

onEveryStore('kv from outside', (world) => {
  it('F6: is what tools see, in any process, and is kept over a restart', async () => {
    const count = looseTool('count', async ({ kv }) => {
      const before = await kv.get('n')
      await kv.set('n', Number(before ?? 0) + 1)
      return before ?? null
    })
    const { app } = tinyApp({ script: ({ step }) => (step % 2 === 0 ? calls('count') : 'done'), tools: [count] })
    let skein = await world.open(app)
    let thread = await skein.threads.create({ agent: 'helper', id: 't' })
    expect([await thread.kv.get('n'), await thread.kv.get('constructor'), await thread.kv.list()]).toEqual([
      undefined,
      undefined,
      [],
    ])
    await thread.kv.set('n', 41)
    await thread.kv.set('list/b', [{ deep: null }])
    await thread.kv.set('list/a', 'x')
    await thread.send('go').result()
    expect(results(await thread.messages())).toEqual(['41'])
    const client = await connectSkein({ backend: world.store.source, clock: world.clock })
    const other = await client.threads.get('t')
    expect(await other.kv.get('n')).toBe(42)
    await other.kv.delete('list/a')
    await client.close()
    await world.close(skein)
    skein = await world.open(app)
    thread = await skein.threads.get('t')
    expect(await thread.kv.list()).toEqual([
      { key: 'list/b', value: [{ deep: null }] },
      { key: 'n', value: 42 },
    ])
    expect(await thread.kv.list('list/')).toEqual([{ key: 'list/b', value: [{ deep: null }] }])
  })

  it('F6: what is no key and no value is told before anything happens', async () => {
    const skein = await world.open(tinyApp({ script: [] }).app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const bad = { code: 'BAD_OPTION' }
    await expect(thread.kv.set('', 1)).rejects.toMatchObject(bad)
    await expect(thread.kv.set('x'.repeat(513), 1)).rejects.toMatchObject(bad)
    await expect(thread.kv.set('x', undefined)).rejects.toMatchObject(bad)
    await thread.terminate()
    await expect(thread.kv.set('x', 1)).rejects.toMatchObject({ code: 'COMMAND_REFUSED' })
    expect((await thread.info()).seq).toBe(2)
  })
})

/** A model that answers what it is asked, and a tool that notes its runs. */
function noting(ran: unknown[], more: readonly ToolDefinition[] = []) {
  const note = looseTool('note', (_, { n }) => {
    ran.push(n)
    return `noted ${String(n)}`
  })
  return tinyApp({
    script: ({ messages }) => (messages.at(-1)?.role === 'tool' ? `read ${messages.at(-1)?.text ?? ''}` : 'hello'),
    tools: [note, ...more],
  }).app
}

/** Lets time pass, and everything that it sets going. */
async function pass({ clock }: World, ms: number): Promise<void> {
  clock.advance(ms)
  await quiet()
  clock.advance(0)
  await quiet()
}

async function created(skein: Skein): Promise<Thread> {
  return skein.threads.create({ agent: 'helper', id: 't' })
}

onEveryStore('schedule from outside', (world) => {
  it('F6: the call is made at its time, once, wakes an idle thread, and the model reads it', async () => {
    const ran: unknown[] = []
    const skein = await world.open(noting(ran))
    const thread = await created(skein)
    const id = await thread.schedule('note', { n: 1 }, { delayMs: 5_000 })
    expect(await thread.schedules()).toEqual([{ id, tool: 'note', args: { n: 1 }, at: world.clock.now() + 5_000 }])
    expect(await thread.info()).toMatchObject({ rest: true, wakeAt: world.clock.now() + 5_000 })
    await pass(world, 4_999)
    expect(ran).toEqual([])
    world.clock.advance(1)
    await until('the call', () => ran.length === 1)
    await until('the answer', async () => (await thread.messages()).at(-1)?.text === 'read noted 1')
    await thread.settled()
    expect(await thread.schedules()).toEqual([])
    expect(await thread.info()).not.toHaveProperty('wakeAt')
    await pass(world, 60_000)
    expect(ran).toEqual([1])
    expect(world.clock.pending).toBe(0)
  })

  it('F6: several come in order of their time, those of one instant in order of asking', async () => {
    const ran: unknown[] = []
    const thread = await created(await world.open(noting(ran)))
    for (const [n, ms] of [
      [1, 300],
      [2, 100],
      [3, 300],
      [4, 200],
    ] as const)
      await thread.schedule('note', { n }, { delayMs: ms })
    expect((await thread.schedules()).map(({ args }) => args)).toEqual([{ n: 2 }, { n: 4 }, { n: 1 }, { n: 3 }])
    for (let passed = 0; passed < 4; passed++) await pass(world, 100)
    await until('all', () => ran.length === 4)
    expect(ran).toEqual([2, 4, 1, 3])
  })

  it('F6, P1: it stands through restarts, also when its time came while nobody was there', async () => {
    const ran: unknown[] = []
    let skein = await world.open(noting(ran))
    let thread = await created(skein)
    await thread.schedule('note', { n: 'soon' }, { delayMs: 5_000 })
    await thread.schedule('note', { n: 'late' }, { delayMs: 50_000 })
    await world.close(skein)
    world.clock.advance(10_000)
    skein = await world.open(noting(ran))
    await until('the one that is overdue', () => {
      world.clock.advance(0)
      return ran.length === 1
    })
    thread = await skein.threads.get('t')
    await until('the answer', async () => (await thread.messages()).at(-1)?.text === 'read noted soon')
    await thread.settled()
    await world.close(skein)
    skein = await world.open(noting(ran))
    await quiet()
    expect([ran, skein.host.threadsAwake]).toEqual([['soon'], 0])
    world.clock.advance(40_000)
    await until('the other', () => {
      world.clock.advance(0)
      return ran.length === 2
    })
    expect(ran).toEqual(['soon', 'late'])
  })

  it('F6: a thread that is not in memory is woken for it', async () => {
    const ran: unknown[] = []
    const skein = await world.open(noting(ran), { maxResident: 0 })
    const thread = await created(skein)
    await thread.schedule('note', { n: 1 }, { delayMs: 5_000 })
    await until('it to be let go', () => skein.host.threadsAwake === 0)
    world.clock.advance(5_000)
    await until('the call', () => {
      world.clock.advance(0)
      return ran.length === 1
    })
    expect(ran).toEqual([1])
  })

  it('F6: taken back in time it never happens; later it is too late', async () => {
    const ran: unknown[] = []
    const thread = await created(await world.open(noting(ran)))
    const one = await thread.schedule('note', { n: 1 }, { delayMs: 1_000 })
    const two = await thread.schedule('note', { n: 2 }, { delayMs: 1_000 })
    expect(await thread.unschedule(one)).toBe(true)
    expect(await thread.unschedule(one)).toBe(false)
    expect(await thread.unschedule('nobody')).toBe(false)
    world.clock.advance(1_000)
    await until('the other', () => ran.length === 1)
    expect(await thread.unschedule(two)).toBe(false)
    await pass(world, 10_000)
    expect(ran).toEqual([2])
  })

  it('F6, F8: while it is paused the call is queued, and made when it is resumed', async () => {
    const ran: unknown[] = []
    const thread = await created(await world.open(noting(ran)))
    await thread.schedule('note', { n: 1 }, { delayMs: 1_000 })
    await thread.pause()
    await pass(world, 5_000)
    expect([ran, await thread.status(), (await thread.schedules()).length]).toEqual([[], 'paused', 0])
    await thread.resume()
    await until('the call', () => ran.length === 1)
  })

  it('F6, F7: a terminated thread makes no more calls, and takes no more schedules', async () => {
    const ran: unknown[] = []
    const thread = await created(await world.open(noting(ran)))
    await thread.schedule('note', { n: 1 }, { delayMs: 1_000 })
    await thread.terminate({ reason: 'enough' })
    expect([await thread.schedules(), (await thread.info()).wakeAt]).toEqual([[], undefined])
    await pass(world, 5_000)
    expect(ran).toEqual([])
    await expect(thread.schedule('note', { n: 2 }, { delayMs: 1 })).rejects.toMatchObject({ code: 'COMMAND_REFUSED' })
  })

  it('F6: a tool, args or a delay that do not fit are told at once', async () => {
    const tool = defineTool({ name: 'strict', description: 'x', args: z.object({ n: z.number() }), execute: () => 'x' })
    const thread = await created(await world.open(noting([], [tool])))
    await expect(thread.schedule('nobody', {}, { delayMs: 1 })).rejects.toMatchObject({
      code: 'UNKNOWN_TOOL',
      message: expect.stringContaining('note, strict'),
    })
    await expect(thread.schedule('strict', { n: 'x' }, { delayMs: 1 })).rejects.toMatchObject({
      code: 'TOOL_INPUT_INVALID',
    })
    for (const delay of [-1, NaN, Infinity, 1e13])
      await expect(thread.schedule('note', {}, { delayMs: delay })).rejects.toMatchObject({ code: 'BAD_OPTION' })
    expect((await thread.info()).seq).toBe(1)
    // Repaired like the args of a model.
    await thread.schedule('strict', { n: '5' }, { delayMs: 1 })
    expect(await thread.schedules()).toMatchObject([{ args: { n: 5 } }])
  })

  it('F6, P3: what the tool says counts at its time: gone, it is an error that the model reads; an approval is asked for', async () => {
    const ran: unknown[] = []
    let skein = await world.open(noting(ran, [looseTool('old', () => 'x')]))
    const { id } = await created(skein)
    const before = await skein.threads.get(id)
    await before.schedule('old', {}, { delayMs: 1_000 })
    await before.schedule('note', { n: 1 }, { delayMs: 2_000 })
    await world.close(skein)
    const asks = tinyApp({
      script: ({ messages }) => `read ${messages.at(-1)?.text ?? ''}`,
      tools: [
        looseTool(
          'note',
          () => {
            ran.push('ran')
            return 'x'
          },
          { needsApproval: true },
        ),
      ],
    }).app
    skein = await world.open(asks)
    world.clock.advance(1_000)
    const thread = await skein.threads.get(id)
    await until('the error', async () => {
      world.clock.advance(0)
      return (await thread.messages()).at(-1)?.text.startsWith('read Error UNKNOWN_TOOL') === true
    })
    world.clock.advance(1_000)
    await until('the question', async () => {
      world.clock.advance(0)
      return (await thread.status()) === 'awaiting_approval'
    })
    expect(ran).toEqual([])
  })

  it('F6: joins the turn that is going on; a cancel of that turn does not take it away', async () => {
    const ran: unknown[] = []
    const began = deferred()
    const slow = looseTool('slow', () => {
      began.resolve()
      return deferred().promise
    })
    const note = looseTool('note', (_, { n }) => {
      ran.push(n)
      return 'noted'
    })
    const { app } = tinyApp({
      script: ({ messages }) => (messages.length === 1 ? calls('slow') : 'done'),
      tools: [slow, note],
    })
    const thread = await created(await world.open(app))
    await thread.schedule('note', { n: 1 }, { delayMs: 1_000 })
    const run = thread.send('go')
    await began.promise
    world.clock.advance(1_000)
    await until('it to be queued', async () => (await thread.schedules()).length === 0)
    expect(ran).toEqual([])
    await thread.cancel()
    expect((await run.result()).stopReason).toBe('cancelled')
    await until('the call', () => ran.length === 1)
  })
})

onEveryStore('schedule in a body', (world) => {
  it('F6: a tool schedules itself again and again; ids are the same when it runs again', async () => {
    const seen: unknown[] = []
    let left = 3
    const tick = looseTool('tick', async ({ schedule, schedules }) => {
      const id = left-- > 0 ? schedule('tick', {}, { delayMs: 1_000 }) : undefined
      seen.push((await schedules()).map((each) => each.id === id))
      return 'tick'
    })
    const { app } = tinyApp({
      script: ({ messages }) => (messages.length === 1 ? calls('tick') : 'done'),
      tools: [tick],
    })
    const thread = await created(await world.open(app))
    await thread.send('go').result()
    for (let passed = 1; passed < 6; passed++) {
      await until('the last one', async () => (await thread.info()).rest)
      await pass(world, 1_000)
    }
    await thread.settled()
    // It sees its own at once; nothing is left of those that were made.
    expect(seen).toEqual([[true], [true], [true], []])
  })

  it('F6, T3: what a call schedules counts when the call does, and reads of it are compared', async () => {
    const tools = [
      looseTool(
        'fail',
        ({ schedule }) => {
          schedule('note', { n: 'never' }, { delayMs: 1 })
          return Promise.reject(new Error('no'))
        },
        {
          uses: ['note'],
        },
      ),
      looseTool('plan', ({ schedule }) => schedule('note', { n: 'planned' }, { delayMs: 1_000 }), { uses: ['note'] }),
      looseTool('peek', async ({ schedules }) => (await schedules()).length, { sideEffect: false }),
      looseTool(
        'drop',
        async ({ schedules, unschedule }) => Promise.all((await schedules()).map(({ id }) => unschedule(id))),
        { sideEffect: false },
      ),
      looseTool('sly', ({ schedule }) => schedule('note', {}, { delayMs: 1 })),
      looseTool('note', () => 'noted'),
    ]
    const { app } = tinyApp({
      script: ({ step }) => [calls('fail', 'plan', 'peek', 'sly'), calls('drop', 'peek')][step] ?? 'done',
      tools,
    })
    const thread = await created(await world.open(app))
    await thread.send('go').result()
    const [failed, id, peeked, refused, dropped, none] = results(await thread.messages())
    expect([failed, peeked, dropped, none]).toEqual(['Error TOOL_THREW: no', '1', '[true]', '0'])
    expect(refused).toContain('TOOL_NOT_ALLOWED')
    expect(id).toMatch(/^[\w-]{20}\.0$/)
    expect(await thread.schedules()).toEqual([])
  })
})
