/** Variables: a body sees what its tool declares, and a secret is seen by nobody else. */
import { expect, it } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Agent, Definition, Prompt, ToolDefinition, ToolState, Variable } from '../../../../src/agent/define.js'
import type { Store } from '../../../../src/backend/port.js'
import type { Message } from '../../../../src/core/records/message.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Script } from '../../../../src/models/scripted.js'
import { connectSkein } from '../../../../src/runtime/handles/client.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { collect, deferred, quiet, until } from '../../../helpers/deferred.js'
import { results } from '../../../helpers/asking.js'
import { onEveryStore } from '../../../helpers/world.js'

const secret = 'sk-live-0123456789'

onEveryStore('variables', (world) => {
  it('F3: a secret in a thrown error, a result, a log or an event is masked before anyone else sees it', async () => {
    const seen: string[] = []
    const variables = [
      { name: 'API_KEY' },
      { name: 'REGION', type: 'text' as const },
      { name: 'MODE', type: 'text' as const, default: 'test' },
    ]
    const tools = [
      looseTool(
        'throws',
        async (state) => {
          seen.push(await state.env('API_KEY'))
          state.log('using', await state.env('API_KEY'))
          state.progress({ url: `https://x/?key=${encodeURIComponent(await state.env('API_KEY'))}` })
          throw new Error(
            `401 for ${await state.env('API_KEY')} in ${await state.env('REGION')} ${await state.env('MODE')}`,
          )
        },
        { variables },
      ),
      looseTool(
        'returns',
        async (state) => ({
          nested: [
            {
              header: `Bearer ${await state.env('API_KEY')}`,
              base64: Buffer.from(await state.env('API_KEY')).toString('base64'),
            },
          ],
        }),
        { variables },
      ),
      looseTool('nosy', (state) => state.env('API_KEY')),
    ]
    const skein = await world.open(
      tinyApp({ tools, script: ({ step }) => (step === 0 ? calls('throws', 'returns', 'nosy') : 'done') }).app,
      { env: { API_KEY: secret, REGION: 'north' } },
    )
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const run = thread.send('go')
    const events = await collect(run.fullStream)
    expect(seen).toEqual([secret])
    const [thrown, returned, nosy] = results(await thread.messages())
    expect(thrown).toBe('Error TOOL_THREW: 401 for [redacted] in north test')
    expect(returned).toBe('{"nested":[{"header":"Bearer [redacted]","base64":"[redacted]"}]}')
    expect(nosy).toMatch(/TOOL_NOT_ALLOWED/)
    const backend = await world.store.source.open('client')
    const stored = JSON.stringify(await backend.journal.read('t'))
    await backend.close()
    for (const text of [stored, JSON.stringify(events), JSON.stringify(await thread.messages())]) {
      expect(text).not.toContain(secret)
      expect(text).not.toContain(Buffer.from(secret).toString('base64'))
    }
  })

  it('F3: a secret that is too short to be masked is refused when the skein is created', async () => {
    const tool = looseTool('t', () => 'x', { variables: [{ name: 'PIN' }] })
    await expect(
      world.open(tinyApp({ tools: [tool], script: [] }).app, { env: { PIN: '1234' } }),
    ).rejects.toMatchObject({ code: 'BAD_OPTION', message: expect.stringContaining('PIN') })
  })
})

const last = (messages: readonly Message[]): string => messages.at(-1)?.text ?? ''

/** Says what it finds of each name. */
const tells = (name: string, variables: readonly Variable[]): ToolDefinition =>
  looseTool(
    name,
    async (state: ToolState) =>
      Object.fromEntries(
        await Promise.all(variables.map(async (variable) => [variable.name, await state.env(variable.name)] as const)),
      ),
    { variables },
  )

const text = (name: string, more: Partial<Variable> = {}): Variable => ({
  name,
  type: 'text',
  required: false,
  ...more,
})

/** An agent with a model of its own; `below` are agents that it may call. */
function agent(
  name: string,
  script: Script,
  {
    tools = [],
    below = [],
    prompt = {},
    own = {},
  }: {
    tools?: readonly ToolDefinition[]
    below?: readonly string[]
    prompt?: Partial<Prompt>
    own?: Pick<Agent, 'variables' | 'env'>
  } = {},
): readonly Definition[] {
  return [
    defineModel({ name: `${name}_m`, model: scriptedModel(script) }),
    definePrompt({
      name: `${name}_p`,
      prompt: 'x',
      model: `${name}_m`,
      tools: [
        ...tools.map((tool) => tool.name),
        ...below.map((child) => ({ name: child, resumable: { receives_messages: 'side_a' as const } })),
      ],
      ...prompt,
    }),
    defineAgent({ name, type: 'ai_human', sideA: { prompt: `${name}_p` }, exposeAsTool: true, ...own }),
  ]
}

onEveryStore('values of a thread', (world) => {
  it('F2: looked up in the thread, its agent, its prompt, the tool and the skein, in this order', async () => {
    const names = ['OWN', 'AGENT', 'PROMPT', 'TOOL', 'SKEIN', 'NOBODY']
    const tool = tells(
      'tells',
      names.map((name) => text(name, name === 'NOBODY' ? {} : name === 'SKEIN' ? {} : { default: 'tool' })),
    )
    const given = (value: string, from: number) => Object.fromEntries(names.slice(from, 5).map((name) => [name, value]))
    const app = [
      tool,
      ...agent('helper', ({ messages, step }) => (step === 0 ? calls('tells') : last(messages)), {
        tools: [tool],
        own: { env: { AGENT: 'agent', OWN: 'agent' } },
        prompt: { env: { PROMPT: 'prompt', AGENT: 'prompt', OWN: 'prompt' } },
      }),
    ]
    const skein = await world.open(app, { env: given('skein', 0) })
    const thread = await skein.threads.create({ agent: 'helper', id: 't', env: { OWN: 'own' } })
    expect(JSON.parse(await thread.send('go').text())).toEqual({
      OWN: 'own',
      AGENT: 'agent',
      PROMPT: 'prompt',
      TOOL: 'tool',
      SKEIN: 'skein',
      NOBODY: '',
    })
  })

  it('F2, EN2: what is scoped on a thread flows to those below it that scope it too, unless they have their own; not to it from above', async () => {
    const tool = tells('tells', [text('TOKEN', { scoped: true })])
    const open = looseTool('open', () => '', {})
    const create = (who: string) =>
      calls({ tool: 'subagent_create', args: { agent: who, name: who, message: 'create' } })
    const making =
      (below: string): Script =>
      ({ messages }) =>
        last(messages) === 'create' ? create(below) : last(messages) === 'look' ? calls('tells') : last(messages)
    const app = [
      tool,
      open,
      ...agent('lead', making('middle'), { tools: [open], below: ['middle'] }),
      ...agent('middle', making('between'), { tools: [tool], below: ['between'] }),
      // Declares nothing itself: it passes on what came from where it is scoped.
      ...agent('between', making('leaf'), { tools: [open], below: ['leaf'] }),
      ...agent('leaf', ({ messages }) => (last(messages) === 'look' ? calls('tells') : last(messages)), {
        tools: [tool],
      }),
    ]
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead', env: { TOKEN: 'of the lead' } })
    await lead.send('create').text()
    await lead.settled({ tree: true })
    const named = async (name: string) =>
      skein.threads.get((await skein.threads.list({ root: 'lead', agent: name })).threads.at(-1)?.thread ?? '')
    const token = async (name: string) =>
      (JSON.parse(await (await named(name)).send('look').text()) as { TOKEN: string }).TOKEN
    expect([await token('middle'), await token('leaf')]).toEqual(['', ''])
    await (await named('middle')).env.set({ TOKEN: 'of the middle' })
    await lead.settled({ tree: true })
    expect([await token('middle'), await token('leaf')]).toEqual(['of the middle', 'of the middle'])
    // Those that come later have it from the beginning.
    await (await named('middle')).send('create').text()
    await lead.settled({ tree: true })
    expect(await token('leaf')).toBe('of the middle')
    await (await named('leaf')).env.set({ TOKEN: 'of the leaf' })
    await lead.env.set({ TOKEN: 'of the lead, later' })
    await (await named('middle')).env.set({ TOKEN: 'of the middle, later' })
    await lead.settled({ tree: true })
    expect([await token('middle'), await token('leaf')]).toEqual(['of the middle, later', 'of the leaf'])
  })

  it('F2: a child has its parent’s values except those that its graph scopes; a later set flows to living descendants by the same filter', async () => {
    const variables = [text('OPEN'), text('CLOSED'), text('DEEP')]
    const tool = tells('tells', variables)
    const scoping = looseTool('scoping', () => '', { variables: [text('CLOSED', { scoped: true })] })
    const deep = looseTool('deep', () => '', { variables: [text('DEEP', { scoped: true })] })
    const tell = ({ messages }: { messages: readonly Message[] }) =>
      last(messages).startsWith('{') ? last(messages) : calls('tells')
    const create = (who: string) =>
      calls({ tool: 'subagent_create', args: { agent: who, name: who, message: who === 'child' ? 'create' : 'look' } })
    const app = [
      tool,
      scoping,
      deep,
      ...agent(
        'lead',
        ({ messages }) =>
          last(messages) === 'create' ? create('child') : last(messages) === 'look' ? calls('tells') : 'ok',
        { tools: [tool], below: ['child'] },
      ),
      ...agent(
        'child',
        ({ messages }) =>
          last(messages) === 'create'
            ? create('grandchild')
            : last(messages) === 'look'
              ? calls('tells')
              : last(messages),
        { tools: [tool, scoping], below: ['grandchild'] },
      ),
      ...agent('grandchild', tell, { tools: [tool, deep] }),
    ]
    const skein = await world.open(app)
    const lead = await skein.threads.create({
      agent: 'lead',
      id: 'lead',
      env: { OPEN: 'o1', CLOSED: 'c1', DEEP: 'd1' },
    })
    await lead.send('create').text()
    const [child, grandchild] = await Promise.all(
      ['child', 'grandchild'].map(async (name) =>
        skein.threads.get((await skein.threads.list({ root: 'lead', agent: name })).threads[0]?.thread ?? ''),
      ),
    )
    if (!child || !grandchild) throw new Error('no children')
    const seen = async (thread: typeof child) => JSON.parse(await thread.send('look').text()) as unknown
    expect(await seen(child)).toEqual({ OPEN: 'o1', CLOSED: '', DEEP: '' })
    expect(await seen(grandchild)).toEqual({ OPEN: 'o1', CLOSED: '', DEEP: '' })
    await lead.env.set({ OPEN: 'o2', CLOSED: 'c2' })
    await until('it to flow down', async () => ((await seen(grandchild)) as { OPEN: string }).OPEN === 'o2')
    expect(await seen(child)).toEqual({ OPEN: 'o2', CLOSED: '', DEEP: '' })
    // Set where it is scoped, it flows to those below.
    await child.env.set({ CLOSED: 'of the child', OPEN: 'o3', DEEP: 'd3' })
    await until('it to flow on', async () => ((await seen(grandchild)) as { OPEN: string }).OPEN === 'o3')
    expect(await seen(child)).toEqual({ OPEN: 'o3', CLOSED: 'of the child', DEEP: 'd3' })
    expect(await seen(grandchild)).toEqual({ OPEN: 'o3', CLOSED: 'of the child', DEEP: '' })
    // Taken away, the inherited value counts again.
    await child.env.set({ OPEN: null })
    await until('it to be taken away', async () => ((await seen(grandchild)) as { OPEN: string }).OPEN === 'o2')
    expect(await child.env.names()).toEqual([
      { name: 'CLOSED', from: 'own' },
      { name: 'DEEP', from: 'own' },
      { name: 'OPEN', from: 'inherited' },
    ])
  })

  it('the calls of one step see the same values; a change counts from the next step on', async () => {
    const gate = deferred()
    const variables = [text('PLACE')]
    const first = looseTool('first', async (state) => (await gate.promise, state.env('PLACE')), { variables })
    const second = looseTool('second', (state) => state.env('PLACE'), { variables, sideEffect: true })
    const app = tinyApp({
      tools: [first, second],
      script: ({ step, messages }) => (step < 2 ? calls('first', 'second') : results(messages).join()),
    }).app
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't', env: { PLACE: 'Bonn' } })
    const run = thread.send('go')
    await until('the first call to run', async () => (await thread.status()) === 'acting')
    await thread.env.set({ PLACE: 'Köln' })
    gate.resolve()
    expect(await run.text()).toBe('Bonn,Bonn,Köln,Köln')
  })

  it('F3: a value that is set by another process is sealed before it is sent, and given to the tool that declares it', async () => {
    const tool = tells('tells', [{ name: 'API_KEY' }])
    const lengths: number[] = []
    const measure = looseTool('measure', async (state) => lengths.push((await state.env('API_KEY')).length), {
      variables: [{ name: 'API_KEY' }],
    })
    const skein = await world.open(
      tinyApp({
        tools: [tool, measure],
        script: ({ step, messages }) => (step === 0 ? calls('tells', 'measure') : (results(messages)[0] ?? '')),
      }).app,
    )
    const client = await connectSkein({ backend: world.store.source, clock: world.clock })
    const thread = await client.threads.create({ agent: 'helper', id: 't' })
    await thread.env.set({ API_KEY: secret })
    expect(await thread.send('go').text()).toBe('{"API_KEY":"[redacted]"}')
    expect(lengths).toEqual([secret.length])
    const backend = await world.store.source.open('client')
    expect(JSON.stringify(await backend.journal.read('t'))).not.toContain(secret)
    await backend.close()
    await client.close()
    expect(skein.host.threadsAwake).toBe(1)
  })

  it('VQ2: in a store of an older Skein, without a check of its key, a thread is parked with another key and its mail kept; with the right one it goes on', async () => {
    const tool = tells('tells', [{ name: 'API_KEY' }])
    const { app } = tinyApp({ tools: [tool], script: ({ step }) => (step === 0 ? calls('tells') : 'done') })
    const [right, wrong] = ['0123456789abcdef'.repeat(4), 'fedcba9876543210'.repeat(4)]
    const backend = unchecked(world.store.source)
    const skein = await world.open(app, { key: right, backend })
    await skein.threads.create({ agent: 'helper', id: 't', env: { API_KEY: secret } })
    await world.close(skein)
    const other = await world.open(app, { key: wrong, backend })
    await expect((await other.threads.get('t')).send('go', { id: 'm' }).result()).rejects.toMatchObject({
      code: 'THREAD_PARKED',
      cause: { code: 'SECRET_UNREADABLE', message: expect.stringContaining('SKEIN_KEY') },
    })
    const client = await connectSkein({ backend, clock: world.clock, key: right })
    await expect(
      client.threads.create({ agent: 'helper', id: 'foreign', env: { API_KEY: secret } }),
    ).rejects.toMatchObject({ code: 'SECRET_UNREADABLE' })
    await client.close()
    await world.close(other)
    const again = await world.open(app, { key: right, backend })
    const thread = await again.threads.get('t')
    await until('the kept message to be taken', async () => (await thread.messages()).length > 0)
    expect(await thread.run('m').text()).toBe('done')
  })

  it('a host or a client with another key than the store was sealed with is refused when it joins', async () => {
    const { app } = tinyApp({
      tools: [tells('tells', [{ name: 'API_KEY' }])],
      script: ({ step }) => (step === 0 ? calls('tells') : 'done'),
    })
    const [right, wrong] = ['0123456789abcdef'.repeat(4), 'fedcba9876543210'.repeat(4)]
    // Nothing is sealed yet: any key will do.
    for (const key of [wrong, right]) await world.close(await world.open(app, { key }))
    const skein = await world.open(app, { key: right })
    await skein.threads.create({ agent: 'helper', id: 't', env: { API_KEY: secret } })
    const refused = {
      code: 'SECRET_UNREADABLE',
      retry: false,
      message: expect.stringMatching(
        /^the secrets of this store were written with the key [0-9a-f]{16}, and the key given is [0-9a-f]{16}\. Give the key/,
      ),
    }
    const join = { backend: world.store.source, clock: world.clock }
    await expect(connectSkein({ ...join, key: wrong })).rejects.toMatchObject(refused)
    const client = await connectSkein({ ...join, key: right })
    await client.threads.create({ agent: 'helper', id: 'u', env: { API_KEY: secret } })
    await client.close()
    await world.close(skein)
    await expect(world.open(app, { key: wrong })).rejects.toMatchObject(refused)
    const again = await world.open(app, { key: right })
    for (const id of ['t', 'u']) expect(await (await again.threads.get(id)).send('go').text()).toBe('done')
  })

  it('F2, VQ2: values that a client sealed with a key which the host has not are refused, and the thread goes on', async () => {
    const { app } = tinyApp({ script: ({ messages }) => `re ${messages.at(-1)?.text}` })
    const [own, other] = ['0123456789abcdef'.repeat(4), 'fedcba9876543210'.repeat(4)]
    const skein = await world.open(app, { key: own })
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const client = await connectSkein({ backend: world.store.source, clock: world.clock, key: other })
    const there = await client.threads.get('t')
    await expect(there.env.set({ API_KEY: secret })).rejects.toMatchObject({
      code: 'SECRET_UNREADABLE',
      message: expect.stringMatching(
        /nothing was changed: these values were sealed with the key [0-9a-f]{16}, and the host has the key/,
      ),
    })
    expect(await there.send('hello').text()).toBe('re hello')
    expect(await thread.status()).toBe('idle')
    await client.close()
  })

  it('F3: a declared secret that is too short to be masked is refused, and nothing of the set is kept', async () => {
    const tool = tells('tells', [{ name: 'PIN', required: false }, text('PLACE')])
    const skein = await world.open(tinyApp({ tools: [tool], script: [] }).app)
    await expect(skein.threads.create({ agent: 'helper', id: 't', env: { PIN: '1234' } })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.not.stringContaining('1234'),
    })
    const thread = await skein.threads.create({ agent: 'helper', id: 't', env: { PLACE: 'Bonn' } })
    await expect(thread.env.set({ PLACE: 'Köln', PIN: '1234' })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringMatching(/PIN.*fewer than 8/),
    })
    expect(await thread.env.names()).toEqual([{ name: 'PLACE', from: 'own' }])
    await expect(thread.env.set({ 'TOKEN=hunter2hunter2': 'x' })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.not.stringContaining('hunter2'),
    })
    await expect(thread.env.set({ BIG: 'x'.repeat(40_000) })).rejects.toMatchObject({ code: 'BAD_OPTION' })
    const short = looseTool('short', () => '', { variables: [{ name: 'PIN', default: '1234' }] })
    await expect(world.open(tinyApp({ tools: [short], script: [] }).app)).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringMatching(/PIN.*fewer than 8/),
    })
    await expect(
      world.open([tool, ...agent('x', () => '', { tools: [tool], own: { env: { PIN: '1234' } } })]),
    ).rejects.toMatchObject({ code: 'BAD_OPTION', message: expect.stringMatching(/agent "x".*PIN/) })
  })

  it('F3, VZ2: a model that speaks a secret is masked, in the reply, its calls and the stream', async () => {
    const tool = looseTool('takes', (_, args) => args, { variables: [{ name: 'API_KEY', required: false }] })
    const listening = deferred()
    async function* speaks() {
      await listening.promise
      yield 'the key is sk-li'
      yield 've-01234'
      yield '56789, and sk-l is none'
      return { calls: [{ tool: 'takes', args: { key: secret } }] }
    }
    const skein = await world.open(
      tinyApp({ tools: [tool], script: ({ step }) => (step === 0 ? speaks() : 'done') }).app,
    )
    const thread = await skein.threads.create({ agent: 'helper', id: 't', env: { API_KEY: secret } })
    const run = thread.send(`use ${secret}`)
    const hearing = collect(run.fullStream)
    await until('the model to be asked', async () => (await thread.status()) === 'thinking')
    await quiet()
    listening.resolve()
    const events = await hearing
    expect(
      events.flatMap((event) => (event.type === 'text.delta' && event.step === 1 ? [event.text] : [])).join(''),
    ).toBe('the key is [redacted], and sk-l is none')
    const messages = await thread.messages()
    expect(messages.map(({ text: said }) => said)).toEqual([
      'use [redacted]',
      'the key is [redacted], and sk-l is none',
      '{"key":"[redacted]"}',
      'done',
    ])
    expect(JSON.stringify([events, messages])).not.toContain(secret)
  })
})

/** The same store as an older Skein left it. */
function unchecked(source: Store): Store {
  return {
    open: async (role, self) => ({
      ...(await source.open(role, self)),
      keyCheck: { read: async () => undefined, keep: async (check) => check },
    }),
  }
}

onEveryStore(
  'a host without a key',
  (world) => {
    it('F2, VQ2: refuses values that a client sealed, and its threads go on', async () => {
      const key = process.env['SKEIN_KEY'] ?? ''
      delete process.env['SKEIN_KEY']
      const skein = await world.open(tinyApp({ script: ({ messages }) => `re ${messages.at(-1)?.text}` }).app)
      await skein.threads.create({ agent: 'helper', id: 't' })
      const client = await connectSkein({ backend: world.store.source, clock: world.clock, key })
      const thread = await client.threads.get('t')
      await expect(thread.env.set({ API_KEY: 'sk-0123456789' })).rejects.toMatchObject({
        code: 'SECRET_UNREADABLE',
        message: expect.stringMatching(/nothing was changed: the host cannot read these values\. there is no key/),
      })
      expect(await thread.send('hello').text()).toBe('re hello')
      await client.close()
    })
  },
  'several',
)
