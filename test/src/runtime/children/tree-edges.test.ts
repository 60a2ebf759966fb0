/**
 * Where children meet pauses, variables, budgets, two sides, secrets and snapshots: what one part decides holds for
 * the others.
 */
import { describe, expect, it } from 'vitest'
import { fold } from '../../../../actors/thread/fold.js'
import { createState } from '../../../../actors/thread/state.js'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Definition, SubagentTool, ToolDefinition } from '../../../../src/agent/define.js'
import type { Backend } from '../../../../src/backend/port.js'
import type { Message } from '../../../../src/core/records/message.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Script, ScriptedModel } from '../../../../src/models/scripted.js'
import { decode } from '../../../../src/runtime/journal/journal.js'
import { freeze, thaw } from '../../../../src/runtime/journal/snapshot.js'
import { calls, looseTool } from '../../../helpers/app.js'
import { results } from '../../../helpers/asking.js'
import { deferred, quiet, until } from '../../../helpers/deferred.js'
import { pairApp } from '../../../helpers/dual.js'
import { cutAfterEveryCommit } from '../../../helpers/every-commit.js'
import { onEveryStore } from '../../../helpers/world.js'
import { times } from '../../../helpers/soak.js'

const last = (messages: readonly Message[]): string => messages.at(-1)?.text ?? ''
const write = (message: string) => ({ tool: 'writer', args: { message } })
const create = (name: string, message: string) => ({
  tool: 'subagent_create',
  args: { agent: 'writer', name, message },
})
const tell = (reference: string, message: string, more: { readonly steer?: boolean } = {}) => ({
  tool: 'subagent_message',
  args: { reference, message, ...more },
})
const tokens = (inputTokens: number) => ({ inputTokens, outputTokens: 0, costUsd: 0 })
const stays = { receives_messages: 'side_a' as const }

interface Team {
  readonly lead: Script
  readonly writer: Script
  readonly relation?: Omit<SubagentTool, 'name'>
  /** Of the writer. */
  readonly tools?: readonly ToolDefinition[]
  readonly leadTools?: readonly ToolDefinition[]
}

function team({ lead, writer, relation = {}, tools = [], leadTools = [] }: Team): {
  readonly app: readonly Definition[]
  readonly models: readonly ScriptedModel[]
} {
  const models = [scriptedModel(lead), scriptedModel(writer)] as const
  return {
    models,
    app: [
      ...new Set([...tools, ...leadTools]),
      defineModel({ name: 'lead_m', model: models[0], maxRetries: 0 }),
      defineModel({ name: 'writer_m', model: models[1], maxRetries: 0 }),
      definePrompt({
        name: 'lead_p',
        prompt: 'You lead.',
        model: 'lead_m',
        tools: [...leadTools.map(({ name }) => name), { name: 'writer', ...relation }],
      }),
      definePrompt({ name: 'writer_p', prompt: 'You write.', model: 'writer_m', tools: tools.map(({ name }) => name) }),
      defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_p' } }),
      defineAgent({ name: 'writer', type: 'ai_human', sideA: { prompt: 'writer_p' }, exposeAsTool: true }),
    ],
  }
}

const secret = 'token-of-ann-1234'
const variables = [{ name: 'TOKEN', scoped: true }]
const token = looseTool('token', async (state) => ((await state.env('TOKEN')) === secret ? 'right' : 'wrong'), {
  variables,
})

onEveryStore('children and pauses', (world) => {
  it('LF1, S6: a paused thread starts no child, also not one that was just given its values', async () => {
    const { app } = team({
      lead: ({ messages }) => (last(messages) === 'go' ? calls(write('hello')) : `read ${last(messages)}`),
      writer: ({ step, messages }) => (step === 0 ? calls('token') : last(messages)),
      tools: [token],
    })
    let skein = await world.open(app, { snapshotEvery: 1 })
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await lead.send('go').text()
    await lead.pause({ tree: true })
    await skein.variables.provide('lead', 'env_1_0', { TOKEN: secret })
    await lead.settled({ tree: true })
    expect((await skein.threads.list({ parent: 'lead' })).threads).toEqual([])
    await world.close(skein)
    skein = await world.open(app, { snapshotEvery: 1 })
    const again = await skein.threads.get('lead')
    await again.settled({ tree: true })
    expect((await skein.threads.list({ parent: 'lead' })).threads).toEqual([])
    await again.resume({ tree: true })
    await until('the report', async () => last(await again.messages()) === 'read [writer-1] right')
    expect((await skein.threads.list({ parent: 'lead' })).threads.map(({ status }) => status)).toEqual(['done'])
  })

  it('S12, S6: a child that was given its values counts among those that may live', async () => {
    const { app } = team({
      lead: ({ messages, step }) =>
        last(messages) === 'go'
          ? calls(create('A', 'hello'))
          : last(messages) === 'more'
            ? calls(create('B', 'x'))
            : `read ${last(messages)} ${step}`,
      writer: ({ messages }) => `did ${last(messages)}`,
      relation: { resumable: stays },
      tools: [token],
    })
    const skein = await world.open(app, { limits: { maxChildren: 1 } })
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await lead.send('go').text()
    await skein.variables.provide('lead', 'env_1_0', { TOKEN: secret })
    await until('the report', async () => last(await lead.messages()).startsWith('read [writer-1]'))
    await lead.send('more').text()
    expect(results(await lead.messages()).at(-1)).toMatch(/TOOL_NOT_ALLOWED|env_required/)
    await skein.variables.provide('lead', 'env_4_0', { TOKEN: secret }).catch(() => undefined)
    await lead.settled({ tree: true })
    expect((await skein.threads.list({ parent: 'lead' })).threads).toHaveLength(1)
  })
})

onEveryStore('children that begin by themselves', (world) => {
  it('S4: read what began the turn, also when the thread was woken from a snapshot', async () => {
    const { app } = team({
      lead: ({ messages }) => results(messages).join(),
      writer: ({ messages }) => `wrote ${last(messages)}`,
      relation: { immediate: true },
      leadTools: [],
    })
    const needy = app.map((each) =>
      each.name === 'lead'
        ? defineAgent({
            name: 'lead',
            type: 'ai_human',
            sideA: { prompt: 'lead_p' },
            variables: [{ name: 'LEVEL', type: 'text' }],
          })
        : each,
    )
    let skein = await world.open(needy, { snapshotEvery: 1 })
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    // Long: a snapshot is due when the journal has grown by the one before.
    const order = `go ${'far '.repeat(2_000)}`
    await lead.send(order).accepted()
    expect((await lead.settled()).status).toBe('awaiting_variables')
    await world.close(skein)
    skein = await world.open(needy, { snapshotEvery: 1 })
    const again = await skein.threads.get('lead')
    await again.env.set({ LEVEL: 'high' })
    await again.settled({ tree: true })
    expect(last(await again.messages())).toBe(`wrote ${order}`)
    expect((await skein.threads.list({ parent: 'lead' })).threads).toHaveLength(1)
  })
})

onEveryStore('one child, two calls', (world) => {
  it('S7: what a child says once to a message and one that steers is read once', async () => {
    const gate = deferred()
    const { app } = team({
      lead: ({ messages }) =>
        last(messages) === 'go'
          ? calls(create('A', 'one'))
          : last(messages) === 'both'
            ? calls(tell('writer-1', 'two'), tell('writer-1', 'three', { steer: true }))
            : 'ok',
      writer: async ({ messages }) => {
        if (last(messages) !== 'one') await gate.promise
        return `heard ${messages.filter(({ role }) => role === 'user').length}`
      },
      relation: { resumable: stays, blocking: false },
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await lead.send('go').text()
    await lead.settled({ tree: true })
    await lead.send('both').text()
    gate.resolve()
    await lead.settled({ tree: true })
    const heard = (await lead.messages({ silent: 'show' }))
      .filter(({ text }) => text.startsWith('[writer-1]'))
      .map(({ text }) => text)
    expect(heard).toEqual(['[writer-1] heard 1', '[writer-1] heard 3'])
    const [child] = (await skein.threads.list({ parent: 'lead' })).threads
    expect(child?.status).toBe('idle')
  })

  it('F7: cancelled in the middle of two messages to one child, nothing is left at work', async () => {
    const gate = deferred()
    const { app, models } = team({
      lead: ({ messages }) =>
        last(messages) === 'go'
          ? calls(create('A', 'one'))
          : last(messages) === 'both'
            ? calls(tell('writer-1', 'two'), tell('writer-1', 'three'))
            : 'ok',
      writer: async ({ messages }) => {
        if (last(messages) !== 'one') await gate.promise
        return 'done'
      },
      relation: { resumable: stays },
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await lead.send('go').text()
    const run = lead.send('both')
    await until('both', () => (models[1]?.requests.length ?? 0) === 2)
    await quiet(20)
    await lead.cancel()
    await run.result()
    await lead.settled({ tree: true })
    expect((await skein.threads.list({ root: 'lead' })).threads.map(({ status }) => status)).toEqual(['idle', 'idle'])
    expect(models[1]?.requests).toHaveLength(2)
    gate.resolve()
    // It is the same one that goes on.
    expect(await lead.send('go').text()).toBe('ok')
  })
})

onEveryStore('two sides and children that wait for values', (world) => {
  it('S3, S6: the side that a relationship speaks to is the one that reads, also of a child that had to wait', async () => {
    const { app, models } = pairApp({
      a: () => 'a speaks',
      b: ({ messages }) => `b read ${last(messages)}`,
      tools: [token],
      lead: ({ messages }) =>
        last(messages) === 'go'
          ? calls({ tool: 'subagent_create', args: { agent: 'pair', name: 'P', message: 'hello' } })
          : `read ${last(messages)}`,
      relation: { resumable: { receives_messages: 'side_b' } },
      maxSessionTurns: 1,
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await lead.send('go').text()
    await skein.variables.provide('lead', 'env_1_0', { TOKEN: secret })
    await lead.settled({ tree: true })
    const [child] = (await skein.threads.list({ parent: 'lead' })).threads
    const said = await (await skein.threads.get(child?.thread ?? '')).messages()
    expect(said.map(({ role, side, text }) => [role, side, text])).toEqual([
      ['assistant', undefined, 'hello'],
      ['assistant', 'b', 'b read hello'],
      ['assistant', 'a', 'a speaks'],
    ])
    expect(models.b.requests).toHaveLength(1)
  })

  it('S11, S6: what such a child reports is for the side that asked for it', async () => {
    const { app } = pairApp({
      name: 'lead',
      a: () => 'a speaks',
      b: ({ messages }) =>
        messages.some(({ text }) => text.startsWith('[writer-1]'))
          ? `b read ${last(messages)}`
          : messages.some(({ role }) => role === 'tool')
            ? 'b waits'
            : calls(write('hello')),
      promptB: { tools: [{ name: 'writer' }] },
      maxSessionTurns: 1,
    })
    const writer = team({ lead: () => '', writer: () => 'wrote', tools: [token] }).app.filter(
      ({ name }) => name.startsWith('writer') || name === 'token',
    )
    const skein = await world.open([...app, ...writer])
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await lead.send('go').result()
    const [request] = await skein.inbox.list({ root: 'lead' })
    await skein.variables.provide('lead', request?.request ?? '', { TOKEN: secret })
    await lead.settled({ tree: true })
    const reported = (await lead.messages({ silent: 'show' })).find(({ text }) => text.startsWith('[writer-1]'))
    expect(reported).toMatchObject({ text: '[writer-1] wrote', to: 'b' })
  })
})

/** Frozen after each of its records in turn, every thread of the tree comes to the same state. */
async function cutBySnapshots(backend: Backend, root: string): Promise<number> {
  let cuts = 0
  for (const { thread } of (await backend.heads.list({ root })).heads) {
    const records = (await backend.journal.read(thread)).flatMap((entry) => [...decode(thread, entry)])
    const whole = createState(thread)
    let state = createState(thread)
    for (const record of records) {
      fold(whole, record)
      fold(state, record)
      const woken = thaw(thread, freeze({ state, chain: '' }))
      if (!woken) throw new Error('a snapshot was not understood')
      state = woken.state
      expect({
        ...state,
        transcript: undefined,
        place: { gate: state.position.gate, work: state.position.work },
      }).toEqual({
        ...whole,
        transcript: undefined,
        place: { gate: whole.position.gate, work: whole.position.work },
      })
      cuts++
    }
    expect(state.transcript.skipped).toBe(whole.transcript.items.length)
  }
  return cuts
}

onEveryStore('secrets in a tree', (world) => {
  it('F3: what a body of a child says, does and names shows no model its secret, neither its own nor its parent’s', async () => {
    const blab = looseTool(
      'blab',
      async (state) => {
        const value = await state.env('TOKEN')
        state.setStatus(`at ${value}`)
        await state.files.writeFile(`/a-${value}.txt`, 'x')
        await state.notifyParent(`here: ${value}`, { attachments: [`/a-${value}.txt`] })
        state.queueMessage(`by the way ${value}`)
        await state.kv.set('k', value)
        state.schedule('blab2', { said: value }, { delayMs: 1_000 })
        return { status: 'success', result: `is ${value}`, attachments: [`/a-${value}.txt`] }
      },
      { variables, uses: ['blab2'] },
    )
    const blab2 = looseTool('blab2', () => 'later')
    const { app, models } = team({
      lead: ({ messages }) => (last(messages) === 'go' ? calls(create('A', 'hello')) : `read ${last(messages)}`),
      writer: ({ messages }) => (last(messages) === 'hello' ? calls('blab') : `wrote ${last(messages)}`),
      relation: { resumable: stays },
      tools: [blab, blab2],
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await lead.send('go').text()
    await skein.variables.provide('lead', 'env_1_0', { TOKEN: secret })
    await lead.settled({ tree: true })
    world.clock.advance(2_000)
    await quiet(50)
    await lead.settled({ tree: true })
    const requests = models.map(({ requests: all }) =>
      all.map(({ system, messages, tools }) => ({ system, messages, tools })),
    )
    const heads = (await skein.threads.list({ root: 'lead' })).threads
    const told = await Promise.all(
      heads.map(async ({ thread }) => (await skein.threads.get(thread)).messages({ silent: 'show' })),
    )
    const where = Object.entries({ requests, heads, told })
      .filter(([, what]) => JSON.stringify(what).includes(secret))
      .map(
        ([name, what]) =>
          `${name}: ${JSON.stringify(what)
            .split(secret)
            .slice(0, 3)
            .map((part) => part.slice(-120))
            .join(' ### ')}`,
      )
    expect(where).toEqual([])
    expect(JSON.stringify(requests)).toContain('here: [redacted]')
  })
})

onEveryStore('a tree whose threads are cached at every record', (world) => {
  it('P1: children in line, forked, waiting for values and people, told, paused and cancelled; the purses too', async () => {
    const gate = deferred()
    const speak = looseTool(
      'speak',
      async (state) => {
        state.setStatus('half way')
        await state.files.writeFile('/made', 'x')
        await state.notifyParent('half', { attachments: ['/made'] })
        state.schedule('later', {}, { delayMs: 50_000 })
        await state.kv.set('k', 1)
        return { status: 'success', result: 'spoke', attachments: ['/made'] }
      },
      { uses: ['later'] },
    )
    const later = looseTool('later', () => 'late')
    const pay = looseTool('pay', () => 'paid', { needsApproval: true, sideEffect: true, idempotent: true })
    const models: Record<string, Script> = {
      lead: ({ messages }) => {
        const said = last(messages)
        if (said === 'go')
          return {
            calls: [
              { tool: 'forked', args: { message: 'speak' } },
              { tool: 'plain', args: { message: 'pay' } },
              { tool: 'needy', args: { message: 'x' } },
              { tool: 'subagent_create', args: { agent: 'keeper', name: 'K', message: 'speak' } },
              { tool: 'plain', args: { message: 'fail' } },
            ],
            usage: tokens(10),
          }
        return said.startsWith('again')
          ? {
              calls: [{ tool: 'subagent_message', args: { reference: 'keeper-1', message: 'wait' } }],
              usage: tokens(3),
            }
          : { text: 'ok', usage: tokens(5) }
      },
      worker: async ({ messages }) => {
        const said = last(messages)
        if (said === 'wait') await gate.promise
        if (said === 'fail') throw new Error('no')
        return said === 'speak'
          ? { calls: [{ tool: 'speak', args: {} }], usage: tokens(7) }
          : said === 'pay'
            ? { calls: [{ tool: 'pay', args: {} }], usage: tokens(7) }
            : { text: 'done', usage: tokens(2) }
      },
    }
    const agent = (name: string, tools: readonly string[]) => [
      definePrompt({ name: `${name}_p`, prompt: 'x', model: 'worker', tools }),
      defineAgent({ name, type: 'ai_human', sideA: { prompt: `${name}_p` }, exposeAsTool: true }),
    ]
    const app: readonly Definition[] = [
      speak,
      later,
      pay,
      token,
      ...Object.entries(models).map(([name, script]) =>
        defineModel({ name, model: scriptedModel(script), maxRetries: 0 }),
      ),
      definePrompt({
        name: 'lead_p',
        prompt: 'x',
        model: 'lead',
        tools: [
          { name: 'forked', files: 'fork' },
          { name: 'plain' },
          { name: 'needy' },
          { name: 'keeper', resumable: stays, blocking: false },
        ],
      }),
      defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_p' } }),
      ...agent('forked', ['speak', 'later']),
      ...agent('plain', ['pay']),
      ...agent('needy', ['token']),
      ...agent('keeper', ['speak', 'later']),
    ]
    const options = { snapshotEvery: 1, limits: { maxParallelChildren: 2 } }
    let skein = await world.open(app, options)
    let lead = await skein.threads.create({ agent: 'lead', id: 'lead', budget: { tokens: 10_000, steps: 100 } })
    const reopen = async () => {
      await world.close(skein)
      skein = await world.open(app, options)
      lead = await skein.threads.get('lead')
    }
    await lead.send('go').accepted()
    await lead.settled({ tree: true })
    await reopen()
    await lead.env.set({ OTHER: 'value' })
    const items = await skein.inbox.list({ root: 'lead' })
    expect(items.map(({ why }) => why).sort()).toEqual(['approval', 'variables'])
    await skein.variables.provide('lead', items.find(({ request }) => request)?.request ?? '', { TOKEN: secret })
    await lead.pause({ tree: true })
    await lead.settled({ tree: true })
    await reopen()
    for (const { id, why } of await skein.inbox.list({ root: 'lead' }))
      if (why === 'approval') await skein.inbox.approve(id)
    await lead.resume({ tree: true })
    await lead.settled({ tree: true })
    await lead.send('again').text()
    await until('the keeper', async () =>
      (await skein.threads.list({ root: 'lead' })).threads.some(({ status }) => status === 'thinking'),
    )
    const keeper = (await skein.threads.list({ root: 'lead' })).threads.find(({ agent: name }) => name === 'keeper')
    await (await skein.threads.get(keeper?.thread ?? '')).cancel({ reason: 'enough' })
    gate.resolve()
    await lead.settled({ tree: true })
    const { budget, subtree } = await lead.usage()
    expect(budget?.reserved).toEqual({ tokens: 0, steps: 0 })
    expect((budget?.left.tokens ?? 0) + (subtree?.inputTokens ?? 0)).toBe(10_000)
    const backend = await world.store.source.open('client')
    try {
      expect(await cutBySnapshots(backend, 'lead')).toBeGreaterThan(60)
    } finally {
      await backend.close()
    }
  })
})

/** Where a child of a child may stand when something happens to the tree; another one and another boss are in line. */
const standings = ['thinking', 'waiting for approval', 'waiting for variables', 'running a tool'] as const
const blows = [
  'cancel the lead',
  'terminate the lead',
  'cancel the boss',
  'terminate the boss',
  'cancel the writer',
  'terminate the writer',
  'restart',
] as const

onEveryStore('whatever happens to a tree, wherever its threads stand', (world) => {
  const gates: { open(): void }[] = []
  function app(standing: (typeof standings)[number]): readonly Definition[] {
    const held = deferred()
    gates.push({ open: () => held.resolve() })
    const wait = looseTool('wait', async (state) => {
      await Promise.race([held.promise, new Promise((resolve) => state.signal.addEventListener('abort', resolve))])
      return 'waited'
    })
    const pay = looseTool('pay', () => 'paid', { needsApproval: true })
    const level = looseTool('level', async (state) => state.env('LEVEL'), {
      variables: [{ name: 'LEVEL', type: 'text' }],
    })
    const uses = {
      thinking: '',
      'waiting for approval': 'pay',
      'waiting for variables': 'level',
      'running a tool': 'wait',
    }[standing]
    const writer: Script = async ({ messages }) => {
      if (uses === '') await held.promise
      return uses !== '' && messages.at(-1)?.role === 'user'
        ? { calls: [{ tool: uses, args: {} }], usage: tokens(3) }
        : { text: 'wrote', usage: tokens(3) }
    }
    const chief =
      (tool: string): Script =>
      ({ messages }) =>
        messages.at(-1)?.role === 'user'
          ? { calls: [1, 2].map((n) => ({ tool, args: { message: `do ${n}` } })), usage: tokens(5) }
          : { text: 'done', usage: tokens(5) }
    const agent = (name: string, script: Script, tools: readonly (string | SubagentTool)[]) => [
      defineModel({ name: `${name}_m`, model: scriptedModel(script), maxRetries: 0 }),
      definePrompt({ name: `${name}_p`, prompt: 'x', model: `${name}_m`, tools }),
      defineAgent({ name, type: 'ai_human', sideA: { prompt: `${name}_p` }, exposeAsTool: true }),
    ]
    return [
      wait,
      pay,
      level,
      ...agent('lead', chief('boss'), [{ name: 'boss' }]),
      ...agent('boss', chief('writer'), [{ name: 'writer', files: 'fork' }]),
      ...agent('writer', writer, ['wait', 'pay', 'level']),
    ]
  }

  it.each(standings.flatMap((standing) => blows.map((blow) => [standing, blow] as const)))(
    'F7, L2, S12: %s, %s: it comes to rest, every purse is given back, nothing is counted twice',
    async (standing, blow) => {
      const options = { snapshotEvery: 1, limits: { maxParallelChildren: 1 } }
      const definitions = app(standing)
      let skein = await world.open(definitions, options)
      const lead = await skein.threads.create({
        agent: 'lead',
        id: 'lead',
        budget: { tokens: 10_000, steps: 1_000, toolCalls: 500 },
      })
      await lead.send('go').accepted()
      const heads = async () => (await skein.threads.list({ root: 'lead' })).threads
      const stands = {
        thinking: 'thinking',
        'waiting for approval': 'awaiting_approval',
        'waiting for variables': 'awaiting_variables',
        'running a tool': 'acting',
      }[standing]
      await until('the writer', async () =>
        (await heads()).some(({ agent, status }) => agent === 'writer' && status === stands),
      )
      expect((await heads()).map(({ agent }) => agent).sort()).toEqual(['boss', 'lead', 'writer'])
      if (blow === 'restart') {
        const closed = world.close(skein)
        gates.at(-1)?.open()
        await closed
        skein = await world.open(definitions, options)
      } else {
        const [what = '', , who = ''] = blow.split(' ')
        const id = (await heads()).find(({ agent }) => agent === who)?.thread ?? ''
        const thread = await skein.threads.get(id)
        await (what === 'cancel' ? thread.cancel({ reason: 'enough' }) : thread.terminate({ reason: 'enough' }))
      }
      gates.at(-1)?.open()
      // Whoever comes next is helped on.
      for (let more = true; more;) {
        await (await skein.threads.get('lead')).settled({ tree: true })
        const items = await skein.inbox.list({ root: 'lead' })
        for (const { id, why } of items) if (why === 'approval') await skein.inbox.approve(id)
        if (items.some(({ why }) => why === 'variables'))
          await (await skein.threads.get('lead')).env.set({ LEVEL: 'high' })
        more = items.length > 0
      }
      const after = await heads()
      const { budget, subtree } = await (await skein.threads.get('lead')).usage()
      expect(budget?.reserved).toEqual({ tokens: 0, steps: 0, toolCalls: 0 })
      const own = await Promise.all(
        after.map(async ({ thread }) => (await (await skein.threads.get(thread)).usage()).own.inputTokens),
      )
      expect(subtree?.inputTokens).toBe(own.reduce((sum, each) => sum + each, 0))
      expect((budget?.left.tokens ?? 0) + (subtree?.inputTokens ?? 0)).toBe(10_000)
      for (const { agent, status } of after)
        expect([agent, status]).toEqual([
          agent,
          expect.stringMatching(agent === 'lead' ? /^(idle|terminated)$/ : /^(done|terminated)$/),
        ])
      // Nobody is lost, nobody is there twice: those behind a child that was ended are called, those of a parent that
      // was are not.
      const bosses = blow.endsWith('the lead') ? 1 : 2
      const writers = blow.endsWith('the lead') ? 1 : blow.endsWith('the boss') ? 3 : 4
      expect(after.map(({ agent }) => agent).sort()).toEqual([
        ...Array<string>(bosses).fill('boss'),
        'lead',
        ...Array<string>(writers).fill('writer'),
      ])
      const backend = await world.store.source.open('client')
      await cutBySnapshots(backend, 'lead')
      await backend.close()
    },
  )
})

onEveryStore('children, restarts and what comes late', (world) => {
  it('L2, S6: a child that had to wait for values has a reservation that comes back, whatever its end', async () => {
    for (const end of ['answers', 'fails', 'is terminated', 'never starts'] as const) {
      const gate = deferred()
      const writer: Script = async () => {
        await gate.promise
        if (end === 'fails') throw new Error('no')
        return { text: 'wrote', usage: tokens(7) }
      }
      const { app } = team({
        lead: ({ messages }) =>
          last(messages) === 'go' ? { calls: [write('hello')], usage: tokens(5) } : { text: 'ok', usage: tokens(5) },
        writer,
        tools: [token],
      })
      const skein = await world.open(app)
      const id = `lead-${end.replaceAll(' ', '_')}`
      const lead = await skein.threads.create({ agent: 'lead', id, budget: { tokens: 1_000 } })
      await lead.send('go').text()
      if (end === 'never starts') await lead.terminate()
      else {
        await skein.variables.provide(id, 'env_1_0', { TOKEN: secret })
        await until(
          'it, and its share',
          async () =>
            (await skein.threads.list({ parent: id })).threads.length === 1 &&
            ((await lead.usage()).budget?.reserved.tokens ?? 0) > 0,
        )
        if (end === 'is terminated')
          await (
            await skein.threads.get((await skein.threads.list({ parent: id })).threads[0]?.thread ?? '')
          ).terminate({ reason: 'x' })
      }
      gate.resolve()
      await lead.settled({ tree: true })
      const { budget, subtree } = await lead.usage()
      expect([end, budget?.reserved]).toEqual([end, { tokens: 0 }])
      expect((budget?.left.tokens ?? 0) + (subtree?.inputTokens ?? 0)).toBe(1_000)
      await world.close(skein)
    }
  })

  it('F2: a change flows to children at work, to those that come later, and not through one that scopes it', async () => {
    const gate = deferred()
    const show = looseTool('show', async (state) => `${await state.env('LEVEL')}/${await state.env('MINE')}`, {
      variables: [
        { name: 'LEVEL', type: 'text', default: 'none' },
        { name: 'MINE', type: 'text', default: 'none' },
      ],
    })
    const agent = (name: string, script: Script, tools: readonly (string | SubagentTool)[]) => [
      defineModel({ name: `${name}_m`, model: scriptedModel(script) }),
      definePrompt({ name: `${name}_p`, prompt: 'x', model: `${name}_m`, tools }),
      defineAgent({
        name,
        type: 'ai_human',
        sideA: { prompt: `${name}_p` },
        exposeAsTool: true,
        ...(name === 'boss' && { variables: [{ name: 'MINE', type: 'text' as const, scoped: true, required: false }] }),
      }),
    ]
    const asking =
      (tool: string, more: object = { message: 'x' }): Script =>
      ({ messages }) =>
        messages.at(-1)?.role === 'user'
          ? { calls: [{ tool, args: more as never }, ...(tool === 'boss' ? [{ tool, args: more as never }] : [])] }
          : results(messages).join(' ')
    const app = [
      show,
      ...agent('lead', asking('boss'), [{ name: 'boss' }]),
      ...agent('boss', asking('writer'), [{ name: 'writer' }]),
      ...agent(
        'writer',
        async ({ messages }) => {
          if (messages.at(-1)?.role !== 'user') return last(messages)
          await gate.promise
          return { calls: [{ tool: 'show', args: {} }] }
        },
        ['show'],
      ),
    ]
    let skein = await world.open(app, { snapshotEvery: 1, limits: { maxParallelChildren: 1 } })
    let lead = await skein.threads.create({ agent: 'lead', id: 'lead', env: { LEVEL: 'one', MINE: 'of the lead' } })
    await lead.send('go').accepted()
    await until('the writer', async () =>
      (await skein.threads.list({ root: 'lead' })).threads.some(({ agent: name }) => name === 'writer'),
    )
    await lead.env.set({ LEVEL: 'two', MINE: 'of the lead, later' })
    await quiet(30)
    await world.close(skein)
    gate.resolve()
    skein = await world.open(app, { snapshotEvery: 1, limits: { maxParallelChildren: 1 } })
    lead = await skein.threads.get('lead')
    await lead.settled({ tree: true })
    expect(last(await lead.messages())).toBe('two/none two/none')
  })

  it('S11: a pair that is cancelled in the middle of side B takes the next message at side A, and answers', async () => {
    const gate = deferred()
    let asked = 0
    const { app, models } = pairApp({
      a: ({ messages }) => `a${messages.length}`,
      b: async () => {
        if (asked++ === 0) await gate.promise
        return 'b'
      },
      lead: ({ messages }) =>
        last(messages) === 'go'
          ? calls({ tool: 'subagent_create', args: { agent: 'pair', name: 'P', message: 'hello' } })
          : last(messages) === 'again'
            ? calls({ tool: 'subagent_message', args: { reference: 'pair-1', message: 'more' } })
            : last(messages),
      relation: { resumable: stays },
      maxSessionTurns: 1,
    })
    let skein = await world.open(app, { snapshotEvery: 1 })
    let lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = lead.send('go')
    await until('side b', () => asked === 1)
    await lead.cancel({ reason: 'enough' })
    await run.result()
    await lead.settled({ tree: true })
    await world.close(skein)
    gate.resolve()
    skein = await world.open(app, { snapshotEvery: 1 })
    lead = await skein.threads.get('lead')
    const text = await lead.send('again').text()
    expect(models.a.requests.at(-1)?.messages.at(-1)?.text).toBe('more')
    expect(text).toContain('max_session_turns')
  })

  it('F8, S7: reports to a paused parent are read in the order in which they were sent, once it goes on', async () => {
    const { app } = team({
      lead: ({ messages }) =>
        last(messages) === 'go' ? calls(...['a', 'b', 'c'].map((name) => create(name, name))) : 'ok',
      writer: ({ messages }) => `wrote ${last(messages)}`,
      relation: { resumable: stays, blocking: false },
    })
    let skein = await world.open(app, { snapshotEvery: 1, limits: { maxParallelChildren: 1 } })
    let lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = lead.send('go')
    await run.accepted()
    await lead.pause()
    await lead.settled({ tree: true })
    await world.close(skein)
    skein = await world.open(app, { snapshotEvery: 1, limits: { maxParallelChildren: 1 } })
    lead = await skein.threads.get('lead')
    await lead.resume()
    await lead.settled({ tree: true })
    expect((await lead.messages({ silent: 'show' })).filter(({ silent }) => silent).map(({ text }) => text)).toEqual([
      '[writer-1] wrote a',
      '[writer-2] wrote b',
      '[writer-3] wrote c',
    ])
  })
})

onEveryStore('many children', (world) => {
  it('S12: many children, one in ten of them failing', async () => {
    // On a server of its own they take as long as all other tests together; `npm run chaos` has a thousand there.
    const n = world.store.shared ? 200 : times(500, 2_000)
    const { app } = team({
      lead: ({ messages }) =>
        last(messages) === 'go'
          ? calls(...Array.from({ length: n }, (_, k) => write(String(k))))
          : results(messages)
              .map((text) => (text.startsWith('Error CHILD_FAILED') ? 'x' : text))
              .join(),
      writer: ({ messages }) => {
        if (Number(last(messages)) % 10 === 3) throw new Error('no')
        return last(messages)
      },
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead', budget: { tokens: 1_000_000 } })
    const text = await lead.send('go').text()
    expect(text).toBe(Array.from({ length: n }, (_, k) => (k % 10 === 3 ? 'x' : String(k))).join())
    await lead.settled({ tree: true })
    expect((await lead.usage()).budget?.reserved).toEqual({ tokens: 0 })
  }, 60_000)
})

describe('a tree that is cut off after each of its commits', () => {
  it('S4, S9, S10, S13, P1: children that begin by themselves, a pair, a prompt within a prompt and a handoff: all of it once', async () => {
    const { cuts, text, threads } = await cutAfterEveryCommit(() => {
      const models: Readonly<Record<string, Script>> = {
        lead: ({ messages }) =>
          last(messages) === 'go' || results(messages).length === 1
            ? calls({ tool: 'outer', args: { message: 'o' } }, { tool: 'pair', args: { message: 'p' } }, 'expert')
            : 'never',
        expert: ({ messages }) => `end: ${results(messages).join(' | ')}`,
        writer: ({ messages }) => `wrote ${last(messages)}`,
        outer: () => ({ text: 'outer', calls: [{ tool: 'inner', args: { message: 'i' } }] }),
        inner: () => 'inner',
        a: () => 'a',
        b: () => calls('accept'),
      }
      const agent = (name: string) =>
        defineAgent({ name, type: 'ai_human', sideA: { prompt: `${name}_p` }, exposeAsTool: true })
      return [
        looseTool('accept', () => 'accepted'),
        ...Object.entries(models).map(([name, script]) => defineModel({ name, model: scriptedModel(script) })),
        definePrompt({
          name: 'lead_p',
          prompt: 'x',
          model: 'lead',
          tools: [
            { name: 'writer', immediate: true },
            { name: 'outer', includeToolCalls: true },
            { name: 'pair' },
            'expert',
          ],
        }),
        definePrompt({
          name: 'outer',
          prompt: 'x',
          model: 'outer',
          exposeAsTool: true,
          toolDescription: 'x',
          tools: [{ name: 'inner' }],
        }),
        definePrompt({ name: 'inner', prompt: 'x', model: 'inner', exposeAsTool: true, toolDescription: 'x' }),
        ...['expert', 'writer'].map((name) => definePrompt({ name: `${name}_p`, prompt: 'x', model: name })),
        ...['a', 'b'].map((name) =>
          definePrompt({ name, prompt: 'x', model: name, tools: name === 'b' ? ['accept'] : [] }),
        ),
        ...['lead', 'expert', 'writer'].map(agent),
        defineAgent({
          name: 'pair',
          type: 'dual_ai',
          sideA: { prompt: 'a' },
          sideB: { prompt: 'b', sessionStop: 'accept' },
          exposeAsTool: true,
        }),
      ]
    })
    expect(text).toBe(
      'end: wrote go | {"text":"outer","toolCalls":[{"tool":"inner","args":{"message":"i"},"result":"inner"}]} | ' +
        'accepted | Handoff complete',
    )
    expect(threads.map(({ agent, status }) => `${agent} ${status}`).sort()).toEqual([
      'expert idle',
      'pair done',
      'prompt:inner done',
      'prompt:outer done',
      'writer done',
    ])
    expect(cuts).toBeGreaterThan(10)
  })
})
