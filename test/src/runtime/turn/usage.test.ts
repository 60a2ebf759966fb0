/** What threads and trees have spent, and how it comes up. */
import { expect, it } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Definition, SubagentTool } from '../../../../src/agent/define.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Script } from '../../../../src/models/scripted.js'
import { decode } from '../../../../src/runtime/journal/journal.js'
import { until } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'

const ask = (tool: string, ...messages: readonly string[]) => messages.map((message) => ({ tool, args: { message } }))
const usage = (inputTokens: number, outputTokens = 0, costUsd = 0) => ({ inputTokens, outputTokens, costUsd })

/** A lead with bosses, who have writers; each has a model of its own. */
function company({
  lead,
  boss,
  writer,
  relation = {},
}: {
  readonly lead: Script
  readonly boss: Script
  readonly writer: Script
  readonly relation?: Omit<SubagentTool, 'name'>
}): readonly Definition[] {
  const scripts = { lead, boss, writer }
  const tools = { lead: [{ name: 'boss', ...relation }, { name: 'writer' }], boss: [{ name: 'writer' }], writer: [] }
  return (['lead', 'boss', 'writer'] as const).flatMap((name) => [
    defineModel({ name: `${name}_m`, model: scriptedModel(scripts[name]), maxRetries: 0 }),
    definePrompt({ name: `${name}_p`, prompt: 'x', model: `${name}_m`, tools: tools[name] }),
    defineAgent({ name, type: 'ai_human' as const, sideA: { prompt: `${name}_p` }, exposeAsTool: true }),
  ])
}

onEveryStore('usage of a tree', (world) => {
  it('O2: per step, thread, subtree and model; what each child and all below it spent is told with its answer', async () => {
    const app = company({
      lead: ({ step }) =>
        step === 0
          ? { calls: [...ask('boss', 'a'), ...ask('writer', 'b')], usage: usage(1) }
          : { text: 'done', usage: usage(2) },
      boss: ({ step }) =>
        step === 0 ? { calls: ask('writer', 'c', 'd'), usage: usage(10) } : { text: 'boss', usage: usage(20) },
      writer: () => ({ text: 'wrote', usage: usage(100, 5, 0.25) }),
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const result = await lead.send('go').result()
    expect(result).toMatchObject({ usage: usage(3), subtreeUsage: usage(333, 15, 0.75) })
    expect(await lead.usage()).toEqual({
      own: usage(3),
      subtree: usage(333, 15, 0.75),
      byModel: [
        { model: 'boss_m', ...usage(30) },
        { model: 'lead_m', ...usage(3) },
        { model: 'writer_m', ...usage(300, 15, 0.75) },
      ],
    })
    const boss = (await skein.threads.list({ parent: 'lead' })).threads.find(({ agent }) => agent === 'boss')
    expect((await (await skein.threads.get(boss?.thread ?? '')).usage()).subtree).toEqual(usage(230, 10, 0.5))
    // A second turn counts from nothing, the thread goes on.
    expect((await lead.send('again').result()).subtreeUsage).toEqual(usage(333, 15, 0.75))
    expect((await lead.usage()).subtree).toEqual(usage(666, 30, 1.5))
  })

  it('O2: the record of each reply has what that step used and cost', async () => {
    const app = company({
      lead: ({ step }) =>
        step === 0
          ? { calls: ask('writer', 'a'), usage: usage(7, 1, 0.125) }
          : { text: 'done', usage: usage(9, 2, 0.5) },
      boss: () => 'never',
      writer: () => ({ text: 'wrote', usage: usage(100, 5, 0.25) }),
    })
    const skein = await world.open(app)
    await (await skein.threads.create({ agent: 'lead', id: 'lead' })).send('go').text()
    const backend = await world.store.source.open('client')
    const records = (await backend.journal.read('lead')).flatMap((entry) => decode('lead', entry))
    await backend.close()
    expect(records.flatMap((record) => (record.type === 'model.replied' ? [[record.step, record.usage]] : []))).toEqual(
      [
        [1, usage(7, 1, 0.125)],
        [2, usage(9, 2, 0.5)],
      ],
    )
  })

  it('a child that stays tells with each answer what was spent since the one before; one that failed or was ended tells too', async () => {
    const resumable = { receives_messages: 'side_a' as const }
    const replies = [
      { calls: [{ tool: 'subagent_create', args: { agent: 'boss', name: 'B', message: 'one' } }] },
      { calls: [{ tool: 'subagent_message', args: { reference: 'boss-1', message: 'two' } }] },
      { calls: [{ tool: 'subagent_message', args: { reference: 'boss-1', message: 'fail' } }] },
    ]
    let turns = 0
    const app = company({
      relation: { resumable },
      lead: ({ step }) => replies[step] ?? 'done',
      boss: ({ messages, step }) => {
        turns++
        if (messages.at(-1)?.text === 'fail') return { calls: ask('writer', 'x'), usage: usage(1_000) }
        return messages.some(({ text }) => text === 'fail')
          ? { error: 'no more' }
          : { text: `turn ${step}`, usage: usage(7) }
      },
      writer: () => ({ text: 'wrote', usage: usage(100) }),
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    expect((await lead.send('go').result()).subtreeUsage).toEqual(usage(1_114))
    expect(turns).toBe(4)
    expect((await lead.usage()).subtree).toEqual(usage(1_114))
  })

  it('what a child has spent comes up also when its parent ends it', async () => {
    const app = company({
      lead: ({ messages }) => (messages.at(-1)?.text === 'go' ? { calls: ask('boss', 'x') } : 'done'),
      boss: ({ step }) => (step === 0 ? { calls: ask('writer', 'y'), usage: usage(10) } : 'never'),
      writer: () => new Promise(() => undefined),
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    void lead.send('go').result()
    await until(
      'the writer',
      async () =>
        (await skein.threads.list({ root: 'lead', agent: 'writer', status: 'thinking' })).threads.length === 1,
    )
    await lead.cancel()
    await until('it to be told', async () => (await lead.usage()).subtree.inputTokens > 0)
    expect((await lead.usage()).subtree).toEqual(usage(10))
  })
})
