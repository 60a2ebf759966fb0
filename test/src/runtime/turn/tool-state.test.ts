/**
 * What a body does through its state, as the thread and its watchers see it: events, contexts, calls and messages of
 * its own.
 */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../../../src/agent/define.js'
import type { ToolDefinition } from '../../../../src/agent/define.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { collect, deferred, until } from '../../../helpers/deferred.js'
import { results } from '../../../helpers/asking.js'
import { onEveryStore } from '../../../helpers/world.js'

onEveryStore('what a body says', (world) => {
  const counting = (gate: Promise<unknown>): ToolDefinition =>
    defineTool({
      name: 'count',
      description: 'Counts',
      args: z.object({ to: z.number() }),
      eventSchema: z.object({ n: z.number() }),
      outputSchema: z.string(),
      async *execute(state, { to }) {
        state.progress({ of: to })
        for (let n = 1; n <= to; n++) {
          yield { n }
          if (n === 1) await gate
        }
        state.log('almost', { done: true })
        return `counted to ${to}`
      },
    })

  it('T8: events are streamed while the body runs, in order; the result carries them all', async () => {
    const gate = deferred()
    const { app } = tinyApp({
      tools: [counting(gate.promise)],
      script: ({ step }) => (step === 0 ? calls({ tool: 'count', args: { to: 3 } }) : 'done'),
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const seen: unknown[] = []
    const run = thread.send('go')
    const watching = (async () => {
      for await (const event of run.toolStream) {
        if (event.type === 'tool.progress' || event.type === 'tool.preliminary') seen.push(event.event)
        if (event.type === 'tool.log') seen.push(event.text)
        if (event.type === 'tool.result') seen.push(event.preliminaries)
      }
    })()
    await until('the first event', () => seen.length === 2)
    expect(seen).toEqual([{ of: 3 }, { n: 1 }])
    gate.resolve()
    await watching
    expect(seen).toEqual([
      { of: 3 },
      { n: 1 },
      { n: 2 },
      { n: 3 },
      'almost {"done":true}',
      [{ n: 1 }, { n: 2 }, { n: 3 }],
    ])
    expect(results(await thread.messages())).toEqual(['counted to 3'])
    // A late one hears no ephemeral news, and has all events in the result.
    const late = await collect(run.toolStream)
    expect(late).toMatchObject([{ type: 'tool.result', preliminaries: [{ n: 1 }, { n: 2 }, { n: 3 }] }])
  })
})

onEveryStore('contexts', (world) => {
  const counter = (name: string, more: Partial<ToolDefinition> = {}): ToolDefinition => ({
    ...defineTool({
      name,
      description: 'Counts its calls',
      args: z.object({}),
      contextSchema: z.object({ calls: z.number().default(0) }),
      sharedSchema: z.object({ all: z.number().default(0) }),
      execute(state) {
        state.setContext({ calls: state.local.calls + 1 })
        state.setShared({ all: state.shared.all + 1 })
        return [state.local.calls, state.shared.all]
      },
    }),
    ...more,
  })

  it('T9: contexts are read live, merged, kept over a restart, and streamed when they count', async () => {
    const tools = [counter('plain'), counter('pure', { sideEffect: false })]
    const script = ({ step }: { step: number }) => (step < 2 ? calls('plain', 'pure', 'plain', 'pure') : 'done')
    const skein = await world.open(tinyApp({ tools, script }).app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const run = thread.send('go')
    await run.text()
    expect(results(await thread.messages())).toEqual([
      '[1,1]',
      '[1,2]',
      '[2,3]',
      '[2,4]',
      '[3,5]',
      '[3,6]',
      '[4,7]',
      '[4,8]',
    ])
    const updates = await collect(run.contextStream)
    expect(updates.slice(0, 4)).toEqual([
      { of: 'plain', value: { calls: 1 } },
      { of: 'shared', value: { all: 1 } },
      { of: 'pure', value: { calls: 1 } },
      { of: 'shared', value: { all: 2 } },
    ])
    expect(updates).toHaveLength(16)
    await world.close(skein)
    const again = await (await world.open(tinyApp({ tools, script }).app)).threads.get('t')
    await again.send('more').text()
    expect(results(await again.messages()).at(-1)).toBe('[8,16]')
  })

  it('T9: without a schema, or against it, setting is an error and changes nothing', async () => {
    const tools = [
      looseTool('bare', (state) => {
        state.setContext({ a: 1 } as never)
        return 'set'
      }),
      looseTool('bare_shared', (state) => {
        state.setShared({ all: 1 } as never)
        return 'set'
      }),
      {
        ...counter('wrong'),
        execute: (state: { setContext(part: object): void }) => {
          state.setContext({ calls: 'many' })
          return 'set'
        },
      } as ToolDefinition,
    ]
    const skein = await world.open(
      tinyApp({ tools, script: ({ step }) => (step === 0 ? calls('bare', 'bare_shared', 'wrong') : 'done') }).app,
    )
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const run = thread.send('go')
    await run.text()
    const [bare, bareShared, wrong] = results(await thread.messages())
    expect(bare).toMatch(/contextSchema/)
    expect(bareShared).toBe(
      'Error BAD_OPTION: bare_shared calls setShared, and its definition has no sharedSchema; give it one',
    )
    expect(wrong).toMatch(/calls/)
    expect(await collect(run.contextStream)).toEqual([])
  })
})

onEveryStore('the key-value store of a body', (world) => {
  const keep = looseTool('keep', async ({ kv }, { key }) => kv.set(String(key), 1), {})
  const drop = looseTool('drop', async ({ kv }, { key }) => kv.delete(String(key)), {})

  it('F6: lists its entries in order of their keys, with its own changes, by their beginning', async () => {
    const look = looseTool(
      'look',
      async ({ kv }) => {
        await kv.set('a/3', 3)
        await kv.delete('a/1')
        await kv.set('b', 'not asked for')
        return { some: await kv.list('a/'), all: (await kv.list()).map(({ key }) => key) }
      },
      {},
    )
    const skein = await world.open(
      tinyApp({ tools: [look], script: ({ step }) => (step === 0 ? calls('look') : 'done') }).app,
    )
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    for (const key of ['a/2', 'a/1', 'c']) await thread.kv.set(key, key)
    await thread.send('go').text()
    expect(JSON.parse(results(await thread.messages())[0] ?? '')).toEqual({
      some: [
        { key: 'a/2', value: 'a/2' },
        { key: 'a/3', value: 3 },
      ],
      all: ['a/2', 'a/3', 'b', 'c'],
    })
    expect(await thread.kv.list('a/')).toEqual([
      { key: 'a/2', value: 'a/2' },
      { key: 'a/3', value: 3 },
    ])
  })

  it('T3: a list that an earlier call of the step has changed since is made again', async () => {
    let ran = 0
    const list = looseTool(
      'list',
      async ({ kv }) => {
        ran++
        return (await kv.list()).map(({ key }) => key)
      },
      {
        sideEffect: false,
      },
    )
    const steps = [
      [
        { tool: 'keep', args: { key: 'x' } },
        { tool: 'list', args: {} },
      ],
      [
        { tool: 'drop', args: { key: 'x' } },
        { tool: 'list', args: {} },
      ],
    ]
    const skein = await world.open(
      tinyApp({
        tools: [keep, drop, list],
        script: ({ step }) => (steps[step] ? calls(...(steps[step] ?? [])) : 'done'),
      }).app,
    )
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    await thread.send('go').text()
    expect(results(await thread.messages()).filter((_, index) => index % 2 === 1)).toEqual(['["x"]', '[]'])
    expect(ran).toBeGreaterThanOrEqual(2)
  })
})

onEveryStore('what a model got wrong', (world) => {
  it('D4: a tool without a description is offered and called like any other', async () => {
    const bare = defineTool({ name: 'bare', args: z.object({}), execute: () => 'ran' })
    const { app, model } = tinyApp({ tools: [bare], script: [calls('bare'), 'done'] })
    const thread = await (await world.open(app)).threads.create({ agent: 'helper' })
    await thread.send('go').text()
    expect(model.requests[0]?.tools).toMatchObject([{ name: 'bare', description: '' }])
    expect(results(await thread.messages())).toEqual(['ran'])
  })

  it('T1: args of a tool that is not there go back to the model as they were', async () => {
    const { app, model } = tinyApp({
      script: ({ step }) =>
        step === 0
          ? calls(
              { tool: 'nobody', args: '{"a":[1]}' },
              { tool: 'nobody', args: '' },
              { tool: 'nobody', args: '{half' },
            )
          : 'done',
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    await thread.send('go').text()
    const [said] = (model.requests[1]?.messages ?? []).filter(({ role }) => role === 'assistant')
    expect(said?.calls?.map(({ args }) => args)).toEqual([{ a: [1] }, {}, '{half'])
  })
})

onEveryStore('calls of a body', (world) => {
  it('T13: invokeTool runs a tool now and stores nothing, queueTool after the calls of the step; both obey uses', async () => {
    const log: string[] = []
    const inner = looseTool('inner', async (state, { n }) => {
      log.push(`inner ${n}`)
      await state.files.writeFile(`/inner${n}`, 'x')
      return { doubled: Number(n) * 2 }
    })
    const outer = looseTool(
      'outer',
      async (state) => {
        state.queueTool('inner', { n: 5 })
        state.queueMessage('by the way')
        const { doubled } = (await state.invokeTool('inner', { n: 2 })) as { doubled: number }
        const refused = await state.invokeTool('other', {}).catch((error: Error) => error.message)
        return { doubled, refused }
      },
      { uses: ['inner'] },
    )
    const other = looseTool('other', () => 'never')
    const { app, model } = tinyApp({
      tools: [outer, inner, other],
      script: ({ step }) => (step === 0 ? calls('outer', 'other') : 'done'),
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    await thread.send('go').text()
    expect(log).toEqual(['inner 2', 'inner 5'])
    const said = (await thread.messages()).map(
      ({ role, text, calls: asked }) => `${role} ${text}${asked ? asked.map(({ tool }) => tool).join() : ''}`,
    )
    expect(said[2]).toMatch(/"doubled":4.*may not use the tool other/)
    expect(said.slice(3)).toEqual([
      'tool never',
      'user by the way',
      'assistant inner',
      'tool {"doubled":10}',
      'assistant done',
    ])
    expect(model.requests).toHaveLength(2)
    expect(await thread.files.find('/inner*')).toEqual(['/inner2', '/inner5'])
  })

  it('T13, L1: queued calls are a step, and the last step is the last', async () => {
    const ran: string[] = []
    const inner = looseTool('inner', () => {
      ran.push('inner')
      return 'in'
    })
    const outer = looseTool(
      'outer',
      (state) => {
        state.queueTool('inner', {})
        ran.push('outer')
        return 'out'
      },
      {
        uses: ['inner'],
      },
    )
    const { app } = tinyApp({ tools: [inner, outer], maxSteps: 2, script: () => calls('outer') })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    expect((await thread.send('go').result()).stopReason).toBe('max_steps')
    expect(ran).toEqual(['outer', 'inner'])
  })

  it('T13: callTool makes a call that no model asked for, and wakes an idle thread', async () => {
    const ran: unknown[] = []
    const note = defineTool({
      name: 'note',
      description: 'Notes',
      args: z.object({ n: z.number() }),
      execute: (_, { n }) => {
        ran.push(n)
        return `noted ${n}`
      },
    })
    const { app } = tinyApp({ tools: [note], script: ({ messages }) => `I see: ${messages.at(-1)?.text}` })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const run = await thread.callTool('note', { n: 7 })
    expect(await run.text()).toBe('I see: noted 7')
    await expect(thread.callTool('note', { n: 'x' })).rejects.toMatchObject({ code: 'TOOL_INPUT_INVALID' })
    await expect(thread.callTool('nothing')).rejects.toMatchObject({ code: 'UNKNOWN_TOOL' })
    expect(ran).toEqual([7])
  })
})

onEveryStore('long results and final answers', (world) => {
  it('T12: a long result is cut, and the whole can be asked for; only then', async () => {
    const long = `${'x'.repeat(70_000)}end`
    const { app, model } = tinyApp({
      tools: [
        looseTool('long', () => long),
        looseTool('short', () => 'short'),
        looseTool('kept', () => long, { retention: 'keep' }),
        looseTool('told', () => long, { toModelOutput: () => 'in short' }),
      ],
      script: ({ step }) =>
        [
          calls('short', 'kept', 'told'),
          calls('long'),
          calls(
            { tool: 'get_tool_response', args: { id: 'call_2_0', offset: 69_990 } },
            { tool: 'get_tool_response', args: { id: 'call_1_0' } },
          ),
          'done',
        ][step] ?? 'done',
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    await thread.send('go').text()
    const texts = results(await thread.messages())
    expect(texts[1]).toBe(long)
    expect(texts.splice(2, 1)).toEqual(['in short'])
    expect(texts[2]).toHaveLength(16 * 1024 + (texts[2]?.split('\n')[1]?.length ?? 0) + 1)
    expect(texts[2]).toMatch(
      /\[cut: these are 16384 of 70003 characters; get_tool_response with id "call_2_0" gives the rest\]$/,
    )
    expect(texts[3]).toBe('xxxxxxxxxxend')
    expect(texts[4]).toMatch(/TOOL_INPUT_INVALID: .*call_1_0.* was not cut/)
    const offered = model.requests.map(({ tools }) => tools.some(({ name }) => name === 'get_tool_response'))
    expect(offered).toEqual([false, true, true, true])
  })

  it('T12: response gives the output in the asked form, tells what is wrong field by field, and ends the turn', async () => {
    const replies = [
      calls({ tool: 'response', args: { title: 5 } }),
      calls({ tool: 'response', args: { title: 'T', tags: ['a'] } }),
    ]
    const model = scriptedModel(({ step }) => replies[step] ?? 'too far')
    const outputSchema = z.object({ title: z.string(), tags: z.array(z.string()) })
    const app = [
      defineModel({ name: 'm', model }),
      definePrompt({ name: 'p', prompt: 'x', model: 'm', outputSchema }),
      defineAgent({ name: 'helper', type: 'ai_human', sideA: { prompt: 'p' } }),
    ]
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const result = await thread.send('go').result()
    expect(result).toMatchObject({ stopReason: 'completed', steps: 2, output: { title: 'T', tags: ['a'] } })
    expect(results(await thread.messages())[0]).toMatch(/TOOL_INPUT_INVALID: .*title: .*tags: /)
    expect(model.requests[0]?.tools).toMatchObject([
      { name: 'response', parameters: { type: 'object', required: ['title', 'tags'] } },
    ])
  })

  it('T12: without an output schema there is no response tool', async () => {
    const { app, model } = tinyApp({
      script: ({ step }) => (step === 0 ? calls({ tool: 'response', args: {} }) : 'done'),
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    await thread.send('go').text()
    expect(results(await thread.messages())[0]).toMatch(/UNKNOWN_TOOL/)
    expect(model.requests[0]?.tools).toEqual([])
  })
})
