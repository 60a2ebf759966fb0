/** Sessions of two sides that a parent asked for, and children of a side. */
import { expect, it } from 'vitest'
import type { Message } from '../../../../src/core/records/message.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { deferred, until } from '../../../helpers/deferred.js'
import { pairApp, seen } from '../../../helpers/dual.js'
import { onEveryStore } from '../../../helpers/world.js'

const tool = (name: string, result: unknown = 'ok') => looseTool(name, () => result)
const call = (name: string, args: object = {}) => ({ tool: name, args })

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
      b: ({ messages }) => {
        if (messages[0]?.text === 'good') return calls(call('accept', { say: 'the poem' }))
        return messages[0]?.text === 'bad' ? calls(call('refuse', { why: 'no rhyme' })) : 'more'
      },
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
    const write = looseTool('finish', async ({ files }) => {
      await files.writeFile('/poem.txt', 'roses')
      return { files: ['/poem.txt'] }
    })
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
