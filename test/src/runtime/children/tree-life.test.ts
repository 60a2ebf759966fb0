/** A tree as one: paused, resumed, waited for, terminated with its reasons. */
import { expect, it } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Definition, ToolDefinition } from '../../../../src/agent/define.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Script } from '../../../../src/models/scripted.js'
import type { Skein } from '../../../../src/runtime/skein.js'
import { calls, looseTool } from '../../../helpers/app.js'
import { results } from '../../../helpers/asking.js'
import { deferred, quiet, until } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'

const ask = (tool: string, message: string) => ({ tool, args: { message } })

/** lead → boss → writer, and a keeper that stays. */
function family(
  scripts: { lead: Script; boss?: Script; writer?: Script; keeper?: Script },
  tools: readonly ToolDefinition[] = [],
): readonly Definition[] {
  const agent = (
    name: string,
    script: Script | undefined,
    more: readonly (string | object)[],
  ): readonly Definition[] => [
    defineModel({ name: `${name}_m`, model: scriptedModel(script ?? (() => `${name} done`)) }),
    definePrompt({
      name: `${name}_p`,
      prompt: 'x',
      model: `${name}_m`,
      tools: [...tools.map((tool) => tool.name), ...more] as never,
    }),
    defineAgent({
      name,
      type: 'ai_human',
      sideA: { prompt: `${name}_p` },
      ...(name !== 'lead' && { exposeAsTool: true }),
    }),
  ]
  return [
    ...tools,
    ...agent('lead', scripts.lead, [
      { name: 'boss' },
      { name: 'writer', blocking: false },
      { name: 'keeper', resumable: { receives_messages: 'side_a' } },
    ]),
    ...agent('boss', scripts.boss, [{ name: 'writer' }]),
    ...agent('writer', scripts.writer, []),
    ...agent('keeper', scripts.keeper, []),
  ]
}

const heads = async (skein: Skein) => (await skein.threads.list({ root: 'lead' })).threads

onEveryStore('a tree that is paused', (world) => {
  it('F8, LF1: starts nothing anywhere, also in children that are called meanwhile; resume lets all of it go on', async () => {
    const gates = [deferred(), deferred()]
    let asked = 0
    const writer: Script = async () => {
      await gates[asked++]?.promise
      return 'written'
    }
    const boss: Script = ({ step }) =>
      step === 0 ? calls(ask('writer', 'one'), ask('writer', 'two'), ask('writer', 'three')) : 'all written'
    const app = family({
      lead: ({ step, messages }) => (step === 0 ? calls(ask('boss', 'go')) : `end: ${results(messages).join()}`),
      boss,
      writer,
    })
    const skein = await world.open(app, { limits: { maxParallelChildren: 2 } })
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = lead.send('go')
    await until('two writers', () => asked === 2)
    expect(await lead.pause({ tree: true, reason: 'lunch' })).toBe(true)
    await lead.settled({ tree: true })
    for (const gate of gates) gate.resolve()
    // What was running lands; the third writer is not called, no boss reads anything.
    await quiet(100)
    const standing = await heads(skein)
    expect(standing.map(({ agent }) => agent).sort()).toEqual(['boss', 'lead', 'writer', 'writer'])
    expect(standing.map(({ agent, status, reason }) => [agent, status, reason])).toEqual([
      ['lead', 'paused', 'lunch'],
      ['boss', 'paused', 'lunch'],
      ['writer', 'done', undefined],
      ['writer', 'done', undefined],
    ])
    expect(asked).toBe(2)
    expect(await lead.resume({ tree: true })).toBe(true)
    expect(await run.text()).toBe('end: all written')
    expect(asked).toBe(3)
    await lead.settled({ tree: true })
    expect((await heads(skein)).map(({ agent, status, reason }) => [agent, status, reason])).toEqual([
      ['lead', 'idle', undefined],
      ['boss', 'done', undefined],
      ...Array.from({ length: 3 }, () => ['writer', 'done', undefined]),
    ])
  })

  it('F8, P1: it stays paused over a restart, and a resume of the root reaches all below', async () => {
    const boss: Script = ({ step }) => (step === 0 ? calls(ask('writer', 'one')) : 'boss done')
    const hold = deferred()
    const make = () =>
      family({
        lead: ({ step }) => (step === 0 ? calls(ask('boss', 'go')) : 'end'),
        boss,
        writer: async () => (await hold.promise, 'written'),
      })
    let skein = await world.open(make())
    let lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = lead.send('go')
    await until('the writer', async () => (await heads(skein)).length === 3)
    await lead.pause({ tree: true })
    await lead.settled({ tree: true })
    await world.close(skein)
    hold.resolve()
    skein = await world.open(make())
    await quiet(50)
    expect((await heads(skein)).map(({ status }) => status)).toEqual(['paused', 'paused', 'paused'])
    lead = await skein.threads.get('lead')
    // A child that was let go alone does not let its own go.
    const [, boss1] = await heads(skein)
    await (await skein.threads.get(boss1?.thread ?? '')).resume()
    await quiet(50)
    expect((await heads(skein)).map(({ status }) => status)).toEqual(['paused', 'waiting', 'paused'])
    await lead.resume({ tree: true })
    expect(await lead.run(run.id).text()).toBe('end')
  })

  it('F8: resuming a tree tries no failed turn of a child again, and a child that is over hears nothing', async () => {
    let tries = 0
    const keeper: Script = () => {
      tries++
      throw new Error('no luck')
    }
    const lead: Script = ({ step }) =>
      step === 0
        ? calls({ tool: 'subagent_create', args: { agent: 'keeper', name: 'K', message: 'go' } }, ask('boss', 'go'))
        : 'end'
    const skein = await world.open(family({ lead, keeper }))
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await thread.send('go').text()
    await thread.settled({ tree: true })
    const before = tries
    await thread.pause({ tree: true })
    await thread.settled({ tree: true })
    expect((await heads(skein)).map(({ agent, status }) => `${agent} ${status}`).sort()).toEqual([
      'boss done',
      'keeper paused',
      'lead paused',
    ])
    await thread.resume({ tree: true })
    await thread.settled({ tree: true })
    expect((await heads(skein)).map(({ agent, status }) => `${agent} ${status}`).sort()).toEqual([
      'boss done',
      'keeper failed',
      'lead idle',
    ])
    expect([tries, world.warnings]).toEqual([before, []])
    // Of the thread itself, a failed turn is tried again.
    const failed = await skein.threads.get((await heads(skein)).find(({ agent }) => agent === 'keeper')?.thread ?? '')
    await failed.resume({ tree: true })
    await failed.settled({ tree: true })
    expect(tries).toBeGreaterThan(before)
  })
})

onEveryStore('a tree that settles', (world) => {
  it('F8: settled({ tree }) waits for all below, however late it starts, and not for people', async () => {
    const gate = deferred()
    const asks = looseTool('sign', () => 'signed', { needsApproval: true })
    const boss: Script = async ({ step }) => (step === 0 ? calls(ask('writer', 'one')) : 'boss done')
    const writer: Script = async ({ step, messages }) => {
      if (step === 0 && messages.at(-1)?.text === 'aside') await gate.promise
      return step === 0 && messages.at(-1)?.text === 'one' ? calls('sign') : 'written'
    }
    const lead: Script = ({ step }) => (step === 0 ? calls(ask('writer', 'aside'), ask('boss', 'go')) : 'end')
    const skein = await world.open(family({ lead, boss, writer }, [asks]))
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await thread.send('go').accepted()
    let settled = false
    const settling = thread.settled({ tree: true }).then((head) => ((settled = true), head))
    await until('the approval', async () => (await skein.inbox.list()).length === 1)
    await quiet(50)
    expect(settled).toBe(false)
    gate.resolve()
    expect((await settling).status).toBe('waiting')
    // Two levels down a person is asked: the tree rests.
    const [item] = await skein.inbox.list()
    await skein.inbox.approve(item?.id ?? '')
    await thread.settled({ tree: true })
    expect((await heads(skein)).every(({ status }) => status === 'idle' || status === 'done')).toBe(true)
  })

  it('F8: a hundred trees of many short children are never taken for settled before they are', async () => {
    const boss: Script = ({ step }) =>
      step < 3 ? calls(ask('writer', `${step}`), ask('writer', `${step}b`)) : 'boss done'
    const lead: Script = ({ step }) => (step < 2 ? calls(ask('boss', `${step}`), ask('writer', 'aside')) : 'end')
    const skein = await world.open(family({ lead, boss }))
    for (let round = 0; round < 20; round++) {
      const thread = await skein.threads.create({ agent: 'lead', id: `lead${round}` })
      await thread.send('go').accepted()
      await thread.settled({ tree: true })
      const { threads } = await skein.threads.list({ root: thread.id })
      expect(threads.map(({ status }) => status).filter((status) => status !== 'done')).toEqual(['idle'])
      expect(threads).toHaveLength(1 + 2 * (1 + 6) + 2)
    }
  })
})

onEveryStore('reasons', (world) => {
  it('F7: why a thread was paused, cancelled or terminated is in its head, its events and what its parent reads', async () => {
    const began = deferred()
    const slow = looseTool('slow', () => (began.resolve(), deferred().promise))
    const boss: Script = () => calls('slow')
    const lead: Script = ({ step }) => (step === 0 ? calls(ask('boss', 'go')) : 'end')
    const skein = await world.open(family({ lead, boss }, [slow]))
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = thread.send('go')
    await began.promise
    await until('the child', async () => (await heads(skein)).some(({ status }) => status === 'acting'))
    const [, child] = await heads(skein)
    const below = await skein.threads.get(child?.thread ?? '')
    await below.pause({ reason: 'a look' })
    expect(await below.info()).toMatchObject({ status: 'paused', reason: 'a look' })
    await below.resume()
    expect(await below.info()).not.toHaveProperty('reason')
    await below.terminate({ reason: 'too slow' })
    await run.text()
    expect(results(await thread.messages())[0]).toContain('terminated (too slow)')
    await thread.terminate({ reason: 'closing down' })
    await thread.settled({ tree: true })
    expect((await heads(skein)).map(({ status, reason }) => [status, reason])).toEqual([
      ['terminated', 'closing down'],
      ['terminated', 'too slow'],
    ])
    const events = []
    for await (const event of skein.events({ root: 'lead', until: 'now' }))
      if (event.type === 'thread.terminated') events.push(event.reason)
    expect(events).toEqual(['too slow', 'closing down'])
    await expect(thread.callTool('slow')).rejects.toMatchObject({ code: 'COMMAND_REFUSED' })
    await expect(thread.files.writeFile('/x', 'y')).rejects.toMatchObject({ code: 'COMMAND_REFUSED' })
  })

  it('F7: a child that waits for nothing and is terminated is known to its parent as over; one of a terminated parent says why', async () => {
    const script: Script = ({ step, messages }) =>
      messages.at(-1)?.text === 'look'
        ? calls('subagent_list')
        : step === 0
          ? calls({ tool: 'subagent_create', args: { agent: 'keeper', name: 'K', message: 'go' } })
          : 'end'
    const skein = await world.open(family({ lead: script }))
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await thread.send('go').text()
    await thread.settled({ tree: true })
    const keeper = (await heads(skein)).find(({ agent }) => agent === 'keeper')?.thread ?? ''
    await (await skein.threads.get(keeper)).terminate({ reason: 'not needed' })
    await thread.settled({ tree: true })
    // It is told quietly: no turn begins.
    expect((await thread.info()).status).toBe('idle')
    await thread.send('look').result()
    expect(results(await thread.messages()).at(-1)).toContain('not needed')
    expect(results(await thread.messages()).at(-1)).toContain('done')
    expect(world.warnings).toEqual([])
  })

  it('F7: the children of a terminated thread are told why', async () => {
    const lead: Script = ({ step }) =>
      step === 0 ? calls({ tool: 'subagent_create', args: { agent: 'keeper', name: 'K', message: 'go' } }) : 'end'
    const skein = await world.open(family({ lead }))
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await thread.send('go').text()
    await thread.terminate({ reason: 'house closed' })
    await thread.settled({ tree: true })
    expect((await heads(skein)).map(({ status, reason }) => [status, reason])).toEqual([
      ['terminated', 'house closed'],
      ['terminated', 'its parent is terminated: house closed'],
    ])
    expect(world.warnings).toEqual([])
  })
})
