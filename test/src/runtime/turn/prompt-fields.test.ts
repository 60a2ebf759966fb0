/** What a prompt says, as its model hears it. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Definition, Prompt } from '../../../../src/agent/define.js'
import type { ModelRequest } from '../../../../src/models/port.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import { looseTool } from '../../../helpers/app.js'
import { until } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'

function app(prompt: Partial<Prompt>, heard: ModelRequest[]): readonly Definition[] {
  return [
    looseTool('look', () => 'seen'),
    defineModel({
      name: 'first',
      model: scriptedModel(() => ({ error: 'not today' })),
      maxRetries: 0,
      fallback: ['second'],
    }),
    defineModel({
      name: 'second',
      model: scriptedModel((request) => {
        heard.push(request)
        return 'Hello.'
      }),
    }),
    definePrompt({ name: 'rules', prompt: 'Be kind.', model: 'second' }),
    definePrompt({ name: 'p', prompt: 'x', model: 'second', tools: ['look'], ...prompt }),
    defineAgent({ name: 'helper', type: 'ai_human', sideA: { prompt: 'p' } }),
  ]
}

onEveryStore('a prompt', (world) => {
  it('D5: its parts, tools, choice, way of calling and reasoning reach the model', async () => {
    const heard: ModelRequest[] = []
    const skein = await world.open(
      app(
        {
          prompt: [
            { type: 'text', content: 'You help. ' },
            { type: 'include', prompt: 'rules' },
          ],
          toolChoice: { tool: 'look' },
          parallelToolCalls: false,
          reasoning: 'high',
          outputSchema: z.object({ n: z.number() }),
        },
        heard,
      ),
    )
    await (await skein.threads.create({ agent: 'helper', id: 't' })).send('hello').result()
    expect(heard.slice(0, 1)).toMatchObject([
      {
        system: 'You help. Be kind.',
        toolChoice: { tool: 'look' },
        parallelToolCalls: false,
        reasoning: 'high',
        tools: [{ name: 'look' }, { name: 'response' }],
      },
    ])
  })

  it('D5, F2: a variable is shown as it is at each step: of the thread, its prompt, what it includes, its default', async () => {
    const heard: ModelRequest[] = []
    const tone = { name: 'TONE', type: 'text' as const, default: 'plain' }
    const name = { name: 'WHO', type: 'text' as const, required: false }
    const definitions = [
      ...app(
        {
          prompt: [
            { type: 'text', content: 'For ' },
            { type: 'env', property: 'WHO' },
            { type: 'text', content: ': ' },
            { type: 'include', prompt: 'manner' },
          ],
          variables: [name],
        },
        heard,
      ),
      definePrompt({ name: 'manner', model: 'second', variables: [tone], prompt: [{ type: 'env', property: 'TONE' }] }),
    ]
    const skein = await world.open(definitions)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    await thread.send('one').text()
    await thread.env.set({ TONE: 'kind', WHO: 'Ada' })
    await thread.send('two').text()
    await world.close(skein)
    const given = await world.open(
      definitions.map((each) => (each.name === 'manner' ? { ...each, env: { TONE: 'stern' } } : each)),
      { env: { WHO: 'Bob' } },
    )
    await (await given.threads.create({ agent: 'helper', id: 'u' })).send('three').text()
    expect(heard.map(({ system }) => system)).toEqual(['For : plain', 'For Ada: kind', 'For Bob: stern'])
  })

  it('D5, F2: the model is not asked before a variable that it is shown has a value, also in a prompt that is included', async () => {
    const heard: ModelRequest[] = []
    const definitions = [
      ...app({ prompt: [{ type: 'include', prompt: 'manner' }] }, heard),
      definePrompt({
        name: 'manner',
        model: 'second',
        variables: [{ name: 'TONE', type: 'text' }],
        prompt: [
          { type: 'text', content: 'Be ' },
          { type: 'env', property: 'TONE' },
        ],
      }),
    ]
    const skein = await world.open(definitions)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const run = thread.send('hello')
    await until('it to wait', async () => (await thread.status()) === 'awaiting_variables')
    expect(heard).toHaveLength(0)
    await thread.env.set({ TONE: 'kind' })
    await run.text()
    expect(heard.map(({ system }) => system)).toEqual(['Be kind'])
  })

  it('D5: what it does not say is left to the model; a model that fails has its chain', async () => {
    const heard: ModelRequest[] = []
    const skein = await world.open(app({ model: 'first' }, heard))
    expect(await (await skein.threads.create({ agent: 'helper', id: 't' })).send('hello').text()).toBe('Hello.')
    expect(Object.keys(heard[0] ?? {}).toSorted()).toEqual(['messages', 'read', 'step', 'system', 'thread', 'tools'])
  })
})
