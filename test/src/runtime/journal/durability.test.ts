/** What waits for the journal, and what happens when the journal refuses. */
import { expect, it } from 'vitest'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { deferred, quiet, turns, until } from '../../../helpers/deferred.js'
import { typesIn } from '../../../helpers/tap.js'
import type { Tap } from '../../../helpers/tap.js'
import { onEveryStore } from '../../../helpers/world.js'

/** Holds back the first commit that has a record of this type; gives what lets it go. */
function holdBack(tap: Tap, type: string) {
  const reached = deferred()
  const release = deferred()
  let held = false
  tap.commit = async (commit, go) => {
    if (held || !typesIn(commit).includes(type)) return go()
    held = true
    reached.resolve()
    await release.promise
    return go()
  }
  return { reached: reached.promise, release: () => release.resolve() }
}

onEveryStore('the journal comes first', (world) => {
  it('T4: the next model call waits until the outcome is durable', async () => {
    const { app, model } = tinyApp({ script: [calls('look'), 'done'], tools: [looseTool('look', () => 1)] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const hold = holdBack(world.tap, 'call.returned')
    const run = thread.send('go')
    await hold.reached
    await quiet()
    expect(model.requests).toHaveLength(1)
    hold.release()
    expect(await run.text()).toBe('done')
    expect(model.requests).toHaveLength(2)
  })

  it('T4: also when the next call belongs to the next turn', async () => {
    // The second message is durable before the first commit that is held: commits of a thread wait for each other.
    const both = deferred()
    const { app, model } = tinyApp({
      script: [calls('look'), 'done'],
      tools: [looseTool('look', () => both.promise)],
      maxSteps: 1,
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const hold = holdBack(world.tap, 'call.returned')
    thread.send('one')
    const next = thread.send('two', { delivery: 'new_turn' })
    await next.accepted()
    both.resolve()
    await hold.reached
    await quiet()
    expect(model.requests).toHaveLength(1)
    hold.release()
    expect(await next.text()).toBe('done')
  })

  it('T4: an outcome is written at once, while its siblings run', async () => {
    const slow = deferred()
    const { app } = tinyApp({
      script: [calls('quick', 'slow'), 'done'],
      tools: [looseTool('quick', () => 'q'), looseTool('slow', () => slow.promise)],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    await until('the quick result in the journal', async () =>
      (await thread.messages()).some(({ text }) => text === 'q'),
    )
    expect((await run.pendingToolCalls()).map(({ tool }) => tool)).toEqual(['slow'])
    slow.resolve()
    await run.result()
  })

  it('TH2: a body with a side effect starts only after the request for it is durable', async () => {
    let pushed = 0
    let looked = 0
    const tools = [looseTool('look', () => void looked++), looseTool('push', () => void pushed++, { sideEffect: true })]
    const { app } = tinyApp({ script: [calls('look', 'push'), 'done'], tools })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const hold = holdBack(world.tap, 'model.replied')
    const run = thread.send('go')
    await hold.reached
    await quiet()
    expect([looked, pushed]).toEqual([1, 0])
    hold.release()
    await run.result()
    expect([looked, pushed]).toEqual([1, 1])
  })

  it('TH1: nothing is answered and nobody is told before the commit', async () => {
    const { app } = tinyApp({ script: ['done'] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const heard: string[] = []
    const watching = (async () => {
      for await (const event of thread.events()) heard.push(event.type)
    })()
    await until('the creation', () => heard.length === 1)
    const hold = holdBack(world.tap, 'message.received')
    let accepted = false
    const run = thread.send('go')
    const acceptance = run.accepted().then(() => (accepted = true))
    await hold.reached
    await quiet()
    expect(accepted).toBe(false)
    expect(heard.filter((type) => type !== 'text.delta')).toEqual(['thread.created'])
    hold.release()
    await acceptance
    await run.result()
    await until('the end', () => heard.includes('turn.ended'))
    void watching
  })
})

onEveryStore('the journal refuses', (world) => {
  it('TH5: after a commit that another owner forestalled the thread starts over from the journal', async () => {
    const { app } = tinyApp({ script: ['one', 'two'] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    let refusals = 0
    world.tap.commit = async (commit, go) =>
      typesIn(commit).includes('message.received') && refusals++ === 0 ? { ok: false, seq: 1, epoch: 9 } : go()
    const run = thread.send('go', { id: 'm' })
    await until('a warning', () => world.warnings.length > 0)
    expect(world.warnings[0]).toContain('starts over from its journal')
    world.clock.advance(50)
    expect((await run.result()).stopReason).toBe('completed')
    expect((await thread.messages()).map(({ role }) => role)).toEqual(['user', 'assistant'])
  })

  it('TH5, FW1: who waits for a turn whose last commit was applied and not acknowledged is told of it', async () => {
    const accepted = deferred()
    const { app } = tinyApp({ script: () => accepted.promise.then(() => 'done') })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    let lost = 0
    world.tap.commit = async (commit, go) => {
      const result = await go()
      if (typesIn(commit).includes('turn.ended') && lost++ === 0) throw new Error('the answer was lost')
      return result
    }
    const run = thread.send('go')
    await run.accepted()
    const waits = Promise.all([run.text(), thread.settled(), thread.settled({ tree: true })])
    await quiet()
    accepted.resolve()
    await until('a warning', () => world.warnings.length > 0)
    world.clock.advance(50)
    expect(await waits).toMatchObject(['done', { status: 'idle' }, { status: 'idle' }])
    expect(lost).toBe(1)
  })

  it('TH5, N3: who sent a command whose commit was applied and not acknowledged is answered all the same', async () => {
    const { app } = tinyApp({ script: ['done'] })
    world.tap.apart = true
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const lost: string[] = []
    // The first answer to each kind of commit; the commit that refuses has no record.
    world.tap.commit = async (commit, go) => {
      const result = await go()
      const kind = typesIn(commit)[0] ?? 'none'
      if (lost.includes(kind) || commit.done.length === 0) return result
      lost.push(kind)
      throw new Error('the answer was lost')
    }
    const answers: unknown[] = []
    const answered = async (sent: Promise<unknown>): Promise<void> => {
      const before = answers.length
      void sent.then(
        () => answers.push('accepted'),
        (thrown: { code: string }) => answers.push(thrown.code),
      )
      await until('a warning', () => world.warnings.length > before)
      world.clock.advance(50)
      await until('an answer', () => answers.length > before)
    }
    const run = thread.send('go', { id: 'm' })
    await answered(run.accepted())
    expect(await run.text()).toBe('done')
    await answered(skein.inbox.approve(`${thread.id}/call_9_9`))
    expect([answers, lost]).toEqual([
      ['accepted', 'COMMAND_REFUSED'],
      ['message.received', 'none'],
    ])
    expect((await thread.messages()).map(({ role }) => role)).toEqual(['user', 'assistant'])
  })

  it('TH5, P1: a store that fails for a while costs time, not work', async () => {
    let ran = 0
    const { app } = tinyApp({
      script: () => calls('look'),
      tools: [
        looseTool('look', () => {
          ran++
          return turns(3)
        }),
      ],
      maxSteps: 1,
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    let failures = 0
    world.tap.commit = async (commit, go) => {
      if (typesIn(commit).includes('call.returned') && failures++ < 3) throw new Error('disk is full')
      return go()
    }
    const run = thread.send('go')
    await run.accepted()
    await until('the failures', async () => {
      world.clock.advance(5_000)
      return failures > 3
    })
    expect(await run.result()).toMatchObject({ stopReason: 'max_steps', steps: 1 })
    expect((await thread.messages()).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
    expect(ran).toBe(4)
  })
})
