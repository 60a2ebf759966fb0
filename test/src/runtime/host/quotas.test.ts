/** What the trees of one tenant may be and do at once. */
import { expect, it } from 'vitest'
import { connectSkein } from '../../../../src/runtime/handles/client.js'
import type { QuotaRules } from '../../../../src/runtime/host/quotas.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { deferred, until } from '../../../helpers/deferred.js'
import { createFamilyApp } from '../../../helpers/tree.js'
import { onEveryStore } from '../../../helpers/world.js'

const quotas = { 'tenant:*': { maxLiveTrees: 3, maxRunningTurns: 1 }, 'tenant:big': { maxLiveTrees: 5 } }

onEveryStore(
  'quotas',
  (world) => {
    it('F8: so many trees of a tag may live; whoever ends or deletes one makes room, also after a restart', async () => {
      const { app } = tinyApp({ script: () => 'hello' })
      let skein = await world.open(app, { quotas })
      const create = (tag: string, id: string) => skein.threads.create({ agent: 'helper', id, tags: [tag, 'all'] })
      const outcomes = await Promise.allSettled(['a1', 'a2', 'a3', 'a4', 'a5'].map((id) => create('tenant:a', id)))
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
      const refused = {
        code: 'QUOTA_REACHED',
        retry: true,
        message: expect.stringContaining('tenant:a has 3 trees, and 3 may live at once'),
        data: { tag: 'tenant:a' },
      }
      await expect(create('tenant:a', 'more')).rejects.toMatchObject(refused)
      await expect(skein.threads.get('more')).rejects.toMatchObject({ code: 'UNKNOWN_THREAD' })
      // One that is there is no new one; others have their own count.
      expect((await create('tenant:a', 'a1')).id).toBe('a1')
      for (const id of ['b1', 'b2', 'b3']) await create('tenant:b', id)
      for (const id of ['g1', 'g2', 'g3', 'g4', 'g5']) await create('tenant:big', id)
      await expect(create('tenant:big', 'g6')).rejects.toMatchObject({ code: 'QUOTA_REACHED' })
      for (const id of ['f1', 'f2', 'f3', 'f4']) await create('free', id)
      await (await skein.threads.get('a1')).terminate()
      await create('tenant:a', 'a6')
      await skein.threads.delete('a6')
      await create('tenant:a', 'a7')
      await world.close(skein)
      skein = await world.open(app, { quotas })
      await expect(create('tenant:a', 'a8')).rejects.toMatchObject(refused)
      await skein.threads.delete('a7')
      await create('tenant:a', 'a8')
      const client = await connectSkein({ backend: world.store.source, clock: world.clock })
      await expect(client.threads.create({ agent: 'helper', tags: ['tenant:a'] })).rejects.toMatchObject(refused)
      await client.close()
    })

    it('F8: so many may work at once; what was refused changes nothing, and what is under way goes on', async () => {
      const gate = deferred()
      const began = deferred()
      const slow = looseTool('slow', () => {
        began.resolve()
        return gate.promise
      })
      const { app } = tinyApp({
        script: ({ messages }) => (messages.at(-1)?.text === 'slow' ? calls('slow') : 'done'),
        tools: [slow],
      })
      const skein = await world.open(app, { quotas })
      const one = await skein.threads.create({ agent: 'helper', tags: ['tenant:a'] })
      const two = await skein.threads.create({ agent: 'helper', tags: ['tenant:a'] })
      const other = await skein.threads.create({ agent: 'helper', tags: ['tenant:b'] })
      const run = one.send('slow')
      await began.promise
      const refused = { code: 'QUOTA_REACHED', message: expect.stringContaining('1 trees at work') }
      await expect(two.send('go').text()).rejects.toMatchObject(refused)
      await expect(two.callTool('slow')).rejects.toMatchObject(refused)
      await two.inject('kept')
      expect((await two.messages()).map(({ text }) => text)).toEqual(['kept'])
      expect(await other.send('go').text()).toBe('done')
      // The one that is at work may be spoken to.
      const steer = one.send('and more')
      await steer.accepted()
      gate.resolve()
      expect(await run.text()).toBe('done')
      expect(await two.send('go').text()).toBe('done')
      // A scheduled call is never refused.
      await two.schedule('slow', {}, { delayMs: 1_000 })
      world.clock.advance(1_000)
      await until('its turn', async () => (await two.messages()).some(({ tool }) => tool === 'slow'))
    })

    it('F8: a turn that goes on with a grant, or by resume, is one more at work; what is refused grants nothing', async () => {
      const gate = deferred()
      const began = deferred()
      const slow = looseTool('slow', () => {
        began.resolve()
        return gate.promise
      })
      const usage = { inputTokens: 10, outputTokens: 0, costUsd: 0 }
      const { app } = tinyApp({
        script: ({ messages }) =>
          messages.at(-1)?.role === 'tool' ? { text: 'done', usage } : { calls: [{ tool: 'slow', args: {} }], usage },
        tools: [slow],
      })
      const skein = await world.open(app, { quotas })
      const create = (id: string, budget?: { tokens: number }) =>
        skein.threads.create({ agent: 'helper', id, tags: ['tenant:a'], ...(budget && { budget }) })
      const spent = await create('spent', { tokens: 0 })
      expect(await spent.send('go').result()).toMatchObject({ stopReason: 'budget_spent' })
      const busy = await create('busy')
      const run = busy.send('go')
      await began.promise
      const refused = { code: 'QUOTA_REACHED', message: expect.stringContaining('1 trees at work') }
      await expect(spent.grant({ tokens: 100 }, { resume: true })).rejects.toMatchObject(refused)
      expect((await spent.usage()).budget?.left).toEqual({ tokens: 0 })
      await spent.grant({ tokens: 100 })
      await expect(spent.resume()).rejects.toMatchObject(refused)
      expect(await spent.status()).toBe('idle')
      gate.resolve()
      expect(await run.text()).toBe('done')
      expect(await spent.resume()).toBe(true)
      await spent.settled()
      expect((await spent.messages()).at(-1)?.text).toBe('done')
    })

    it('F8: children are no trees of their own', async () => {
      const skein = await world.open(createFamilyApp(), {
        quotas: { 'tenant:a': { maxLiveTrees: 1, maxRunningTurns: 1 } },
      })
      const lead = await skein.threads.create({ agent: 'lead', id: 'lead', tags: ['tenant:a'] })
      expect(await lead.send('go').text()).toBe('all done')
      await expect(skein.threads.create({ agent: 'lead', tags: ['tenant:a'] })).rejects.toMatchObject({
        code: 'QUOTA_REACHED',
      })
    })
  },
  'one',
)

onEveryStore('quotas that are none', (world) => {
  it.each<[QuotaRules]>([
    [{ 'a*b': {} }],
    [{ '': {} }],
    [{ a: { maxLiveTrees: -1 } }],
    [{ a: { maxRunningTurns: 1.5 } }],
  ])('F8: %j is no quota', async (bad) => {
    await expect(world.open(tinyApp({ script: [] }).app, { quotas: bad })).rejects.toMatchObject({ code: 'BAD_OPTION' })
  })
})

onEveryStore(
  'quotas and several hosts',
  (world) => {
    it('F8: a store that several hosts may serve takes none, and says what to do', async () => {
      await expect(world.open(tinyApp({ script: [] }).app, { quotas })).rejects.toMatchObject({
        code: 'BAD_OPTION',
        message: expect.stringMatching(/counted by one host.*leave them out/),
      })
    })
  },
  'several',
)
