/**
 * Children, restarts, and what comes late: reservations, changed variables, a cancelled pair, reports to a paused
 * parent.
 */
import { expect, it } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { SubagentTool } from '../../../../src/agent/define.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Script } from '../../../../src/models/scripted.js'
import { calls, looseTool } from '../../../helpers/app.js'
import { results } from '../../../helpers/asking.js'
import { deferred, quiet, until } from '../../../helpers/deferred.js'
import { pairApp } from '../../../helpers/dual.js'
import { create, last, secret, stays, team, token, tokens, write } from '../../../helpers/team.js'
import { onEveryStore } from '../../../helpers/world.js'

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
      lead: ({ messages }) => {
        if (last(messages) === 'go')
          return calls({ tool: 'subagent_create', args: { agent: 'pair', name: 'P', message: 'hello' } })
        return last(messages) === 'again'
          ? calls({ tool: 'subagent_message', args: { reference: 'pair-1', message: 'more' } })
          : last(messages)
      },
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
