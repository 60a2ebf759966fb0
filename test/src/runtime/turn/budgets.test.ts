/** Budgets of trees: reserved before a child starts, returned when it ends. */
import { expect, it } from 'vitest'
import type { Budget } from '../../../../src/core/budget.js'
import type { Message } from '../../../../src/core/records/message.js'
import { looseTool } from '../../../helpers/app.js'
import { deferred, quiet, until } from '../../../helpers/deferred.js'
import { family, last } from '../../../helpers/family.js'
import type { Family } from '../../../helpers/family.js'
import { onEveryStore } from '../../../helpers/world.js'

const results = (messages: readonly Message[]): string[] =>
  messages.filter(({ role }) => role === 'tool').map(({ text }) => text)
const ask = (...messages: readonly string[]) => messages.map((message) => ({ tool: 'writer', args: { message } }))
const tokens = (inputTokens: number) => ({ inputTokens, outputTokens: 0, costUsd: 0 })

onEveryStore('a budget', (world) => {
  it('L1, L2: holds for the life of a thread and all below it; what is spent ends the turn with what there is', async () => {
    const app = family({
      lead: ({ messages }) =>
        last(messages).startsWith('go') ? { calls: ask('a'), usage: tokens(10) } : { text: 'done', usage: tokens(10) },
      writer: () => ({ text: 'wrote', usage: tokens(25) }),
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead', budget: { tokens: 100, costUsd: 1 } })
    expect(await lead.send('go').result()).toMatchObject({ stopReason: 'completed', subtreeUsage: tokens(45) })
    expect((await lead.usage()).budget).toEqual({
      left: { tokens: 55, costUsd: 1 },
      reserved: { tokens: 0, costUsd: 0 },
    })
    await lead.send('go on').result()
    // 90 of 100: the model is asked once more, and no child fits in.
    const result = await lead.send('go for it').result()
    expect(result).toMatchObject({ stopReason: 'budget_spent', detail: 'nothing is left of tokens', text: '' })
    expect(results(await lead.messages()).at(-1)).toMatch(
      /BUDGET_SPENT: writer-3 was not called: nothing is left in the budget/,
    )
    expect(await lead.send('anything').result()).toMatchObject({ stopReason: 'budget_spent', steps: 0 })
    expect((await lead.usage()).subtree).toEqual(tokens(100))
  })

  it('L2: a child’s budget is its relation’s, else its agent’s, else a share; it is reserved while the child works, and the rest comes back', async () => {
    const gate = deferred()
    const script = {
      lead: ({ step }: { step: number }) => (step === 0 ? { calls: ask('a', 'b') } : 'done'),
      writer: async () => (await gate.promise, { text: 'wrote', usage: tokens(7) }),
    }
    const cases: readonly [Partial<Family>, number][] = [
      [{ relation: { budget: { tokens: 30 } }, ofWriter: { budget: { tokens: 40 } } }, 60],
      [{ ofWriter: { budget: { tokens: 40 } } }, 80],
      [{}, 25 + 18],
    ]
    for (const [index, [given]] of cases.entries()) {
      const skein = await world.open(family({ ...script, ...given, ofLead: { budget: { tokens: 100 } } }), {
        limits: { maxParallelChildren: 4 },
      })
      await (await skein.threads.create({ agent: 'lead', id: `lead${index}` })).send('go', { id: 'm' }).accepted()
      await until(
        'two writers',
        async () => (await skein.threads.list({ parent: `lead${index}`, status: 'thinking' })).threads.length === 2,
      )
      await world.close(skein)
    }
    const skein = await world.open(family({ ...script, ofLead: { budget: { tokens: 100 } } }))
    const reserved = await Promise.all(
      cases.map(async (_, index) => (await (await skein.threads.get(`lead${index}`)).usage()).budget),
    )
    expect(reserved).toEqual(
      cases.map(([, amount]) => ({ left: { tokens: 100 - amount }, reserved: { tokens: amount } })),
    )
    gate.resolve()
    for (const [index] of cases.entries()) {
      const lead = await skein.threads.get(`lead${index}`)
      expect((await lead.run('m').result()).stopReason).toBe('completed')
      expect((await lead.usage()).budget).toEqual({ left: { tokens: 86 }, reserved: { tokens: 0 } })
    }
  })

  it('L2: with nothing left a child waits while siblings are at work, and is called with what they return', async () => {
    const gates = new Map(['a', 'b', 'c'].map((name) => [name, deferred()] as const))
    const app = family({
      relation: { budget: { tokens: 40 } },
      lead: ({ step, messages }) => (step === 0 ? { calls: ask('a', 'b', 'c') } : results(messages).join()),
      writer: async ({ messages }) => (
        await gates.get(last(messages))?.promise,
        { text: last(messages), usage: tokens(10) }
      ),
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead', budget: { tokens: 80 } })
    const run = lead.send('go')
    await until(
      'two writers',
      async () => (await skein.threads.list({ parent: 'lead', status: 'thinking' })).threads.length === 2,
    )
    await quiet()
    expect((await lead.usage()).budget).toEqual({ left: { tokens: 0 }, reserved: { tokens: 80 } })
    expect((await skein.threads.list({ parent: 'lead' })).threads).toHaveLength(2)
    gates.get('b')?.resolve()
    await quiet()
    // 30 came back, and it wants 40.
    expect((await skein.threads.list({ parent: 'lead' })).threads).toHaveLength(2)
    gates.get('a')?.resolve()
    gates.get('c')?.resolve()
    expect(await run.text()).toBe('a,b,c')
  })

  it('L2: 0 means zero; calls are budgeted too, and a budget of one kind limits no other', async () => {
    const look = looseTool('look', () => 'seen')
    const app = family({
      tools: [look],
      lead: ({ step }) => (step === 0 ? { calls: ask('a'), usage: tokens(1_000_000) } : 'done'),
      writer: ({ step, messages }) =>
        step === 0
          ? {
              text: 'I look',
              calls: [
                { tool: 'look', args: {} },
                { tool: 'look', args: {} },
                { tool: 'look', args: {} },
              ],
            }
          : results(messages).join(' & '),
    })
    const skein = await world.open(app, { limits: { maxParallelChildren: 2 } })
    const say = async (id: string, budget: Budget) => {
      const thread = await skein.threads.create({ agent: 'lead', id, budget })
      const { stopReason } = await thread.send('go').result()
      return [stopReason, ...results(await thread.messages())]
    }
    // One for the child, and half of the other four for its own calls.
    expect(await say('some', { toolCalls: 5 })).toEqual([
      'completed',
      'seen & seen & Error BUDGET_SPENT: look was not run: no call is left in the budget; answer with what you have',
    ])
    expect((await (await skein.threads.get('some')).usage()).budget).toEqual({
      left: { toolCalls: 2 },
      reserved: { toolCalls: 0 },
    })
    expect(await say('one', { toolCalls: 1 })).toEqual([
      'completed',
      expect.stringMatching(
        /CHILD_FAILED: it did not finish: budget_spent \(nothing is left of toolCalls\). It last said: I look/,
      ),
    ])
    expect(await say('none', { toolCalls: 0 })).toEqual([
      'budget_spent',
      expect.stringMatching(/BUDGET_SPENT: writer was not run/),
    ])
    expect(await say('steps', { steps: 0 })).toEqual(['budget_spent'])
    expect(await say('cost', { costUsd: 0 })).toEqual(['budget_spent'])
  })

  it('L2: a child that nobody waits for keeps its reservation after the turn, and returns it with its report', async () => {
    const gate = deferred()
    const app = family({
      relation: { blocking: false, budget: { tokens: 50 } },
      lead: ({ messages }) => (last(messages) === 'go' ? { calls: ask('a') } : 'noted'),
      writer: async () => (await gate.promise, { text: 'wrote', usage: tokens(20) }),
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead', budget: { tokens: 100 } })
    await lead.send('go').result()
    expect((await lead.usage()).budget).toEqual({ left: { tokens: 50 }, reserved: { tokens: 50 } })
    gate.resolve()
    await until(
      'its report',
      async () =>
        last(await lead.messages({ silent: 'show' })) === 'noted' &&
        (await lead.messages({ silent: 'show' })).some(({ text }) => text === '[writer-1] wrote'),
    )
    expect((await lead.usage()).budget).toEqual({ left: { tokens: 80 }, reserved: { tokens: 0 } })
  })

  it('L2, BG2: every end returns: a failure, a cancel, an end from outside, and one that stays returns after each answer', async () => {
    const resumable = { receives_messages: 'side_a' as const }
    const app = family({
      relation: { resumable, budget: { tokens: 50 } },
      lead: ({ messages }) => {
        const say = last(messages)
        if (say.startsWith('new '))
          return { calls: [{ tool: 'subagent_create', args: { agent: 'writer', name: 'W', message: say.slice(4) } }] }
        return say.startsWith('to ')
          ? { calls: [{ tool: 'subagent_message', args: { reference: say.slice(3, 11), message: say.slice(12) } }] }
          : 'ok'
      },
      writer: ({ messages }) =>
        last(messages) === 'fail'
          ? { error: 'no' }
          : last(messages) === 'hang'
            ? new Promise(() => undefined)
            : { text: 'wrote', usage: tokens(5) },
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead', budget: { tokens: 100 } })
    const left = async () => (await lead.usage()).budget
    await lead.send('new one').result()
    expect(await left()).toEqual({ left: { tokens: 95 }, reserved: { tokens: 0 } })
    await lead.send('to writer-1 two').result()
    await lead.send('to writer-1 fail').result()
    expect(await left()).toEqual({ left: { tokens: 90 }, reserved: { tokens: 0 } })
    void lead.send('to writer-1 hang').result()
    await until('it to hang', async () => (await left())?.reserved.tokens === 50)
    await lead.cancel()
    await until('the rest', async () => (await left())?.reserved.tokens === 0)
    const [child] = (await skein.threads.list({ parent: 'lead' })).threads
    const writer = await skein.threads.get(child?.thread ?? '')
    // Spoken to by others it has nothing to spend.
    expect(await writer.send('hello').result()).toMatchObject({ stopReason: 'budget_spent' })
    await writer.terminate({ reason: 'by hand' })
    await lead.send('to writer-1 too late').result()
    expect(last(results(await lead.messages()).map((text) => ({ text })) as Message[])).toMatch(/writer-1/)
    expect(await left()).toEqual({ left: { tokens: 90 }, reserved: { tokens: 0 } })
  })

  it('O2: what a child that stays did for others comes up too, when it rests', async () => {
    const app = family({
      relation: { resumable: { receives_messages: 'side_a', parentCommunication: 'explicit' } },
      lead: ({ step }) =>
        step === 0
          ? { calls: [{ tool: 'subagent_create', args: { agent: 'writer', name: 'W', message: 'one' } }] }
          : 'ok',
      writer: () => ({ text: 'wrote', usage: tokens(5) }),
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await lead.send('go').result()
    const [child] = (await skein.threads.list({ parent: 'lead' })).threads
    await (await skein.threads.get(child?.thread ?? '')).send('and for me').result()
    await until('the account', async () => (await lead.usage()).subtree.inputTokens === 10)
    expect((await lead.info()).status).toBe('idle')
  })
})
