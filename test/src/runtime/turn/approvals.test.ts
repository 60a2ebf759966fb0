/** Calls that wait for a person: approvals, manual tools, and tools that ask when they must. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { looseTool } from '../../../helpers/app.js'
import { deferred, quiet, until } from '../../../helpers/deferred.js'
import { asking, begin, pending, results } from '../../../helpers/asking.js'
import { onEveryStore } from '../../../helpers/world.js'
import { defineTool } from '../../../../src/agent/define.js'
import type { ToolDefinition } from '../../../../src/agent/define.js'

onEveryStore('approvals', (world) => {
  const pay = (ran: unknown[], more: Partial<ToolDefinition> = {}): ToolDefinition => ({
    ...defineTool({
      name: 'pay',
      description: 'Pays',
      args: z.object({ cents: z.number().int().positive() }),
      needsApproval: true,
      sideEffect: true,
      execute: (state, args) => {
        ran.push(args)
        return `paid ${args.cents} ${state.idempotencyKey.length}`
      },
    }),
    ...more,
  })

  it('A1: the call waits, durably, with all that someone needs to decide; approved, it runs', async () => {
    const ran: unknown[] = []
    const skein = await world.open(
      asking(
        [pay(ran, { approvalPrompt: 'Pay this?', approvalDefaults: { limit: 5 } })],
        [{ tool: 'pay', args: { cents: 3 } }],
      ),
    )
    const thread = await begin(skein)
    await pending(skein, 1)
    const at = world.clock.now()
    expect(await skein.inbox.list({ root: 't' })).toEqual([
      {
        id: 't/call_1_0',
        thread: 't',
        path: ['t'],
        agent: 'helper',
        call: 'call_1_0',
        why: 'approval',
        tool: 'pay',
        args: { cents: 3 },
        prompt: 'Pay this?',
        defaults: { limit: 5 },
        requestedAt: at,
      },
    ])
    expect(await thread.status()).toBe('awaiting_approval')
    expect(await thread.run('m').pendingToolCalls()).toMatchObject([{ id: 'call_1_0', waitsFor: 'approval' }])
    await world.close(skein)

    const again = await world.open(asking([pay(ran)], [{ tool: 'pay', args: { cents: 3 } }]))
    expect(ran).toEqual([])
    await again.inbox.approve('t/call_1_0', { by: 'ann' })
    expect(await (await again.threads.get('t')).run('m').text()).toBe('done')
    expect(ran).toEqual([{ cents: 3 }])
    expect(await again.inbox.list()).toEqual([])
  })

  it('A1: rejected, it never runs, also not after a restart; the model reads who and why', async () => {
    const ran: unknown[] = []
    const app = asking([pay(ran)], [{ tool: 'pay', args: { cents: 3 } }])
    const skein = await world.open(app)
    const thread = await begin(skein)
    await pending(skein, 1)
    await skein.inbox.reject('t/call_1_0', { by: 'ann', comment: 'too much' })
    await thread.run('m').text()
    await world.close(skein)
    const again = await (await world.open(app)).threads.get('t')
    await again.send('once more', { id: 'n' }).accepted()
    await quiet()
    expect(results(await again.messages())[0]).toBe(
      'Error TOOL_DENIED: pay was not allowed by ann: too much; it was not run',
    )
    expect((await again.run('m').toolCalls())[0]).toMatchObject({
      outcome: { ok: false, failure: { code: 'TOOL_DENIED' } },
    })
    expect(ran).toEqual([])
  })

  it('A1: other args are checked again, and the model reads that they were changed', async () => {
    const ran: unknown[] = []
    const skein = await world.open(asking([pay(ran)], [{ tool: 'pay', args: { cents: 3 } }]))
    const thread = await begin(skein)
    await pending(skein, 1)
    await expect(skein.inbox.approve('t/call_1_0', { args: { cents: -1 } })).rejects.toMatchObject({
      code: 'TOOL_INPUT_INVALID',
      message: expect.stringContaining('cents'),
    })
    await pending(skein, 1)
    await skein.inbox.approve('t/call_1_0', { args: { cents: 2 } })
    await thread.run('m').text()
    expect(ran).toEqual([{ cents: 2 }])
    expect(results(await thread.messages())[0]).toMatch(/^\(It was approved with other args: \{"cents":2\}\)\npaid 2/)
    expect((await thread.run('m').toolCalls())[0]).toMatchObject({ args: { cents: 2 }, outcome: { ok: true } })
  })

  it('A1: a second decision, one after cancel and one about nothing are refused', async () => {
    const ran: unknown[] = []
    const gate = deferred()
    const slow = looseTool('slow', () => gate.promise)
    const skein = await world.open(
      asking([pay(ran), slow], [{ tool: 'pay', args: { cents: 3 } }, 'slow', { tool: 'pay', args: { cents: 4 } }]),
    )
    const thread = await begin(skein)
    await pending(skein, 2)
    await skein.inbox.reject('t/call_1_0')
    await expect(skein.inbox.approve('t/call_1_0')).rejects.toMatchObject({
      code: 'COMMAND_REFUSED',
      message: expect.stringContaining('decided'),
    })
    await expect(skein.inbox.answer('t/call_1_2', 'x')).rejects.toMatchObject({
      message: expect.stringContaining('approve or reject'),
    })
    await thread.cancel()
    await expect(skein.inbox.approve('t/call_1_2')).rejects.toMatchObject({ code: 'COMMAND_REFUSED' })
    await expect(skein.inbox.approve('t/call_9_9')).rejects.toMatchObject({
      message: expect.stringContaining('no call call_9_9'),
    })
    await expect(skein.inbox.approve('nothing')).rejects.toMatchObject({ code: 'BAD_OPTION' })
    gate.resolve()
    expect(ran).toEqual([])
    expect(await skein.inbox.list()).toEqual([])
  })

  it('A2, T3: several wait, are answered in any order, and hold back only effects behind them; nothing else runs again', async () => {
    const ran: string[] = []
    const note = (name: string, more: Partial<ToolDefinition> = {}) =>
      looseTool(
        name,
        () => {
          ran.push(name)
          return name
        },
        more,
      )
    const tools = [
      note('first', { needsApproval: true, sideEffect: true }),
      note('plain'),
      note('effect', { sideEffect: true }),
      note('second', { needsApproval: true }),
      note('pure', { sideEffect: false }),
    ]
    const skein = await world.open(asking(tools))
    await begin(skein)
    await pending(skein, 2)
    await until('what need not wait', () => ran.length === 1)
    await quiet()
    // The effect in the middle is a barrier for what comes behind it.
    expect(ran).toEqual(['plain'])
    await skein.inbox.approve('t/call_1_3')
    await world.close(skein)
    const again = await world.open(asking(tools))
    await pending(again, 1)
    await quiet()
    expect(ran).toEqual(['plain'])
    await again.inbox.approve('t/call_1_0')
    await (await again.threads.get('t')).run('m').text()
    expect(ran.toSorted()).toEqual(['effect', 'first', 'plain', 'pure', 'second'])
    expect(ran.indexOf('first')).toBeLessThan(ran.indexOf('effect'))
    expect(results(await (await again.threads.get('t')).messages())).toEqual([
      'first',
      'plain',
      'effect',
      'second',
      'pure',
    ])
  })

  it('A2: a call that waits for its turn behind one that waits for a person is at rest, and goes on after it', async () => {
    const log: string[] = []
    const first = looseTool(
      'first',
      async ({ files }) => {
        await files.writeFile('/x', 'by the first')
        return 'first'
      },
      {
        needsApproval: true,
      },
    )
    const reader = looseTool('reader', async ({ files }) => {
      log.push('begins')
      return (await files.exists('/x')) ? files.readFile('/x', 'utf8') : 'nothing'
    })
    const skein = await world.open(asking([first, reader]))
    const thread = await begin(skein)
    await until('the reader', () => log.length === 1)
    await thread.settled()
    expect(await thread.status()).toBe('awaiting_approval')
    await skein.inbox.approve('t/call_1_0')
    await thread.run('m').text()
    expect(results(await thread.messages())).toEqual(['first', 'by the first'])
    expect(log).toEqual(['begins'])
  })

  it('A1: a function decides, and one that throws lets nothing run', async () => {
    const ran: unknown[] = []
    const asks = (name: string, needsApproval: ToolDefinition['needsApproval']) =>
      looseTool(
        name,
        (_, args) => {
          ran.push(args)
          return 'ok'
        },
        needsApproval === undefined ? {} : { needsApproval },
      )
    const tools = [
      asks('large', async (args) => (args as { n: number }).n > 10),
      asks('broken', () => {
        throw new Error('no idea')
      }),
    ]
    const skein = await world.open(
      asking(tools, [
        { tool: 'large', args: { n: 1 } },
        { tool: 'large', args: { n: 11 } },
        { tool: 'broken', args: {} },
      ]),
    )
    const thread = await begin(skein)
    await pending(skein, 1)
    await skein.inbox.approve('t/call_1_1')
    await thread.run('m').text()
    expect(ran).toEqual([{ n: 1 }, { n: 11 }])
    expect(results(await thread.messages())[2]).toMatch(/TOOL_THREW: broken was not run: .*no idea/)
  })

  it('D4: the function of needsApproval is given the thread and the contexts, as they are when the call is asked for', async () => {
    const states: unknown[] = []
    const spend = defineTool({
      name: 'spend',
      description: 'Spends',
      args: z.object({ cents: z.number() }),
      contextSchema: z.object({ spent: z.number().default(0) }),
      sharedSchema: z.object({ limit: z.number() }),
      needsApproval: ({ cents }, { threadId, local, shared }) => {
        states.push([threadId, local.spent, shared.limit])
        return local.spent + cents > shared.limit
      },
      execute(state, { cents }) {
        state.setContext({ spent: state.local.spent + cents })
        return state.local.spent
      },
    })
    const skein = await world.open(asking([spend], [{ tool: 'spend', args: { cents: 60 } }]))
    const thread = await skein.threads.create({ agent: 'helper', id: 't', context: { shared: { limit: 100 } } })
    await thread.send('go').text()
    await thread.send('once more', { id: 'm' }).accepted()
    await pending(skein, 1)
    expect(await skein.inbox.list()).toMatchObject([{ id: 't/call_3_0', why: 'approval' }])
    expect(states).toEqual([
      ['t', 0, 100],
      ['t', 60, 100],
    ])
    await skein.inbox.approve('t/call_3_0')
    await thread.run('m').text()
    expect(results(await thread.messages())).toEqual(['60', '120'])
  })

  it('D4: a context that the function needs and nobody has set lets nothing run, and says so', async () => {
    const tool = defineTool({
      name: 'spend',
      description: 'Spends',
      args: z.object({}),
      sharedSchema: z.object({ limit: z.number() }),
      needsApproval: (_, { shared }) => shared.limit > 0,
      execute: () => 'ran',
    })
    const thread = await begin(await world.open(asking([tool], ['spend'])))
    await thread.run('m').text()
    expect(results(await thread.messages())[0]).toMatch(/TOOL_THREW: spend was not run: .*state\.shared\.limit/)
  })

  it('A1: a deadline decides, also when it passed while nobody served the store', async () => {
    const ran: unknown[] = []
    const app = asking(
      [
        pay(ran, { approvalDeadline: { afterMs: 1_000, decision: 'reject' } }),
        looseTool('wait', () => 'waited', {
          needsApproval: true,
          approvalDeadline: { afterMs: 5_000, decision: 'approve' },
        }),
      ],
      [{ tool: 'pay', args: { cents: 1 } }, 'wait'],
    )
    const skein = await world.open(app)
    await begin(skein)
    await pending(skein, 2)
    world.clock.advance(1_000)
    await pending(skein, 1)
    await world.close(skein)
    world.clock.advance(10_000)
    const thread = await (await world.open(app)).threads.get('t')
    await until('the end', async () => {
      world.clock.advance(0)
      return (await thread.status()) === 'idle'
    })
    expect(await thread.run('m').text()).toBe('done')
    expect(results(await thread.messages())).toEqual([
      'Error TOOL_DENIED: pay was not allowed by deadline: nobody decided in time; it was not run',
      'waited',
    ])
    expect(ran).toEqual([])
  })

  it('A1: the inbox can be watched', async () => {
    const skein = await world.open(asking([pay([])], [{ tool: 'pay', args: { cents: 3 } }]))
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const seen: string[][] = []
    const watching = (async () => {
      for await (const items of skein.inbox.watch({ root: 't' })) {
        seen.push(items.map(({ call }) => call))
        if (seen.length === 3) return
      }
    })()
    await until('the first look', () => seen.length === 1)
    await thread.send('go').accepted()
    await pending(skein, 1)
    await until('the second look', () => seen.length === 2)
    await skein.inbox.reject('t/call_1_0')
    await watching
    expect(seen).toEqual([[], ['call_1_0'], []])
  })
})

onEveryStore('people', (world) => {
  const manual = defineTool({
    name: 'measure',
    description: 'Someone measures',
    args: z.object({ what: z.string() }),
    execute: false,
    outputSchema: z.object({ cm: z.number() }),
  })

  it('A3: a manual tool is answered by whoever called; what does not fit is refused and can be corrected', async () => {
    const skein = await world.open(asking([manual], [{ tool: 'measure', args: { what: 'door' } }]))
    const thread = await begin(skein)
    await pending(skein, 1)
    expect(await thread.status()).toBe('awaiting_human')
    expect(await thread.run('m').pendingToolCalls()).toEqual([
      { id: 'call_1_0', tool: 'measure', args: { what: 'door' }, waitsFor: 'person' },
    ])
    await expect(skein.inbox.answer('t/call_1_0', { cm: 'tall' })).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining('cm'),
    })
    await expect(skein.inbox.approve('t/call_1_0')).rejects.toMatchObject({
      message: expect.stringContaining('answer it'),
    })
    await skein.inbox.answer('t/call_1_0', { cm: 201 }, { by: 'bob' })
    expect(await thread.run('m').text()).toBe('done')
    expect(results(await thread.messages())).toEqual(['{"cm":201}'])
    await expect(skein.inbox.answer('t/call_1_0', { cm: 2 })).rejects.toMatchObject({ code: 'COMMAND_REFUSED' })
  })

  it('T12: a question is answered in its form; what does not fit is refused, and the person can correct it', async () => {
    const questions = [
      { header: 'Colour', question: 'Which colour?', options: [{ label: 'red' }, { label: 'blue' }], freeText: false },
    ]
    const app = [...asking([], [{ tool: 'ask_user_question', args: { questions } }])].map((definition) =>
      definition.kind === 'prompt' ? { ...definition, tools: ['ask_user_question'] } : definition,
    )
    const skein = await world.open(app)
    const thread = await begin(skein)
    await pending(skein, 1)
    expect((await skein.inbox.list())[0]).toMatchObject({ why: 'person', tool: 'ask_user_question' })
    await expect(skein.inbox.answer('t/call_1_0', { answers: ['green'] })).rejects.toMatchObject({ code: 'BAD_OPTION' })
    await pending(skein, 1)
    await skein.inbox.answer('t/call_1_0', { answers: ['blue'] }).catch((error: Error) => {
      throw new Error(error.message)
    })
    await thread.run('m').text()
    expect(results(await thread.messages())[0]).toMatch(/blue/)
  })

  it('A3: onToolCalled answers, or asks a person with null; the answer goes through onResponseReceived and outputSchema, after a restart too', async () => {
    const asked: string[] = []
    const judge: ToolDefinition = defineTool({
      name: 'judge',
      description: 'Judges',
      args: z.object({ risk: z.number() }),
      outputSchema: z.object({ verdict: z.string() }),
      onToolCalled: (_, { risk }) => {
        asked.push(`asked ${risk}`)
        return risk < 5 ? { verdict: 'fine' } : null
      },
      onResponseReceived: (_, answer) => {
        if (answer === 'throw') throw new Error('not like that')
        return { verdict: answer === 'bad' ? 5 : `a person said ${String(answer)}` } as { verdict: string }
      },
    })
    const risks = [1, 9, 8, 7].map((risk) => ({ tool: 'judge', args: { risk } }))
    const skein = await world.open(asking([judge], risks))
    await begin(skein)
    await pending(skein, 3)
    await world.close(skein)
    const again = await world.open(asking([judge], risks))
    await pending(again, 3)
    await again.inbox.answer('t/call_1_3', 'bad')
    await again.inbox.answer('t/call_1_2', 'throw')
    await again.inbox.answer('t/call_1_1', 'yes')
    const thread = await again.threads.get('t')
    await thread.run('m').text()
    const texts = results(await thread.messages())
    expect(texts.slice(0, 2)).toEqual(['{"verdict":"fine"}', '{"verdict":"a person said yes"}'])
    expect(texts[2]).toMatch(/TOOL_THREW: not like that/)
    expect(texts[3]).toMatch(/TOOL_OUTPUT_INVALID/)
    expect(asked).toEqual(['asked 1', 'asked 9', 'asked 8', 'asked 7'])
  })
})
