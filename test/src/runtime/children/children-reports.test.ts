/**
 * Turns of a child that its parent did not begin: each is told, with what began it; and a child that does not stay
 * waits for its own.
 */
import { expect, it } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Definition, SubagentTool, ToolDefinition } from '../../../../src/agent/define.js'
import type { Message } from '../../../../src/core/records/message.js'
import type { RequestedCall } from '../../../../src/models/port.js'
import type { Thread } from '../../../../src/runtime/handles/thread.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Script, ScriptedReply } from '../../../../src/models/scripted.js'
import { calls, looseTool } from '../../../helpers/app.js'
import { results } from '../../../helpers/asking.js'
import { last } from '../../../helpers/family.js'
import { deferred, until } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'

const stays = { receives_messages: 'side_a' } as const
const make = (message: string): RequestedCall => ({
  tool: 'subagent_create',
  args: { agent: 'boss', name: 'B', message },
})
const help = (message: string): RequestedCall => ({ tool: 'helper', args: { message } })

interface Cast {
  readonly lead: Script
  readonly boss: Script
  readonly helper?: Script
  readonly ofBoss?: Omit<SubagentTool, 'name'>
  readonly ofHelper?: Omit<SubagentTool, 'name'>
  readonly tools?: readonly ToolDefinition[]
}

/** A lead, a boss below it, and a helper below the boss. */
function cast({
  lead,
  boss,
  helper = () => 'helped',
  ofBoss = { resumable: stays },
  ofHelper = { blocking: false },
  tools = [],
}: Cast): readonly Definition[] {
  return [
    ...tools,
    ...Object.entries({ lead, boss, helper }).map(([name, script]) =>
      defineModel({ name: `${name}_m`, model: scriptedModel(script), maxRetries: 0 }),
    ),
    definePrompt({ name: 'lead_p', prompt: 'x', model: 'lead_m', tools: [{ name: 'boss', ...ofBoss }] }),
    definePrompt({
      name: 'boss_p',
      prompt: 'x',
      model: 'boss_m',
      tools: [...tools.map(({ name }) => name), { name: 'helper', ...ofHelper }],
    }),
    definePrompt({ name: 'helper_p', prompt: 'x', model: 'helper_m' }),
    defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_p' } }),
    ...['boss', 'helper'].map((name) =>
      defineAgent({ name, type: 'ai_human', sideA: { prompt: `${name}_p` }, exposeAsTool: true }),
    ),
  ]
}

const silent = async (thread: Thread): Promise<string[]> =>
  (await thread.messages({ silent: 'show' })).flatMap((message: Message) => (message.silent ? [message.text] : []))
const onGo =
  (asked: RequestedCall): Script =>
  ({ messages }) =>
    last(messages) === 'go' ? calls(asked) : 'ok'

onEveryStore('turns that the parent did not begin', (world) => {
  it('S7: every turn of a child that stays is told to its parent, with what began it: a message, a report, a schedule, a call', async () => {
    const later = looseTool(
      'later',
      ({ schedule }) => {
        schedule('note', {}, { delayMs: 1_000 })
        return 'scheduled'
      },
      { uses: ['note'] },
    )
    const note = looseTool('note', () => 'noted')
    const boss: Script = ({ messages }) => {
      if (last(messages) === 'begin') return calls(help('look'), 'later')
      return messages.at(-1)?.role === 'tool' && results(messages).at(-1) === 'scheduled'
        ? 'begun'
        : `after ${last(messages)}`
    }
    const gate = deferred()
    const helper: Script = async () => {
      await gate.promise
      return 'helped'
    }
    const skein = await world.open(cast({ lead: onGo(make('begin')), boss, helper, tools: [later, note] }))
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await lead.send('go').text()
    gate.resolve()
    await lead.settled({ tree: true })
    const child = await skein.threads.get((await lead.children())[0]?.thread ?? '')
    await child.send('mine').text()
    await lead.settled({ tree: true })
    world.clock.advance(1_000)
    await until('the scheduled turn', async () => (await silent(lead)).length === 3)
    await child.callTool('note', {})
    await until('the turn of the call', async () => (await silent(lead)).length === 4)
    await lead.settled({ tree: true })
    expect(results(await lead.messages())).toEqual(['begun\n\n[reference: boss-1]'])
    expect(await silent(lead)).toEqual([
      '[boss-1] (begun by a report of helper-1) after [helper-1] helped',
      '[boss-1] (begun by a message) after mine',
      '[boss-1] (begun by a schedule) after noted',
      '[boss-1] (begun by a call) after noted',
    ])
    expect(await lead.children()).toMatchObject([{ reference: 'boss-1', status: 'waiting for a message' }])
  })

  it('S7: a turn that fails is told too', async () => {
    const failing: Script = ({ messages }) => (last(messages) === 'mine' ? { error: 'broken' } : 'fine')
    const skein = await world.open(cast({ lead: onGo(make('begin')), boss: failing }))
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await lead.send('go').text()
    const child = await skein.threads.get((await lead.children())[0]?.thread ?? '')
    await child.send('mine').result()
    await lead.settled({ tree: true })
    expect(await silent(lead)).toEqual([
      expect.stringMatching(
        /^\[boss-1\] \(begun by a message\) Error CHILD_FAILED: it did not finish: failed .*broken/,
      ),
    ])
  })

  it('S7: a child with explicit communication tells nothing of such turns', async () => {
    const skein = await world.open(
      cast({
        lead: onGo(make('begin')),
        boss: () => 'fine',
        ofBoss: { resumable: { ...stays, parentCommunication: 'explicit' } },
      }),
    )
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await lead.send('go').text()
    const child = await skein.threads.get((await lead.children())[0]?.thread ?? '')
    await child.send('mine').text()
    await lead.settled({ tree: true })
    expect(await silent(lead)).toEqual([])
  })

  it('S7: one turn below is one turn in each thread above it, and no more', async () => {
    const top = cast({
      lead: onGo(make('begin')),
      boss: ({ messages }) =>
        last(messages) === 'begin'
          ? calls({ tool: 'subagent_create', args: { agent: 'helper', name: 'H', message: 'begin' } })
          : 'passed on',
      ofHelper: { resumable: stays },
    })
    const skein = await world.open(top)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await lead.send('go').text()
    await lead.settled({ tree: true })
    const [helper] = (await skein.threads.list({ root: 'lead' })).threads.filter(({ agent }) => agent === 'helper')
    const before = await turnsOf(lead)
    await (await skein.threads.get(helper?.thread ?? '')).send('mine').text()
    await lead.settled({ tree: true })
    expect((await turnsOf(lead)) - before).toBe(1)
    expect(await silent(lead)).toEqual(['[boss-1] (begun by a report of helper-1) passed on'])
  })
})

onEveryStore('a child that does not stay', (world) => {
  it('S1: it answers when the children that it does not wait for are done; what it says last is the answer', async () => {
    const gate = deferred()
    const asked: string[] = []
    const boss: Script = ({ messages }) => {
      asked.push(last(messages))
      if (last(messages) === 'begin') return calls(help('look'), help('see'))
      return results(messages).length > 0 && messages.at(-1)?.role === 'tool'
        ? 'started two'
        : `all in: ${messages.filter(({ silent: hidden }) => hidden).length}`
    }
    const helper: Script = async ({ messages }) => {
      await gate.promise
      return `helped with ${last(messages)}`
    }
    const skein = await world.open(
      cast({
        lead: ({ messages }) =>
          last(messages) === 'go' ? calls({ tool: 'boss', args: { message: 'begin' } }) : results(messages).join(),
        boss,
        helper,
        ofBoss: {},
      }),
    )
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = lead.send('go')
    await until(
      'the boss to have ended its first turn',
      async () => asked.length === 2 && (await skein.threads.list({ parent: 'lead' })).threads[0]?.status === 'waiting',
    )
    expect(await lead.status()).toBe('waiting')
    gate.resolve()
    expect(await run.text()).toBe('all in: 2')
    await lead.settled({ tree: true })
    const { threads } = await skein.threads.list({ root: 'lead' })
    expect(threads.map(({ agent, status }) => `${agent} ${status}`).toSorted()).toEqual([
      'boss done',
      'helper done',
      'helper done',
      'lead idle',
    ])
  })

  it('S1: one that fails ends at once, and its failure says what ended with it', async () => {
    const hang: Script = () => new Promise(() => undefined)
    const boss: Script = ({ messages }) => (last(messages) === 'begin' ? calls(help('look')) : { error: 'broken' })
    const skein = await world.open(
      cast({
        lead: ({ messages }) => (last(messages) === 'go' ? calls({ tool: 'boss', args: { message: 'begin' } }) : 'ok'),
        boss,
        helper: hang,
        ofBoss: {},
      }),
    )
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await lead.send('go').text()
    expect(results(await lead.messages())).toEqual([
      expect.stringMatching(/^Error CHILD_FAILED: .*broken.*\n\n\[ended with it: helper-1\]$/s),
    ])
    await until(
      'the helper to be gone',
      async () => (await skein.threads.list({ root: 'lead', status: 'terminated' })).threads.length === 1,
    )
  })

  it('S6, A4: it stays until what people were asked for its children is given, and the inbox keeps the question', async () => {
    const app = courierApp()
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = lead.send('go')
    await until('the question', async () => (await skein.inbox.list({ root: 'lead' })).length === 1)
    await lead.settled({ tree: true })
    expect(await lead.status()).toBe('waiting')
    const [item] = await skein.inbox.list({ root: 'lead' })
    await skein.variables.provide(item?.thread ?? '', item?.request ?? '', { TOKEN: 'a-long-secret' })
    expect(await run.text()).toBe('boss: [helper-1] helped')
    expect(await skein.inbox.list({ root: 'lead' })).toEqual([])
  })

  it('S6, A4, F7: where it is terminated meanwhile, its answer says so, and what ended with it', async () => {
    const skein = await world.open(courierApp())
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = lead.send('go')
    await until('the question', async () => (await skein.inbox.list({ root: 'lead' })).length === 1)
    await lead.settled({ tree: true })
    const [boss] = (await skein.threads.list({ parent: 'lead' })).threads
    await (await skein.threads.get(boss?.thread ?? '')).terminate({ reason: 'not needed' })
    expect(await run.text()).toBe(
      'asked\n\n[it was terminated (not needed)]\n\n[ended with it: helper-1, which waited for TOKEN]',
    )
    expect(await skein.inbox.list({ root: 'lead' })).toEqual([])
  })

  it('S6, A4: where it fails, the question ends with it, and the parent reads which', async () => {
    const skein = await world.open(courierApp({ error: 'broken' }))
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    expect(await lead.send('go').text()).toMatch(
      /^Error CHILD_FAILED: .*broken.*\n\n\[ended with it: helper-1, which waited for TOKEN\]$/s,
    )
    await lead.settled({ tree: true })
    expect(await skein.inbox.list({ root: 'lead' })).toEqual([])
  })
})

/** The helper of a boss that does not stay needs a value that only people have. */
function courierApp(said: ScriptedReply = 'asked'): readonly Definition[] {
  const lead: Script = ({ messages }) =>
    last(messages) === 'go' ? calls({ tool: 'boss', args: { message: 'begin' } }) : results(messages).join()
  const boss: Script = ({ messages }) => {
    if (last(messages) === 'begin') return calls(help('look'))
    return messages.at(-1)?.role === 'tool' ? said : `boss: ${last(messages)}`
  }
  const definitions = cast({ lead, boss, ofBoss: {}, ofHelper: {} }).filter(({ name }) => name !== 'helper')
  return [
    ...definitions,
    defineAgent({
      name: 'helper',
      type: 'ai_human',
      sideA: { prompt: 'helper_p' },
      exposeAsTool: true,
      variables: [{ name: 'TOKEN', scoped: true }],
    }),
  ]
}

async function turnsOf(thread: Thread): Promise<number> {
  let count = 0
  for await (const { type } of thread.events({ until: 'now' })) if (type === 'turn.started') count++
  return count
}
