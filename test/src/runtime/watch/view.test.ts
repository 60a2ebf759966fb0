/** Live views of a thread and of a run: what they tell is what the thread has, early, late and for the whole tree. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { deferred, until } from '../../../helpers/deferred.js'
import { family, write } from '../../../helpers/family.js'
import { onEveryStore } from '../../../helpers/world.js'
import { defineTool } from '../../../../src/index.js'
import type { ThreadChange } from '../../../../src/runtime/watch/view.js'

async function collect(
  changes: AsyncIterable<ThreadChange>,
  isLast: (change: ThreadChange) => boolean,
): Promise<readonly ThreadChange[]> {
  const all: ThreadChange[] = []
  for await (const change of changes) {
    all.push(change)
    if (isLast(change)) break
  }
  return all
}

onEveryStore('a view of a thread', (world) => {
  it('R1: begins with how things stand and tells what each turn adds', async () => {
    const { app } = tinyApp({ script: [calls('look'), 'first', 'second'], tools: [looseTool('look', () => 'seen')] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    await thread.send('one').result()
    const seen = collect(thread.view(), ({ result }) => result?.text === 'second')
    await until('the view', async () => (await thread.view().now()).result?.text === 'first')
    const run = thread.send('two')
    const result = await run.result()
    const [begin, ...rest] = await seen
    expect(begin?.event).toBeUndefined()
    expect(
      rest
        .flatMap(({ messages }) => messages)
        .map(({ text }) => text)
        .slice(-2),
    ).toEqual(['two', 'second'])
    expect(rest.at(-1)?.result).toEqual(result)
    expect(await thread.view().now()).toMatchObject({
      thread: thread.id,
      agent: 'helper',
      status: 'idle',
      turn: undefined,
      messages: await thread.messages({ silent: 'show' }),
      usage: (await thread.usage()).own,
      result,
    })
  })

  it('R1: a call is told when it is asked for, waits for someone and is answered', async () => {
    const { app } = tinyApp({
      script: [calls('pay'), 'paid'],
      tools: [{ ...looseTool('pay', () => 'ok'), needsApproval: true }],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    await until('the approval', async () => (await thread.status()) === 'awaiting_approval')
    const [waiting] = (await thread.view().now()).calls
    expect(waiting).toMatchObject({ tool: 'pay', waitsFor: 'approval' })
    const [item] = await skein.inbox.list()
    await skein.inbox.approve(item?.id ?? '')
    await run.result()
    const told = (await collect(run.view(), () => false)).flatMap((change) => change.calls)
    expect(told[0]).toMatchObject({ tool: 'pay', waitsFor: 'approval' })
    expect(told.filter(({ outcome }) => outcome)).toEqual(await run.toolCalls())
  })

  it('R1: from a cursor, or from the start, it tells what was before as it happened, and ends where it is told to', async () => {
    const { app } = tinyApp({ script: [calls('look'), 'first', 'second'], tools: [looseTool('look', () => 'seen')] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    await thread.send('one').result()
    await thread.send('two').result()
    const all = await collect(thread.view({ from: 'start', until: 'now' }), () => false)
    expect(all[0]?.event).toMatchObject({ type: 'thread.created', seq: 1 })
    expect(all.flatMap(({ messages }) => messages.map(({ text }) => text))).toEqual(
      (await thread.messages()).map(({ text }) => text),
    )
    const first = all.findIndex(({ result }) => result?.text === 'first')
    const cursor = all[first]?.event && 'cursor' in all[first].event ? all[first].event.cursor : ''
    const rest = await collect(thread.view({ from: cursor, until: 'now' }), () => false)
    expect(rest.map(({ event }) => event)).toEqual(all.slice(first + 1).map(({ event }) => event))
    expect(rest.at(-1)?.result).toEqual(all.at(-1)?.result)
    await expect(collect(thread.view({ from: 'nonsense' }), () => false)).rejects.toMatchObject({ code: 'BAD_OPTION' })
  })

  it('R1: ends when its signal says so, and with the skein', async () => {
    const { app } = tinyApp({ script: ['done'] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const stop = new AbortController()
    const seen = collect(thread.view({ signal: stop.signal }), () => stop.abort() === undefined && false)
    expect(await seen).toHaveLength(1)
    const open = collect(thread.view(), () => false)
    await world.close(skein)
    expect((await open).length).toBeLessThanOrEqual(1)
  })

  it('R1: a thread that is not there has no view', async () => {
    const { app } = tinyApp({ script: ['done'] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    await skein.threads.delete(thread.id)
    await expect(thread.view().now()).rejects.toMatchObject({ code: 'UNKNOWN_THREAD' })
    await expect(collect(thread.view({ tree: true }), () => false)).rejects.toMatchObject({ code: 'UNKNOWN_THREAD' })
  })
})

onEveryStore('a view of a tree', (world) => {
  it('R1, S12: tells what each child was asked, does and has spent, and lets go of those that ended', async () => {
    const writing = deferred()
    const app = family({
      lead: ({ step }) => (step === 0 ? { calls: [write('one'), write('two')] } : 'all done'),
      writer: async ({ messages }) => {
        await writing.promise
        return `wrote ${messages.at(-1)?.text}`
      },
    })
    const skein = await world.open(app, { limits: { maxParallelChildren: 1 } })
    const thread = await skein.threads.create({ agent: 'lead' })
    const run = thread.send('go')
    const seen = collect(run.view({ tree: true }), () => false)
    await until('the writer', async () => {
      const { children } = await thread.view().now()
      return children.map(({ status }) => status).join() === 'working,in line'
    })
    const rows = (await thread.view().now()).children
    expect(rows[0]).toMatchObject({ reference: 'writer-1', agent: 'writer', topic: 'one', status: 'working' })
    expect(rows[1]).toMatchObject({ reference: 'writer-2', agent: 'writer', status: 'in line', place: 1 })
    expect(rows.map(({ topic: _, usage: __, ...row }) => row)).toEqual(await thread.children())
    writing.resolve()
    const result = await run.result()
    const changes = await seen
    const statuses = changes.flatMap(({ children }) => children.map(({ reference, status }) => [reference, status]))
    expect(statuses.filter(([reference]) => reference === 'writer-2').map(([, status]) => status)).toEqual([
      'in line',
      'working',
      'done',
    ])
    expect(changes.at(-1)?.result).toEqual(result)
    const below = changes.filter((change) => change.thread !== thread.id)
    expect(below.flatMap(({ messages }) => messages.map(({ text }) => text))).toEqual([
      'one',
      'wrote one',
      'two',
      'wrote two',
    ])
    const ends = below.flatMap((change) => (change.result ? [change.result.text] : []))
    expect(ends).toEqual(['wrote one', 'wrote two'])
    expect([...(changes.at(-1)?.threads.keys() ?? [])]).toEqual([thread.id])
    expect((await thread.view().now()).children.map(({ status, topic }) => [status, topic])).toEqual([
      ['done', 'one'],
      ['done', 'two'],
    ])
  })

  it('R1: a run that is watched from its beginning misses no word of a tool that speaks at once', async () => {
    const { app } = tinyApp({
      script: ({ step }) => (step === 0 ? calls('talk') : 'done'),
      tools: [
        defineTool({
          name: 'talk',
          description: 'Talks',
          args: z.object({}),
          execute: (state) => {
            state.log('at once')
            return 'said'
          },
        }),
      ],
    })
    const skein = await world.open(app)
    for (let index = 0; index < 5; index++) {
      const thread = await skein.threads.create({ agent: 'helper' })
      const changes = await collect(thread.send('go').view({ tree: true }), () => false)
      expect(changes.flatMap(({ event }) => (event?.type === 'tool.log' ? [event.text] : []))).toEqual(['at once'])
    }
  })

  it('R1: whoever looks later sees the same tree', async () => {
    const writing = deferred()
    const app = family({
      lead: ({ step }) => (step === 0 ? { calls: [write('one')] } : 'all done'),
      writer: async () => {
        await writing.promise
        return 'wrote'
      },
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead' })
    const run = thread.send('go')
    await until('the writer', async () => (await thread.children())[0]?.status === 'working')
    const [{ thread: child } = { thread: '' }] = await thread.children()
    await until('the turn', async () => {
      const { threads } = await skein.threads.list({ status: 'thinking' })
      return threads.some((head) => head.thread === child)
    })
    const [begin] = await collect(thread.view({ tree: true }), () => true)
    expect([...(begin?.threads.keys() ?? [])]).toEqual([thread.id, child])
    expect(begin?.threads.get(child)).toMatchObject({ agent: 'writer', status: 'thinking', path: [thread.id, child] })
    writing.resolve()
    expect(await run.text()).toBe('all done')
  })
})
