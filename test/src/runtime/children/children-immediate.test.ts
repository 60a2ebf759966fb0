/** Children that begin by themselves: when their prompt is first spoken with, as whose, and with what. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { createApp } from '../../../../src/agent/app.js'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Definition, SubagentTool } from '../../../../src/agent/define.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Script } from '../../../../src/models/scripted.js'
import { calls, looseTool } from '../../../helpers/app.js'
import { results } from '../../../helpers/asking.js'
import { collect } from '../../../helpers/deferred.js'
import { last } from '../../../helpers/family.js'
import { onEveryStore } from '../../../helpers/world.js'

const stays = { receives_messages: 'side_a' } as const
const models = (scripts: Readonly<Record<string, Script>>): readonly Definition[] =>
  Object.entries(scripts).map(([name, script]) => defineModel({ name: `${name}_m`, model: scriptedModel(script) }))
const scout = (required?: z.ZodType): readonly Definition[] => [
  definePrompt({ name: 'scout_p', prompt: 'x', model: 'scout_m', ...(required && { requiredSchema: required }) }),
  defineAgent({ name: 'scout', type: 'ai_human', sideA: { prompt: 'scout_p' }, exposeAsTool: true }),
]
const heard: Script = ({ messages }) => `scouted ${last(messages)}`

function lead(relation: Omit<SubagentTool, 'name'>, required?: z.ZodType): readonly Definition[] {
  return [
    ...models({ lead: ({ messages }) => results(messages).join(' | '), scout: heard }),
    definePrompt({
      name: 'lead_p',
      prompt: 'x',
      model: 'lead_m',
      tools: [{ name: 'scout', immediate: true, ...relation }],
    }),
    defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_p' } }),
    ...scout(required),
  ]
}

onEveryStore('children that begin by themselves', (world) => {
  it("S4, S11: those of side B begin before side B first speaks, with what side A said, and are side B's", async () => {
    const app = [
      ...models({
        a: () => 'words of A',
        b: ({ messages }) => (results(messages).length > 0 ? calls('stop') : 'nothing was scouted'),
        scout: heard,
      }),
      looseTool('stop', () => 'over'),
      definePrompt({ name: 'a_p', prompt: 'x', model: 'a_m' }),
      definePrompt({ name: 'b_p', prompt: 'x', model: 'b_m', tools: ['stop', { name: 'scout', immediate: true }] }),
      defineAgent({
        name: 'pair',
        type: 'dual_ai',
        sideA: { prompt: 'a_p' },
        sideB: { prompt: 'b_p', sessionStop: 'stop' },
      }),
      ...scout(),
    ]
    const skein = await world.open(app)
    const pair = await skein.threads.create({ agent: 'pair', id: 'pair' })
    expect((await pair.send('go').result()).stopReason).toBe('session_stopped')
    const events = await collect(pair.events({ until: 'now' }))
    expect(
      events.flatMap((event) =>
        event.type === 'model.replied' || event.type === 'calls.made' ? [`${event.type} ${event.side}`] : [],
      ),
    ).toEqual(['model.replied a', 'calls.made b', 'model.replied b'])
    expect(results(await pair.messages())[0]).toBe('scouted words of A')
    expect((await pair.send('more').result()).stopReason).toBe('session_stopped')
    expect((await skein.threads.list({ parent: 'pair' })).threads).toHaveLength(1)
  })

  it('S4, S9: those of an agent that takes over begin before it first speaks, once', async () => {
    const app = [
      ...models({
        front: ({ messages }) => (last(messages) === 'hand over' ? calls('expert') : 'front'),
        expert: ({ messages }) => `expert read ${results(messages).join(' & ')}`,
        scout: heard,
      }),
      definePrompt({ name: 'front_p', prompt: 'x', model: 'front_m', tools: ['expert'] }),
      definePrompt({ name: 'expert_p', prompt: 'x', model: 'expert_m', tools: [{ name: 'scout', immediate: true }] }),
      defineAgent({ name: 'front', type: 'ai_human', sideA: { prompt: 'front_p' } }),
      defineAgent({ name: 'expert', type: 'ai_human', sideA: { prompt: 'expert_p' }, exposeAsTool: true }),
      ...scout(),
    ]
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'front', id: 'front' })
    await thread.send('hello').text()
    expect(await thread.send('hand over').text()).toBe('expert read Handoff complete & scouted hand over')
    await thread.send('more').text()
    await world.close(skein)
    const again = await world.open(app)
    await (await again.threads.get('front')).send('and more').text()
    expect((await again.threads.list({ parent: 'front' })).threads).toHaveLength(1)
  })

  it('S2, S4: one that stays has a name and its tag, and its reference is told', async () => {
    const skein = await world.open(lead({ resumable: stays }))
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    expect(await thread.send('go').text()).toBe('scouted go\n\n[reference: scout-1]')
    expect(await thread.children()).toMatchObject([{ reference: 'scout-1', name: 'scout' }])
    expect((await skein.threads.list({ parent: 'lead' })).threads).toMatchObject([
      { tags: ['name:scout'], name: 'scout' },
    ])
  })

  it('S4, D5: what the prompt of the child requires is checked like the args of a call', async () => {
    const topic = z.object({ topic: z.string().min(5), name: z.string().optional() })
    const relation = { initUserMessageProperty: 'topic', initAgentNameProperty: 'name' }
    const skein = await world.open(lead(relation, topic))
    expect(await (await skein.threads.create({ agent: 'lead', id: 'long' })).send('a long topic').text()).toBe(
      'scouted a long topic',
    )
    expect(await (await skein.threads.create({ agent: 'lead', id: 'short' })).send('x').text()).toMatch(
      /^Error TOOL_INPUT_INVALID: .*topic/,
    )
    expect((await skein.threads.list({ parent: 'short' })).threads).toEqual([])
  })
})

it('S4, D5: an agent that requires more than a message and a name is refused as immediate when the app is loaded', () => {
  const given = lead({ initUserMessageProperty: 'topic' }, z.object({ topic: z.string(), depth: z.number() }))
  expect(() => createApp(given, 'test')).toThrow(
    /has the agent "scout" begin by itself \(immediate\), which requires depth/,
  )
})
