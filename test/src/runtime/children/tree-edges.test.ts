/**
 * Where children meet pauses, variables, two sides and secrets: what one part decides holds for the others.
 */
import { describe, expect, it } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Script } from '../../../../src/models/scripted.js'
import { calls, looseTool } from '../../../helpers/app.js'
import { results } from '../../../helpers/asking.js'
import { deferred, quiet, until } from '../../../helpers/deferred.js'
import { pairApp } from '../../../helpers/dual.js'
import { cutAfterEveryCommit } from '../../../helpers/every-commit.js'
import { times } from '../../../helpers/soak.js'
import { create, last, secret, stays, team, tell, token, variables, write } from '../../../helpers/team.js'
import { onEveryStore } from '../../../helpers/world.js'

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
      lead: ({ messages, step }) => {
        if (last(messages) === 'go') return calls(create('A', 'hello'))
        return last(messages) === 'more' ? calls(create('B', 'x')) : `read ${last(messages)} ${step}`
      },
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
      lead: ({ messages }) => {
        if (last(messages) === 'go') return calls(create('A', 'one'))
        return last(messages) === 'both'
          ? calls(tell('writer-1', 'two'), tell('writer-1', 'three', { steer: true }))
          : 'ok'
      },
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
      lead: ({ messages }) => {
        if (last(messages) === 'go') return calls(create('A', 'one'))
        return last(messages) === 'both' ? calls(tell('writer-1', 'two'), tell('writer-1', 'three')) : 'ok'
      },
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
      b: ({ messages }) => {
        if (messages.some(({ text }) => text.startsWith('[writer-1]'))) return `b read ${last(messages)}`
        return messages.some(({ role }) => role === 'tool') ? 'b waits' : calls(write('hello'))
      },
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
  })
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
