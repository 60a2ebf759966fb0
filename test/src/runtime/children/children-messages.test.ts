/** What a parent says to a child that stays: each message is answered by itself, in order. */
import { expect, it } from 'vitest'
import type { Message } from '../../../../src/core/records/message.js'
import type { Script } from '../../../../src/models/scripted.js'
import type { RequestedCall } from '../../../../src/models/port.js'
import type { Skein } from '../../../../src/runtime/skein.js'
import { calls } from '../../../helpers/app.js'
import { results } from '../../../helpers/asking.js'
import { family, last } from '../../../helpers/family.js'
import { collect, deferred, until } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'

const make = (message: string): RequestedCall => ({
  tool: 'subagent_create',
  args: { agent: 'writer', name: 'Ann', message },
})
const say = (message: string, more: Record<string, unknown> = {}): RequestedCall => ({
  tool: 'subagent_message',
  args: { reference: 'writer-1', message, ...more },
})
const users = (messages: readonly Message[]): string[] =>
  messages.filter(({ role }) => role === 'user').map(({ text }) => text)
const resumable = { receives_messages: 'side_a' } as const

onEveryStore('messages to a child that stays', (world) => {
  it('S2: two messages to one child in one step are turns of their own: each call has the answer to itself', async () => {
    const app = family({
      relation: { resumable },
      lead: ({ messages, step }) =>
        [calls(make('hello')), calls(say('France?'), say('Italy?'))][step] ?? results(messages).join(' | '),
      writer: ({ messages }) => `the capital of ${last(messages)}`,
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    expect(await lead.send('go').text()).toBe(
      'the capital of hello\n\n[reference: writer-1] | the capital of France? | the capital of Italy?',
    )
  })

  it('S2, S7: a message to a child that is busy, and that nobody waits for, does not swallow the answer to the one before', async () => {
    const gate = deferred()
    const app = family({
      relation: { resumable, blocking: false },
      lead: ({ messages }) =>
        last(messages) === 'go' ? calls(make('one')) : results(messages).length === 1 ? calls(say('two')) : 'read',
      writer: async ({ messages }) => {
        if (last(messages) === 'one') await gate.promise
        return `answer to ${last(messages)}`
      },
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await lead.send('go').text()
    gate.resolve()
    await lead.settled({ tree: true })
    expect((await lead.messages({ silent: 'show' })).filter(({ silent }) => silent).map(({ text }) => text)).toEqual([
      '[writer-1] answer to one',
      '[writer-1] answer to two',
    ])
  })

  it('S2: a message that steers joins what the child is doing, and both calls read the one answer', async () => {
    const gate = deferred()
    const writer: Script = async ({ messages }) => {
      if (last(messages) === 'one') await gate.promise
      return `heard ${users(messages).join(' and ')}`
    }
    const app = family({
      relation: { resumable },
      lead: ({ messages, step }) =>
        [calls(make('zero')), calls(say('one'), say('two', { steer: true }))][step] ??
        results(messages).slice(1).join(' | '),
      writer,
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = lead.send('go')
    await until('three messages to the child', async () => (await heard(skein)).length === 3)
    gate.resolve()
    expect(await run.text()).toBe('heard zero and one and two | heard zero and one and two')
  })

  it('S2, F7: when the turn that asked is cancelled, what its child has not read is taken back, and a turn that someone else began goes on', async () => {
    const gate = deferred()
    const asked: string[] = []
    const app = family({
      relation: { resumable },
      lead: ({ messages }) =>
        last(messages) === 'make'
          ? calls(make('zero'))
          : last(messages) === 'ask'
            ? calls(say('one'), say('two'))
            : 'done',
      writer: async ({ messages }) => {
        asked.push(last(messages))
        if (last(messages) === 'mine') await gate.promise
        return `answer to ${last(messages)}`
      },
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await lead.send('make').text()
    const child = await skein.threads.get((await lead.children())[0]?.thread ?? '')
    const mine = child.send('mine')
    await until('the child to be at work', () => asked.includes('mine'))
    const run = lead.send('ask')
    await until('both messages to be there', async () => (await heard(skein)).length === 4)
    await lead.cancel({ reason: 'enough' })
    expect((await run.result()).stopReason).toBe('cancelled')
    await until(
      'the child to take them back',
      async () => (await lead.children())[0]?.status === 'waiting for a message',
    )
    gate.resolve()
    expect(await mine.result()).toMatchObject({ stopReason: 'completed', text: 'answer to mine' })
    await lead.settled({ tree: true })
    expect(asked).toEqual(['zero', 'mine'])
  })
})

/** Messages that the child was sent. */
async function heard(skein: Skein): Promise<readonly string[]> {
  const events = await collect(skein.events({ root: 'lead', until: 'now' }))
  return events.flatMap((event) => (event.type === 'message.received' && event.thread !== 'lead' ? [event.text] : []))
}
