/** Children at their limits: lines and places, depth, and what happens in the middle of it. */
import { expect, it } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Tree } from '../../../../src/runtime/handles/thread-tree.js'
import { calls, looseTool } from '../../../helpers/app.js'
import { results } from '../../../helpers/asking.js'
import { deferred, quiet, until } from '../../../helpers/deferred.js'
import { family, last, write } from '../../../helpers/family.js'
import { onEveryStore } from '../../../helpers/world.js'

const create = (message: string) => ({
  tool: 'subagent_create',
  args: { agent: 'writer', name: `N${message}`, message },
})
const lasting = { resumable: { receives_messages: 'side_a' as const } }

onEveryStore('limits of children', (world) => {
  it('S12: past maxChildren the line is called one by one, in order, with places that everybody sees; calls that do not wait for an answer stand in it too', async () => {
    const gates = Array.from({ length: 6 }, () => deferred())
    const order: string[] = []
    const app = family({
      relation: { blocking: false },
      lead: ({ messages, step }) =>
        step === 0 && last(messages) === 'go' ? calls(...gates.map((_, n) => write(`${n}`))) : 'done',
      writer: async ({ messages }) => {
        order.push(last(messages))
        await gates[Number(last(messages))]?.promise
        return 'ok'
      },
    })
    const skein = await world.open(app, { limits: { maxChildren: 2 } })
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = thread.send('go')
    await until('two at work', () => order.length === 2)
    await until(
      'the line',
      async () => (await thread.children()).filter(({ status }) => status === 'in line').length === 4,
    )
    expect((await thread.children()).map(({ reference, status, place }) => [reference, status, place])).toEqual([
      ['writer-1', 'working', undefined],
      ['writer-2', 'working', undefined],
      ['writer-3', 'in line', 1],
      ['writer-4', 'in line', 2],
      ['writer-5', 'in line', 3],
      ['writer-6', 'in line', 4],
    ])
    expect(await thread.status()).toBe('waiting')
    await until('both in the list', async () => (await skein.threads.list({ parent: 'lead' })).threads.length === 2)
    await quiet()
    expect((await skein.threads.list({ parent: 'lead' })).threads).toHaveLength(2)
    // The first two were called together.
    expect(order.splice(0).toSorted()).toEqual(['0', '1'])
    for (const [n, gate] of gates.entries()) {
      gate.resolve()
      await until(`the next after ${n}`, () => order.length === Math.min(n + 1, 4))
    }
    await run.text()
    expect(order).toEqual(['2', '3', '4', '5'])
    expect(results(await thread.messages())).toEqual(
      gates.map((_, n) => `{"reference":"writer-${n + 1}","status":"started"}`),
    )
  })

  it('S12: where all that live are idle nothing would make room: it is refused with their references; one that is terminated leaves its place', async () => {
    const replies = [calls(create('a'), create('b')), calls(create('c'))]
    const app = family({
      relation: lasting,
      lead: ({ messages, step }) =>
        last(messages) === 'again'
          ? calls(create('d'))
          : ((messages.some(({ text }) => text === 'again') ? undefined : replies[step]) ??
            results(messages).at(-1) ??
            ''),
      writer: () => 'ok',
    })
    const skein = await world.open(app, { limits: { maxChildren: 2 } })
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    expect(await thread.send('go').text()).toMatch(
      /TOOL_NOT_ALLOWED: there may be 2 children at once, and there are, none of them at work: writer-1, writer-2; speak/,
    )
    await (
      await skein.threads.get((await skein.threads.list({ parent: 'lead' })).threads[0]?.thread ?? '')
    ).terminate({ reason: 'not needed' })
    await until('the parent to know', async () => (await thread.children())[0]?.status === 'done')
    await thread.send('again').text()
    expect(results(await thread.messages()).at(-1)).toBe('ok\n\n[reference: writer-4]')
    expect((await thread.children())[0]).toMatchObject({ reference: 'writer-1', status: 'done' })
  })

  it('S12, F8: while the parent is paused those in line wait', async () => {
    const gate = deferred()
    const app = family({
      lead: ({ step }) => (step === 0 ? calls(write('a'), write('b')) : 'done'),
      writer: async () => (await gate.promise, 'ok'),
    })
    const skein = await world.open(app, { limits: { maxParallelChildren: 1 } })
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = thread.send('go')
    await until(
      'the first',
      async () => (await skein.threads.list({ parent: 'lead', status: 'thinking' })).threads.length === 1,
    )
    await thread.pause()
    gate.resolve()
    await until(
      'its end',
      async () => (await skein.threads.list({ parent: 'lead', status: 'done' })).threads.length === 1,
    )
    await quiet()
    expect((await skein.threads.list({ parent: 'lead' })).threads).toHaveLength(1)
    await thread.resume()
    expect(await run.text()).toBe('done')
    expect(results(await thread.messages())).toEqual(['ok', 'ok'])
  })

  it('F7, S12: a parent that is cancelled while 500 children start leaves none behind', async () => {
    const app = family({
      tools: [
        looseTool(
          'hang',
          ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
        ),
      ],
      lead: ({ messages }) =>
        last(messages) === 'go' ? calls(...Array.from({ length: 500 }, (_, n) => write(`${n}`))) : 'done',
      writer: () => calls('hang'),
    })
    const skein = await world.open(app, { limits: { maxParallelChildren: 500 } })
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = thread.send('go')
    await until('some', async () => (await skein.threads.list({ parent: 'lead' })).threads.length > 20)
    await thread.cancel({ reason: 'enough' })
    expect((await run.result()).stopReason).toBe('cancelled')
    await thread.settled({ tree: true })
    expect(
      (await skein.threads.list({ parent: 'lead' })).threads.filter(({ status }) => status !== 'terminated'),
    ).toEqual([])
    expect((await thread.children()).filter(({ status }) => status !== 'done')).toEqual([])
    expect(await thread.send('and now?').text()).toBe('done')
  })

  it('S2: one child spoken to by two calls at once, and by the next step: each call is answered, and it has read everything', async () => {
    const say = (message: string) => ({ tool: 'subagent_message', args: { reference: 'writer-1', message } })
    const replies = [calls(create('a')), calls(say('b'), say('c')), calls(say('d'))]
    const app = family({
      relation: lasting,
      lead: ({ messages, step }) => replies[step] ?? results(messages).join(' | '),
      writer: ({ messages }) =>
        messages
          .filter(({ role }) => role === 'user')
          .map(({ text }) => text)
          .join('+'),
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const texts = (await thread.send('go').text()).split(' | ')
    expect(texts).toHaveLength(4)
    expect(texts.at(-1)).toBe('a+b+c+d')
    expect(texts[2]).toBe('a+b+c')
    const [child] = await thread.children()
    expect(child).toMatchObject({ reference: 'writer-1', status: 'waiting for a message' })
  })

  it('S12: an agent that calls itself for ever, without waiting, is stopped by depth and leaves nothing growing', async () => {
    const most = 1 + 2 + 4 + 8
    let begun = 0
    const all = deferred()
    // None ends before the deepest have begun: whoever ends takes its children along.
    const loop = scriptedModel(async ({ messages }) => {
      if (messages.length > 1) return (await all.promise, 'ok')
      if (++begun === most) all.resolve()
      return calls({ tool: 'loop', args: { message: 'deeper' } }, { tool: 'loop', args: { message: 'deeper' } })
    })
    const app = [
      defineModel({ name: 'loop_model', model: loop }),
      definePrompt({
        name: 'loop_prompt',
        prompt: 'x',
        model: 'loop_model',
        tools: [{ name: 'loop', blocking: false }],
      }),
      defineAgent({ name: 'loop', type: 'ai_human', sideA: { prompt: 'loop_prompt' }, exposeAsTool: true }),
    ]
    const skein = await world.open(app, { limits: { maxDepth: 4 } })
    const thread = await skein.threads.create({ agent: 'loop', id: 'loop' })
    await thread.send('go').text()
    await thread.settled({ tree: true })
    expect((await skein.threads.list({ root: 'loop' })).threads).toHaveLength(most)
    const tree = await thread.tree()
    // Those of one step begin beside each other.
    const below = (at: Tree | undefined): readonly Tree[] =>
      (at?.children ?? []).toSorted((a, b) => ((a.reference ?? '') < (b.reference ?? '') ? -1 : 1))
    expect(below(tree)).toHaveLength(2)
    expect(below(below(below(tree)[1])[1])[1]).toMatchObject({ reference: 'loop-2', children: [] })
  })

  it('A4, S13: an approval three levels down is answered from the inbox of the tree, also after a restart', async () => {
    const agent = (name: string, below: string | undefined) => [
      defineModel({
        name: `${name}_m`,
        model: scriptedModel(({ messages, step }) =>
          step > 0
            ? `${name}: ${results(messages).join()}`
            : calls(below === undefined ? 'risky' : { tool: below, args: { message: 'go' } }),
        ),
      }),
      definePrompt({
        name: `${name}_p`,
        prompt: 'x',
        model: `${name}_m`,
        tools: [below === undefined ? 'risky' : { name: below }],
      }),
      defineAgent({ name, type: 'ai_human', sideA: { prompt: `${name}_p` }, exposeAsTool: true }),
    ]
    const app = [
      looseTool('risky', () => 'done', { needsApproval: true }),
      ...agent('a', 'b'),
      ...agent('b', 'c'),
      ...agent('c', 'd'),
      ...agent('d', undefined),
    ]
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'a', id: 'top' })
    await thread.send('go', { id: 'm' }).accepted()
    await until('the approval', async () => (await skein.inbox.list({ root: 'top' })).length === 1)
    await world.close(skein)
    const again = await world.open(app)
    const [item] = await again.inbox.list({ root: 'top' })
    expect(item?.path).toHaveLength(4)
    await again.inbox.approve(item?.id ?? '')
    expect(await (await again.threads.get('top')).run('m').text()).toBe('a: b: c: d: done')
  })
})
