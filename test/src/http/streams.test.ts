/** H2: what open streams hold, and what ends them. */
import { afterEach, expect, it } from 'vitest'
import { manualClock } from '../../../src/core/manual-clock.js'
import { platformResponse } from '../../../src/http/answer.js'
import { eventStream } from '../../../src/http/stream/server-sent-events.js'
import type { StreamedEvent } from '../../../src/http/stream/server-sent-events.js'
import { createSkein, memory } from '../../../src/index.js'
import type { Skein } from '../../../src/index.js'
import { createHandler } from '../../../src/server.js'
import { tinyApp } from '../../helpers/app.js'
import { quiet } from '../../helpers/deferred.js'
import { keys, served } from '../../helpers/served.js'
import type { Served } from '../../helpers/served.js'
import { onEveryStore } from '../../helpers/world.js'

let skein: Skein | undefined
let server: Served | undefined
afterEach(async () => {
  await server?.close()
  await skein?.close()
})

/** A thread whose model never answers. */
async function open(): Promise<Served> {
  skein = await createSkein({ app: tinyApp({ script: () => new Promise(() => undefined) }).app, backend: memory() })
  server = await served(skein)
  await server.ask('/threads', { body: { agent: 'helper', id: 'one' } })
  await server.ask('/threads/one/messages', { body: { text: 'hi', id: 'm' } })
  return server
}

it('H2: a stream has one timer, however many events it has sent', async () => {
  const clock = manualClock()
  const leaving = new AbortController()
  let listeners = 0
  const { signal } = leaving
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  Object.assign(signal, {
    addEventListener: (...args: Parameters<typeof add>) => {
      listeners++
      add(...args)
    },
    removeEventListener: (...args: Parameters<typeof remove>) => {
      listeners--
      remove(...args)
    },
  })
  async function* events(): AsyncGenerator<StreamedEvent> {
    for (let number = 0; number < 100; number++) yield { event: 'e', data: number }
    await new Promise(() => undefined)
  }
  const { body } = platformResponse(eventStream(events(), { clock, heartbeatMs: 5_000, signal }))
  const reader = body?.getReader()
  for (let number = 0; number < 101; number++) await reader?.read()
  expect(clock.pending).toBeLessThanOrEqual(1)
  expect(listeners).toBe(1)
  leaving.abort()
  expect(clock.pending).toBe(0)
  expect((await reader?.read())?.done).toBe(true)
})

it('H2: streams of a run that goes on end when the server closes', async () => {
  const { url, close } = await open()
  const headers = { authorization: `Bearer ${keys.reader}` }
  const texts = ['text', 'events'].map(async (what) =>
    (await fetch(`${url}/threads/one/runs/m/${what}`, { headers })).text(),
  )
  // Each has begun.
  await fetch(`${url}/health`)
  await close()
  server = undefined
  const [text, events] = await Promise.all(texts)
  expect(text).toBe('')
  expect(events).toContain('event: clock')
})

it('H1: a path of a file is what follows the thread, however that is encoded', async () => {
  const { ask } = await open()
  const headers = { 'content-type': 'text/plain' }
  await ask('/threads/%6Fne/files/a/b.txt', { method: 'PUT', body: 'text', headers })
  expect((await ask('/threads/one/files/a/b.txt')).body).toBe('text')
})

it('H1: a value that is nested too deeply is a mistake of who sent it', async () => {
  const { ask } = await open()
  const body = `{"value":${'['.repeat(20_000)}${']'.repeat(20_000)}}`
  const { status, body: told } = await ask('/threads/one/kv/k', { method: 'PUT', body })
  expect({ status, told }).toMatchObject({ status: 400, told: { code: 'BAD_OPTION' } })
})

onEveryStore('streams that nobody reads', (world) => {
  it('H2: HEAD of a stream leaves no subscription', async () => {
    const subscribed = { count: 0 }
    world.tap.subscribed = () => {
      subscribed.count++
      return () => void subscribed.count--
    }
    const hosted = await world.open(tinyApp({ script: () => new Promise(() => undefined) }).app)
    const thread = await hosted.threads.create({ agent: 'helper', id: 'one' })
    await thread.send('hi', { id: 'm' }).accepted()
    const handler = createHandler(hosted, { auth: 'none' })
    await quiet()
    const before = subscribed.count
    for (const what of ['runs/m/text', 'runs/m/events', 'events']) {
      const { status } = await handler.fetch(new Request(`http://localhost/threads/one/${what}`, { method: 'HEAD' }))
      expect(status).toBe(200)
    }
    await quiet()
    expect(subscribed.count).toBe(before)
  })
})
