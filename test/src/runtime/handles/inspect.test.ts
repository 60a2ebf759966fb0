/** What people see of a thread: its state, its records, and its effects on the world. */
import { expect, it } from 'vitest'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { deferred, until } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'

onEveryStore('looking at a thread', (world) => {
  const open = async (more: Parameters<typeof looseTool>[2] = {}, id = 'one') => {
    const [began, gate] = [deferred(), deferred<string>()]
    const mail = looseTool(
      'mail',
      async (_, { to }) => {
        if (to === 'ada') return 'sent'
        began.resolve()
        return gate.promise
      },
      { sideEffect: true, ...more },
    )
    const { app, model } = tinyApp({
      tools: [mail],
      script: ({ messages }) => {
        const last = messages.at(-1)
        return last?.role === 'user' && last.text.startsWith('to ')
          ? calls({ tool: 'mail', args: { to: last.text.slice(3) } })
          : 'fine'
      },
    })
    const skein = await world.open(app)
    /** As after a crash: what runs is not waited for. */
    const again = async (before: typeof skein) => {
      const closing = world.close(before)
      world.clock.advance(60_000)
      await closing
      return world.open(app)
    }
    return { skein, model, began, gate, again, thread: await skein.threads.create({ agent: 'helper', id }) }
  }

  it('H1: the state has the place in the statechart, what is outstanding, deadlines and a digest', async () => {
    const { thread, began, gate } = await open()
    expect(await thread.state()).toMatchObject({ status: 'idle', value: { gate: 'open', work: 'idle' }, seq: 1 })
    const plan = await thread.schedule('mail', { to: 'ada' }, { delayMs: 60_000 })
    const run = thread.send('to bob', { id: 'm1' })
    await began.promise
    const state = await thread.state()
    expect(state).toMatchObject({
      thread: 'one',
      status: 'acting',
      value: { gate: 'open', work: 'acting' },
      step: 1,
      turn: { run: 'm1', steps: 1, calls: 1 },
      deadlines: [{ key: `schedule/${plan}`, at: world.clock.now() + 60_000 }],
      queued: { messages: 0, calls: 0 },
      unknown: [],
    })
    expect(state.outstanding.map(({ kind, key }) => `${kind} ${key}`)).toEqual([
      `schedule schedule/${plan}`,
      'call step/1/call/0',
    ])
    expect((await thread.state()).digest).toBe(state.digest)
    gate.resolve('sent')
    await run.result()
    expect(await thread.state()).toMatchObject({ status: 'idle', outstanding: [{ kind: 'schedule' }] })
    expect((await thread.state()).digest).not.toBe(state.digest)
  })

  it('H1: records are read in pages, from both ends, without sealed values', async () => {
    const { thread } = await open({ variables: [{ name: 'TOKEN', required: false }] })
    await thread.send('to ada').result()
    await thread.env.set({ TOKEN: 'a very secret value' })
    const all = await thread.records()
    const numbers = (records: readonly { readonly seq: number }[]) => records.map(({ seq }) => seq)
    const { seq: last } = await thread.info()
    expect(numbers(all)).toEqual(Array.from({ length: last }, (_, index) => index + 1))
    expect(all[0]).toMatchObject({ type: 'thread.created', agent: 'helper' })
    expect(all.find(({ type }) => type === 'env.changed')).toMatchObject({ keys: [], set: { TOKEN: '' } })
    const pages: number[] = []
    for (let after = 0; ;) {
      const page = await thread.records({ after, limit: 3 })
      if (page.length === 0) break
      pages.push(...numbers(page))
      after = page.at(-1)?.seq ?? Infinity
    }
    expect(pages).toEqual(numbers(all))
    expect(numbers(await thread.records({ before: last + 1, limit: 2 }))).toEqual([last - 1, last])
    expect(numbers(await thread.records({ before: 3, limit: 10 }))).toEqual([1, 2])
    expect(await thread.records({ before: 1 })).toEqual([])
    await expect(thread.records({ after: 1, before: 2 })).rejects.toMatchObject({ code: 'BAD_OPTION' })
    await expect(thread.records({ limit: 0 })).rejects.toMatchObject({ code: 'BAD_OPTION' })
  })

  it('H1, B2: an effect that nobody knows of is listed first; a person resolves it once, and the model is told', async () => {
    const { skein, thread, began, gate, model } = await open()
    await thread.send('to ada').result()
    const run = thread.send('to bob')
    await began.promise
    expect(await thread.effects()).toMatchObject([
      { call: 'call_3_0', state: 'running', args: { to: 'bob' }, begins: 1 },
      { call: 'call_1_0', state: 'done', outcome: { ok: true, value: 'sent' } },
    ])
    expect(await skein.effects.list()).toEqual([])
    await thread.cancel()
    await run.result()
    gate.resolve('too late')
    const [first, second] = await thread.effects()
    expect(first).toMatchObject({
      id: 'one/call_3_0',
      tool: 'mail',
      state: 'unknown',
      outcome: { failure: { code: 'EFFECT_UNKNOWN' } },
    })
    expect(second).toMatchObject({ id: 'one/call_1_0', state: 'done' })
    expect(await thread.info()).toMatchObject({ unknown: 1 })
    expect((await thread.state()).unknown).toEqual(['call_3_0'])
    expect(await skein.effects.list({ root: 'one' })).toEqual([first])
    const resolution = { happened: true, value: { id: 7 }, comment: 'it is in the outbox', by: 'ada' }
    await expect(skein.effects.resolve('one/call_1_0', resolution)).rejects.toMatchObject({ code: 'COMMAND_REFUSED' })
    await expect(skein.effects.resolve('one', resolution)).rejects.toMatchObject({ code: 'BAD_OPTION' })
    const both = await Promise.allSettled([1, 2].map(() => skein.effects.resolve('one/call_3_0', resolution)))
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await skein.effects.list()).toEqual([])
    expect((await thread.info()).unknown).toBeUndefined()
    expect((await thread.effects()).find(({ call }) => call === 'call_3_0')).toMatchObject({
      state: 'done',
      resolution: { happened: true, value: { id: 7 }, comment: 'it is in the outbox', by: 'ada' },
    })
    expect((await thread.messages()).some(({ text }) => text.includes('was unknown'))).toBe(false)
    await thread.send('go on').result()
    const heard = model.requests.at(-1)?.messages.map(({ text }) => text) ?? []
    expect(heard).toContain(
      'The outcome of call_3_0 (mail) was unknown. It was found out by ada: it has happened: it is in the outbox.' +
        '\n\n{"id":7}',
    )
  })

  it('B2: what was found out of a call that waits for a decision is its result, and state, effects and inbox agree', async () => {
    for (const [id, resolution, heard] of [
      ['yes', { happened: true, value: { id: 7 } }, '{"id":7}'],
      ['so', { happened: true, by: 'ada' }, 'mail has happened; this was found out by ada'],
      ['no', { happened: false, comment: 'not in the outbox.' }, 'mail has not happened; this was found out: not in'],
    ] as const) {
      const { skein, began, thread, model, again } = await open({ onUnknown: 'ask' }, id)
      const run = thread.send('to bob', { id: 'm' })
      await began.promise
      void run.result().catch(() => undefined)
      const later = await again(skein)
      await until('someone is asked', async () => {
        world.clock.advance(1_000)
        return (await later.inbox.list({ thread: id })).length === 1
      })
      const same = await later.threads.get(id)
      expect((await same.state()).unknown).toEqual(['call_1_0'])
      expect(await same.effects()).toMatchObject([{ state: 'unknown', asks: true }])
      expect(await same.info()).toMatchObject({ unknown: 1 })
      await later.effects.resolve(`${id}/call_1_0`, resolution)
      expect((await same.run('m').result()).stopReason).toBe('completed')
      expect(model.requests.at(-1)?.messages.at(-1)?.text).toContain(heard)
      expect((await same.state()).unknown).toEqual([])
      expect((await same.info()).unknown).toBeUndefined()
      const [effect] = await same.effects()
      expect(effect).toMatchObject({ state: resolution.happened ? 'done' : 'failed', resolution, begins: 1 })
      expect(effect?.asks).toBeUndefined()
      expect(await later.inbox.list({ thread: id })).toEqual([])
      expect(await later.effects.list()).toEqual([])
      await expect(later.effects.resolve(`${id}/call_1_0`, resolution)).rejects.toMatchObject({
        code: 'COMMAND_REFUSED',
      })
      const all = await same.messages()
      expect(all.filter(({ role }) => role === 'tool')).toHaveLength(1)
      await later.threads.delete(id, { terminate: true })
      await world.close(later)
    }
  })
})
