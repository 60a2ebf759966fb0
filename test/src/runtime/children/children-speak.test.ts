/** Children that speak for themselves: to their parent, in between and in the end. */
import { expect, it } from 'vitest'
import type { SubagentTool } from '../../../../src/agent/define.js'
import { failure } from '../../../../src/core/failure.js'
import { readMail, sealMail } from '../../../../src/runtime/journal/mail.js'
import { refusalsOf } from '../../../../src/runtime/resident/outgoing-mail.js'
import { wake } from '../../../../src/runtime/journal/wake.js'
import { calls, looseTool } from '../../../helpers/app.js'
import { results } from '../../../helpers/asking.js'
import { deferred, quiet, until } from '../../../helpers/deferred.js'
import { family, last, write } from '../../../helpers/family.js'
import { createdThread, freshThread } from '../../../helpers/tale.js'
import { onEveryStore } from '../../../helpers/world.js'

const explicit: Omit<SubagentTool, 'name'> = {
  blocking: false,
  resumable: { receives_messages: 'side_a', parentCommunication: 'explicit' },
}
const create = (message: string) => ({ tool: 'subagent_create', args: { agent: 'writer', name: 'Ann', message } })

onEveryStore('a child that speaks for itself', (world) => {
  it('S7: explicit: only notifyParent reaches the parent, in call order, when the call counts; what the child answers does not', async () => {
    const report = looseTool('report', async ({ notifyParent }, { text }) => {
      await notifyParent(String(text))
      return 'told'
    })
    const broken = looseTool('broken', async ({ notifyParent }) => {
      await notifyParent('never')
      throw new Error('no')
    })
    const heard: string[] = []
    const app = family({
      tools: [report, broken],
      relation: explicit,
      lead: ({ messages }) => {
        heard.push(last(messages))
        return last(messages) === 'go' ? calls(create('work')) : 'noted'
      },
      writer: ({ step }) =>
        step === 0
          ? calls({ tool: 'report', args: { text: 'one' } }, 'broken', { tool: 'report', args: { text: 'two' } })
          : 'the answer that nobody hears',
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await thread.send('go').text()
    await until('the tree to rest', async () =>
      (await skein.threads.list({ root: 'lead' })).threads.every(({ rest }) => rest),
    )
    await until(
      'the words',
      async () => (await thread.messages({ silent: 'show' })).filter(({ silent }) => silent).length === 2,
    )
    const silent = (await thread.messages({ silent: 'show' }))
      .filter((message) => message.silent)
      .map(({ text }) => text)
    expect(silent).toEqual(['[writer-1] one', '[writer-1] two'])
    expect(heard.join()).not.toContain('nobody hears')
  })

  it('S7: setStatus is what subagent_list shows, and the child’s own entry in the list of threads', async () => {
    const gate = deferred()
    const step = looseTool('step', async ({ setStatus }, { text }) => setStatus(String(text)))
    const app = family({
      tools: [step],
      relation: explicit,
      lead: ({ messages }) => {
        if (last(messages) === 'go') return calls(create('work'))
        return last(messages) === 'list' ? calls('subagent_list') : 'ok'
      },
      writer: async ({ step: at }) => {
        if (at === 0)
          return calls({ tool: 'step', args: { text: 'reading' } }, { tool: 'step', args: { text: 'half way' } })
        await gate.promise
        return 'done'
      },
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await thread.send('go').text()
    await until(
      'the status',
      async () => (await skein.threads.list({ parent: 'lead' })).threads[0]?.says === 'half way',
    )
    await thread.send('list').text()
    expect(JSON.parse(results(await thread.messages()).at(-1) ?? '')).toMatchObject([
      { reference: 'writer-1', status: 'working', says: 'half way' },
    ])
    gate.resolve()
  })

  it('S7: a child that says nothing when it is done is known to be done: its place is free for the next', async () => {
    const app = family({
      relation: explicit,
      lead: ({ step }) => (step < 5 ? calls(create(`${step}`)) : 'done'),
      writer: () => 'quietly',
    })
    const skein = await world.open(app, { limits: { maxParallelChildren: 1 } })
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    expect(await thread.send('go').text()).toBe('done')
    await thread.settled({ tree: true })
    expect((await skein.threads.list({ parent: 'lead' })).threads).toHaveLength(5)
  })

  it('S7: what a child failed of is in the list, where it is told to nobody', async () => {
    const app = family({
      relation: explicit,
      lead: ({ messages }) => {
        if (last(messages) === 'go') return calls(create('x'))
        return last(messages) === 'list' ? calls('subagent_list') : 'ok'
      },
      writer: () => ({ error: 'the provider refused' }),
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await thread.send('go').text()
    await until(
      'the child to fail',
      async () => (await skein.threads.list({ parent: 'lead', status: 'failed' })).threads.length === 1,
    )
    const backend = await world.store.source.open('client')
    await until(
      'the parent to know',
      async () => (await wake(backend, 'lead')).state.children.get('writer-1')?.busy === 0,
    )
    await thread.send('list').text()
    expect(results(await thread.messages()).at(-1)).toContain('the provider refused')
    expect((await thread.messages({ silent: 'show' })).some(({ silent }) => silent)).toBe(false)
  })

  it('S7: in a thread that nobody called it is an error that says so', async () => {
    const speak = looseTool('speak', async ({ notifyParent }) => notifyParent('hello'))
    const state = looseTool('state', ({ setStatus }) => setStatus('busy'))
    const app = family({
      tools: [speak, state],
      lead: ({ step }) => (step === 0 ? calls('speak', 'state') : 'done'),
      writer: () => 'x',
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await thread.send('go').text()
    expect(results(await thread.messages())).toEqual([
      expect.stringMatching(/TOOL_NOT_ALLOWED.*notifyParent.*thread lead has no parent/),
      expect.stringMatching(/TOOL_NOT_ALLOWED.*setStatus.*has no parent/),
    ])
  })

  it('F7: why a child was cancelled or terminated is in its parent’s result', async () => {
    const hang = looseTool('hang', () => new Promise(() => undefined))
    const app = family({
      tools: [hang],
      lead: ({ messages, step }) => (step === 0 ? calls(write('a'), write('b')) : results(messages).join(' | ')),
      writer: () => calls('hang'),
    })
    const skein = await world.open(app, { workers: { graceMs: 0 } })
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = thread.send('go')
    await until(
      'both',
      async () => (await skein.threads.list({ parent: 'lead', status: 'acting' })).threads.length === 2,
    )
    const [a, b] = (await skein.threads.list({ parent: 'lead' })).threads
    await (await skein.threads.get(a?.thread ?? '')).cancel({ reason: 'too dear' })
    await (await skein.threads.get(b?.thread ?? '')).terminate({ reason: 'wrong topic' })
    expect(await run.text()).toBe(
      'Error CHILD_FAILED: it did not finish: cancelled (too dear) | Error CHILD_FAILED: it did not finish: ' +
        'terminated (wrong topic)',
    )
  })

  it('a message to a child that has ended meanwhile is a failure, not a wait for ever', async () => {
    const replies = [
      calls(create('one')),
      calls({ tool: 'subagent_message', args: { reference: 'writer-1', message: 'two' } }),
    ]
    let gone: () => Promise<unknown> = async () => undefined
    const app = family({
      relation: { resumable: { receives_messages: 'side_a' } },
      lead: async ({ step, messages }) => {
        if (step === 1) await gone()
        return replies[step] ?? results(messages).at(-1) ?? ''
      },
      writer: () => 'ok',
    })
    const skein = await world.open(app)
    // The lead speaks to it before or after it hears that it is over.
    gone = async () => {
      const child = await skein.threads.get((await skein.threads.list({ parent: 'lead' })).threads[0]?.thread ?? '')
      await child.terminate({ reason: 'not needed' })
    }
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    expect(await thread.send('go').text()).toMatch(
      /no agent "writer-1" to speak to|it did not take this: .* is terminated/,
    )
  })

  it('one that was under way when the child ended is refused, and whoever waits is told', () => {
    const tale = createdThread()
    tale.obey({ kind: 'terminate', reason: 'not needed' })
    const mail = {
      number: 1,
      id: 'm',
      body: sealMail({
        kind: 'message',
        role: 'user',
        text: 'x',
        delivery: 'steer',
        replyTo: { thread: 'lead', call: 'call_2_0' },
      }),
    }
    const [told] = refusalsOf(tale.state, mail, failure('COMMAND_REFUSED', 'thread t is terminated'))
    expect([told?.to, readMail(told?.body ?? null)]).toMatchObject([
      'lead',
      {
        kind: 'report',
        child: 't',
        call: 'call_2_0',
        over: true,
        outcome: {
          ok: false,
          failure: { code: 'CHILD_FAILED', message: 'it did not take this: thread t is terminated' },
        },
      },
    ])
  })

  it('a child that does not stay sends its parent one mail: its answer, which says that it is over', async () => {
    const told: string[] = []
    world.tap.apart = true
    world.tap.commit = (commit, go) => {
      told.push(
        ...commit.sends.filter(({ to }) => to === 'lead').map(({ body }) => JSON.stringify(readMail(body as never))),
      )
      return go()
    }
    const skein = await world.open(
      family({
        lead: ({ step, messages }) => (step === 0 ? calls(write('a')) : (results(messages)[0] ?? '')),
        writer: () => 'written',
      }),
    )
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    expect(await thread.send('go').text()).toBe('written')
    await thread.settled({ tree: true })
    expect(told.map((text): unknown => JSON.parse(text))).toMatchObject([
      { kind: 'report', number: 1, over: true, outcome: { ok: true, value: 'written' } },
    ])
  })

  it('S13: a child whose parent is gone is terminated when it speaks', () => {
    const mail = {
      number: 1,
      id: 'r',
      body: sealMail({
        kind: 'report',
        child: 'kid',
        reference: 'writer-1',
        outcome: { ok: true, value: 1 },
        number: 1,
      }),
    }
    const [told] = refusalsOf(freshThread().state, mail, failure('UNKNOWN_THREAD', 'there is no thread t'))
    expect([told?.to, readMail(told?.body ?? null)]).toMatchObject([
      'kid',
      { kind: 'terminate', reason: 'its parent t is gone' },
    ])
  })

  it('mail of children is taken once, in order, and leaves one number, not an entry for each', async () => {
    const report = looseTool('report', async ({ notifyParent }, { text }) => notifyParent(String(text)))
    const app = family({
      tools: [report],
      relation: explicit,
      lead: ({ messages }) => (last(messages) === 'go' ? calls(create('x')) : 'ok'),
      writer: ({ step }) => (step < 6 ? calls({ tool: 'report', args: { text: `${step}` } }) : 'done'),
    })
    const sent: { readonly to: string; readonly id: string; readonly body: unknown }[] = []
    world.tap.apart = true
    world.tap.commit = (commit, go) => {
      sent.push(...commit.sends)
      return go()
    }
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await thread.send('go', { id: 'm' }).text()
    await until(
      'all',
      async () => (await thread.messages({ silent: 'show' })).filter(({ silent }) => silent).length === 6,
    )
    const backend = await world.store.source.open('client')
    const told = sent.filter(({ to }) => to === 'lead')
    expect(told.map(({ body }) => (readMail(body as never) as { number?: number }).number)).toEqual([
      1, 2, 3, 4, 5, 6, 7,
    ])
    // The same mail once more, and in any order: nothing happens.
    for (const { to, id, body } of [...told].reverse())
      await backend.mailbox.put({ to, id: `${id}/again`, body: body as never })
    await until('the box to be empty', async () => (await backend.mailbox.read('lead', 0)).length === 0)
    const { state } = await wake(backend, 'lead')
    expect(state.children.get('writer-1')).toMatchObject({ lastMailNumber: 7, busy: 0 })
    expect([...state.accepted.keys()].filter((id) => id.includes('/'))).toEqual([])
    expect((await thread.messages({ silent: 'show' })).filter(({ silent }) => silent).map(({ text }) => text)).toEqual(
      ['0', '1', '2', '3', '4', '5'].map((text) => `[writer-1] ${text}`),
    )
    // One that came early waits for those before it.
    const tell = (number: number) =>
      backend.mailbox.put({
        to: 'lead',
        id: `later/${number}`,
        body: sealMail({
          kind: 'tell',
          child: state.children.get('writer-1')?.id ?? '',
          reference: 'writer-1',
          words: [{ text: `late ${number}` }],
          number,
        }),
      })
    await tell(9)
    await quiet()
    expect(await backend.mailbox.read('lead', 0)).toHaveLength(1)
    await tell(8)
    await until('both', async () => (await backend.mailbox.read('lead', 0)).length === 0)
    expect(
      (await thread.messages({ silent: 'show' }))
        .filter(({ silent }) => silent)
        .slice(6)
        .map(({ text }) => text),
    ).toEqual(['[writer-1] late 8', '[writer-1] late 9'])
  })
})
