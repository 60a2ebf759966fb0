/** K1, K2: hooks about what comes from outside: new threads and messages; secrets, deploys, and a hook that sends. */
import { expect, it } from 'vitest'
import { defineHook } from '../../../../src/agent/define-hook.js'
import { defineAgent, definePrompt } from '../../../../src/agent/define.js'
import type { Skein } from '../../../../src/runtime/skein.js'
import { calls, looseTool } from '../../../helpers/app.js'
import { deferred } from '../../../helpers/deferred.js'
import { eventsOf, hookedApp } from '../../../helpers/hooked.js'
import { onEveryStore } from '../../../helpers/world.js'

const textsOf = (messages: readonly { readonly text: string }[]): readonly string[] => messages.map(({ text }) => text)

onEveryStore('hooks about new threads', (world) => {
  it('K1: add tags, files, values and a message that the model reads first', async () => {
    const { app, model } = hookedApp({
      script: ['done'],
      hooks: [
        defineHook({
          name: 'equip',
          on: 'thread_created',
          run: ({ agent, tags }) => ({
            tags: ['team', ...tags],
            files: { '/notes/today.md': `notes of ${agent}` },
            values: { plan: { free: true } },
            message: 'The user is on the free plan.',
          }),
        }),
        defineHook({
          name: 'second',
          on: 'thread_created',
          run: ({ tags }) => ({ tags: [`${tags.length} tags`] }),
        }),
      ],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', tags: ['mine'] })
    await thread.send('hello').result()
    expect((await thread.info()).tags).toEqual(['mine', 'team', '2 tags'])
    expect(await thread.files.readFile('/notes/today.md', 'utf8')).toBe('notes of helper')
    expect(await thread.kv.get('plan')).toEqual({ free: true })
    expect(textsOf(model.requests[0]?.messages ?? [])).toEqual(['The user is on the free plan.', 'hello'])
    expect(await eventsOf(thread, 'thread.created')).toMatchObject([{ hooks: [{ hook: 'equip' }, { hook: 'second' }] }])
  })

  it('K1: refuse one, and the caller is told why', async () => {
    const { app } = hookedApp({
      script: ['done'],
      hooks: [defineHook({ name: 'no', on: 'thread_created', run: () => ({ refuse: 'closed on Sundays' }) })],
    })
    const skein = await world.open(app)
    await expect(skein.threads.create({ agent: 'helper', id: 'x' })).rejects.toMatchObject({
      code: 'HOOK_REFUSED',
      message: 'the thread was refused: closed on Sundays',
    })
    await expect(skein.threads.get('x')).rejects.toMatchObject({ code: 'UNKNOWN_THREAD' })
  })

  it('K1: the first message of a child goes through the hooks of the child', async () => {
    const seen: string[] = []
    const { app } = hookedApp({
      script: ({ system, messages, step }) => {
        if (system.includes('write')) return `wrote ${messages.at(-1)?.text}`
        return step === 0 ? { calls: [{ tool: 'writer', args: { message: 'a poem' } }] } : (messages.at(-1)?.text ?? '')
      },
      callable: [{ name: 'writer' }],
      ofAgent: [],
      hooks: [
        defineHook({
          name: 'made',
          on: 'thread_created',
          run: ({ parent, text }) => void seen.push(`${parent} ${text}`),
        }),
        defineHook({
          name: 'filter',
          on: 'message',
          run: ({ text, from }) => ({ text: `${text} (from a ${from})` }),
        }),
      ],
      more: [
        definePrompt({ name: 'writer_prompt', prompt: 'You write.', model: 'scripted', hooks: ['made', 'filter'] }),
        defineAgent({ name: 'writer', type: 'ai_human', sideA: { prompt: 'writer_prompt' }, exposeAsTool: true }),
      ],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 'lead' })
    expect(await thread.send('go').text()).toBe('wrote a poem (from a thread)')
    expect(seen).toEqual(['lead a poem'])
  })
})

onEveryStore('hooks about messages', (world) => {
  it('K1: change a message or refuse it; messages keep their order, and a cancel overtakes them', async () => {
    const gate = deferred()
    const { app, model } = hookedApp({
      script: () => 'done',
      hooks: [
        defineHook({
          name: 'filter',
          on: 'message',
          run: async ({ text }) => {
            if (text === 'slow') await gate.promise
            return text === 'spam' ? { refuse: 'no advertisements' } : { text: text.toUpperCase() }
          },
        }),
      ],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const slow = thread.send('slow', { delivery: 'new_turn' })
    const quick = thread.send('quick', { delivery: 'new_turn' })
    // It is answered before the message is: there is no turn yet.
    expect(await thread.cancel()).toBe(false)
    gate.resolve()
    await Promise.all([slow.result(), quick.result()])
    expect(model.requests.map(({ messages }) => messages.at(-1)?.text)).toEqual(['SLOW', 'QUICK'])
    await expect(thread.send('spam').result()).rejects.toMatchObject({
      code: 'HOOK_REFUSED',
      message: 'the message was refused: no advertisements',
    })
    expect(await eventsOf(thread, 'message.received')).toMatchObject([
      { text: 'SLOW', hooks: [{ hook: 'filter' }] },
      { text: 'QUICK' },
    ])
  })

  it('K1: a hook that awaits a message to its own thread does not hold it up: it is mail like any', async () => {
    const opened: Skein[] = []
    const { app, model } = hookedApp({
      script: ['one', 'two'],
      hooks: [
        defineHook({
          name: 'talks',
          on: 'before_step',
          run: async ({ steps }, { id, run }) => {
            const [skein] = opened
            if (steps > 0 || !skein || run === 'second') return
            const thread = await skein.threads.get(id)
            await thread.send('by the way', { id: 'second', delivery: 'new_turn' }).accepted()
          },
        }),
      ],
    })
    const skein = await world.open(app)
    opened.push(skein)
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('go').text()).toBe('one')
    expect(await thread.run('second').text()).toBe('two')
    expect(model.requests).toHaveLength(2)
  })

  it('K2, F3: what hooks read and return is masked, also what they throw', async () => {
    const secret = 'sk-live-1234567890'
    const seen: string[] = []
    const tool = {
      ...looseTool('use', async (state) => `used ${await state.env('API_KEY')}`),
      variables: [{ name: 'API_KEY' }],
    }
    const { app } = hookedApp({
      script: [calls('use'), 'done'],
      tools: [tool],
      hooks: [
        defineHook({
          name: 'reads',
          on: 'after_call',
          run: ({ outcome }) => {
            seen.push(JSON.stringify(outcome))
            return { result: `it was ${secret}` }
          },
        }),
        defineHook({
          name: 'throws',
          on: 'before_step',
          run: () => {
            throw new Error(`no ${secret}`)
          },
        }),
        defineHook({ name: 'adds', on: 'before_step', run: () => ({ add: { text: `psst ${secret}` } }) }),
        defineHook({ name: 'filter', on: 'message', run: ({ text }) => ({ text: `${text} ${secret}` }) }),
      ],
    })
    const skein = await world.open(app, { env: { API_KEY: secret } })
    const thread = await skein.threads.create({ agent: 'helper' })
    await thread.send('go').result()
    expect(seen).toEqual(['{"ok":true,"value":"used [redacted]"}'])
    const all = []
    for await (const event of thread.events()) {
      all.push(event)
      if (event.type === 'turn.ended') break
    }
    expect(JSON.stringify(all)).not.toContain(secret)
    expect(JSON.stringify(all)).toContain('psst [redacted]')
    expect(world.warnings.join()).not.toContain(secret)
  })
})

onEveryStore('hooks and deploys', (world) => {
  it('K3, P3: a hook that a deploy removed is not asked, and the turn goes on; one that it added counts from the next turn', async () => {
    const gate = deferred()
    const asked: string[] = []
    const look = looseTool('look', () => 'found')
    const stuck = defineHook({ name: 'old', on: 'before_step', timeoutMs: 1e9, run: () => gate.promise })
    const first = hookedApp({ script: ['never'], tools: [look], hooks: [stuck] })
    const skein = await world.open(first.app)
    const thread = await skein.threads.create({ agent: 'helper', id: 'deployed' })
    await thread.send('go', { id: 'm1' }).accepted()
    await world.close(skein)
    const added = defineHook({ name: 'new', on: 'stop', run: ({ text }) => void asked.push(text) })
    const second = hookedApp({ script: ['one', 'two'], tools: [look], hooks: [added] })
    const again = await world.open(second.app)
    const same = await again.threads.get('deployed')
    expect(await same.run('m1').text()).toBe('one')
    expect(await eventsOf(same, 'hook.decided')).toMatchObject([{ point: 'step', step: 1, asked: [] }])
    expect(asked).toEqual([])
    expect(await same.send('more').text()).toBe('two')
    expect(asked).toEqual(['two'])
    gate.resolve()
  })

  it('K1, S9: an agent that takes over brings its own hooks, and the others are asked no more', async () => {
    const asked: string[] = []
    const note = (name: string) =>
      defineHook({ name, on: 'before_step', run: (_, { agent }) => void asked.push(`${name} for ${agent}`) })
    const { app } = hookedApp({
      script: ({ system }) => (system.includes('expert') ? 'expert here' : { calls: [{ tool: 'expert', args: {} }] }),
      callable: ['expert'],
      hooks: [note('mine'), note('theirs')],
      ofAgent: ['mine'],
      more: [
        definePrompt({ name: 'expert_prompt', prompt: 'You are an expert.', model: 'scripted' }),
        defineAgent({
          name: 'expert',
          type: 'ai_human',
          sideA: { prompt: 'expert_prompt' },
          exposeAsTool: true,
          hooks: ['theirs'],
        }),
      ],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('go').text()).toBe('expert here')
    expect(asked).toEqual(['mine for helper', 'theirs for expert'])
  })
})
