/** Recorded threads asked again on other definitions: what is named, and what is the same. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../../src/agent/define.js'
import type { Definition, Side, SubagentTool, ToolDefinition } from '../../../src/agent/define.js'
import { scriptedModel } from '../../../src/models/scripted.js'
import type { Script, ScriptedReply } from '../../../src/models/scripted.js'
import type { ThreadExport } from '../../../src/runtime/handles/thread-export.js'
import { pinRequests, replay } from '../../../src/testing.js'
import { onEveryStore } from '../../helpers/world.js'
import type { World } from '../../helpers/world.js'

interface Change {
  readonly prompt?: string
  readonly model?: string
  readonly script?: Script
  readonly tools?: readonly ToolDefinition[]
  readonly writer?: SubagentTool
  readonly side?: Partial<Side>
  readonly agent?: string
  readonly output?: z.ZodObject
}

const args = z.object({ euros: z.number() })
const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  args,
  sideEffect: true,
  execute: () => 'paid',
})

const leads: Script = ({ step }) =>
  step > 0
    ? 'done'
    : {
        text: 'I pay and let write.',
        calls: [
          { tool: 'pay', args: { euros: '7' } },
          { tool: 'writer', args: { message: 'a poem' } },
        ],
      }

/** A lead that pays and lets a writer write; each test changes one thing of it. */
function house(change: Change = {}): readonly Definition[] {
  const { prompt = 'You lead.', model = 'clever', script = leads, tools = [pay], agent = 'lead' } = change
  const { writer = { name: 'writer' }, side = {}, output } = change
  return [
    ...tools,
    defineModel({ name: model, model: scriptedModel(script) }),
    defineModel({ name: 'plain', model: scriptedModel(() => 'roses') }),
    definePrompt({
      name: 'lead',
      prompt,
      model,
      tools: [...tools.map(({ name }) => name), writer],
      ...(output && { outputSchema: output }),
    }),
    definePrompt({ name: 'writer', prompt: 'You write.', model: 'plain' }),
    defineAgent({ name: agent, type: 'ai_human', sideA: { prompt: 'lead', ...side } }),
    defineAgent({ name: 'writer', type: 'ai_human', exposeAsTool: true, sideA: { prompt: 'writer' } }),
  ]
}

async function record(world: World, app = house()): Promise<ThreadExport> {
  const skein = await world.open(app)
  const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
  expect(await lead.send('go').text()).toBe('done')
  const exported = await lead.export({ tree: true })
  await world.close(skein)
  return exported
}

onEveryStore('a recorded thread', (world) => {
  it('B10: is the same on its own definitions, from its store, an export or a file; each thread by itself', async () => {
    const skein = await world.open(house())
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await lead.send('go').text()
    const same = { same: true, thread: 'lead', steps: 2 }
    expect(await replay(lead, { app: house() })).toEqual(same)
    const exported = await lead.export({ tree: true })
    expect(await replay(exported, { app: house() })).toEqual(same)
    expect(exported.threads).toHaveLength(2)
    for (const { thread } of exported.threads)
      expect(await replay(exported, { app: house(), thread })).toMatchObject({ same: true, thread })
    expect(JSON.parse(JSON.stringify(exported))).toEqual(exported)
  })

  it('B10: is the same with recorded replies, whatever models and bodies would do now', async () => {
    const exported = await record(world)
    const ran: string[] = []
    const other = { ...pay, execute: () => void ran.push('pay') }
    const script: Script = () => {
      ran.push('model')
      return 'no'
    }
    expect(await replay(exported, { app: house({ tools: [other], script }) })).toMatchObject({ same: true })
    expect(ran).toEqual([])
  })

  it.each<[string, Change, object]>([
    [
      'a removed tool',
      { tools: [] },
      {
        step: 1,
        kind: 'refusal',
        recorded: null,
        now: { code: 'UNKNOWN_TOOL' },
        explanation: expect.stringContaining('call 0 (pay) was made; now it is refused with UNKNOWN_TOOL'),
      },
    ],
    [
      'a schema that the recorded args do not fit',
      { tools: [{ ...pay, args: z.object({ euros: z.number(), to: z.string() }) }] },
      { step: 1, kind: 'refusal', now: { code: 'TOOL_INPUT_INVALID' }, explanation: expect.stringContaining('to') },
    ],
    [
      'an approval that is needed now',
      { tools: [{ ...pay, needsApproval: true }] },
      {
        step: 1,
        kind: 'approval',
        recorded: null,
        now: { why: 'approval' },
        explanation: 'call 0 (pay) ran without asking; now it waits for approval',
      },
    ],
    [
      'an effect that is none any more',
      { tools: [{ ...pay, sideEffect: false }] },
      { step: 1, kind: 'call', recorded: { sideEffect: true }, now: { ahead: true } },
    ],
    [
      'a cache',
      { tools: [{ ...pay, cache: true }] },
      { step: 1, kind: 'call', explanation: 'call 0 (pay) is made otherwise now: policy' },
    ],
    [
      'a variable that must have a value',
      { tools: [{ ...pay, variables: [{ name: 'TOKEN', type: 'secret' }] }] },
      { step: 1, kind: 'variables', recorded: null, now: ['TOKEN'] },
    ],
    [
      'other terms of a child',
      { writer: { name: 'writer', blocking: false } },
      { step: 1, kind: 'child', recorded: { blocking: true }, now: { blocking: false } },
    ],
    [
      'a child that begins by itself',
      { writer: { name: 'writer', immediate: true } },
      { step: 1, kind: 'child', recorded: null, now: { tool: 'writer' } },
    ],
    [
      'fewer steps',
      { side: { maxSteps: 1 } },
      {
        step: 1,
        kind: 'stop',
        recorded: {},
        now: { stop: 'max_steps' },
        explanation: 'after this step the turn goes on; now the turn stops (max_steps)',
      },
    ],
    [
      'an output that is required now',
      { output: z.object({ total: z.number() }) },
      { step: 2, kind: 'stop', recorded: {}, now: { asks: true } },
    ],
    ['another model', { model: 'clearer' }, { step: 1, kind: 'model', recorded: 'clever', now: 'clearer' }],
    ['an agent that is gone', { agent: 'boss' }, { step: 0, seq: 1, kind: 'agent', recorded: 'lead', now: null }],
  ])('B10: the first divergence is named: %s', async (_, change, divergence) => {
    const report = await replay(await record(world), { app: house(change) })
    expect(report).toMatchObject({ same: false, divergence })
  })

  it('B10: a call that was refused and is made now is named, too', async () => {
    const exported = await record(world, house({ tools: [] }))
    expect(await replay(exported, { app: house({ tools: [] }) })).toMatchObject({ same: true })
    expect(await replay(exported, { app: house() })).toMatchObject({
      same: false,
      divergence: { step: 1, kind: 'refusal', recorded: { code: 'UNKNOWN_TOOL' }, now: null },
    })
  })

  it('B10: prompts and tool schemas, which no journal has, are compared once they are pinned', async () => {
    const exported = await record(world)
    const described = { ...pay, description: 'Pays at once' }
    expect(await replay(exported, { app: house({ prompt: 'You follow.' }) })).toMatchObject({ same: true })
    const pinned = await pinRequests(exported, { app: house() })
    expect(await replay(pinned, { app: house() })).toMatchObject({ same: true })
    // A prompt and a list of tools, however many steps there are, for each of the two threads.
    expect(pinned.requests).toHaveLength(2)
    expect(await replay(pinned, { app: house({ prompt: 'You follow.' }) })).toMatchObject({
      divergence: { step: 1, kind: 'prompt', recorded: 'You lead.', now: 'You follow.' },
    })
    expect(await replay(pinned, { app: house({ tools: [described] }) })).toMatchObject({
      divergence: { step: 1, kind: 'tools', explanation: expect.stringContaining('pay') },
    })
    expect(await replay(pinned, { app: house({ tools: [pay, { ...pay, name: 'pay_back' }] }) })).toMatchObject({
      divergence: { step: 1, kind: 'tools', explanation: expect.stringContaining('pay_back') },
    })
  })

  it('B10: models of today are asked again with what was recorded; the first other reply is named', async () => {
    const exported = await record(world)
    const against = 'models' as const
    expect(await replay(exported, { app: house(), against })).toMatchObject({ same: true, steps: 2 })
    const script: Script = (request) => (request.step > 0 ? `done, ${request.messages.at(-1)?.text}` : leads(request))
    expect(await replay(exported, { app: house({ script }), against })).toMatchObject({
      same: false,
      steps: 1,
      divergence: { step: 2, kind: 'reply', recorded: { text: 'done' }, now: { text: 'done, roses' } },
    })
    const away = scriptedModel([{ error: 'gone' }])
    expect(await replay(exported, { app: house(), against, models: { clever: away } })).toMatchObject({
      divergence: { step: 1, kind: 'reply', now: { failure: { code: 'MODEL_REJECTED' } } },
    })
  })

  it('B10, S5: a flag whose value is not exported may have been on or off, unless the caller says which', async () => {
    const app = house({ writer: { name: 'writer', optional: 'MAY_WRITE' } })
    const skein = await world.open(app, { env: { MAY_WRITE: 'yes' } })
    const on = await skein.threads.create({ agent: 'lead', id: 'on' })
    const off = await skein.threads.create({ agent: 'lead', id: 'off', env: { MAY_WRITE: 'no' } })
    for (const lead of [on, off]) {
      await lead.send('go').text()
      expect(await replay(lead, { app })).toMatchObject({ same: true, steps: 2 })
      expect(await replay(await pinRequests(lead, { app }), { app })).toMatchObject({ same: true, steps: 2 })
    }
    const given = { app, env: { MAY_WRITE: 'no' } }
    expect(await replay(off, given)).toMatchObject({ same: true })
    expect(await replay(on, given)).toMatchObject({ same: false, divergence: { step: 1, kind: 'refusal' } })
    await world.close(skein)
  })

  it('B10: images that models were shown go with it, up to a limit; models of today are shown them', async () => {
    const skein = await world.open(house())
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await lead.send('go', { attachments: [{ name: 'a.png', content: Buffer.from('a picture') }] }).text()
    const seen: unknown[] = []
    const script: Script = async (request) => {
      for (const { hash } of request.messages[0]?.media ?? []) seen.push(await request.read?.(hash))
      return leads(request) as ScriptedReply
    }
    const options = { app: house({ script }), against: 'models' as const }
    expect(await replay(lead, options)).toMatchObject({ same: true })
    expect(seen).toEqual([Buffer.from('a picture'), Buffer.from('a picture')])
    const without = await lead.export({ maxBlobBytes: 3 })
    expect(without).toMatchObject({ blobs: {}, leftOut: { blobs: [{ size: 9 }] } })
    expect(await replay(without, options)).toMatchObject({ same: true })
    expect(seen.slice(2)).toEqual([undefined, undefined])
    await world.close(skein)
  })

  it('EP1, F3: an export holds no sealed value and no key; its chain holds all the same', async () => {
    const needy = { ...pay, variables: [{ name: 'TOKEN', type: 'secret' as const }] }
    const app = house({ tools: [needy] })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead', env: { TOKEN: 'hunter2hunter2' } })
    await lead.send('go').text()
    await lead.env.set({ TOKEN: 'hunter3hunter3' })
    const exported = await lead.export({ tree: true })
    const text = JSON.stringify(exported)
    expect(text).not.toMatch(/hunter|v1\.[\w-]{10}/)
    expect(exported.leftOut.sealedEntries).toBeGreaterThan(1)
    expect(await replay(exported, { app })).toMatchObject({ same: true, steps: 2 })
    await world.close(skein)
  })
})

onEveryStore('what cannot be replayed', (world) => {
  it('B10: is told: a missing, empty, wrong or newer file, a damaged chain, an unknown thread or option', async () => {
    const exported = await record(world)
    const folder = world.store.dir
    const app = house()
    const wrong = (source: unknown): Promise<unknown> => replay(source as ThreadExport, { app })
    const [lead, ...others] = exported.threads
    const [first, ...entries] = lead?.entries ?? []
    const damaged = { ...first, body: first?.body.replace('lead', 'load') }
    const withEntries = (list: readonly object[]): object => ({
      ...exported,
      threads: [{ ...lead, entries: list }, ...others],
    })
    await expect(wrong({})).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining('no exported'),
    })
    await expect(wrong({ ...exported, version: 2 })).rejects.toThrow('is 2; this Skein reads version 1')
    await expect(wrong(withEntries([]))).rejects.toThrow('the journal is empty')
    await expect(wrong({ ...exported, threads: [] })).rejects.toThrow('there is no thread in it')
    await expect(wrong(withEntries([damaged, ...entries]))).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining('damaged at record 1'),
    })
    await expect(wrong(withEntries(entries))).rejects.toThrow('damaged at record 1')
    await expect(replay(exported, { app, thread: 'nobody' })).rejects.toThrow('no thread "nobody"; it has: lead, c_')
    await expect(replay(exported, { app, ...{ again: 'st' } })).rejects.toMatchObject({ code: 'BAD_OPTION' })
    await expect(wrong('/nowhere/thread.json')).rejects.toMatchObject({ code: 'BAD_OPTION' })
    if (folder === undefined) return
    const file = join(folder, 'thread.json')
    await writeFile(file, '')
    await expect(wrong(file)).rejects.toThrow('is empty')
    await writeFile(file, JSON.stringify(exported).slice(0, 100))
    await expect(wrong(file)).rejects.toThrow('is not JSON')
    await writeFile(file, JSON.stringify(exported))
    expect(await wrong(file)).toMatchObject({ same: true })
  })
})
