/**
 * The server is away, or the cable to it is, while clients speak to hosts: whoever sends something gets a receipt or
 * an error in time, and everything goes on afterwards (N3).
 */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connect } from '@nats-io/transport-node'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { nats } from '../../src/backend/nats/nats.js'
import { isSkeinError } from '../../src/core/failure.js'
import { connectSkein } from '../../src/runtime/handles/client.js'
import type { SkeinClient } from '../../src/runtime/handles/client.js'
import { createSkein } from '../../src/runtime/skein.js'
import type { Skein } from '../../src/runtime/skein.js'
import { pauseFor } from '../chaos/flock.js'
import { limitOf } from '../helpers/contention.js'
import { calls, tinyApp } from '../helpers/app.js'
import { family, write } from '../helpers/family.js'
import { startNats } from '../helpers/nats-server.js'
import type { NatsServer, NatsServerOptions } from '../helpers/nats-server.js'
import { times } from '../helpers/soak.js'
import { createTcpProxy } from '../helpers/tcp-proxy.js'
import type { TcpProxy } from '../helpers/tcp-proxy.js'

let server: NatsServer
let proxy: TcpProxy
const cables: TcpProxy[] = []
/** Shorter than the lease; `npm run soak` has a longer one. */
const cutMs = process.env['SOAK'] ? 10_000 : 1_000
const open: (Skein | SkeinClient)[] = []

async function start(options: NatsServerOptions = {}): Promise<void> {
  server = await startNats(options)
  proxy = await cable()
}

async function cable(): Promise<TcpProxy> {
  const made = await createTcpProxy(server.port)
  cables.push(made)
  return made
}

const source = (port: number) =>
  nats({ servers: `127.0.0.1:${port}`, namespace: 'away', partitions: 2, leaseMs: 1_500, sync: 'relaxed' })
const { app } = tinyApp({ script: ({ messages }) => `heard ${messages.at(-1)?.text}` })

/** A moment for each word, so that there is something to cut off. */
const swarm = family({
  lead: ({ step }) => (step === 0 ? calls(...['a', 'b', 'c'].map(write)) : 'all written'),
  writer: async () => {
    await pauseFor(100)
    return 'written'
  },
})

async function host(port: number, of = app): Promise<Skein> {
  const skein = await createSkein({ app: of, backend: source(port), warn: () => undefined })
  open.push(skein)
  return skein
}

async function client(port: number): Promise<SkeinClient> {
  const connected = await connectSkein({ backend: source(port) })
  open.push(connected)
  return connected
}

beforeEach(() => start({ maxPayload: 64 * 1024, maxFile: '16MB' }), 120_000)
afterEach(async () => {
  for (const each of cables) each.mend()
  for (const each of open.splice(0).reverse()) await each.close()
  for (const each of cables.splice(0)) await each.close()
  await server.remove()
})

test('N3: a sender whose answer was lost with its connection is answered when it is back, not when its patience ends', async () => {
  const toHost = await cable()
  await host(toHost.port)
  const speaker = await client(proxy.port)
  const thread = await speaker.threads.create({ agent: 'helper', id: 't' })
  const other = await client(server.port)
  const mail = await source(server.port).open('client')
  const ended = (async () => {
    for await (const event of other.events({ root: 't' })) if (event.type === 'turn.ended') return
  })()
  toHost.stall() // so that its answer comes when nobody hears it
  const limit = limitOf(15_000)
  const began = performance.now()
  const run = thread.send('hello', { id: 'm' })
  const accepted = run.accepted()
  while ((await mail.mailbox.waiting()).length === 0) continue
  proxy.swallow()
  toHost.flow()
  await ended
  proxy.cut()
  proxy.mend()
  await accepted
  expect(await run.text()).toBe('heard hello')
  const tookMs = performance.now() - began
  expect(tookMs).toBeLessThan(limit())
  expect((await thread.messages()).map(({ text }) => text)).toEqual(['hello', 'heard hello'])
  await mail.close()
})

test(
  `N1, N3: a host that is cut off for ${cutMs} ms: whoever speaks to its threads is answered, here or elsewhere, ` +
    `and nothing is lost or doubled`,
  async () => {
    await host(proxy.port)
    await host(server.port)
    const speaker = await client(server.port)
    const ids = Array.from({ length: 8 }, (_, n) => `t${n}`)
    const threads = await Promise.all(ids.map((id) => speaker.threads.create({ agent: 'helper', id })))
    const say = (text: string): Promise<string[]> =>
      Promise.all(
        threads.map((thread) => thread.send(text, { id: `${thread.id}-${text}`, delivery: 'new_turn' }).text()),
      )
    await say('before')
    proxy.cut()
    const meanwhile = say('meanwhile')
    await pauseFor(cutMs)
    proxy.mend()
    expect(new Set(await meanwhile)).toEqual(new Set(['heard meanwhile']))
    await say('after')
    const said = ['before', 'meanwhile', 'after'].flatMap((text) => [text, `heard ${text}`])
    for (const thread of threads) expect((await thread.messages()).map(({ text }) => text)).toEqual(said)
  },
)

const deadDirections = (['mute', 'swallow'] as const).flatMap((how) =>
  (['host', 'client'] as const).map((whose) => ({ how, whose })),
)

test.each(deadDirections.filter((_, n) => n % 3 === 0 || times(0, 1) > 0))(
  'N3: half of the cable of a $whose is dead ($how): who waits for results and for trees at rest has them when it ' +
    'is mended',
  async ({ how, whose }) => {
    const toHost = await cable()
    for (const port of [toHost.port, server.port]) await host(port, swarm)
    const speaker = await client(proxy.port)
    const half = whose === 'host' ? toHost : proxy
    for (let round = 0; round < times(1, 5); round++) {
      const threads = await Promise.all(
        Array.from({ length: 6 }, (_, n) => speaker.threads.create({ agent: 'lead', id: `t${round}-${n}` })),
      )
      const runs = threads.map((thread) => thread.send('go', { id: `m-${thread.id}` }))
      await Promise.all(runs.map((run) => run.accepted()))
      const waits = threads.map((thread, n) => Promise.all([runs[n]?.text(), thread.settled({ tree: true })]))
      half[how]()
      await pauseFor(2_500) // longer than the lease, shorter than the patience
      half.mend()
      for (const [text, { status, rest }] of await Promise.all(waits))
        expect([text, status, rest]).toEqual(['all written', 'idle', true])
    }
  },
)

test('NS2, N3: a server that is full says so to whoever sends; when there is room again everything goes on', async () => {
  await host(server.port)
  const speaker = await client(server.port)
  const thread = await speaker.threads.create({ agent: 'helper', id: 't' })
  await thread.send('before', { id: 'before' }).text()
  const nc = await connect({ servers: server.url })
  const jsm = await jetstreamManager(nc)
  await jsm.streams.add({ name: 'filler', subjects: ['filler'] })
  const fill = (bytes: number): Promise<unknown> => jetstream(nc).publish('filler', new Uint8Array(bytes))
  for (let bytes = 60_000; bytes > 10;) await fill(bytes).catch(() => (bytes = Math.floor(bytes / 2)))
  const refused = thread.send('x'.repeat(10_000), { id: 'full' })
  await expect(refused.accepted()).rejects.toMatchObject({
    code: 'STORE_FAILED',
    retry: true,
    message: expect.stringMatching(/writing to away\.mail.*(storage|resource)/),
  })
  await jsm.streams.delete('filler')
  await nc.close()
  const texts = async (): Promise<string> => thread.send('after', { id: 'after' }).text()
  expect(await untilAnswered(texts)).toBe('heard after')
  expect((await thread.messages()).map(({ text }) => text)).toEqual(['before', 'heard before', 'after', 'heard after'])
})

/** The host was taken for dead while nothing could be written: it is back a moment later. */
async function untilAnswered<T>(make: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await make()
    } catch (thrown) {
      if (!isSkeinError(thrown) || thrown.code !== 'COMMAND_UNANSWERED') throw thrown
    }
  }
}

test('what is longer than a message of the server may be is said, heard and kept whole', async () => {
  await host(server.port)
  const speaker = await client(server.port)
  const thread = await speaker.threads.create({ agent: 'helper', id: 't' })
  const long = 'long '.repeat(60_000)
  expect(await thread.send(long).text()).toBe(`heard ${long}`)
  expect((await thread.messages()).map(({ text }) => text.length)).toEqual([long.length, long.length + 6])
})
