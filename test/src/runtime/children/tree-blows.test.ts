/**
 * Trees that are cached at every record, cancelled, terminated and restarted wherever their threads stand: they come to
 * rest, every reservation comes back, and any snapshot gives the same state.
 */
import { expect, it } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Definition, SubagentTool } from '../../../../src/agent/define.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Script } from '../../../../src/models/scripted.js'
import type { Skein } from '../../../../src/runtime/skein.js'
import { looseTool } from '../../../helpers/app.js'
import { deferred, until } from '../../../helpers/deferred.js'
import { cutBySnapshots, last, secret, stays, token, tokens } from '../../../helpers/team.js'
import { onEveryStore } from '../../../helpers/world.js'

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
        if (said === 'speak') return { calls: [{ tool: 'speak', args: {} }], usage: tokens(7) }
        return said === 'pay'
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

  async function strike(skein: Skein, blow: (typeof blows)[number], reopen: () => Promise<Skein>): Promise<Skein> {
    if (blow === 'restart') {
      const closed = world.close(skein)
      gates.at(-1)?.open()
      await closed
      return reopen()
    }
    const [what = '', , who = ''] = blow.split(' ')
    const { threads } = await skein.threads.list({ root: 'lead' })
    const thread = await skein.threads.get(threads.find(({ agent }) => agent === who)?.thread ?? '')
    await (what === 'cancel' ? thread.cancel({ reason: 'enough' }) : thread.terminate({ reason: 'enough' }))
    return skein
  }

  /** Whoever comes next is helped on, until nobody waits for anything. */
  async function helpOn(skein: Skein): Promise<void> {
    for (let more = true; more;) {
      const lead = await skein.threads.get('lead')
      await lead.settled({ tree: true })
      const items = await skein.inbox.list({ root: 'lead' })
      for (const { id, why } of items) if (why === 'approval') await skein.inbox.approve(id)
      if (items.some(({ why }) => why === 'variables')) await lead.env.set({ LEVEL: 'high' })
      more = items.length > 0
    }
  }

  async function checkAccounts(skein: Skein, heads: readonly { readonly thread: string }[]): Promise<void> {
    const { budget, subtree } = await (await skein.threads.get('lead')).usage()
    expect(budget?.reserved).toEqual({ tokens: 0, steps: 0, toolCalls: 0 })
    const own = await Promise.all(
      heads.map(async ({ thread }) => (await (await skein.threads.get(thread)).usage()).own.inputTokens),
    )
    expect(subtree?.inputTokens).toBe(own.reduce((sum, each) => sum + each, 0))
    expect((budget?.left.tokens ?? 0) + (subtree?.inputTokens ?? 0)).toBe(10_000)
  }

  function leftAfter(blow: (typeof blows)[number]): { readonly bosses: number; readonly writers: number } {
    if (blow.endsWith('the lead')) return { bosses: 1, writers: 1 }
    return { bosses: 2, writers: blow.endsWith('the boss') ? 3 : 4 }
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
      skein = await strike(skein, blow, () => world.open(definitions, options))
      gates.at(-1)?.open()
      await helpOn(skein)
      const after = await heads()
      await checkAccounts(skein, after)
      for (const { agent, status } of after)
        expect([agent, status]).toEqual([
          agent,
          expect.stringMatching(agent === 'lead' ? /^(idle|terminated)$/ : /^(done|terminated)$/),
        ])
      // Nobody is lost, nobody is there twice: those behind a child that was ended are called, those of a parent that
      // was are not.
      const { bosses, writers } = leftAfter(blow)
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
