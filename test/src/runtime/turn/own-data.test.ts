/** What a thread keeps for itself: its todo list, values and contexts, over turns and restarts, and from nobody else. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../../../src/agent/define.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import { calls } from '../../../helpers/app.js'
import { results } from '../../../helpers/asking.js'
import { onEveryStore } from '../../../helpers/world.js'

const todo = (args: object) => ({ tool: 'manage_todo_list', args })
const items = [{ title: 'look' }, { title: 'build' }]

const note = defineTool({
  name: 'note',
  description: 'Notes something in the values and in the shared context.',
  args: z.object({ text: z.string() }),
  sharedSchema: z.object({ text: z.string().default('nothing') }),
  async execute(state, { text }) {
    await state.kv.set('text', text)
    state.setShared({ text })
    return 'noted'
  },
})

const look = defineTool({
  name: 'look',
  description: 'Tells what is noted.',
  args: z.object({}),
  uses: ['peek'],
  sharedSchema: z.object({ text: z.string().default('nothing') }),
  execute: async ({ kv, shared, invokeTool }) => [await kv.list(), await invokeTool('peek', {}), shared.text],
})

/** Has a context of its own. */
const peek = defineTool({
  name: 'peek',
  description: 'Tells its context, and changes it where it is given a text.',
  args: z.object({ text: z.string().optional() }),
  contextSchema: z.object({ text: z.string().default('nothing') }),
  execute(state, { text }) {
    if (text !== undefined) state.setContext({ text })
    return state.local.text
  },
})

/** Does what it is told, by the first word: keeps, looks, or has a child look. */
const model = scriptedModel(({ messages }) => {
  const last = messages.at(-1)
  if (last?.role === 'tool') return messages.findLast(({ role }) => role === 'tool')?.text ?? ''
  if (last?.text === 'keep')
    return calls(
      todo({ operation: 'write', items }),
      { tool: 'note', args: { text: 'mine' } },
      { tool: 'peek', args: { text: 'mine' } },
    )
  if (last?.text === 'go on') return calls(todo({ operation: 'update', items: [{ id: 1, status: 'completed' }] }))
  if (last?.text === 'ask') return calls({ tool: 'child', args: { message: 'look' } })
  return calls(todo({ operation: 'read' }), 'look')
})

const app = [
  note,
  look,
  peek,
  defineModel({ name: 'm', model }),
  definePrompt({
    name: 'p',
    prompt: 'You keep.',
    model: 'm',
    tools: ['manage_todo_list', 'note', 'look', 'peek', { name: 'child' }],
  }),
  definePrompt({ name: 'child_p', prompt: 'You look.', model: 'm', tools: ['manage_todo_list', 'look', 'peek'] }),
  defineAgent({ name: 'keeper', type: 'ai_human', sideA: { prompt: 'p' } }),
  defineAgent({ name: 'child', type: 'ai_human', sideA: { prompt: 'child_p' }, exposeAsTool: true }),
]

onEveryStore('what a thread keeps for itself', (world) => {
  it('T12, F1: a model finds its todo list as it left it, in a later turn and after a restart', async () => {
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'keeper', id: 't' })
    await thread.send('keep').text()
    await thread.send('go on').text()
    await world.close(skein)
    const again = await (await world.open(app)).threads.get('t')
    await again.send('look').text()
    expect(JSON.parse(results(await again.messages()).at(-2) ?? '')).toEqual({
      version: 2,
      items: [
        { id: 1, title: 'look', status: 'completed' },
        { id: 2, title: 'build', status: 'not-started' },
      ],
    })
  })

  it('F1: its todo list, values and contexts are no other thread’s, be it beside it or below it', async () => {
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'keeper', id: 't' })
    await thread.send('keep').text()
    await thread.send('look').text()
    const seen = async (id: string): Promise<unknown> =>
      results(await (await skein.threads.get(id)).messages())
        .slice(-2)
        .map((text): unknown => JSON.parse(text))
    expect(await seen('t')).toMatchObject([{ version: 1, items }, [[{ key: 'text', value: 'mine' }], 'mine', 'mine']])
    const nothing = [{ version: 0, items: [] }, [[], 'nothing', 'nothing']]
    await (await skein.threads.create({ agent: 'keeper', id: 'other' })).send('look').text()
    expect(await seen('other')).toEqual(nothing)
    await thread.send('ask').text()
    const [child] = (await skein.threads.list({ parent: 't' })).threads
    expect(await seen(child?.thread ?? '')).toEqual(nothing)
  })
})
