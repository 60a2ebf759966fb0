/** Closing and opening again: what ran goes on, what was decided stands, and definitions may have changed meanwhile. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { appOn, calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { collect, deferred, quiet, until } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'
import type { World } from '../../../helpers/world.js'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Definition } from '../../../../src/agent/define.js'
import { isSkeinError } from '../../../../src/core/failure.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Skein } from '../../../../src/runtime/skein.js'

/** A thread that a host left in the middle of its call `slow`. */
async function leftInCall(
  world: World,
  args: { [key: string]: string } = {},
): Promise<{ readonly thread: string; readonly run: string }> {
  const began = deferred()
  const slow = looseTool('slow', () => (began.resolve(), deferred().promise))
  const { app } = tinyApp({ script: () => calls({ tool: 'slow', args }), tools: [slow] })
  const skein = await world.open(app, { closeGraceMs: 0 })
  const thread = await skein.threads.create({ agent: 'helper' })
  const run = thread.send('go')
  await began.promise
  await until('the call to be durable', async () => (await run.pendingToolCalls()).length === 1)
  await closeNow(world, skein)
  return { thread: thread.id, run: run.id }
}

async function closeNow(world: World, skein: Skein): Promise<void> {
  const closed = world.close(skein)
  world.clock.advance(0)
  await closed
}

onEveryStore('opening again', (world) => {
  it('P1: a call that was running runs again with the same key; what had landed does not', async () => {
    const ran: string[] = []
    const keys: string[] = []
    const first = deferred()
    const make = (end: Promise<unknown>) =>
      tinyApp({
        script: ({ step }) => (step === 0 ? calls('quick', 'slow') : 'done'),
        tools: [
          looseTool('quick', () => (ran.push('quick'), 'q')),
          looseTool('slow', ({ idempotencyKey }) => {
            ran.push('slow')
            keys.push(idempotencyKey)
            return end
          }),
        ],
      })
    const before = await world.open(make(first.promise).app, { closeGraceMs: 0 })
    const { id } = await before.threads.create({ agent: 'helper' })
    const run = (await before.threads.get(id)).send('go')
    await until('the quick result', async () => (await run.pendingToolCalls()).length === 1 && ran.length === 2)
    await closeNow(world, before)
    const { app, model } = make(Promise.resolve('s'))
    const after = await world.open(app)
    const thread = await after.threads.get(id)
    expect(await thread.run(run.id).text()).toBe('done')
    expect(ran).toEqual(['quick', 'slow', 'slow'])
    expect(keys[0]).toBe(keys[1])
    expect(model.requests[0]?.messages.map(({ text }) => text)).toEqual(['go', '', 'q', 's'])
  })

  it('P1: a model that was speaking is asked again; nothing of the broken reply is kept', async () => {
    const began = deferred()
    const { app } = tinyApp({
      script: async function* () {
        yield 'half a sen'
        began.resolve()
        await deferred().promise
      },
    })
    const before = await world.open(app)
    const { id } = await before.threads.create({ agent: 'helper' })
    const run = (await before.threads.get(id)).send('go')
    await run.accepted()
    await began.promise
    await world.close(before)
    const after = await world.open(tinyApp({ script: ['a whole sentence'] }).app)
    const thread = await after.threads.get(id)
    expect(await thread.run(run.id).result()).toMatchObject({ text: 'a whole sentence', steps: 1 })
  })

  it('P1: mail that nobody had read is carried out by the next host', async () => {
    const { app } = tinyApp({ script: () => 'done' })
    const before = await world.open(app)
    const { id } = await before.threads.create({ agent: 'helper' })
    await world.close(before)
    const client = await world.store.source.open('client')
    await client.mailbox.put({
      to: id,
      id: 'm',
      body: { command: { kind: 'message', role: 'user', text: 'go', delivery: 'steer' } },
    })
    await client.close()
    const after = await world.open(app)
    const thread = await after.threads.get(id)
    await until('the run', async () => (await thread.messages()).length === 2)
    expect(await thread.run('m').text()).toBe('done')
  })

  it('P1: queued turns and the order of everything survive', async () => {
    const { app } = tinyApp({ script: async () => (await deferred().promise, 'never') })
    const before = await world.open(app)
    const { id } = await before.threads.create({ agent: 'helper' })
    const thread = await before.threads.get(id)
    for (const text of ['a', 'b', 'c']) await thread.send(text, { id: text, delivery: 'new_turn' }).accepted()
    await world.close(before)
    const after = await world.open(tinyApp({ script: ({ messages }) => `re ${messages.at(-1)?.text}` }).app)
    const again = await after.threads.get(id)
    expect(await again.run('c').text()).toBe('re c')
    expect((await again.messages()).map(({ text }) => text)).toEqual(['a', 're a', 'b', 're b', 'c', 're c'])
  })

  it('a second host is refused while the first lives', async ({ skip }) => {
    if (world.store.shared) skip('hosts share this one: test/src/runtime/hosts.test.ts')
    const { app } = tinyApp({ script: [] })
    await world.open(app)
    await expect(world.open(app)).rejects.toMatchObject({ code: 'STORE_IN_USE' })
  })
})

onEveryStore('close', (world) => {
  it('P1: a call that ends within the grace lands, and the next host does not run it again', async () => {
    const end = deferred<string>()
    const began = deferred()
    let ran = 0
    const make = () =>
      tinyApp({
        script: ({ step }) => (step === 0 ? calls('slow') : 'done'),
        tools: [looseTool('slow', () => (ran++, began.resolve(), end.promise))],
      }).app
    const before = await world.open(make())
    const { id } = await before.threads.create({ agent: 'helper' })
    const run = (await before.threads.get(id)).send('go')
    await run.accepted()
    await began.promise
    let closed = false
    const closing = world.close(before).then(() => (closed = true))
    await quiet()
    expect(closed).toBe(false)
    end.resolve('landed')
    await closing
    const after = await world.open(make())
    const thread = await after.threads.get(id)
    expect(await thread.run(run.id).text()).toBe('done')
    expect(ran).toBe(1)
    expect((await thread.messages()).map(({ text }) => text)).toEqual(['go', '', 'landed', 'done'])
  })

  it('P1: a call that does not listen holds close no longer than the grace', async () => {
    const began = deferred<AbortSignal>()
    const { app } = tinyApp({
      script: [calls('deaf')],
      tools: [looseTool('deaf', ({ signal }) => (began.resolve(signal), deferred().promise))],
    })
    const skein = await world.open(app, { closeGraceMs: 3_000 })
    await (await skein.threads.create({ agent: 'helper' })).send('go').accepted()
    const signal = await began.promise
    let closed = false
    const closing = world.close(skein).then(() => (closed = true))
    world.clock.advance(2_999)
    await quiet()
    expect([closed, signal.aborted]).toEqual([false, false])
    world.clock.advance(1)
    await closing
    expect(signal.aborted).toBe(true)
  })

  it('R1: whoever still waits for a run is told, not left waiting', async () => {
    const began = deferred()
    const { app } = tinyApp({ script: async () => (began.resolve(), await deferred().promise, 'never') })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    await run.accepted()
    await began.promise
    const told: string[] = []
    const tell = (waiter: string, waiting: Promise<unknown>): void => {
      const ended = (thrown?: unknown): void =>
        void told.push(`${waiter} ${isSkeinError(thrown) ? thrown.code : 'ended'}`)
      waiting.then(() => ended(), ended)
    }
    tell('result', run.result())
    tell('text', collect(run.textStream))
    tell('events', collect(thread.events()))
    tell('tree', collect(skein.events({ root: thread.id })))
    tell('settled', thread.settled())
    await quiet()
    await world.close(skein)
    await until('the end of every waiter', () => told.length === 5)
    expect(told.sort()).toEqual([
      'events ended',
      'result STORE_CLOSED',
      'settled STORE_CLOSED',
      'text STORE_CLOSED',
      'tree ended',
    ])
  })

  it('a command after close is an error', async () => {
    const { app } = tinyApp({ script: [] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    await world.close(skein)
    await expect(thread.send('go').result()).rejects.toMatchObject({ code: 'STORE_CLOSED' })
    await expect(skein.threads.list()).rejects.toMatchObject({ code: 'STORE_CLOSED' })
  })
})

onEveryStore('another app on the same store', (world) => {
  const goOn = async (app: readonly Definition[], { thread, run }: { thread: string; run: string }) => {
    const skein = await world.open(app)
    return (await skein.threads.get(thread)).run(run)
  }

  it('P3: a pending tool that is gone is an error result, and the turn goes on', async () => {
    const left = await leftInCall(world)
    const { app, model } = tinyApp({ script: ['I see'], tools: [looseTool('other', () => 1)] })
    const run = await goOn(app, left)
    expect(await run.text()).toBe('I see')
    expect(model.requests[0]?.messages.at(-1)).toMatchObject({
      role: 'tool',
      failed: { code: 'UNKNOWN_TOOL', message: expect.stringContaining('no longer defined') },
    })
  })

  it('P3: args that no longer fit are an error result, and the body does not run', async () => {
    const left = await leftInCall(world, { n: 'one' })
    let ran = false
    const { app } = tinyApp({
      script: ['I see'],
      tools: [looseTool('slow', () => (ran = true), { args: z.object({ n: z.number() }) })],
    })
    const run = await goOn(app, left)
    expect(await run.toolCalls()).toMatchObject([{ outcome: { ok: false, failure: { code: 'TOOL_INPUT_INVALID' } } }])
    expect(ran).toBe(false)
  })

  it('P3, HO3: a thread whose agent is gone is parked; its mail is kept, others go on, and it does when the agent is back', async () => {
    const left = await leftInCall(world)
    const other = await world.open(tinyApp({ script: () => 'fine', agent: 'other' }).app)
    const parked = await other.threads.get(left.thread)
    const answer = parked.send('are you there?', { id: 'kept' })
    await expect(answer.result()).rejects.toMatchObject({ code: 'THREAD_PARKED', cause: { code: 'UNKNOWN_AGENT' } })
    await expect(parked.cancel()).rejects.toMatchObject({ code: 'THREAD_PARKED' })
    // Told once, not with every message.
    expect(world.warnings.filter((warning) => warning.includes(`${left.thread} is parked`))).toHaveLength(1)
    const alive = await other.threads.create({ agent: 'other' })
    expect(await alive.send('and you?').text()).toBe('fine')
    await world.close(other)
    // Both were kept, in their order: the question steers the running turn, the cancel ends it.
    const back = await world.open(
      appOn(
        { name: 'm', call: async () => deferred<never>().promise },
        { tools: [looseTool('slow', () => deferred().promise)] },
      ),
    )
    const thread = await back.threads.get(left.thread)
    expect((await thread.run(left.run).result()).stopReason).toBe('cancelled')
    expect((await thread.messages()).map(({ text }) => text)).toContain('are you there?')
  })
})

onEveryStore('a parked thread', (world) => {
  it('TH6: takes terminate; what was kept for it is refused then, and its tree rests', async () => {
    const left = await leftInCall(world)
    const other = await world.open(tinyApp({ script: () => 'fine', agent: 'other' }).app)
    const parked = await other.threads.get(left.thread)
    await expect(parked.send('are you there?', { id: 'kept' }).result()).rejects.toMatchObject({
      code: 'THREAD_PARKED',
    })
    await parked.terminate({ reason: 'nobody has its agent' })
    expect(await parked.info()).toMatchObject({ status: 'terminated', rest: true, reason: 'nobody has its agent' })
    await parked.settled({ tree: true })
    await expect(parked.send('and now?').result()).rejects.toMatchObject({ code: 'COMMAND_REFUSED' })
    expect((await parked.run(left.run).result()).stopReason).toBe('terminated')
  })

  it('TH6: is deleted like any other: at work only with terminate', async () => {
    const left = await leftInCall(world)
    const other = await world.open(tinyApp({ script: () => 'fine', agent: 'other' }).app)
    await expect(other.threads.delete(left.thread)).rejects.toMatchObject({
      code: 'COMMAND_REFUSED',
      message: expect.stringContaining('terminate: true'),
    })
    await other.threads.delete(left.thread, { terminate: true })
    await expect(other.threads.get(left.thread)).rejects.toMatchObject({ code: 'UNKNOWN_THREAD' })
  })

  it('TH6: lets its parent be deleted, and takes no room in memory', async () => {
    const family = (agents: readonly string[]): readonly Definition[] => {
      const model = scriptedModel(({ thread, step }) =>
        thread === 'boss' && step === 0
          ? calls({ tool: 'writer', args: { message: 'write' } })
          : deferred<never>().promise,
      )
      return agents.flatMap((agent) => [
        ...(agent === 'boss' ? [defineModel({ name: 'm', model })] : []),
        definePrompt({
          name: `${agent}_prompt`,
          prompt: 'x',
          model: 'm',
          tools: agent === 'boss' && agents.includes('writer') ? [{ name: 'writer' }] : [],
        }),
        defineAgent({
          name: agent,
          type: 'ai_human',
          sideA: { prompt: `${agent}_prompt` },
          ...(agent === 'writer' && { exposeAsTool: true, toolDescription: 'Writes' }),
        }),
      ])
    }
    const first = await world.open(family(['boss', 'writer']))
    const boss = await first.threads.create({ agent: 'boss', id: 'boss' })
    await boss.send('go').accepted()
    await until('the child at work', async () =>
      (await first.threads.list({ parent: 'boss' })).threads.some(({ status }) => status === 'thinking'),
    )
    await world.close(first)
    const other = await world.open(family(['boss']), { maxResident: 0 })
    await until('it is parked', () => world.warnings.some((warning) => warning.endsWith('is parked')))
    await other.threads.delete('boss', { terminate: true })
    expect((await other.threads.list()).threads).toEqual([])
    expect(world.warnings.filter((warning) => warning.endsWith('is parked'))).toHaveLength(1)
  })
})

onEveryStore('two skeins in one process', (world) => {
  it('on two stores they do not meet', async () => {
    const { memory } = await import('../../../../src/backend/memory/memory.js')
    const one = await world.open(tinyApp({ script: () => 'from one' }).app)
    const two = await world.open(tinyApp({ script: () => 'from two' }).app, { backend: memory() })
    const [a, b] = await Promise.all([one, two].map((skein) => skein.threads.create({ agent: 'helper', id: 'same' })))
    const heard: string[] = []
    void (async () => {
      for await (const event of two.events({ root: 'same' })) heard.push(event.type)
    })()
    await until('the beginning', () => heard.length === 1)
    expect(await a?.send('go').text()).toBe('from one')
    await quiet()
    expect(heard).toEqual(['thread.created'])
    expect(await b?.send('go').text()).toBe('from two')
    expect((await a?.messages())?.map(({ text }) => text)).toEqual(['go', 'from one'])
  })
})

onEveryStore('a call that is cut off', (world) => {
  it('RH1: however often a host is closed while a call runs, the call is not blamed', async () => {
    const once = async (slow: () => Promise<unknown>): Promise<Skein> => {
      const { app } = tinyApp({
        script: ({ messages }) => (messages.at(-1)?.role === 'tool' ? 'done' : calls({ tool: 'slow', args: {} })),
        tools: [looseTool('slow', slow)],
      })
      return world.open(app, { closeGraceMs: 1_000 })
    }
    let thread = ''
    for (let times = 0; times < 5; times++) {
      const began = deferred()
      const skein = await once(() => (began.resolve(), deferred().promise))
      if (thread === '') {
        const made = await skein.threads.create({ agent: 'helper' })
        thread = made.id
        await made.send('go').accepted()
      }
      await began.promise
      const closed = world.close(skein)
      await quiet()
      world.clock.advance(1_000)
      await closed
    }
    const skein = await once(async () => 'at last')
    const found = await skein.threads.get(thread)
    await found.settled()
    expect((await found.messages()).map(({ text }) => text)).toContain('at last')
    await world.close(skein)
  })
})
