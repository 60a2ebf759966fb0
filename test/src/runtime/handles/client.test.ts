/** Handles without a host of their own: commands travel by mail, and one that nobody answers is told. */
import { expect, it, onTestFinished } from 'vitest'
import { tinyApp } from '../../../helpers/app.js'
import { collect, deferred, quiet, turns, until } from '../../../helpers/deferred.js'
import { tapped } from '../../../helpers/tap.js'
import { onEveryStore } from '../../../helpers/world.js'
import { memory } from '../../../../src/backend/memory/memory.js'
import type { Store } from '../../../../src/backend/port.js'
import { connectSkein } from '../../../../src/runtime/handles/client.js'
import { createSkein } from '../../../../src/runtime/skein.js'

onEveryStore('a client', (world) => {
  const connect = () => connectSkein({ backend: world.store.source, clock: world.clock })

  it('R1: beside a host it creates, sends, streams and reads like the host itself', async () => {
    const skein = await world.open(tinyApp({ script: ({ messages }) => `re ${messages.at(-1)?.text}` }).app)
    const client = await connect()
    expect(await client.hosted()).toBe(true)
    const thread = await client.threads.create({ agent: 'helper', id: 'shared', tags: ['x'] })
    const run = thread.send('one')
    const events = await collect(run.fullStream)
    expect(events.flatMap((event) => ('seq' in event ? [event.type] : []))).toEqual([
      'message.received',
      'turn.started',
      'model.replied',
      'turn.ended',
    ])
    expect(await run.text()).toBe('re one')
    expect(await (await skein.threads.get('shared')).send('two').text()).toBe('re two')
    expect((await thread.messages()).map(({ text }) => text)).toEqual(['one', 're one', 'two', 're two'])
    await expect(client.threads.create({ agent: 'nobody' })).rejects.toMatchObject({ code: 'UNKNOWN_AGENT' })
    await client.close()
  })

  it('F1, D6: a thread is created with an agent by its name, or by the definition itself', async () => {
    const { app } = tinyApp({ script: () => 'done' })
    const skein = await world.open(app)
    const agent = app.find((each) => each.kind === 'agent')
    if (!agent) throw new Error('the app has no agent')
    expect(await (await skein.threads.create({ agent })).send('go').text()).toBe('done')
    const wrong = Reflect.apply(skein.threads.create, skein.threads, [{ agent: { kind: 'prompt', name: 'helper' } }])
    await expect(wrong).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining('must be an agent, or its name'),
    })
  })

  it('P1: without a host the command is kept and that is said; the next host carries it out', async () => {
    const { app } = tinyApp({ script: () => 'done' })
    const skein = await world.open(app)
    await skein.threads.create({ agent: 'helper', id: 'left' })
    await world.close(skein)
    const client = await connect()
    expect(await client.hosted()).toBe(false)
    const thread = await client.threads.get('left')
    const answer = thread
      .send('go', { id: 'm' })
      .result()
      .then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
    await quiet()
    world.clock.advance(0)
    expect(await answer).toMatchObject({
      code: 'COMMAND_UNANSWERED',
      retry: true,
      data: { thread: 'left', hosted: false },
    })
    await client.close()
    const next = await world.open(app)
    const again = await next.threads.get('left')
    await until('the answer', async () => (await again.messages()).length === 2)
    expect(await again.run('m').text()).toBe('done')
  })

  it('mail that is no command is refused and does not come again', async () => {
    const { app } = tinyApp({ script: () => 'done' })
    await world.open(app)
    const client = await connect()
    const thread = await client.threads.create({ agent: 'helper' })
    const backend = await world.store.source.open('client')
    for (const [index, body] of [
      null,
      5,
      {},
      { command: { kind: 'dance' } },
      { command: { kind: 'message', text: 5 } },
    ].entries()) {
      await backend.mailbox.put({ to: thread.id, id: `junk${index}`, body })
    }
    await until('the mail to be done', async () => (await backend.mailbox.waiting()).length === 0)
    await expect(thread.send(5 as never).accepted()).rejects.toMatchObject({ code: 'BAD_OPTION' })
    expect(await thread.send('go').text()).toBe('done')
    expect((await thread.info()).seq).toBe(5)
    await backend.close()
    await client.close()
  })

  it('F8: mail to a thread that does not exist is refused and leaves nothing behind', async () => {
    const skein = await world.open(tinyApp({ script: [] }).app)
    const backend = await world.store.source.open('client')
    await backend.mailbox.put({
      to: 'nobody',
      id: 'm',
      body: { command: { kind: 'message', role: 'user', text: 'go', delivery: 'steer' } },
    })
    await until('the mail to be done', async () => (await backend.mailbox.waiting()).length === 0)
    await until('nobody to be resident', () => skein.host.threadsAwake === 0)
    expect(await backend.heads.get('nobody')).toBeUndefined()
    await backend.close()
  })
})

it('R1, T4: a message is accepted by its own thread, not by another that was sent the same id', async () => {
  const release = deferred()
  const backend = tapped(memory(), {
    commit: async (commit, go) => {
      if (commit.thread === 'slow' && commit.expected > 0) await release.promise
      return go()
    },
  })
  const skein = await createSkein({ app: tinyApp({ script: () => 'done' }).app, backend })
  onTestFinished(() => skein.close())
  const [fast, slow] = await Promise.all(['fast', 'slow'].map((id) => skein.threads.create({ agent: 'helper', id })))
  const accepted: string[] = []
  const runs = [fast, slow].flatMap((thread) => (thread ? [thread.send('go', { id: 'same' })] : []))
  runs.forEach((run, index) => void run.accepted().then(() => accepted.push(index === 0 ? 'fast' : 'slow')))
  expect(await runs[0]?.text()).toBe('done')
  await turns(20)
  expect(accepted).toEqual(['fast'])
  release.resolve()
  expect(await runs[1]?.text()).toBe('done')
})

/** A memory store whose listeners miss signals when the test says so, and whose second mail with an id is held. */
function forgetful(release: Promise<void>) {
  const missed = new Set<() => void>()
  const put: string[] = []
  const store = tapped(memory(), {
    apart: true,
    commit: async (commit, go) => {
      if (commit.thread !== 'mine' || commit.entry || put.length > 1) return go()
      // The sender has posted its mail and waits.
      await turns(10)
      for (const tell of [...missed]) tell()
      return go()
    },
  })
  const open: Store['open'] = async (...given) => {
    const backend = await store.open(...given)
    const { mailbox, signals } = backend
    return {
      ...backend,
      mailbox: {
        ...mailbox,
        put: async (send) => {
          if (send.to === 'mine' && put.push(send.id) > 1) await release
          return mailbox.put(send)
        },
      },
      signals: {
        ...signals,
        subscribe: (topic, listener, onMissed) => {
          const stop = signals.subscribe(topic, listener, onMissed)
          if (onMissed) missed.add(onMissed)
          return () => {
            if (onMissed) missed.delete(onMissed)
            stop()
          }
        },
      },
    }
  }
  return { store: { open }, put }
}

it('F7, P1: whoever is told that a command was refused has no copy of it on its way', async () => {
  const release = deferred()
  const { store, put } = forgetful(release.promise)
  const skein = await createSkein({ app: tinyApp({ script: () => 'done' }).app, backend: store })
  onTestFinished(() => skein.close())
  const thread = await skein.threads.create({ agent: 'helper', id: 'mine' })
  put.length = 0
  let answer: boolean | undefined
  const cancelled = thread.cancel().then((changed) => (answer = changed))
  await until('the command to be posted again', () => put.length === 2)
  await quiet()
  expect(answer).toBeUndefined()
  release.resolve()
  expect(await cancelled).toBe(false)
  expect(await thread.send('go').text()).toBe('done')
})
