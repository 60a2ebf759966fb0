/** Variables that have no value: whoever needs one waits, says for what, and goes on by itself when it is there. */
import { expect, it } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Agent, Definition, Prompt, ToolDefinition } from '../../../../src/agent/define.js'
import type { Message } from '../../../../src/core/records/message.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Script } from '../../../../src/models/scripted.js'
import type { Skein } from '../../../../src/runtime/skein.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { results } from '../../../helpers/asking.js'
import { quiet, until } from '../../../helpers/deferred.js'
import { typesIn } from '../../../helpers/tap.js'
import { onEveryStore } from '../../../helpers/world.js'

const last = (messages: readonly Message[]): string => messages.at(-1)?.text ?? ''
const place = [{ name: 'PLACE', type: 'text' as const }]
const both = [...place, { name: 'TIME', type: 'text' as const }]

/** A tool that tells what it finds. */
const tells = (
  name: string,
  variables: NonNullable<ToolDefinition['variables']>,
  more: Partial<ToolDefinition> = {},
): ToolDefinition =>
  looseTool(
    name,
    async (state) => (await Promise.all(variables.map((variable) => state.env(variable.name)))).join('+'),
    { variables, ...more },
  )

const inboxOf = async (skein: Skein, root: string) =>
  (await skein.inbox.list({ root })).map(({ id, why, tool, missing }) => ({ id, why, tool, missing }))

function family(child: {
  script: Script
  tools: readonly ToolDefinition[]
  own?: Partial<Pick<Agent, 'variables' | 'env' | 'exposeAsTool'>>
  prompt?: Partial<Prompt>
}): readonly Definition[] {
  return [
    ...child.tools,
    defineModel({
      name: 'lead_m',
      model: scriptedModel(({ messages, step }) =>
        step === 0 ? calls({ tool: 'worker', args: { message: 'go' } }) : `got ${last(messages)}`,
      ),
    }),
    defineModel({ name: 'worker_m', model: scriptedModel(child.script) }),
    definePrompt({ name: 'lead_p', prompt: 'x', model: 'lead_m', tools: [{ name: 'worker' }] }),
    definePrompt({
      name: 'worker_p',
      prompt: 'x',
      model: 'worker_m',
      tools: child.tools.map(({ name }) => name),
      ...child.prompt,
    }),
    defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_p' } }),
    defineAgent({ name: 'worker', type: 'ai_human', sideA: { prompt: 'worker_p' }, exposeAsTool: true, ...child.own }),
  ]
}

onEveryStore('a tool that needs a variable', (world) => {
  it('F2, A4: its call waits and says for what, the others of the step run; with the last value it goes on', async () => {
    const app = tinyApp({
      tools: [tells('where', both), looseTool('other', () => 'done')],
      script: ({ step, messages }) => (step === 0 ? calls('where', 'other') : results(messages).join()),
    }).app
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const run = thread.send('go')
    await until('the call to wait', async () => (await thread.status()) === 'awaiting_variables')
    expect((await thread.info()).rest).toBe(true)
    expect(await inboxOf(skein, 't')).toEqual([
      { id: 't/call_1_0', why: 'variables', tool: 'where', missing: ['PLACE', 'TIME'] },
    ])
    expect(await run.pendingToolCalls()).toMatchObject([{ id: 'call_1_0', waitsFor: 'variables' }])
    await expect(skein.inbox.approve('t/call_1_0')).rejects.toMatchObject({
      code: 'COMMAND_REFUSED',
      message: expect.stringContaining('set PLACE, TIME'),
    })
    await thread.env.set({ PLACE: 'Bonn' })
    expect(await inboxOf(skein, 't')).toEqual([
      { id: 't/call_1_0', why: 'variables', tool: 'where', missing: ['TIME'] },
    ])
    expect(await thread.status()).toBe('awaiting_variables')
    await thread.env.set({ TIME: 'noon' })
    expect(await run.text()).toBe('Bonn+noon,done')
    expect(await inboxOf(skein, 't')).toEqual([])
  })

  it('T10: an effect has no intent while it waits, and runs once; an approval comes first', async () => {
    let ran = 0
    const pay = looseTool(
      'pay',
      async (state) => {
        ran++
        return state.env('PLACE')
      },
      {
        variables: place,
        sideEffect: true,
        needsApproval: true,
        idempotent: true,
      },
    )
    const records: string[] = []
    world.tap.commit = (commit, go) => {
      records.push(...typesIn(commit))
      return go()
    }
    const skein = await world.open(
      tinyApp({ tools: [pay], script: ({ step, messages }) => (step === 0 ? calls('pay') : last(messages)) }).app,
    )
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const run = thread.send('go')
    await until('approval', async () => (await thread.status()) === 'awaiting_approval')
    await skein.inbox.approve('t/call_1_0')
    expect(await thread.status()).toBe('awaiting_variables')
    await thread.env.set({ PLACE: 'Bonn' })
    expect(await run.text()).toBe('Bonn')
    expect(ran).toBe(1)
    expect(records.filter((type) => type.startsWith('call.'))).toEqual([
      'call.decided',
      'call.held',
      'call.freed',
      'call.began',
      'call.returned',
    ])
  })

  it('F2, A4, B6: in a child the root’s inbox has it, and a value that is set at the root lets it go on', async () => {
    const app = family({
      tools: [tells('where', place)],
      script: ({ step, messages }) => (step === 0 ? calls('where') : last(messages)),
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = lead.send('go')
    await until('the child to wait', async () => (await inboxOf(skein, 'lead')).length === 1)
    const [item] = await skein.inbox.list({ root: 'lead' })
    expect(item).toMatchObject({ why: 'variables', tool: 'where', missing: ['PLACE'], path: ['lead', item?.thread] })
    expect(await lead.status()).toBe('waiting')
    await lead.env.set({ PLACE: 'Bonn' })
    expect(await run.text()).toBe('got Bonn')
  })

  it('P1, F2: it waits through a restart; a skein that is opened with the value lets it go on', async () => {
    const { app } = tinyApp({
      tools: [tells('where', place)],
      script: ({ step, messages }) => (step === 0 ? calls('where') : last(messages)),
    })
    const skein = await world.open(app)
    await skein.threads.create({ agent: 'helper', id: 't' })
    const first = await skein.threads.get('t')
    await first.send('go', { id: 'm' }).accepted()
    await until('the call to wait', async () => (await first.status()) === 'awaiting_variables')
    await world.close(skein)
    const again = await world.open(app)
    await quiet()
    expect(await inboxOf(again, 't')).toMatchObject([{ missing: ['PLACE'] }])
    await world.close(again)
    const given = await world.open(app, { env: { PLACE: 'Bonn' } })
    const thread = await given.threads.get('t')
    expect(await thread.run('m').text()).toBe('Bonn')
  })

  it('F2: cancel ends the wait; what is set afterwards starts nothing', async () => {
    const { app, model } = tinyApp({
      tools: [tells('where', place)],
      script: ({ step }) => (step === 0 ? calls('where') : 'done'),
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const run = thread.send('go')
    await until('the call to wait', async () => (await thread.status()) === 'awaiting_variables')
    expect(await thread.cancel()).toBe(true)
    expect((await run.result()).stopReason).toBe('cancelled')
    expect(await inboxOf(skein, 't')).toEqual([])
    await thread.env.set({ PLACE: 'Bonn' })
    await quiet()
    expect(model.requests).toHaveLength(1)
    expect(await thread.status()).toBe('idle')
  })
})

onEveryStore('an agent or a prompt that needs a variable', (world) => {
  it.each(['agent', 'prompt'] as const)(
    'F2, D7: the turn waits before its %s’s model is asked, and reads what was said meanwhile',
    async (whose) => {
      const worker = scriptedModel(({ messages }) => messages.map(({ text }) => text).join())
      const app = [
        defineModel({ name: 'm', model: worker }),
        definePrompt({ name: 'p', prompt: 'x', model: 'm', ...(whose === 'prompt' && { variables: place }) }),
        defineAgent({
          name: 'helper',
          type: 'ai_human',
          sideA: { prompt: 'p' },
          ...(whose === 'agent' && { variables: place }),
        }),
      ]
      const skein = await world.open(app)
      const thread = await skein.threads.create({ agent: 'helper', id: 't' })
      const run = thread.send('go')
      await run.accepted()
      expect(await thread.status()).toBe('awaiting_variables')
      expect(await inboxOf(skein, 't')).toEqual([
        { id: 't/turn', why: 'variables', tool: 'helper', missing: ['PLACE'] },
      ])
      await thread.send('and more').accepted()
      await quiet()
      expect(worker.requests).toEqual([])
      await thread.env.set({ PLACE: 'Bonn' })
      expect(await run.text()).toBe('go,and more')
      expect(await inboxOf(skein, 't')).toEqual([])
    },
  )

  it('F2, D7: what the skein, the agent or the prompt gives is no reason to wait; an optional variable neither', async () => {
    const app = (own: Partial<Pick<Agent, 'variables' | 'env' | 'exposeAsTool'>>, prompt: Partial<Prompt>) => [
      defineModel({ name: 'm', model: scriptedModel(() => 'done') }),
      definePrompt({
        name: 'p',
        prompt: 'x',
        model: 'm',
        variables: [...place, { name: 'MAYBE', required: false }],
        ...prompt,
      }),
      defineAgent({ name: 'helper', type: 'ai_human', sideA: { prompt: 'p' }, ...own }),
    ]
    for (const [own, prompt, env] of [
      [{}, {}, { PLACE: 'x' }],
      [{ env: { PLACE: 'x' } }, {}, {}],
      [{}, { env: { PLACE: 'x' } }, {}],
    ] as const) {
      const skein = await world.open(app(own, prompt), { env })
      const thread = await skein.threads.create({ agent: 'helper' })
      expect(await thread.send('go').text()).toBe('done')
      await world.close(skein)
    }
  })

  it('F2: in a child; cancelling the parent ends it', async () => {
    const app = family({ tools: [], script: () => 'never', own: { variables: place } })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = lead.send('go')
    await until(
      'the child to wait',
      async () => (await skein.threads.list({ root: 'lead', status: 'awaiting_variables' })).threads.length === 1,
    )
    await lead.cancel()
    await run.result()
    await until(
      'the child to end',
      async () => (await skein.threads.list({ root: 'lead', status: 'terminated' })).threads.length === 1,
    )
    expect(await inboxOf(skein, 'lead')).toEqual([])
  })
})
