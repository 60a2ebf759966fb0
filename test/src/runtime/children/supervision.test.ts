/** Supervision: children that fail are called again, and those that failed for good are kept. */
import { expect, it, onTestFinished } from 'vitest'
import { memory } from '../../../../src/backend/memory/memory.js'
import type { Send } from '../../../../src/backend/port.js'
import type { Message } from '../../../../src/core/records/message.js'
import type { Script } from '../../../../src/models/scripted.js'
import { createSkein } from '../../../../src/runtime/skein.js'
import { calls, looseTool } from '../../../helpers/app.js'
import { collect, deferred, quiet, until } from '../../../helpers/deferred.js'
import { family, last } from '../../../helpers/family.js'
import { tapped } from '../../../helpers/tap.js'
import { onEveryStore } from '../../../helpers/world.js'

const results = (messages: readonly Message[]): string[] =>
  messages.filter(({ role }) => role === 'tool').map(({ text }) => text)
const ask = (...messages: readonly string[]) =>
  calls(...messages.map((message) => ({ tool: 'writer', args: { message } })))
const twice = { strategy: 'one_for_one' as const, maxRestarts: 2 }

/** Fails this many times for each message. */
function flaky(times: number): Script {
  const failed = new Map<string, number>()
  return ({ messages }) => {
    const said = last(messages)
    const before = failed.get(said) ?? 0
    failed.set(said, before + 1)
    return before < times && said.startsWith('bad') ? { error: `no ${before + 1}` } : `wrote ${said}`
  }
}

onEveryStore('a supervised child', (world) => {
  it('B5: that fails is called again as another thread, with the same message; its siblings go on, and the call waits', async () => {
    const app = family({
      ofLead: { supervision: twice },
      lead: ({ step, messages }) => (step === 0 ? ask('good', 'bad') : results(messages).join(' & ')),
      writer: flaky(2),
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    expect(await lead.send('go').text()).toBe('wrote good & wrote bad')
    const { threads } = await skein.threads.list({ parent: 'lead' })
    const ids = threads.filter(({ reference }) => reference === 'writer-2').map(({ thread }) => thread)
    expect(ids).toEqual([ids[0], `${ids[0]}_2`, `${ids[0]}_3`])
    expect(threads).toHaveLength(4)
    const restarts = (await collect(lead.events({ until: 'now' }))).filter(({ type }) => type === 'child.restarted')
    expect(restarts).toMatchObject([
      { reference: 'writer-2', attempt: 2 },
      { reference: 'writer-2', attempt: 3 },
    ])
    expect(await skein.deadLetters.list()).toEqual([])
  })

  it('B5: past maxRestarts its failure is the answer, and it is a dead letter, which can be tried again or dropped', async () => {
    const app = family({
      relation: { supervision: twice },
      lead: ({ step, messages }) =>
        step === 0 && last(messages) === 'go' ? ask('bad', 'bad too') : `so: ${last(messages)}`,
      writer: flaky(3),
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await lead.send('go').text()
    expect(results(await lead.messages())).toEqual([
      expect.stringMatching(/CHILD_FAILED: .*no 3.*; it was tried 3 times/),
      expect.stringMatching(/tried 3 times/),
    ])
    const letters = await skein.deadLetters.list({ root: 'lead' })
    // They fail beside each other.
    expect(letters.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toMatchObject([
      {
        id: 'lead/writer-1',
        thread: 'lead',
        agent: 'writer',
        text: 'bad',
        attempts: 3,
        failure: { code: 'CHILD_FAILED' },
      },
      { id: 'lead/writer-2' },
    ])
    expect((await lead.info()).dead).toBe(2)
    await world.close(skein)
    const again = await world.open(app)
    expect(await again.deadLetters.list({ root: 'lead' })).toEqual(letters)
    await again.deadLetters.requeue('lead/writer-1')
    await until('its answer', async () =>
      last(await (await again.threads.get('lead')).messages()).includes('[writer-1] wrote bad'),
    )
    await again.deadLetters.drop('lead/writer-2')
    expect(await again.deadLetters.list()).toEqual([])
    await expect(again.deadLetters.requeue('lead/writer-2')).rejects.toMatchObject({ code: 'COMMAND_REFUSED' })
    expect(
      (await again.threads.list({ parent: 'lead' })).threads.filter(({ reference }) => reference === 'writer-1'),
    ).toHaveLength(4)
  })

  it('B5: failures that are longer ago than withinMs do not count', async () => {
    const gates = [deferred(), deferred(), deferred()]
    let tries = 0
    const app = family({
      relation: { supervision: { strategy: 'one_for_one', maxRestarts: 1, withinMs: 1_000 } },
      lead: ({ step, messages }) => (step === 0 ? ask('bad') : results(messages).join()),
      writer: async () => {
        const own = tries++
        await gates[own]?.promise
        return own < 2 ? { error: 'no' } : 'at last'
      },
    })
    const skein = await world.open(app)
    const run = (await skein.threads.create({ agent: 'lead', id: 'lead' })).send('go')
    for (const [index, gate] of gates.entries()) {
      await until('the next try', () => tries === index + 1)
      world.clock.advance(1_500)
      gate.resolve()
    }
    expect(await run.text()).toBe('at last')
  })

  it('B5: one that has done something to the world, or may have, is not tried again unless that can be done twice', async () => {
    const sent: unknown[] = []
    const mail = looseTool(
      'mail',
      (_, { to }) => {
        sent.push(to)
        return 'sent'
      },
      { sideEffect: true },
    )
    const put = looseTool(
      'put',
      (_, { to }) => {
        sent.push(to)
        return 'put'
      },
      { sideEffect: true, idempotent: true },
    )
    const throws = looseTool('throws', () => Promise.reject(new Error('refused')), { sideEffect: true })
    const app = family({
      tools: [mail, put, throws],
      relation: { supervision: twice },
      lead: ({ step }) => (step === 0 ? ask('mail', 'put', 'throws') : 'done'),
      writer: ({ step, messages }) =>
        step === 0 ? calls({ tool: last(messages), args: { to: last(messages) } }) : { error: 'after that' },
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await lead.send('go').text()
    expect(results(await lead.messages())).toEqual([
      expect.stringMatching(/it is not tried again, because it has done something that cannot be done twice/),
      expect.stringMatching(/it was tried 3 times/),
      expect.stringMatching(/it was tried 3 times/),
    ])
    expect(sent.toSorted()).toEqual(['mail', 'put', 'put', 'put'])
    expect((await skein.deadLetters.list()).map(({ attempts }) => attempts)).toEqual(expect.arrayContaining([1, 3, 3]))
  })

  it('B5: cancelled, terminated and limited children are not tried again; a cancelled parent gives them up', async () => {
    const app = family({
      relation: { supervision: twice },
      lead: ({ messages }) => (last(messages) === 'go' ? ask('hang') : 'done'),
      writer: () => new Promise(() => undefined),
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = lead.send('go')
    await until(
      'the child',
      async () => (await skein.threads.list({ parent: 'lead', status: 'thinking' })).threads.length === 1,
    )
    const [child] = (await skein.threads.list({ parent: 'lead' })).threads
    await (await skein.threads.get(child?.thread ?? '')).cancel({ reason: 'by hand' })
    expect(await run.text()).toBe('done')
    const other = lead.send('go')
    await until(
      'another child',
      async () => (await skein.threads.list({ parent: 'lead', status: 'thinking' })).threads.length === 1,
    )
    await lead.cancel()
    expect((await other.result()).stopReason).toBe('cancelled')
    await quiet()
    expect((await skein.threads.list({ parent: 'lead' })).threads).toHaveLength(2)
    expect(await skein.deadLetters.list()).toEqual([])
  })

  it('B5, L2: every attempt has a budget of its own; with nothing left there is no other', async () => {
    const gate = deferred()
    const usage = { inputTokens: 100, outputTokens: 0, costUsd: 0 }
    const app = family({
      relation: { supervision: twice, budget: { tokens: 20 } },
      lead: ({ step }) => (step === 0 ? ask('dear', 'bad') : 'done'),
      writer: async ({ messages }) =>
        last(messages) === 'dear' ? { text: 'dear', usage } : (await gate.promise, { error: 'no' }),
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead', budget: { tokens: 60 } })
    const run = lead.send('go')
    await until('the dear one', async () => (await lead.usage()).subtree.inputTokens === 100)
    expect((await lead.usage()).budget).toEqual({ left: { tokens: -60 }, reserved: { tokens: 20 } })
    gate.resolve()
    expect((await run.result()).stopReason).toBe('budget_spent')
    expect(results(await lead.messages())).toEqual([
      'dear',
      expect.stringMatching(/BUDGET_SPENT: writer-2 was not tried again: nothing is left in the budget for it/),
    ])
    expect((await lead.usage()).budget).toEqual({ left: { tokens: -40 }, reserved: { tokens: 0 } })
    expect(await skein.deadLetters.list()).toMatchObject([
      { id: 'lead/writer-2', attempts: 1, failure: { code: 'BUDGET_SPENT' } },
    ])
  })

  it('B5: a child that nobody waits for is tried again too; a crash of the process is no failure', async () => {
    const gate = deferred()
    let tries = 0
    const make = () =>
      family({
        relation: { blocking: false, supervision: twice },
        lead: ({ messages }) => {
          if (last(messages) === 'go') return ask('x')
          return last(messages).startsWith('[writer-1]') ? last(messages) : 'meanwhile'
        },
        writer: async () => {
          tries++
          if (tries === 1) return { error: 'no' }
          await gate.promise
          return 'at last'
        },
      })
    const skein = await world.open(make())
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    expect(await lead.send('go').text()).toBe('meanwhile')
    await until('the second try', () => tries === 2)
    await world.close(skein)
    gate.resolve()
    const again = await world.open(make())
    await until(
      'its answer',
      async () => last(await (await again.threads.get('lead')).messages()) === '[writer-1] at last',
    )
    expect((await again.threads.list({ parent: 'lead' })).threads).toHaveLength(2)
  })

  it('B5: a relationship with a child that stays cannot be supervised', async () => {
    const app = family({
      relation: { supervision: twice, resumable: { receives_messages: 'side_a' } },
      lead: () => 'x',
      writer: () => 'x',
    })
    await expect(world.open(app)).rejects.toThrow(/supervises the agent "writer", which stays and remembers/)
  })
})

it('B5, S13: what an earlier attempt reports counts once, also if its mail comes again after the restart', async () => {
  const store = memory()
  const reports: Send[] = []
  const backend = tapped(store, {
    apart: true,
    commit: (commit, go) => {
      reports.push(...commit.sends.filter(({ id }) => id.includes('/report/')))
      return go()
    },
  })
  const app = family({
    ofLead: { supervision: twice },
    lead: ({ step, messages }) => (step === 0 ? ask('bad') : results(messages).join(' & ')),
    writer: flaky(1),
  })
  const skein = await createSkein({ app, backend, warn: () => undefined })
  onTestFinished(() => skein.close())
  const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
  expect(await lead.send('go').text()).toBe('wrote bad')
  const usage = await lead.usage()
  const mailbox = (await store.open('client')).mailbox
  for (const report of reports) await mailbox.put(report)
  await until('all mail is read', async () => (await mailbox.waiting()).length === 0)
  const heard = (await collect(lead.events({ until: 'now' }))).filter(({ type }) => type === 'child.reported')
  expect([reports.length, heard.length]).toEqual([2, 2])
  expect(await lead.usage()).toEqual(usage)
})
