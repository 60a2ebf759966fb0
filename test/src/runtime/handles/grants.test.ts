/** Budgets that are raised: of a root, of a child out of its parent's, and turns that go on. */
import { describe, expect, it } from 'vitest'
import { obey } from '../../../../actors/thread/decide/commands.js'
import { fold } from '../../../../actors/thread/fold.js'
import { createState } from '../../../../actors/thread/state.js'
import type { ThreadState } from '../../../../actors/thread/state.js'
import type { StoredMail } from '../../../../src/backend/port.js'
import { failure } from '../../../../src/core/failure.js'
import type { Fact } from '../../../../src/core/records/record.js'
import { readMail, sealMail } from '../../../../src/runtime/journal/mail.js'
import { refusalsOf } from '../../../../src/runtime/resident/outgoing-mail.js'
import type { Script } from '../../../../src/models/scripted.js'
import { looseTool, tinyApp } from '../../../helpers/app.js'
import { results } from '../../../helpers/asking.js'
import { deferred, until } from '../../../helpers/deferred.js'
import { family, last, write } from '../../../helpers/family.js'
import { onEveryStore } from '../../../helpers/world.js'

const look = { tool: 'look', args: {} }
const tokens = (inputTokens: number) => ({ inputTokens, outputTokens: 0, costUsd: 0 })

/** Looks until it has looked five times; each reply costs ten tokens. */
const looking: Script = ({ messages }) => {
  const seen = results(messages).length
  return seen < 5
    ? { calls: [look], text: `look ${seen}`, usage: tokens(10) }
    : { text: `saw ${seen}`, usage: tokens(10) }
}
const app = () => tinyApp({ tools: [looseTool('look', () => 'seen')], script: looking }).app

onEveryStore('the budget of a root', (world) => {
  it('L2: a turn that ended because nothing was left goes on where it stood, when more was granted and it is resumed', async () => {
    const skein = await world.open(app())
    const thread = await skein.threads.create({ agent: 'helper', id: 't', budget: { tokens: 20 } })
    expect(await thread.send('go').result()).toMatchObject({ stopReason: 'budget_spent', steps: 2 })
    await expect(thread.resume()).rejects.toMatchObject({
      code: 'BUDGET_SPENT',
      message: expect.stringContaining('grant it more first'),
    })
    await thread.grant({ tokens: 100 }, { by: 'ann' })
    expect((await thread.usage()).budget).toEqual({ left: { tokens: 100 }, reserved: { tokens: 0 } })
    expect(await thread.resume()).toBe(true)
    await thread.settled()
    expect((await thread.messages()).at(-1)?.text).toBe('saw 5')
    expect((await thread.messages()).filter(({ role }) => role === 'user')).toHaveLength(1)
    expect((await thread.usage()).budget?.left).toEqual({ tokens: 60 })
    expect(await thread.resume()).toBe(false)
  })

  it('L2: it goes on by itself with the grant, or with the next message', async () => {
    const skein = await world.open(app())
    const thread = await skein.threads.create({ agent: 'helper', id: 't', budget: { tokens: 20, steps: 50 } })
    await thread.send('go').result()
    await thread.grant({ tokens: 20 }, { resume: true })
    await thread.settled()
    expect(results(await thread.messages())).toHaveLength(4)
    await thread.grant({ tokens: 200 })
    await thread.settled()
    expect(results(await thread.messages())).toHaveLength(4)
    expect(await thread.send('on').text()).toBe('saw 5')
  })

  it('L2: what a budget does not name is not limited and cannot be raised; mistakes change nothing', async () => {
    const skein = await world.open(app())
    const free = await skein.threads.create({ agent: 'helper', id: 'free' })
    await expect(free.grant({ tokens: 5 })).rejects.toMatchObject({
      code: 'COMMAND_REFUSED',
      message: expect.stringContaining('nothing limits it'),
    })
    const thread = await skein.threads.create({ agent: 'helper', id: 't', budget: { tokens: 20 } })
    await expect(thread.grant({ costUsd: 1 })).rejects.toMatchObject({
      code: 'COMMAND_REFUSED',
      message: expect.stringContaining('does not limit costUsd; it limits: tokens'),
    })
    for (const wrong of [{}, { tokens: 0 }, { tokens: -1 }, { tokens: 1.5 }, { money: 1 } as never])
      await expect(thread.grant(wrong)).rejects.toMatchObject({ code: 'BAD_OPTION' })
    expect((await thread.usage()).budget?.left).toEqual({ tokens: 20 })
    await thread.terminate()
    await expect(thread.grant({ tokens: 5 })).rejects.toMatchObject({ code: 'COMMAND_REFUSED' })
  })

  it('L2, S12: a child that waits in line for a budget is called when more is granted, while the other is still at work', async () => {
    const gate = deferred()
    const asked: string[] = []
    const lead: Script = ({ messages, step }) => ({
      ...(step === 0 ? { calls: [write('a'), write('b')] } : { text: results(messages).join() }),
      usage: tokens(1),
    })
    const writer: Script = async ({ messages }) => {
      asked.push(last(messages))
      await gate.promise
      return { text: `wrote ${last(messages)}`, usage: tokens(5) }
    }
    const skein = await world.open(family({ lead, writer, relation: { budget: { tokens: 50 } } }))
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead', budget: { tokens: 60 } })
    const run = thread.send('go')
    await until('the first', () => asked.length === 1)
    expect((await thread.children()).map(({ status }) => status)).toEqual(['working', 'in line'])
    await thread.grant({ tokens: 100 })
    await until('the second', () => asked.length === 2)
    gate.resolve()
    expect(await run.text()).toBe('wrote a,wrote b')
    await thread.settled({ tree: true })
    expect((await thread.usage()).budget).toEqual({ left: { tokens: 148 }, reserved: { tokens: 0 } })
  })
})

onEveryStore('the budget of a child', (world) => {
  const stays = { receives_messages: 'side_a' } as const
  const make = { tool: 'subagent_create', args: { agent: 'writer', name: 'W', message: 'go' } }

  it('L2, BG1: what it is granted is reserved from its parent, and comes back with its answer', async () => {
    const gate = deferred()
    const writer: Script = async ({ step }) => {
      if (step === 0) return { calls: [look], usage: tokens(8) }
      await gate.promise
      return { text: 'wrote', usage: tokens(10) }
    }
    const lead: Script = ({ step }) =>
      step === 0 ? { calls: [write('x')], usage: tokens(1) } : { text: 'done', usage: tokens(1) }
    const skein = await world.open(
      family({ lead, writer, tools: [looseTool('look', () => 'seen')], relation: { budget: { tokens: 20 } } }),
    )
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead', budget: { tokens: 100 } })
    const run = thread.send('go')
    await until('the child', async () => (await skein.threads.list({ parent: 'lead' })).threads.length === 1)
    const child = await skein.threads.get((await thread.children())[0]?.thread ?? '')
    await until('its first step', async () => (await child.usage()).own.inputTokens === 8)
    await expect(child.grant({ tokens: 80 })).rejects.toMatchObject({
      code: 'BUDGET_SPENT',
      message: expect.stringContaining('reserved from the parent lead, which has not so much left of tokens'),
    })
    await child.grant({ tokens: 30 })
    expect((await thread.usage()).budget).toEqual({ left: { tokens: 49 }, reserved: { tokens: 50 } })
    await until('the child to have it', async () => (await child.usage()).budget?.left.tokens === 42)
    gate.resolve()
    await run.result()
    await thread.settled({ tree: true })
    expect((await thread.usage()).budget).toEqual({ left: { tokens: 80 }, reserved: { tokens: 0 } })
    await expect(child.grant({ tokens: 1 }, { resume: true })).rejects.toMatchObject({ code: 'COMMAND_REFUSED' })
  })

  it('L2, S7: one that stays and had nothing left goes on, and its parent is told of that turn', async () => {
    const lead: Script = ({ messages }) => ({
      ...(last(messages) === 'go' ? { calls: [make] } : { text: 'ok' }),
      usage: tokens(1),
    })
    const skein = await world.open(
      family({
        lead,
        writer: looking,
        tools: [looseTool('look', () => 'seen')],
        relation: { resumable: stays, budget: { tokens: 20 } },
      }),
    )
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead', budget: { tokens: 200 } })
    await thread.send('go').result()
    expect(results(await thread.messages())[0]).toContain('budget_spent')
    const child = await skein.threads.get((await thread.children())[0]?.thread ?? '')
    await expect(child.grant({ tokens: 60 })).rejects.toMatchObject({
      code: 'COMMAND_REFUSED',
      message: expect.stringContaining('would give this back'),
    })
    await child.grant({ tokens: 60 }, { resume: true })
    await until('the report', async () => (await thread.messages({ silent: 'show' })).some(({ silent }) => silent))
    await thread.settled({ tree: true })
    expect((await thread.messages({ silent: 'show' })).filter(({ silent }) => silent).map(({ text }) => text)).toEqual([
      '[writer-1] (begun by resume) saw 5',
    ])
    const { budget } = await thread.usage()
    expect(budget?.reserved).toEqual({ tokens: 0 })
    expect((budget?.left.tokens ?? 0) + 20 + 40 + 3).toBe(200)
  })
})

describe('a grant that comes too late', () => {
  const born = (thread: string, facts: readonly Fact[]): ThreadState => {
    const state = createState(thread)
    facts.forEach((fact, index) => fold(state, { ...fact, seq: index + 1, at: 1 }))
    return state
  }
  const call = {
    thread: 'kid',
    create: true,
    agent: 'writer',
    reference: 'writer-1',
    text: 'x',
    blocking: false,
    lasting: true,
    reports: 'implicit',
    maxParallel: 2,
  } as const
  const usage = { inputTokens: 1, outputTokens: 0, costUsd: 0 }
  const parentOf = () =>
    born('lead', [
      { type: 'thread.created', agent: 'lead', tags: [], path: ['lead'], budget: { tokens: 100 } },
      { type: 'message.received', id: 'm', text: 'go', role: 'user', run: 'm', delivery: 'steer' },
      { type: 'turn.started', run: 'm' },
      {
        type: 'model.replied',
        step: 1,
        model: 'm',
        text: '',
        calls: [{ tool: 'writer', args: {}, child: call }],
        usage,
        finish: 'stop',
      },
      { type: 'child.called', step: 1, index: 0, grant: { tokens: 20 } },
      { type: 'budget.granted', amounts: { tokens: 30 }, child: 'kid' },
    ])

  it.each([
    [
      'is over',
      born('kid', [
        {
          type: 'thread.created',
          agent: 'writer',
          tags: [],
          path: ['lead', 'kid'],
          parent: 'lead',
          child: { reference: 'writer-1', lasting: true },
        },
        { type: 'thread.terminated' },
      ]),
    ],
    ['was never made', createState('kid')],
  ])('GT2, BG2: goes back to the parent where the child %s', (_, kid) => {
    const lead = parentOf()
    expect(lead.budget).toMatchObject({ left: { tokens: 49 }, reserved: { tokens: 50 } })
    const mail = {
      number: 1,
      id: 'g',
      body: sealMail({ kind: 'grant', amounts: { tokens: 30 }, from: 'lead' }),
    } as StoredMail
    const [back] = refusalsOf(kid, mail, failure('COMMAND_REFUSED', 'it is over'))
    const command = readMail(back?.body ?? '')
    expect(back?.to).toBe('lead')
    const decision = command?.kind === 'report' ? obey(lead, { id: 'r', command }, { now: 2 }) : undefined
    const facts = decision && 'facts' in decision ? decision.facts : []
    facts.forEach((fact, index) => fold(lead, { ...fact, seq: lead.seq + index + 1, at: 2 }))
    expect(lead.budget).toMatchObject({ left: { tokens: 79 }, reserved: { tokens: 20 } })
    expect(lead.children.get('writer-1')?.busy).toBe(1)
  })
})
