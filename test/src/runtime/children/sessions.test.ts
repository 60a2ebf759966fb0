/** Sessions of `dual_ai` agents: two sides that take turns on one transcript. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import type { Message } from '../../../../src/core/records/message.js'
import type { ScriptedModel } from '../../../../src/models/scripted.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { collect, deferred, until } from '../../../helpers/deferred.js'
import { pairApp } from '../../../helpers/dual.js'
import { onEveryStore } from '../../../helpers/world.js'

const short = ({ role, text, calls: made, side, label }: Message): string => {
  const speaker = `${side ?? ''}${label === undefined ? '' : `(${label})`}`
  return `${speaker} ${role}: ${text}${made ? `[${made.map(({ tool }) => tool).join()}]` : ''}`.trim()
}
/** What the model was shown with each request. */
const seen = ({ requests }: ScriptedModel): string[][] =>
  requests.map(({ messages }) =>
    messages.map(
      ({ role, text, calls: asked }) => `${role}: ${text}${asked ? `[${asked.map(({ tool }) => tool).join()}]` : ''}`,
    ),
  )
const tool = (name: string, result: unknown = 'ok') => looseTool(name, () => result)
const call = (name: string, args: object = {}) => ({ tool: name, args })

onEveryStore('the sides of a session', (world) => {
  it('S11: roles swap by perspective: own words are the assistant’s, the other’s a user’s, and the other’s calls are not seen', async () => {
    const { app, models } = pairApp({
      a: [calls('look'), 'draft 1', { text: 'let me see', calls: [call('look')] }, 'draft 2'],
      b: [{ text: '', calls: [call('look')] }, 'longer', 'good'],
      sideA: { label: 'Writer' },
      sideB: { label: 'Critic' },
      maxSessionTurns: 2,
      tools: [tool('look', 'seen')],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'pair' })
    const run = thread.send('a poem')
    expect(await run.result()).toMatchObject({ text: 'good', stopReason: 'max_session_turns', steps: 7 })
    expect(seen(models.a)).toEqual([
      ['user: a poem'],
      ['user: a poem', 'assistant: [look]', 'tool: seen'],
      ['user: a poem', 'assistant: [look]', 'tool: seen', 'assistant: draft 1', 'user: longer'],
      [
        'user: a poem',
        'assistant: [look]',
        'tool: seen',
        'assistant: draft 1',
        'user: longer',
        'assistant: let me see[look]',
        'tool: seen',
      ],
    ])
    expect(seen(models.b)).toEqual([
      ['assistant: a poem', 'user: draft 1'],
      ['assistant: a poem', 'user: draft 1', 'assistant: [look]', 'tool: seen'],
      [
        'assistant: a poem',
        'user: draft 1',
        'assistant: [look]',
        'tool: seen',
        'assistant: longer',
        'user: let me see',
        'user: draft 2',
      ],
    ])
    const told = (await thread.messages()).map(short)
    expect(told).toEqual([
      'user: a poem',
      'a(Writer) assistant: [look]',
      'a tool: seen',
      'a(Writer) assistant: draft 1',
      'b(Critic) assistant: [look]',
      'b tool: seen',
      'b(Critic) assistant: longer',
      'a(Writer) assistant: let me see[look]',
      'a tool: seen',
      'a(Writer) assistant: draft 2',
      'b(Critic) assistant: good',
    ])
    expect((await collect(run.messagesStream)).map(short)).toEqual(told)
  })

  it('S11: maxSessionTurns counts exchanges, the lesser of the turns of A and B; session end is not thread end', async () => {
    const { app, models } = pairApp({
      a: ({ messages }) => `a${messages.length}`,
      b: ({ messages }) => `b${messages.length}`,
      maxSessionTurns: 2,
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'pair' })
    expect(await thread.send('one').result()).toMatchObject({ text: 'b4', stopReason: 'max_session_turns', steps: 4 })
    expect(await thread.status()).toBe('idle')
    expect(await thread.send('two').result()).toMatchObject({ text: 'b9', stopReason: 'max_session_turns', steps: 4 })
    expect(models.a.requests.map(({ step }) => step)).toEqual([0, 0, 0, 0])
    expect(seen(models.a)[2]).toEqual([
      'user: one',
      'assistant: a1',
      'user: b2',
      'assistant: a3',
      'user: b4',
      'user: two',
    ])
    expect(seen(models.b)[2]).toEqual([
      'assistant: one',
      'user: a1',
      'assistant: b2',
      'user: a3',
      'assistant: b4',
      'assistant: two',
      'user: a6',
    ])
  })

  it('S11: sessionStop ends the session with its message and files, only when that call succeeded', async () => {
    let tries = 0
    const finish = looseTool('finish', () => {
      if (++tries === 1) throw new Error('not yet')
      return { ok: true }
    })
    const { app } = pairApp({
      a: ['draft'],
      b: [calls(call('finish', { verdict: 'no' })), calls(call('finish', { verdict: 'fine', files: ['/a.txt'] }))],
      sideB: { sessionStop: { name: 'finish', messageProperty: 'verdict', attachmentsProperty: 'files' } },
      tools: [finish],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'pair' })
    const run = thread.send('go')
    expect(await run.result()).toMatchObject({
      text: 'fine',
      stopReason: 'session_stopped',
      attachments: ['/a.txt'],
      steps: 3,
    })
    expect(await run.text()).toBe('fine')
    expect(await thread.status()).toBe('idle')
  })

  it('S11: sessionFail comes before sessionStop, and that before the end of the side’s turn; each waits for all calls of the step', async () => {
    const gate = deferred()
    const slow = looseTool('slow', () => gate.promise)
    const sideA = { sessionFail: { name: 'give_up', messageProperty: 'why' }, sessionStop: 'finish', stopTool: 'done' }
    const tools = [tool('give_up'), tool('finish'), tool('done'), slow]
    const { app } = pairApp({
      a: [
        calls('done', 'finish', call('give_up', { why: 'no sources' }), 'slow'),
        { text: 'all', calls: [call('done'), call('finish')] },
      ],
      b: [],
      sideA,
      tools,
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'pair' })
    const run = thread.send('go')
    await until('its other calls are done', async () => (await run.pendingToolCalls()).length === 1)
    expect(await thread.status()).toBe('acting')
    gate.resolve()
    expect(await run.result()).toMatchObject({
      stopReason: 'session_failed',
      failure: { code: 'SESSION_FAILED', message: 'no sources' },
    })
    await expect(run.text()).rejects.toMatchObject({ code: 'SESSION_FAILED' })
    expect(await thread.status()).toBe('idle')
    expect(await thread.send('again').result()).toMatchObject({ stopReason: 'session_stopped', text: 'all' })
  })

  it('S11: stopTool ends the side’s turn by name, and stopToolResponseProperty is what the other side reads', async () => {
    const hand = looseTool('hand', (_, { draft }) => ({ final: String(draft).toUpperCase(), notes: 'mine' }))
    const { app, models } = pairApp({
      a: ['thinking aloud', calls(call('hand', { draft: 'x' })), calls('hand_out')],
      b: [calls('hand_out'), 'good'],
      sideA: { stopOnResponse: false, stopTool: 'hand', stopToolResponseProperty: 'final', sessionStop: 'hand_out' },
      sideB: { stopTool: 'hand_out' },
      tools: [hand, tool('hand_out', 'what it gave')],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'pair' })
    const run = thread.send('go')
    expect(await run.result()).toMatchObject({ stopReason: 'session_stopped', text: 'what it gave' })
    expect(seen(models.a)).toEqual([
      ['user: go'],
      ['user: go', 'assistant: thinking aloud'],
      [
        'user: go',
        'assistant: thinking aloud',
        'assistant: [hand]',
        'tool: {"final":"X","notes":"mine"}',
        'user: what it gave',
      ],
    ])
    expect(seen(models.b)).toEqual([['assistant: go', 'user: thinking aloud', 'user: X']])
    expect((await collect(run.messagesStream)).map(short)).toEqual((await thread.messages()).map(short))
  })

  it('D5, S11: a side whose prompt leaves earlier turns out reads this session alone, in its own view', async () => {
    const { app, models } = pairApp({
      a: ({ step, messages }) => (step === 0 ? { text: 'hm', calls: [call('look')] } : `a${messages.length}`),
      b: ({ messages }) => `b${messages.length}`,
      promptA: { includePastTools: false },
      promptB: { includeChat: false, includePastTools: false },
      maxSessionTurns: 1,
      tools: [tool('look')],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'pair' })
    await thread.send('one').result()
    await thread.send('two').result()
    expect(seen(models.a).at(-1)).toEqual([
      'user: one',
      'assistant: hm',
      'assistant: a3',
      'user: b3',
      'user: two',
      'assistant: hm[look]',
      'tool: ok',
    ])
    expect(seen(models.b).at(-1)).toEqual(['assistant: two', 'user: hm', 'user: a7'])
  })

  it('D6: maxSteps counts the replies of one side in one of its turns', async () => {
    const look = tool('look')
    const { app } = pairApp({
      a: [calls('look'), 'a1', calls('look'), 'a2'],
      b: [calls('look'), 'b1', calls('look'), calls('look')],
      sideA: { maxSteps: 2 },
      sideB: { maxSteps: 2 },
      tools: [look],
    })
    const skein = await world.open(app)
    const result = await (await skein.threads.create({ agent: 'pair' })).send('go').result()
    expect(result).toMatchObject({ stopReason: 'max_steps', text: 'a2', steps: 8 })
  })

  it('D6: a stop tool in the last step that is allowed ends the side’s turn in time', async () => {
    const { app } = pairApp({
      a: [calls('done')],
      b: ['b1'],
      sideA: { maxSteps: 1, stopTool: 'done' },
      maxSessionTurns: 1,
      tools: [tool('done')],
    })
    const skein = await world.open(app)
    expect(await (await skein.threads.create({ agent: 'pair' })).send('go').result()).toMatchObject({
      stopReason: 'max_session_turns',
      text: 'b1',
    })
  })

  it('D6: without calls and words a side ends the session', async () => {
    const { app } = pairApp({ a: ['a1'], b: [''] })
    const skein = await world.open(app)
    expect(await (await skein.threads.create({ agent: 'pair' })).send('go').result()).toMatchObject({
      stopReason: 'empty_reply',
      text: 'a1',
    })
  })
})

onEveryStore('a session and the world', (world) => {
  it('F4, S11: a message that steers is for side A, and is read when it speaks next', async () => {
    const gate = deferred()
    const { app, models } = pairApp({
      a: ['a1', 'a2', 'a3'],
      b: async ({ step, messages }) => {
        if (messages.length === 2) await gate.promise
        return step === 0 && messages.length === 2 ? calls('look') : `b${messages.length}`
      },
      maxSessionTurns: 2,
      tools: [tool('look')],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'pair' })
    const run = thread.send('go')
    await until('side B is asked', () => models.b.requests.length === 1)
    await thread.send('make it short').accepted()
    gate.resolve()
    await run.result()
    // Side B ends its turn first.
    expect(seen(models.b)[1]).toEqual(['assistant: go', 'user: a1', 'assistant: [look]', 'tool: ok'])
    expect(seen(models.a)[1]).toEqual(['user: go', 'assistant: a1', 'user: b4', 'user: make it short'])
    expect((await thread.messages()).map(short).slice(-3)).toEqual([
      'user: make it short',
      'a assistant: a2',
      'b assistant: b7',
    ])
  })

  it('F4, S11: what is said to the side that speaks keeps it speaking', async () => {
    const gate = deferred()
    const { app, models } = pairApp({
      a: async ({ step }) => (step === 0 && (await gate.promise), `a${step}`),
      b: ['b1'],
      maxSessionTurns: 1,
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'pair' })
    const run = thread.send('go')
    await until('side A is asked', () => models.a.requests.length === 1)
    await thread.send('short').accepted()
    gate.resolve()
    await run.result()
    expect(seen(models.a)[1]).toEqual(['user: go', 'assistant: a0', 'user: short'])
    expect(seen(models.b)).toEqual([['assistant: go', 'user: a0', 'assistant: short', 'user: a1']])
  })

  it('S11: pause, an approval and a failed model are met as in any turn; after a failure the side that was to speak goes on', async () => {
    let broken = true
    const { app, models } = pairApp({
      a: ['a1'],
      b: () => {
        if (!broken) return calls(call('sign', { as: 'me' }))
        broken = false
        return { error: 'no' }
      },
      sideB: { sessionStop: { name: 'sign', messageProperty: 'as' } },
      tools: [looseTool('sign', () => ({}), { needsApproval: true })],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'pair' })
    expect(await thread.send('go').result()).toMatchObject({ stopReason: 'failed' })
    await thread.pause()
    await thread.resume()
    expect(await thread.resume()).toBe(true)
    await until('someone is asked', async () => (await thread.status()) === 'awaiting_approval')
    expect(models.b.requests).toHaveLength(2)
    const [item] = await skein.inbox.list()
    const run = await thread.current()
    await skein.inbox.approve(item?.id ?? '', { args: { as: 'you' } })
    // The call has other args now, and still ends the session.
    expect(await run?.result()).toMatchObject({ stopReason: 'session_stopped', text: 'you' })
    expect(models.a.requests).toHaveLength(1)
  })

  it('F7, S11: a turn that is cancelled in the middle of a step hands nothing over, and the next message is for side A', async () => {
    const gate = deferred()
    const { app, models } = pairApp({
      a: [calls('done', 'slow'), 'a2'],
      b: ['b1'],
      sideA: { stopTool: 'done' },
      maxSessionTurns: 1,
      tools: [tool('done', 'finished'), looseTool('slow', () => gate.promise)],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'pair' })
    const run = thread.send('go')
    await until(
      'one call is done',
      async () => (await run.pendingToolCalls()).length === 1 && models.a.requests.length === 1,
    )
    await thread.cancel('enough')
    gate.resolve()
    expect(await run.result()).toMatchObject({ stopReason: 'cancelled', detail: 'enough' })
    const said = (await thread.messages()).map(short)
    expect(said.slice(0, 3)).toEqual(['user: go', 'a assistant: [done,slow]', 'a tool: finished'])
    expect(said).toHaveLength(4)
    expect((await collect(run.messagesStream)).map(short)).toEqual(said)
    await thread.send('again').result()
    expect(seen(models.b)).toEqual([['assistant: go', 'assistant: again', 'user: a2']])
  })

  it('S11: what a tool of one side says or queues is for that side', async () => {
    const nosy = looseTool(
      'nosy',
      ({ queueMessage, queueTool }) => (queueMessage('psst'), queueTool('look', {}), 'ok'),
      { uses: ['look'] },
    )
    const { app, models } = pairApp({
      a: ['a1', 'a2'],
      b: [{ text: 'b1', calls: [call('nosy')] }, 'b2'],
      maxSessionTurns: 1,
      tools: [nosy, tool('look', 'seen')],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'pair' })
    await thread.send('go').result()
    await thread.send('once more').accepted()
    await until('side A is asked again', () => models.a.requests.length === 2)
    expect(seen(models.b)[1]).toEqual([
      'assistant: go',
      'user: a1',
      'assistant: b1[nosy]',
      'tool: ok',
      'user: psst',
      'assistant: [look]',
      'tool: seen',
    ])
    expect(seen(models.a)[1]).toEqual(['user: go', 'assistant: a1', 'user: b1', 'user: b2', 'user: once more'])
  })

  it('D6, R1: deltas and messages say who speaks', async () => {
    const listening = deferred()
    const { app } = pairApp({
      a: ['a1'],
      b: async () => (await listening.promise, 'b1'),
      sideB: { label: 'Critic' },
      maxSessionTurns: 1,
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'pair' })
    const heard = new Set<string>()
    const run = thread.send('go')
    for await (const event of run.fullStream) {
      if (event.type === 'text.delta' || event.type === 'model.replied')
        heard.add([event.type, event.side, event.label, event.text].join(' '))
      if (event.type === 'model.replied') listening.resolve()
    }
    // The first words may have been said before anyone listened.
    heard.delete('text.delta a  a1')
    expect([...heard]).toEqual(['model.replied a  a1', 'text.delta b Critic b1', 'model.replied b Critic b1'])
  })

  it('D6: an output schema of a side ends its turn, not the session', async () => {
    const { app, models } = pairApp({
      a: [calls(call('response', { title: 'T' }))],
      b: ['b1'],
      maxSessionTurns: 1,
      promptA: { outputSchema: z.object({ title: z.string() }) },
    })
    const skein = await world.open(app)
    const result = await (await skein.threads.create({ agent: 'pair' })).send('go').result()
    expect(result).toMatchObject({ stopReason: 'max_session_turns', text: 'b1', output: { title: 'T' } })
    expect(seen(models.b)).toEqual([['assistant: go', 'user: {"title":"T"}']])
  })
})

onEveryStore('a session that a parent asked for', (world) => {
  const ask = (message: string) => call('pair', { message })
  const results = (messages: readonly Message[]): string[] =>
    messages.filter(({ role }) => role === 'tool').map(({ text }) => text)

  it('S1, S11: its result is the message of sessionStop, and sessionFail is CHILD_FAILED with its message', async () => {
    const sideB = {
      sessionStop: { name: 'accept', messageProperty: 'say' },
      sessionFail: { name: 'refuse', messageProperty: 'why' },
    }
    const { app } = pairApp({
      lead: ({ messages, step }) =>
        step === 0 ? calls(ask('good'), ask('bad'), ask('endless')) : results(messages).join('\n'),
      a: ({ messages }) => `draft of ${messages[0]?.text}`,
      b: ({ messages }) =>
        messages[0]?.text === 'good'
          ? calls(call('accept', { say: 'the poem' }))
          : messages[0]?.text === 'bad'
            ? calls(call('refuse', { why: 'no rhyme' }))
            : 'more',
      sideB,
      maxSessionTurns: 2,
      tools: [tool('accept'), tool('refuse')],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    expect((await thread.send('go').text()).split('\n')).toEqual([
      'the poem',
      'Error CHILD_FAILED: it did not finish: session_failed (no rhyme). It last said: draft of bad',
      'Error CHILD_FAILED: it did not finish: max_session_turns. It last said: more',
    ])
    expect((await skein.threads.list({ parent: 'lead' })).threads.map(({ status }) => status)).toEqual([
      'done',
      'done',
      'done',
    ])
  })

  it('S8: files that sessionStop names go to the parent with its message', async () => {
    const write = looseTool(
      'finish',
      async ({ files }) => (await files.writeFile('/poem.txt', 'roses'), { files: ['/poem.txt'] }),
    )
    const { app } = pairApp({
      lead: ({ messages, step }) => (step === 0 ? calls(ask('go')) : results(messages).join()),
      a: ['a1'],
      b: [calls(call('finish', { say: 'done' }))],
      sideB: { sessionStop: { name: 'finish', messageProperty: 'say', attachmentsProperty: 'files' } },
      tools: [write],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    expect(await thread.send('go').text()).toMatch(/^done\n\n.*\/attachments\/poem\.txt/)
    expect(await thread.files.readFile('/attachments/poem.txt', 'utf8')).toBe('roses')
  })

  it('S3: receives_messages side_b: what the parent says are words of side A, and side B answers them', async () => {
    const { app, models } = pairApp({
      lead: ({ messages, step }) =>
        [
          calls(call('subagent_create', { agent: 'pair', name: 'P', message: 'first' })),
          calls(call('subagent_message', { reference: 'pair-1', message: 'second' })),
        ][step] ?? results(messages).join(' | '),
      relation: { resumable: { receives_messages: 'side_b' } },
      a: ({ messages }) => `a${messages.length}`,
      b: ({ messages }) => `b${messages.length}`,
      sideA: { sessionStop: 'finish' },
      maxSessionTurns: 1,
      tools: [tool('finish')],
    })
    const skein = await world.open(app)
    await (await skein.threads.create({ agent: 'lead', id: 'lead' })).send('go').text()
    expect(seen(models.b)).toEqual([['user: first'], ['user: first', 'assistant: b1', 'user: a2', 'user: second']])
    expect(seen(models.a)).toEqual([
      ['assistant: first', 'user: b1'],
      ['assistant: first', 'user: b1', 'assistant: a2', 'assistant: second', 'user: b4'],
    ])
    expect((await skein.threads.list({ parent: 'lead' })).threads.map(({ status }) => status)).toEqual(['idle'])
  })

  it('S7: sessionStatus tells the parent how far it is, when that call succeeded', async () => {
    const gate = deferred()
    let tries = 0
    const progress = looseTool('progress', () => {
      if (++tries === 1) throw new Error('not now')
      return 'noted'
    })
    const { app } = pairApp({
      lead: ({ messages, step }) =>
        [calls(call('subagent_create', { agent: 'pair', name: 'P', message: 'go' })), calls('subagent_list')][step] ??
        results(messages).at(-1) ??
        '',
      relation: { blocking: false, resumable: { receives_messages: 'side_a' } },
      a: [calls(call('progress', { at: 'page 1' })), calls(call('progress', { at: 'page 2' })), 'a1'],
      b: async () => {
        await gate.promise
        return 'b1'
      },
      sideA: { sessionStatus: { name: 'progress', messageProperty: 'at' } },
      maxSessionTurns: 1,
      tools: [progress],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await thread.send('go').text()
    const told: string[] = []
    await until('the parent was told', async () => {
      for await (const event of thread.events({ until: 'now' }))
        if (event.type === 'child.told') told.push(JSON.stringify(event.words))
      return told.length > 0
    })
    expect(told).toEqual(['[{"status":"page 2"}]'])
    gate.resolve()
    const run = await thread.send('how far?').text()
    expect(run).toContain('page 2')
  })

  it('S1, S11: what a child of one side reports later is for that side', async () => {
    const child = tinyApp({ script: ['found'], agent: 'finder' }).app.map((definition) =>
      definition.kind === 'agent' ? { ...definition, exposeAsTool: true } : definition,
    )
    const { app, models } = pairApp({
      a: ['a1', 'a2'],
      b: ({ messages }) => (messages.length === 2 ? calls(call('finder', { message: 'find' })) : `b${messages.length}`),
      promptB: { tools: [{ name: 'finder', blocking: false }] },
      maxSessionTurns: 1,
    })
    const skein = await world.open([...app, ...child])
    const thread = await skein.threads.create({ agent: 'pair', id: 'pair' })
    await thread.send('go').result()
    await until('side B has read it', () =>
      models.b.requests.some(({ messages }) =>
        messages.some(({ role, text }) => role === 'user' && text === '[finder-1] found'),
      ),
    )
    await thread.settled()
    for (const request of seen(models.a)) expect(request.join()).not.toContain('finder')
  })
})

onEveryStore('the rules of a side of an ai_human agent', (world) => {
  it('D6: stopTool, stopOnResponse, sessionStop and sessionFail end its turn', async () => {
    const { app } = tinyApp({
      script: [
        'thinking',
        calls(call('done', { say: 'x' })),
        calls('finish'),
        calls(call('give_up', { why: 'tired' })),
      ],
      tools: [tool('done'), tool('finish', { said: 'bye' }), tool('give_up')],
    })
    const sideA = {
      prompt: 'helper_prompt',
      label: 'Helper',
      stopOnResponse: false,
      stopTool: 'done',
      stopToolResponseProperty: 'say',
      sessionStop: 'finish',
      sessionFail: { name: 'give_up', messageProperty: 'why' },
    }
    const skein = await world.open(
      app.map((definition) => (definition.kind === 'agent' ? { ...definition, sideA } : definition)),
    )
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await thread.send('1').result()).toMatchObject({ text: 'x', stopReason: 'completed', steps: 2 })
    expect(await thread.send('2').result()).toMatchObject({ text: '{"said":"bye"}', stopReason: 'session_stopped' })
    expect(await thread.send('3').result()).toMatchObject({
      stopReason: 'session_failed',
      failure: { message: 'tired' },
    })
    expect((await thread.messages()).map(short).slice(0, 4)).toEqual([
      'user: 1',
      '(Helper) assistant: thinking',
      '(Helper) assistant: [done]',
      'tool: ok',
    ])
  })

  it('D6: a reply that does not end the turn counts as a step', async () => {
    const skein = await world.open(appOnSide({ stopOnResponse: false, stopTool: 'done', maxSteps: 3 }))
    expect(await (await skein.threads.create({ agent: 'helper' })).send('go').result()).toMatchObject({
      stopReason: 'max_steps',
      steps: 3,
      text: '2',
    })
  })
})

function appOnSide(side: object) {
  return tinyApp({ script: ({ step }) => String(step), tools: [tool('done')] }).app.map((definition) =>
    definition.kind === 'agent' ? { ...definition, sideA: { prompt: 'helper_prompt', ...side } } : definition,
  )
}
