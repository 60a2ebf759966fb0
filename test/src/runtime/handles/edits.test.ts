/** Messages that are changed or taken out (F4). */
import { expect, it } from 'vitest'
import { withEdits } from '../../../../actors/thread/turn/edits.js'
import type { Message } from '../../../../src/core/records/message.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { onEveryStore } from '../../../helpers/world.js'

const heard = (messages: readonly Message[] = []) => messages.map(({ role, text }) => `${role} ${text}`)

onEveryStore('edits', (world) => {
  it('F4: what was changed reads otherwise and what was removed is gone: to the model, in lists, after a restart, in a snapshot', async () => {
    const { app, model } = tinyApp({ script: () => 'ok' })
    const first = await world.open(app, { snapshotEvery: 1 })
    const thread = await first.threads.create({ id: 't', agent: 'helper' })
    await thread.send('my card is 1234', { id: 'm1' }).result()
    await thread.send('forget the weather', { id: 'm2' }).result()
    await thread.edit('m1', 'my card is hidden')
    await thread.remove('m2')
    await thread.send('go on', { id: 'm3' }).result()
    const wanted = ['user my card is hidden', 'assistant ok', 'assistant ok', 'user go on']
    expect(heard(model.requests.at(-1)?.messages)).toEqual(wanted)
    await world.close(first)
    const second = await world.open(app, { snapshotEvery: 1 })
    const again = await second.threads.get('t')
    expect(heard(await again.messages())).toEqual([...wanted, 'assistant ok'])
    await again.edit('m1', 'no card at all')
    await again.send('and now').result()
    expect(heard(model.requests.at(-1)?.messages).slice(0, 2)).toEqual(['user no card at all', 'assistant ok'])
    // What was recorded stays, and says that it was changed.
    const types: string[] = []
    for await (const event of again.events({ until: 'now' })) types.push(event.type)
    expect(types.filter((type) => type === 'message.edited')).toHaveLength(3)
  })

  it('F4, ED1: of a reply that calls and of a result only the words go, so that each call keeps its result', async () => {
    const { app, model } = tinyApp({
      script: ({ messages }) =>
        messages.at(-1)?.role === 'user' ? { text: 'I look.', calls: [{ tool: 'look', args: {} }] } : 'seen',
      tools: [looseTool('look', () => 'a secret')],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    await thread.send('go', { id: 'm1' }).result()
    await thread.remove('step_1')
    await thread.remove('result_1_0')
    await thread.send('and?').result()
    const [, reply, result] = model.requests.at(-2)?.messages ?? []
    expect([reply?.text, reply?.calls?.map(({ id }) => id), result?.call, result?.text]).toEqual([
      '',
      ['call_1_0'],
      'call_1_0',
      '[removed]',
    ])
  })

  it('F4: a thread whose request is refused for good gets out of it', async () => {
    const { app } = tinyApp({
      script: ({ messages }) =>
        messages.some(({ text }) => text.includes('poison')) ? { error: 'I refuse this' } : 'fine',
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    expect((await thread.send('poison', { id: 'bad' }).result()).stopReason).toBe('failed')
    expect((await thread.send('hello').result()).stopReason).toBe('failed')
    await thread.remove('bad')
    expect(await thread.resume()).toBe(true)
    expect(await (await thread.settled()).status).toBe('idle')
    expect((await thread.messages()).at(-1)?.text).toBe('fine')
  })

  it('F4: a message that is not there, or a thread that is over, is told', async () => {
    const { app } = tinyApp({ script: () => calls() })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    await thread.inject('hi', { id: 'm1' })
    await expect(thread.edit('m2', 'x')).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining('has no message "m2"'),
    })
    await thread.terminate()
    await expect(thread.remove('m1')).rejects.toMatchObject({ code: 'COMMAND_REFUSED' })
  })
})

it('with other words a reply keeps nothing for its model', () => {
  const message: Message = {
    id: 'step_1',
    role: 'assistant',
    text: 'a',
    at: 0,
    reasoning: 'b',
    kept: { origin: 'o', parts: [] },
  }
  expect(withEdits(new Map([['step_1', { id: 'step_1', text: 'c', seq: 1 }]]), message)).toEqual({
    id: 'step_1',
    role: 'assistant',
    text: 'c',
    at: 0,
  })
})
