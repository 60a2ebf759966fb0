/** K1, K2: hooks before a call, after it, after a step and about a new child. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { defineAgent, definePrompt, defineTool } from '../../../../src/agent/define.js'
import { defineHook } from '../../../../src/agent/define-hook.js'
import type { HookDefinition } from '../../../../src/agent/define-hook.js'
import { calls, looseTool } from '../../../helpers/app.js'
import { eventsOf, hookedApp } from '../../../helpers/hooked.js'
import { onEveryStore } from '../../../helpers/world.js'

const textsOf = (messages: readonly { readonly text: string }[]): readonly string[] => messages.map(({ text }) => text)

const asks = (...tools: readonly string[]) => tools.map((tool) => ({ tool, args: {} }))

function refundApp(hook: HookDefinition, euros: unknown = 1000) {
  const paid: number[] = []
  const refund = defineTool({
    name: 'refund',
    description: 'Pays back',
    args: z.object({ euros: z.number() }),
    execute: (_, args) => {
      paid.push(args.euros)
      return `paid ${args.euros}`
    },
  })
  const made = hookedApp({
    script: [{ calls: [{ tool: 'refund', args: { euros } }] }, 'done'],
    tools: [refund],
    hooks: [hook],
  })
  return { ...made, paid }
}

onEveryStore('hooks before a call', (world) => {
  const result = async (app: ReturnType<typeof refundApp>) => {
    const skein = await world.open(app.app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    const ended = await run.result()
    const made = await run.toolCalls()
    const [reply] = await eventsOf(thread, 'model.replied')
    await world.close(skein)
    return { reply, ended, made, read: app.model.requests[1]?.messages.at(-1)?.text }
  }

  it('K1: sees args that fit the tool, as they are recorded, and may change them', async () => {
    const seen: unknown[] = []
    const app = refundApp(
      defineHook({
        name: 'cap',
        on: 'before_call',
        tools: ['refund'],
        run: ({ args, tool, by }) => {
          seen.push([tool, args, by])
          return { args: { euros: 10 } }
        },
      }),
      '1000',
    )
    const { reply } = await result(app)
    expect(seen).toEqual([['refund', { euros: 1000 }, 'model']])
    expect(app.paid).toEqual([10])
    expect(reply).toMatchObject({
      calls: [{ tool: 'refund', args: { euros: 10 } }],
      hooks: [{ hook: 'cap' }],
    })
  })

  it('K1: refuses one call, which the model reads, and the turn goes on', async () => {
    const app = refundApp(defineHook({ name: 'no', on: 'before_call', run: () => ({ refuse: 'too much money' }) }))
    const { ended, made, read } = await result(app)
    expect(read).toContain('refund was not run: too much money')
    expect(ended).toMatchObject({ stopReason: 'completed', text: 'done' })
    expect(made).toMatchObject([{ outcome: { ok: false, failure: { code: 'HOOK_REFUSED' } } }])
    expect(app.paid).toEqual([])
  })

  it('K1: answers a call in place of its tool', async () => {
    const app = refundApp(defineHook({ name: 'mock', on: 'before_call', run: () => ({ answer: { paid: 0 } }) }))
    expect((await result(app)).read).toBe('{"paid":0}')
    expect(app.paid).toEqual([])
  })

  it('K1, K2: blocks: nothing of the reply is run, and the turn ends with hook_blocked', async () => {
    const ran: string[] = []
    const { app, model } = hookedApp({
      script: [calls('first', 'second')],
      tools: [looseTool('first', () => void ran.push('first')), looseTool('second', () => void ran.push('second'))],
      hooks: [defineHook({ name: 'guard', on: 'before_call', tools: ['second'], run: () => ({ block: 'stop it' }) })],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('go').result()).toMatchObject({ stopReason: 'hook_blocked', detail: 'stop it', steps: 1 })
    expect(ran).toEqual([])
    expect(model.requests).toHaveLength(1)
    expect((await thread.messages()).filter(({ role }) => role === 'tool')).toHaveLength(2)
  })

  it('K1, A1: asks for an approval by rule; approved with other args it runs with them', async () => {
    const app = refundApp(
      defineHook({
        name: 'guard',
        on: 'before_call',
        run: ({ args }) => (JSON.stringify(args).length > 10 ? { approval: { prompt: 'A lot of money' } } : undefined),
      }),
    )
    const skein = await world.open(app.app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    await expect.poll(() => skein.inbox.list()).toHaveLength(1)
    const [item] = await skein.inbox.list()
    expect(item).toMatchObject({ tool: 'refund', why: 'approval', prompt: 'A lot of money' })
    await skein.inbox.approve(item?.id ?? '', { args: { euros: 5 } })
    expect(await run.text()).toBe('done')
    expect(app.paid).toEqual([5])
  })

  it('K2: args that do not fit are no args: the call is made with its own', async () => {
    const nonsense = defineHook({ name: 'wrong', on: 'before_call', run: () => ({ args: { euros: 'many' } }) })
    const app = refundApp(nonsense)
    const { reply } = await result(app)
    expect(app.paid).toEqual([1000])
    expect(reply?.hooks).toMatchObject([
      { hook: 'wrong', failure: { code: 'HOOK_FAILED', message: expect.stringContaining('euros') } },
    ])
    const closed = refundApp({ ...nonsense, onError: 'block' })
    expect((await result(closed)).ended).toMatchObject({ stopReason: 'hook_blocked' })
    expect(closed.paid).toEqual([])
  })

  it('K1: hooks are asked in order, each with what those before made, until one refuses', async () => {
    const seen: unknown[] = []
    const add = (name: string) =>
      defineHook({
        name,
        on: 'before_call',
        tools: [defineTool({ name: 'refund', args: z.object({ euros: z.number() }), execute: () => 0 })],
        run: ({ args: { euros } }) => {
          seen.push([name, euros])
          return euros > 2 ? { refuse: 'enough' } : { args: { euros: euros + 1 } }
        },
      })
    const { app } = hookedApp({
      script: [calls({ tool: 'refund', args: { euros: 1 } }), 'done'],
      tools: [looseTool('refund', () => 'paid')],
      hooks: [add('a'), add('b'), add('c'), add('d')],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    await thread.send('go').result()
    expect(seen).toEqual([
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ])
  })

  it('K1: a call of a caller is asked about too; a block refuses it', async () => {
    const by: string[] = []
    const { app } = hookedApp({
      script: ['done'],
      tools: [looseTool('look', () => 'found')],
      hooks: [
        defineHook({
          name: 'guard',
          on: 'before_call',
          run: (input) => {
            by.push(input.by)
            return { block: 'nobody may' }
          },
        }),
      ],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    await expect(thread.callTool('look', {})).rejects.toMatchObject({ code: 'HOOK_REFUSED' })
    expect(by).toEqual(['caller'])
  })
})

onEveryStore('hooks after a call', (world) => {
  it('K1: changes a result, its text, or drops it; in call order, once each', async () => {
    const seen: unknown[] = []
    const { app, model } = hookedApp({
      script: [calls('a', 'b', 'c', 'd', 'e'), 'done'],
      tools: ['a', 'b', 'c', 'd', 'e'].map((name) => looseTool(name, () => `value of ${name}`)),
      hooks: [
        defineHook({
          name: 'redact',
          on: 'after_call',
          tools: ['a', 'b', 'c', 'd'],
          run: ({ tool, outcome, call }) => {
            seen.push([call, outcome])
            if (tool === 'a') return { result: { redacted: true } }
            if (tool === 'b') return { text: 'in short' }
            return tool === 'c' ? { drop: true } : { error: 'not for you' }
          },
        }),
      ],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    await run.result()
    expect(textsOf(model.requests[1]?.messages ?? []).slice(2)).toEqual([
      '{"redacted":true}',
      'in short',
      '[the result was dropped]',
      expect.stringContaining('not for you'),
      'value of e',
    ])
    expect(seen).toEqual(
      ['a', 'b', 'c', 'd'].map((name, index) => [`call_1_${index}`, { ok: true, value: `value of ${name}` }]),
    )
    expect((await run.toolCalls()).map(({ outcome }) => outcome)).toMatchObject([
      { ok: true, value: { redacted: true } },
      { ok: true, value: 'value of b' },
      { ok: true, value: null },
      { ok: false, failure: { code: 'TOOL_FAILED' } },
      { ok: true, value: 'value of e' },
    ])
  })

  it("K2: with onError: 'block' a hook that fails withholds the result", async () => {
    const { app, model } = hookedApp({
      script: [calls('a'), 'done'],
      tools: [looseTool('a', () => 'the secret')],
      hooks: [
        defineHook({
          name: 'redact',
          on: 'after_call',
          onError: 'block',
          run: () => {
            throw new Error('no luck')
          },
        }),
      ],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('go').text()).toBe('done')
    const read = model.requests[1]?.messages.at(-1)?.text
    expect(read).toContain('the result of a is withheld: the hook redact failed: no luck')
    expect(read).not.toContain('the secret')
  })

  it('K1, T12: sees a long result whole; what it makes of it is cut like any', async () => {
    const long = 'x'.repeat(100_000)
    const lengths: number[] = []
    const { app, model } = hookedApp({
      script: [calls('a'), calls({ tool: 'get_tool_response', args: { id: 'call_1_0' } }), 'done'],
      tools: [looseTool('a', () => `${long}secret`)],
      hooks: [
        defineHook({
          name: 'redact',
          on: 'after_call',
          tools: ['a'],
          run: ({ outcome }) => {
            const text = outcome.ok ? String(outcome.value) : ''
            lengths.push(text.length)
            return { result: text.replace('secret', '[gone]') }
          },
        }),
      ],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    await thread.send('go').result()
    expect(lengths).toEqual([100_006])
    expect(model.requests[1]?.messages.at(-1)?.text).toContain('of 100006 characters')
    expect(JSON.stringify(model.requests[2]?.messages)).not.toContain('secret')
  })

  it('K1, T3: three parallel calls, one of them stale: asked once for each, in call order, about what counts', async () => {
    const seen: unknown[] = []
    let ran = 0
    const write = looseTool('write', async (state) => {
      await state.kv.set('n', 1)
      return 'written'
    })
    const read = looseTool(
      'read',
      async (state) => {
        ran++
        return (await state.kv.get('n')) ?? 'nothing'
      },
      { sideEffect: false },
    )
    const { app } = hookedApp({
      script: [calls('write', 'read', 'read'), 'done'],
      tools: [write, read],
      hooks: [
        defineHook({
          name: 'audit',
          on: 'after_call',
          run: ({ call, outcome }, { key }) => void seen.push([call, outcome.ok && outcome.value, key]),
        }),
      ],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 'stale' })
    await thread.send('go').result()
    expect(seen).toEqual([
      ['call_1_0', 'written', 'stale/hook/step/1/call/0/audit'],
      ['call_1_1', 1, 'stale/hook/step/1/call/1/audit'],
      ['call_1_2', 1, 'stale/hook/step/1/call/2/audit'],
    ])
    expect(ran).toBeGreaterThanOrEqual(2)
  })
})

onEveryStore('hooks after a step', (world) => {
  it('K1: changes the text and the calls of a reply before anything of it is recorded', async () => {
    const { app, model } = hookedApp({
      script: [{ text: 'I use 4711', calls: asks('a', 'b') }, 'done'],
      tools: ['a', 'b'].map((name) => looseTool(name, () => name)),
      hooks: [
        defineHook({
          name: 'edit',
          on: 'after_step',
          run: ({ text, calls: asked }) =>
            text === 'done'
              ? undefined
              : { text: text.replace('4711', '****'), calls: asked.filter(({ tool }) => tool === 'b') },
        }),
      ],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    await thread.send('go').result()
    expect(textsOf(model.requests[1]?.messages ?? [])).toEqual(['go', 'I use ****', 'b'])
    const replies = await eventsOf(thread, 'model.replied')
    expect(replies.map(({ hooks }) => hooks)).toEqual([[{ hook: 'edit' }], undefined])
  })

  it('K1: blocks, and shows the text to watchers only when it has decided', async () => {
    const { app } = hookedApp({
      script: async function* () {
        yield 'bad '
        yield 'words'
        return { text: 'bad words', calls: asks('a') }
      },
      tools: [looseTool('a', () => 'ran')],
      hooks: [
        defineHook({
          name: 'judge',
          on: 'after_step',
          show: 'after',
          run: ({ text }) => ({ text: text.replace('bad', 'good'), block: 'no such words' }),
        }),
      ],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    const told: unknown[] = []
    for await (const event of thread.events()) {
      if (event.type === 'text.delta' || event.type === 'stream.reset') told.push([event.type, event.text])
      if (event.type === 'turn.ended') break
    }
    expect(await run.result()).toMatchObject({
      stopReason: 'hook_blocked',
      detail: 'no such words',
      text: 'good words',
    })
    expect(JSON.stringify(told)).not.toContain('bad')
  })
})

onEveryStore('hooks of children', (world) => {
  const writer = [
    definePrompt({ name: 'writer_prompt', prompt: 'You write.', model: 'scripted' }),
    defineAgent({ name: 'writer', type: 'ai_human', sideA: { prompt: 'writer_prompt' }, exposeAsTool: true }),
  ]

  it('K1: change what a child is told, or refuse it; a refused child takes no reference; after_call sees its answer', async () => {
    const seen: string[] = []
    const { app, model } = hookedApp({
      script: ({ system, messages, step }) => {
        if (system.includes('write')) return `wrote ${messages[0]?.text}`
        const ask = (message: string) => ({ tool: 'writer', args: { message } })
        if (step === 0) return { calls: [ask('bad'), ask('good')] }
        return step === 1 ? { calls: [ask('more')] } : 'done'
      },
      more: writer,
      callable: [{ name: 'writer' }],
      hooks: [
        defineHook({
          name: 'brief',
          on: 'subagent_created',
          run: ({ reference, text }) => {
            seen.push(`${reference} ${text}`)
            return text === 'bad' ? { refuse: 'not that' } : { text: `${text}!` }
          },
        }),
        defineHook({
          name: 'sign',
          on: 'after_call',
          run: ({ outcome }) => (outcome.ok ? { result: `${String(outcome.value)} (checked)` } : undefined),
        }),
      ],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('go').text()).toBe('done')
    expect(seen).toEqual(['writer-1 bad', 'writer-1 good', 'writer-2 more'])
    const last = model.requests.at(-1)?.messages.filter(({ role }) => role === 'tool') ?? []
    expect(textsOf(last)).toEqual([
      expect.stringContaining('writer was not run: not that'),
      'wrote good! (checked)',
      'wrote more! (checked)',
    ])
  })

  it('K1, A1: a child waits for the approval that a hook asks for', async () => {
    const { app } = hookedApp({
      script: ({ system, step }) => {
        if (system.includes('write')) return 'wrote it'
        return step === 0 ? { calls: [{ tool: 'writer', args: { message: 'm' } }] } : 'done'
      },
      more: writer,
      callable: [{ name: 'writer' }],
      hooks: [defineHook({ name: 'ask', on: 'before_call', tools: ['writer'], run: () => ({ approval: true }) })],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    await expect.poll(() => skein.inbox.list()).toHaveLength(1)
    expect(await thread.children()).toMatchObject([{ status: 'in line' }])
    const [item] = await skein.inbox.list()
    await skein.inbox.approve(item?.id ?? '')
    expect(await run.text()).toBe('done')
    expect(await thread.children()).toHaveLength(1)
  })
})
