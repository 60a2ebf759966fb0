/** Images and documents on the wire: of messages, and of results. */
import { afterEach, describe, expect, test } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../src/agent/define.js'
import type { Definition, ModelDefinition, ModelSource } from '../../src/agent/define.js'
import { memory } from '../../src/backend/memory/memory.js'
import { scriptedModel } from '../../src/models/scripted.js'
import { createSkein } from '../../src/runtime/skein.js'
import type { Skein } from '../../src/runtime/skein.js'
import { calls, looseTool } from '../helpers/app.js'
import { closeServers, providerNames, strict } from './providers.js'
import type { ProviderName, Spoken } from './providers.js'

const opened: Skein[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((skein) => skein.close()))
  await closeServers()
})

const png = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, ...Array.from({ length: 60 }, (_, at) => at)])
const base64 = Buffer.from(png).toString('base64')

async function open(app: readonly Definition[], backend = memory()): Promise<Skein> {
  const skein = await createSkein({ app, backend })
  opened.push(skein)
  return skein
}

const draw = looseTool('draw', () => ({
  status: 'success',
  result: { points: 3 },
  content: [
    { type: 'text', text: 'A rising line.' },
    { type: 'image', data: base64, mimeType: 'image/png' },
  ],
}))

function drawing(model: ModelSource, more: Partial<ModelDefinition> = {}): readonly Definition[] {
  return [
    draw,
    defineModel({ name: 'main', model, maxRetries: 0, ...more }),
    definePrompt({ name: 'p', prompt: 'You help.', model: 'main', tools: ['draw'] }),
    defineAgent({ name: 'helper', type: 'ai_human', sideA: { prompt: 'p' } }),
  ]
}

const twice = (name: ProviderName): readonly Spoken[] => [
  {
    pieces: [
      ...(name === 'deepseek' ? [{ think: 'Hm.' }] : []),
      { call: 'draw', args: {}, id: 'c1', mark: 's1' },
      { call: 'draw', args: {}, id: 'c2' },
    ],
  },
  { pieces: [{ say: 'I see.' }] },
  { pieces: [{ say: 'Still.' }] },
]

describe.each(providerNames)('%s', (name) => {
  const takes = name !== 'deepseek'

  test('T2: content beside a result reaches the model: its texts, and its images where they are taken', async () => {
    const { model, taken, refused } = await strict(name, twice(name))
    const skein = await open(drawing(model))
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('Draw.').result()).toMatchObject({ text: 'I see.', stopReason: 'completed' })
    expect(await thread.send('Still there?').text()).toBe('Still.')
    expect(refused).toEqual([])
    for (const body of taken.slice(1)) {
      const sent = JSON.stringify(body)
      expect(sent).toContain('A rising line.')
      expect(sent.split(base64).length - 1).toBe(takes ? 2 : 0)
      expect(sent.includes('[image image/png, 68 bytes, not shown]')).toBe(!takes)
    }
    // Once in the store, by its hash, and not in the journal.
    for await (const event of thread.events({ until: 'now' })) expect(JSON.stringify(event)).not.toContain(base64)
  })

  test('S8: an image that comes with a message is shown with it, also after a restart', async () => {
    const { model, taken, refused } = await strict(name, [
      { pieces: [{ say: 'A house.' }] },
      { pieces: [{ say: 'Yes.' }] },
    ])
    const lead = scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? 'done'
        : calls({
            tool: 'subagent_create',
            args: { agent: 'eye', name: 'eye', message: 'What is it?', attachments: ['/a.png'] },
          }),
    )
    const app: readonly Definition[] = [
      defineModel({ name: 'lead_model', model: lead }),
      defineModel({ name: 'main', model, maxRetries: 0 }),
      definePrompt({
        name: 'lead_prompt',
        prompt: 'x',
        model: 'lead_model',
        tools: [{ name: 'eye', resumable: { receives_messages: 'side_a' } }],
      }),
      definePrompt({ name: 'eye_prompt', prompt: 'You look.', model: 'main' }),
      defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_prompt' } }),
      defineAgent({
        name: 'eye',
        type: 'ai_human',
        sideA: { prompt: 'eye_prompt' },
        exposeAsTool: true,
        toolDescription: 'Looks',
      }),
    ]
    const backend = memory()
    const first = await open(app, backend)
    const thread = await first.threads.create({ id: 'lead', agent: 'lead', files: { '/a.png': png } })
    await thread.send('Look.').text()
    const [eye] = await thread.children()
    await first.close()
    const second = await open(app, backend)
    expect(await (await second.threads.get(eye?.thread ?? '')).send('Sure?').text()).toBe('Yes.')
    expect(refused).toEqual([])
    for (const body of taken) {
      expect(JSON.stringify(body)).toContain('[attached: /attachments/a.png]')
      expect(JSON.stringify(body).split(base64).length - 1).toBe(takes ? 1 : 0)
    }
  })
})

test('S8, R1: an image that a caller sends along is shown with the message', async () => {
  const { model, taken } = await strict('anthropic', [{ pieces: [{ say: 'A house.' }] }])
  const thread = await (await open(drawing(model))).threads.create({ agent: 'helper' })
  expect(await thread.send('What is it?', { attachments: [{ name: 'a.png', content: png }] }).text()).toBe('A house.')
  expect(JSON.stringify(taken[0]).split(base64)).toHaveLength(2)
})

test('a model that says so is shown them; one that refuses them all the same is asked again without', async () => {
  const { model, taken } = await strict('deepseek', twice('deepseek'))
  const skein = await open(drawing(model, { media: true }))
  await (await skein.threads.create({ agent: 'helper' })).send('Draw.').text()
  expect(taken[1]).toMatchObject({
    messages: [
      {},
      {},
      {},
      { role: 'tool' },
      { role: 'tool' },
      { role: 'user', content: [{ type: 'text' }, { type: 'image_url' }, { type: 'image_url' }] },
    ],
  })
  const refusing = await strict('openai chat', [
    twice('openai chat')[0] ?? { pieces: [] },
    (exchange) =>
      exchange.fail(400, {
        error: {
          message: 'Invalid content type. image_url is only supported by certain models.',
          type: 'invalid_request_error',
        },
      }),
    { pieces: [{ say: 'Blind.' }] },
  ])
  const other = await open(drawing(refusing.model))
  expect(await (await other.threads.create({ agent: 'helper' })).send('Draw.').text()).toBe('Blind.')
  expect(JSON.stringify(refusing.taken[2])).toContain('not shown')
})
