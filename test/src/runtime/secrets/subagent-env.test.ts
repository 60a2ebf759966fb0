/**
 * Children and variables: relationships behind a flag, children that begin by themselves, and those that wait for
 * values.
 */
import { expect, it } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Definition, SubagentTool, ToolDefinition } from '../../../../src/agent/define.js'
import type { Message } from '../../../../src/core/records/message.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Script, ScriptedModel } from '../../../../src/models/scripted.js'
import { calls, looseTool } from '../../../helpers/app.js'
import { results } from '../../../helpers/asking.js'
import { quiet, turns, until } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'

const last = (messages: readonly Message[]): string => messages.at(-1)?.text ?? ''
const write = (message: string) => ({ tool: 'writer', args: { message } })

interface Family {
  readonly lead: Script
  readonly writer: Script
  readonly relation?: Omit<SubagentTool, 'name'>
  readonly tools?: readonly ToolDefinition[]
}

/** A lead that may call writers, and the models of both. */
function family({ lead, writer, relation = {}, tools = [] }: Family): {
  readonly app: readonly Definition[]
  readonly models: readonly ScriptedModel[]
} {
  const models = [scriptedModel(lead), scriptedModel(writer)] as const
  return {
    models,
    app: [
      ...tools,
      defineModel({ name: 'lead_m', model: models[0] }),
      defineModel({ name: 'writer_m', model: models[1] }),
      definePrompt({ name: 'lead_p', prompt: 'You lead.', model: 'lead_m', tools: [{ name: 'writer', ...relation }] }),
      definePrompt({ name: 'writer_p', prompt: 'You write.', model: 'writer_m', tools: tools.map(({ name }) => name) }),
      defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_p' } }),
      defineAgent({ name: 'writer', type: 'ai_human', sideA: { prompt: 'writer_p' }, exposeAsTool: true }),
    ],
  }
}

const tokens = ['token-of-ann-1234', 'token-of-bob-5678']
const token = looseTool(
  'token',
  async (state) => ({ ann: (await state.env('TOKEN')) === tokens[0], bob: (await state.env('TOKEN')) === tokens[1] }),
  { variables: [{ name: 'TOKEN', scoped: true }] },
)
const asksToken: Script = ({ step, messages }) =>
  step === 0 ? calls('token') : `${messages[0]?.text}: ${last(messages)}`
const stays = { receives_messages: 'side_a' as const }

onEveryStore('a relationship behind a flag', (world) => {
  it('S5: without the flag there is no such agent for the model, neither offered nor called; with it there is', async () => {
    for (const resumable of [false, stays] as const) {
      const ask = resumable
        ? { tool: 'subagent_create', args: { agent: 'writer', name: 'W', message: 'x' } }
        : write('x')
      const { app, models } = family({
        lead: ({ messages }) => (last(messages) === 'go' ? calls(ask) : `read ${last(messages)}`),
        writer: () => 'wrote',
        relation: { optional: 'WITH_WRITER', resumable },
      })
      const skein = await world.open(app)
      const thread = await skein.threads.create({ agent: 'lead', env: { WITH_WRITER: 'no' } })
      expect(await thread.send('go').text()).toMatch(/read Error UNKNOWN_TOOL: .*the tools are: none/)
      expect(models[0]?.requests.flatMap(({ tools }) => tools)).toEqual([])
      await thread.env.set({ WITH_WRITER: ' Yes ' })
      expect(await thread.send('go').text()).toContain('read wrote')
      expect(models[0]?.requests.at(-1)?.tools.map(({ name }) => name)).toEqual(
        resumable ? ['subagent_create', 'subagent_message', 'subagent_list'] : ['writer'],
      )
      await thread.env.set({ WITH_WRITER: null })
      expect(await thread.send('go').text()).toContain('UNKNOWN_TOOL')
      expect((await skein.threads.list({ parent: thread.id })).threads).toHaveLength(1)
      await world.close(skein)
    }
  })

  it('S5: the flag may come from the agent or the skein, and one of several agents may be off', async () => {
    const { app, models } = family({
      lead: () => 'done',
      writer: () => '',
      relation: { optional: 'FLAG', resumable: stays },
    })
    const more = [
      definePrompt({
        name: 'two_p',
        prompt: 'x',
        model: 'lead_m',
        tools: [
          { name: 'writer', optional: 'FLAG', resumable: stays },
          { name: 'other', resumable: stays },
        ],
      }),
      defineAgent({ name: 'two', type: 'ai_human', sideA: { prompt: 'two_p' } }),
      defineAgent({ name: 'other', type: 'ai_human', sideA: { prompt: 'writer_p' }, exposeAsTool: true }),
    ]
    for (const [env, agents] of [
      [{}, ['other']],
      [{ FLAG: '1' }, ['writer', 'other']],
    ] as const) {
      const skein = await world.open([...app, ...more], { env })
      await (await skein.threads.create({ agent: 'two' })).send('go').text()
      const [create] = models[0]?.requests.at(-1)?.tools ?? []
      expect(create?.parameters).toMatchObject({ properties: { agent: { enum: agents } } })
      await world.close(skein)
    }
  })
})

onEveryStore('children that begin by themselves', (world) => {
  it('S4: before the first model step, once, with what began the turn', async () => {
    const { app, models } = family({
      lead: ({ messages }) => `after ${results(messages).join()}`,
      writer: ({ messages }) => `wrote ${last(messages)}`,
      relation: { immediate: true },
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    expect(await thread.send('go').text()).toBe('after wrote go')
    expect(models[0]?.requests).toHaveLength(1)
    expect(await thread.send('again').text()).toBe('after wrote go')
    await world.close(skein)
    const reopened = await world.open(app)
    await (await reopened.threads.get('lead')).send('more').text()
    expect((await reopened.threads.list({ parent: 'lead' })).threads).toHaveLength(1)
  })

  it('S4: one for each name; what is scoped is in its child, and in no request of any model', async () => {
    const { app, models } = family({
      lead: ({ messages }) => results(messages).join(' | '),
      writer: asksToken,
      relation: { immediate: { nameEnv: 'NAME', descriptionEnv: 'ABOUT', scopedEnv: ['TOKEN'] } },
      tools: [token],
    })
    const skein = await world.open(app, { env: { NAME__2: 'Bob the second', ABOUT__2: 'You are Bob' } })
    const thread = await skein.threads.create({
      agent: 'lead',
      id: 'lead',
      env: {
        NAME: 'Ann the first',
        ABOUT: 'You are Ann',
        TOKEN: tokens[0] ?? '',
        TOKEN__2: tokens[1] ?? '',
        TOKEN__7: 'token-of-nobody',
      },
    })
    expect(await thread.send('go').text()).toBe(
      'You are Ann: {"ann":true,"bob":false} | You are Bob: {"ann":false,"bob":true}',
    )
    const { threads } = await skein.threads.list({ parent: 'lead' })
    expect(threads.map(({ tags }) => tags)).toEqual([['name:Ann the first'], ['name:Bob the second']])
    const child = await skein.threads.get(threads[1]?.thread ?? '')
    expect(await child.env.names()).toContainEqual({ name: 'TOKEN', from: 'own' })
    const seen = JSON.stringify(
      models.map(({ requests }) => requests.map(({ system, messages, tools }) => ({ system, messages, tools }))),
    )
    for (const value of [...tokens, 'token-of-nobody']) expect(seen).not.toContain(value)
    expect(seen).toContain('You are Ann')
  })

  it('S4: what is scoped is kept from models also where it is declared as text, and is never shown by a prompt', async () => {
    const region = looseTool('region', async (state) => `it is ${await state.env('REGION')}`, {
      variables: [{ name: 'REGION', type: 'text' }],
    })
    const relation = { immediate: { nameEnv: 'NAME', scopedEnv: ['REGION'] } }
    const { app, models } = family({
      lead: ({ messages }) => results(messages).join(' | '),
      writer: ({ step, messages }) => (step === 0 ? calls('region') : last(messages)),
      relation,
      tools: [region],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({
      agent: 'lead',
      id: 'lead',
      env: { NAME: 'Ann', REGION: 'north-region-1' },
    })
    expect(await thread.send('go').text()).toBe('it is [redacted]')
    expect(
      JSON.stringify(models.map(({ requests }) => requests.map(({ system, messages }) => ({ system, messages })))),
    ).not.toContain('north-region-1')
    const shows = definePrompt({
      name: 'shows',
      prompt: [{ type: 'env', property: 'REGION' }],
      variables: [{ name: 'REGION', type: 'text' }],
      model: 'lead_m',
    })
    await expect(world.open([...app, shows])).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringMatching(
        /prompt "shows" shows the variable REGION to its model, and a relationship gives it to its children by scopedEnv/,
      ),
    })
  })

  it.each([true, false])(
    'S4, EN2: each has its own value and no other, neither then nor later (its definitions scope it: %s)',
    async (scoped) => {
      const own = looseTool('token', async (state) => `${await state.env('TOKEN')}`.slice(0, 12), {
        variables: [{ name: 'TOKEN', scoped, required: false }],
      })
      const { app } = family({
        lead: ({ messages }) => results(messages).join(' | ') || 'ok',
        writer: () => 'here',
        relation: { immediate: { nameEnv: 'NAME', scopedEnv: ['TOKEN'] }, resumable: stays },
        tools: [own],
      })
      const skein = await world.open(app)
      const thread = await skein.threads.create({
        agent: 'lead',
        id: 'lead',
        env: {
          NAME: 'Ann',
          NAME__2: 'Bob',
          TOKEN: tokens[0] ?? '',
          TOKEN__2: tokens[1] ?? '',
          OPEN: 'for all of them',
        },
      })
      await thread.send('go').text()
      await thread.env.set({ TOKEN: 'another token', TOKEN__3: 'a third token', OPEN: 'still for all' })
      await thread.settled({ tree: true })
      const { threads } = await skein.threads.list({ parent: 'lead' })
      const names = await Promise.all(threads.map(async ({ thread: id }) => (await skein.threads.get(id)).env.names()))
      const each = [
        { name: 'NAME', from: 'inherited' },
        { name: 'NAME__2', from: 'inherited' },
        { name: 'OPEN', from: 'inherited' },
        { name: 'TOKEN', from: 'own' },
      ]
      expect(names).toEqual([each, each])
    },
  )

  it('S4, S5: an instance whose flag is off does not begin', async () => {
    const { app } = family({
      lead: () => 'alone',
      writer: () => 'wrote',
      relation: { immediate: true, optional: 'FLAG' },
    })
    const skein = await world.open(app)
    expect(await (await skein.threads.create({ agent: 'lead', id: 'lead' })).send('go').text()).toBe('alone')
    expect((await skein.threads.list({ parent: 'lead' })).threads).toEqual([])
  })
})

onEveryStore('a child that needs values of its own', (world) => {
  const asking = {
    lead: (({ messages, step }) => {
      if (last(messages).startsWith('[')) return `heard ${last(messages)}`
      return step === 0 ? calls(write('hello')) : `told ${last(messages)}`
    }) as Script,
    writer: asksToken,
    tools: [token],
  }

  it('S6, A4: the call says what is missing, nothing is spawned; given the values, the child begins once and reports', async () => {
    const { app } = family(asking)
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead', env: { TOKEN: 'inherited by nobody' } })
    const told = await lead.send('go').text()
    expect(told).toContain('told Error subagent_env_required: writer-1 was not started')
    expect(told).toContain(
      '{"request_id":"env_1_0","endpoint":"/threads/lead/variables/env_1_0","required":["TOKEN"],"missing":["TOKEN"]}',
    )
    expect((await lead.messages()).find(({ role }) => role === 'tool')?.failed).toMatchObject({
      code: 'subagent_env_required',
      data: {
        request_id: 'env_1_0',
        endpoint: '/threads/lead/variables/env_1_0',
        required: ['TOKEN'],
        missing: ['TOKEN'],
      },
    })
    expect((await skein.threads.list({ parent: 'lead' })).threads).toEqual([])
    expect(await skein.inbox.list({ root: 'lead' })).toMatchObject([
      { id: 'lead/env_1_0', why: 'variables', missing: ['TOKEN'], request: 'env_1_0' },
    ])
    expect(await skein.variables.get('lead', 'env_1_0')).toMatchObject({
      id: 'env_1_0',
      thread: 'lead',
      agent: 'writer',
      reference: 'writer-1',
      endpoint: '/threads/lead/variables/env_1_0',
      required: ['TOKEN'],
      missing: ['TOKEN'],
    })
    await expect(skein.variables.provide('lead', 'env_1_0', {})).rejects.toMatchObject({
      code: 'VARIABLES_REQUIRED',
      data: { missing: ['TOKEN'] },
    })
    await expect(skein.variables.provide('lead', 'env_1_0', { TOKEN: 'short' })).rejects.toMatchObject({
      code: 'BAD_OPTION',
    })
    await expect(skein.variables.provide('lead', 'env_9_9', { TOKEN: tokens[0] ?? '' })).rejects.toMatchObject({
      code: 'UNKNOWN_REQUEST',
    })
    expect(await skein.variables.get('lead', 'env_1_0')).toMatchObject({ missing: ['TOKEN'] })
    const both = await Promise.allSettled([
      skein.variables.provide('lead', 'env_1_0', { TOKEN: tokens[0] ?? '' }),
      skein.variables.provide('lead', 'env_1_0', { TOKEN: tokens[1] ?? '' }),
    ])
    expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(both.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'UNKNOWN_REQUEST' } })
    await until('the report to be heard', async () =>
      last(await lead.messages()).startsWith('heard [writer-1] hello: {'),
    )
    await expect(skein.variables.get('lead', 'env_1_0')).rejects.toMatchObject({ code: 'UNKNOWN_REQUEST' })
    expect(await skein.inbox.list({ root: 'lead' })).toEqual([])
    expect((await skein.threads.list({ parent: 'lead' })).threads).toHaveLength(1)
  })

  it('S6, F2: what its parent has where it is scoped too is not missing', async () => {
    const { app } = family({
      ...asking,
      lead: ({ messages, step }) => (step === 0 ? calls(write('hello')) : last(messages)),
    })
    const scoping = definePrompt({
      name: 'lead_p',
      prompt: 'You lead.',
      model: 'lead_m',
      tools: [{ name: 'writer' }],
      variables: [{ name: 'TOKEN', scoped: true, required: false }],
    })
    const skein = await world.open(app.map((each) => (each.name === 'lead_p' ? scoping : each)))
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead', env: { TOKEN: tokens[0] ?? '' } })
    expect(await thread.send('go').text()).toBe('hello: {"ann":true,"bob":false}')
  })

  it('S3, S6: two creations in one reply where one is allowed: the second is told that people were asked for the first', async () => {
    const create = { tool: 'subagent_create', args: { agent: 'writer', name: 'W', message: 'hello' } }
    const { app } = family({
      ...asking,
      lead: ({ messages, step }) =>
        step === 0
          ? calls(create, create)
          : messages.flatMap(({ role, text }) => (role === 'tool' ? [text] : [])).join('\n'),
      relation: { resumable: { ...stays, maxInstances: 1 } },
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const [first, second] = (await lead.send('go').text()).split('\n')
    expect(first).toContain('subagent_env_required')
    expect(second).toContain('people were asked for the values of writer-1')
  })

  it('S6: the request is kept through a restart; a child that stays can be spoken to afterwards; the next has the next reference', async () => {
    const create = { tool: 'subagent_create', args: { agent: 'writer', name: 'W', message: 'hello' } }
    const speak = { tool: 'subagent_message', args: { reference: 'writer-1', message: 'more' } }
    const lead: Script = ({ messages }) => {
      if (last(messages) === 'create') return calls(create)
      return last(messages) === 'speak' ? calls(speak) : last(messages)
    }
    const { app } = family({
      lead,
      writer: ({ messages }) => (last(messages) === 'hello' ? calls('token') : `kept ${messages.length}`),
      tools: [token],
      relation: { resumable: { ...stays, maxInstances: 1 } },
    })
    const skein = await world.open(app)
    const first = await skein.threads.create({ agent: 'lead', id: 'lead' })
    expect(await first.send('create').text()).toContain('subagent_env_required')
    expect(await first.send('create').text()).toMatch(
      /TOOL_NOT_ALLOWED: there may be 1 of writer at once, and there are: writer-1/,
    )
    await world.close(skein)
    const again = await world.open(app)
    await again.variables.provide('lead', 'env_1_0', { TOKEN: tokens[0] ?? '' })
    const thread = await again.threads.get('lead')
    await until('the report', async () =>
      (await thread.messages({ silent: 'show' })).some(({ text }) => text.startsWith('[writer-1] kept')),
    )
    await until('it to rest', async () => (await thread.info()).rest)
    expect(await thread.send('speak').text()).toMatch(/^kept/)
  })

  it('S6: what the skein gives is not missing; a terminated parent boots nothing', async () => {
    const { app } = family(asking)
    const given = await world.open(app, { env: { TOKEN: tokens[0] ?? '' } })
    expect(await (await given.threads.create({ agent: 'lead' })).send('go').text()).toBe(
      'told hello: {"ann":true,"bob":false}',
    )
    await world.close(given)
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await lead.send('go').text()
    await lead.terminate()
    await expect(skein.variables.provide('lead', 'env_1_0', { TOKEN: tokens[0] ?? '' })).rejects.toMatchObject({
      code: 'UNKNOWN_REQUEST',
    })
    await quiet()
    expect((await skein.threads.list({ parent: 'lead' })).threads).toEqual([])
    expect(await skein.inbox.list({ root: 'lead' })).toEqual([])
  })

  it('S6, S12: a deferred child waits in line like any other', async () => {
    const gate = { open: false }
    const { app } = family({
      lead: ({ step, messages }) => (last(messages) === 'go' && step === 0 ? calls(write('a'), write('b')) : 'done'),
      writer: async ({ messages }) => {
        while (!gate.open) await turns(1)
        return last(messages)
      },
      tools: [token],
      relation: { blocking: false },
    })
    const skein = await world.open(app, { limits: { maxParallelChildren: 1 } })
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await lead.send('go').text()
    for (const request of ['env_1_0', 'env_1_1'])
      await skein.variables.provide('lead', request, { TOKEN: tokens[0] ?? '' })
    await quiet()
    expect((await skein.threads.list({ parent: 'lead' })).threads).toHaveLength(1)
    gate.open = true
    await until(
      'both to be done',
      async () => (await skein.threads.list({ parent: 'lead', status: 'done' })).threads.length === 2,
    )
  })
})
