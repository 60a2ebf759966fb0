/** Edges of calls: what is easy to get wrong when calls, decisions, closing and cancelling meet. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { looseTool } from '../../../helpers/app.js'
import { collect, deferred, quiet, until } from '../../../helpers/deferred.js'
import { asking, begin, pending, results } from '../../../helpers/asking.js'
import { onEveryStore } from '../../../helpers/world.js'
import { typesIn } from '../../../helpers/tap.js'
import type { ToolDefinition } from '../../../../src/agent/define.js'
import type { Thread } from '../../../../src/runtime/handles/thread.js'

const ended = async (thread: Thread): Promise<void> =>
  until('the end', async () => ['idle', 'failed', 'terminated'].includes(await thread.status()))

onEveryStore('edges of calls', (world) => {
  it('a manual tool with a side effect goes on when it is answered', async () => {
    const skein = await world.open(
      asking([{ ...looseTool('ship', () => 'x'), execute: false, sideEffect: true } as ToolDefinition]),
    )
    const thread = await begin(skein)
    await pending(skein, 1)
    await skein.inbox.answer('t/call_1_0', 'shipped')
    await ended(thread)
    expect(results(await thread.messages())).toEqual(['shipped'])
  })

  it('commuting effects that had not begun when the skein was closed run after it, and are not unknown', async () => {
    const ran: string[] = []
    const gate = deferred()
    const started = deferred()
    const post = looseTool(
      'post',
      async (_, { n }) => {
        ran.push(String(n))
        started.resolve()
        await gate.promise
        return `posted ${String(n)}`
      },
      { sideEffect: true, commutes: true },
    )
    const app = asking(
      [post],
      [1, 2, 3].map((n) => ({ tool: 'post', args: { n } })),
    )
    const skein = await world.open(app, { limits: { maxParallelTools: 1 } })
    await begin(skein)
    await started.promise
    const closing = world.close(skein)
    gate.resolve()
    await closing
    expect(ran).toEqual(['1'])
    const again = await world.open(app, { limits: { maxParallelTools: 1 } })
    const thread = await again.threads.get('t')
    await thread.run('m').text()
    expect(results(await thread.messages())).toEqual(['posted 1', 'posted 2', 'posted 3'])
    expect(ran).toEqual(['1', '2', '3'])
  })

  it('an intent that was being committed when the skein was closed is no unknown effect', async () => {
    const ran: string[] = []
    const pay = looseTool('pay', () => (ran.push('pay'), 'paid'), { sideEffect: true })
    const app = asking([pay])
    const skein = await world.open(app)
    const held = deferred()
    const seen = deferred()
    world.tap.commit = async (commit, go) => {
      if (typesIn(commit).includes('call.began')) {
        seen.resolve()
        await held.promise
      }
      return go()
    }
    const created = await skein.threads.create({ agent: 'helper', id: 't' })
    void created
      .send('go', { id: 'm' })
      .accepted()
      .catch(() => undefined)
    await seen.promise
    const closing = world.close(skein)
    held.resolve()
    await closing
    delete world.tap.commit
    const again = await (await world.open(app)).threads.get('t')
    await again.run('m').text()
    expect(results(await again.messages())).toEqual(['paid'])
    expect(ran).toEqual(['pay'])
  })

  it('other args on which a keyFn throws are refused, and the thread lives', async () => {
    const tool: ToolDefinition = {
      ...looseTool('find', () => 'found', { needsApproval: true }),
      cache: { keyFn: (args) => (args as { q: { toString(): string } }).q.toString() },
    } as ToolDefinition
    const skein = await world.open(asking([tool], [{ tool: 'find', args: { q: 'a' } }]))
    await begin(skein)
    await pending(skein, 1)
    const answer = skein.inbox.approve('t/call_1_0', { args: {} }).then(
      () => 'accepted',
      (thrown: { code: string }) => thrown.code,
    )
    let got: string | undefined
    void answer.then((code) => (got = code))
    await until('an answer', () => got !== undefined)
    expect(got).not.toBe('COMMAND_UNANSWERED')
    expect(world.warnings).toEqual([])
  })

  it('an answer on which an outputSchema throws is refused, and the thread lives', async () => {
    const odd = {
      ...looseTool('odd', () => 'x'),
      execute: false,
      outputSchema: z.any().refine((value) => (value as { a: { b: unknown } }).a.b),
    } as ToolDefinition
    const skein = await world.open(asking([odd]))
    await begin(skein)
    await pending(skein, 1)
    let got: string | undefined
    void skein.inbox.answer('t/call_1_0', 'text').then(
      () => (got = 'accepted'),
      (thrown: { code: string }) => (got = thrown.code),
    )
    await until('an answer', () => got !== undefined)
    expect(world.warnings).toEqual([])
  })

  it('an effect approved and cancelled in one batch leaves the thread at rest', async () => {
    const pay = looseTool('pay', () => 'paid', { sideEffect: true, needsApproval: true })
    const skein = await world.open(asking([pay]), { maxResident: 0 })
    const thread = await begin(skein)
    await pending(skein, 1)
    await quiet()
    expect(skein.host.threadsAwake).toBe(0)
    await Promise.all([skein.inbox.approve('t/call_1_0'), thread.cancel()])
    await quiet(50)
    expect(results(await thread.messages())).toHaveLength(1)
    expect(skein.host.threadsAwake).toBe(0)
  })

  it('T10: an effect that was running when its turn was cancelled may have happened, and the model is told so', async () => {
    const started = deferred()
    const pay = looseTool(
      'pay',
      async (state) => {
        started.resolve()
        await new Promise<void>((resolve) => state.signal.addEventListener('abort', () => resolve()))
        return 'paid'
      },
      { sideEffect: true },
    )
    const skein = await world.open(asking([pay]))
    const thread = await begin(skein)
    await started.promise
    await thread.cancel()
    await quiet()
    expect(results(await thread.messages())[0]).toContain('may')
  })

  it('a cancelled run has no pending calls', async () => {
    const pay = looseTool('pay', () => 'paid', { needsApproval: true })
    const skein = await world.open(asking([pay]))
    const thread = await begin(skein)
    await pending(skein, 1)
    await thread.cancel()
    expect(await thread.run('m').pendingToolCalls()).toEqual([])
    expect((await thread.run('m').toolCalls())[0]).toMatchObject({
      outcome: { ok: false, failure: { code: 'CANCELLED' } },
    })
  })

  it('messagesStream gives the messages that the thread has, when an unknown effect is rejected and when the turn is cancelled', async () => {
    const started = deferred()
    const pay = looseTool(
      'pay',
      async () => {
        started.resolve()
        await new Promise(() => undefined)
      },
      { sideEffect: true, onUnknown: 'ask' },
    )
    const app = asking([pay])
    const skein = await world.open(app)
    await begin(skein)
    await started.promise
    const closing = world.close(skein)
    world.clock.advance(60_000)
    await closing
    const again = await world.open(app)
    // Where others may have had the thread, they have a lease to tell what came of it.
    await until('someone is asked', async () => (world.clock.advance(1_000), (await again.inbox.list()).length === 1))
    await again.inbox.reject('t/call_1_0')
    const thread = await again.threads.get('t')
    await thread.run('m').text()
    expect(results(await collect(thread.run('m').messagesStream))).toEqual(results(await thread.messages()))
  })

  it('messagesStream of a cancelled run', async () => {
    const pay = looseTool('pay', () => 'paid', { needsApproval: true })
    const skein = await world.open(asking([pay]))
    const thread = await begin(skein)
    await pending(skein, 1)
    await thread.cancel()
    expect(results(await collect(thread.run('m').messagesStream))).toEqual(results(await thread.messages()))
  })

  it('a tool that asks a person is not told as an unknown effect', async () => {
    const ask = {
      ...looseTool('ask', () => 'x'),
      execute: undefined,
      onToolCalled: () => null,
      outputSchema: z.any(),
      sideEffect: true,
    } as unknown as ToolDefinition
    const skein = await world.open(asking([ask]))
    await begin(skein)
    await pending(skein, 1)
    expect((await skein.inbox.list())[0]).not.toHaveProperty('unknown')
  })

  it('closing does not wait for a call that begins to wait for its turn meanwhile', async () => {
    const started = deferred()
    const gate = deferred()
    const first = looseTool('first', () => 'first', { needsApproval: true })
    const reader = looseTool('reader', async ({ files }) => {
      started.resolve()
      await gate.promise
      return files.exists('/x')
    })
    const skein = await world.open(asking([first, reader]))
    await begin(skein)
    await started.promise
    await pending(skein, 1)
    let closed = false
    const closing = world.close(skein).then(() => (closed = true))
    gate.resolve()
    // The clock stands still: the grace would never be over.
    await until('the end', () => closed)
    await closing
    expect(closed).toBe(true)
  })

  it('what the second run of a generator says is streamed too', async ({ skip }) => {
    if (world.store.shared) skip('a watcher is there only after a while, and what was said before is not repeated')
    const gate = deferred()
    const seen = deferred()
    const heard = deferred()
    const write = looseTool('write', async ({ files }) => {
      await gate.promise
      await files.writeFile('/x', 'new')
      return 'w'
    })
    const gen = {
      ...looseTool('gen', () => 'x'),
      eventSchema: z.string(),
      sideEffect: false,
      execute: async function* (state: { files: { exists(path: string): Promise<boolean> } }) {
        const there = await state.files.exists('/x')
        await heard.promise
        yield there ? 'it is there' : 'it is not there'
        seen.resolve()
        return there
      },
    } as unknown as ToolDefinition
    const skein = await world.open(asking([write, gen]))
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const run = thread.send('go', { id: 'm' })
    const events = collect(run.toolStream)
    await quiet(50)
    heard.resolve()
    await seen.promise
    await quiet()
    gate.resolve()
    await run.text()
    const said = (await events).flatMap((event) => (event.type === 'tool.preliminary' ? [event.event] : []))
    expect(said).toEqual(['it is not there', 'it is there'])
  })

  it('RC2: at most maxParallelTools bodies run at once, also when one goes on at its turn', async () => {
    let running = 0
    let most = 0
    const busy = async (promise: Promise<void>): Promise<void> => {
      most = Math.max(most, ++running)
      await promise
      running--
    }
    const gates = { a: deferred(), c: deferred(), d: deferred(), b: deferred() }
    const started: string[] = []
    const plain = (name: 'a' | 'c' | 'd') =>
      looseTool(name, async () => {
        started.push(name)
        await busy(gates[name].promise)
        return name
      })
    const b = looseTool('b', async ({ files }) => {
      started.push('b')
      await files.exists('/x')
      started.push('b goes on')
      await busy(gates.b.promise)
      return 'b'
    })
    const skein = await world.open(asking([plain('a'), b, plain('c'), plain('d')]), { limits: { maxParallelTools: 2 } })
    const thread = await begin(skein)
    await until('three', () => started.length === 3)
    gates.a.resolve()
    await until('b', () => started.includes('b goes on'))
    await quiet()
    for (const gate of Object.values(gates)) gate.resolve()
    await thread.run('m').text()
    expect(most).toBe(2)
  })

  it('two appends at once are both there', async () => {
    const skein = await world.open(asking([]))
    const thread = await skein.threads.create({ agent: 'helper', id: 't', files: { '/x': '' } })
    await Promise.all([thread.files.appendFile('/x', 'a'), thread.files.appendFile('/x', 'b')])
    expect([...(await thread.files.readFile('/x', 'utf8'))].sort().join('')).toBe('ab')
  })

  it('a needsApproval that never answers does not keep a thread from being terminated', async () => {
    const slow = looseTool('slow', () => 'x', { needsApproval: () => new Promise<boolean>(() => undefined) })
    const skein = await world.open(asking([slow], []))
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    void thread.callTool('slow', {}).catch(() => undefined)
    await quiet()
    let done = false
    void thread.terminate().then(
      () => (done = true),
      () => undefined,
    )
    await until('it is terminated', () => done)
    expect(await thread.status()).toBe('terminated')
  })

  it('a body that waits for its turn does not go on when its turn is cancelled', async () => {
    const log: string[] = []
    const slow = looseTool(
      'slow',
      (state) => new Promise<string>((resolve) => state.signal.addEventListener('abort', () => resolve('x'))),
    )
    const reader = looseTool('reader', async ({ files }) => {
      log.push('begins')
      await files.exists('/x')
      log.push('goes on')
      return 'r'
    })
    const skein = await world.open(asking([slow, reader]))
    const thread = await begin(skein)
    await until('reader', () => log.length === 1)
    await quiet()
    await thread.cancel()
    await quiet()
    expect(log).toEqual(['begins'])
  })
})
