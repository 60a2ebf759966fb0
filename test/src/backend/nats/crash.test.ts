/** What is left when a host, the server or the cable between them fails, and what becomes of it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { connect } from '@nats-io/transport-node'
import { jetstreamManager } from '@nats-io/jetstream'
import { systemClock } from '../../../../src/core/clock.js'
import type { NatsOptions } from '../../../../src/backend/nats/nats.js'
import { bytesOf, commit, hashOf, head } from '../../../contract/entries.js'
import { deferred } from '../../../helpers/deferred.js'
import { natsBackends } from '../../../helpers/nats-backends.js'
import { by, lease } from '../../../helpers/nats-lease.js'
import { startNats } from '../../../helpers/nats-server.js'
import type { NatsServer, NatsServerOptions } from '../../../helpers/nats-server.js'
import { createTcpProxy } from '../../../helpers/tcp-proxy.js'

let server: NatsServer
const { open, closeAll } = natsBackends(() => ({ servers: server.url, namespace: 'crash' }))

async function start(options: NatsServerOptions = {}): Promise<void> {
  await server?.remove()
  server = await startNats(options)
}

beforeEach(() => start())
afterEach(async () => {
  await closeAll()
  await server.remove()
})

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve())))
}

describe('an answer that is lost', () => {
  it('a commit that was written counts once and is told as written, though the retry is refused by the server (10071)', async () => {
    const proxy = await createTcpProxy(server.port)
    const backend = await open({ servers: `127.0.0.1:${proxy.port}`, leaseMs: 20_000 })
    await backend.commit(commit('a', 0))
    const client = await open({}, 'client')
    proxy.swallow()
    const written = backend.commit(commit('a', 1))
    while ((await client.journal.read('a')).length < 2) continue
    proxy.cut()
    proxy.mend()
    expect(await written).toMatchObject({ ok: true })
    expect(await backend.commit(commit('a', 2))).toMatchObject({ ok: true })
    expect((await client.journal.read('a')).map(({ first }) => first)).toEqual([1, 2, 3])
    await backend.close()
    await proxy.close()
  })

  it('what cannot be done while the server is away fails in time and says so, and nothing hangs', async () => {
    const backend = await open({ patienceMs: 300 })
    await backend.commit(commit('a', 0))
    await server.kill()
    const failed = { code: 'STORE_FAILED', retry: true, message: expect.stringContaining('is the server up?') }
    await expect(backend.commit(commit('a', 1))).rejects.toMatchObject(failed)
    await expect(backend.mailbox.put({ to: 'a', id: 'm', body: 1 })).rejects.toMatchObject(failed)
    await expect(backend.journal.read('a')).rejects.toMatchObject(failed)
    await server.start()
    expect(await backend.commit(commit('a', 1))).toMatchObject({ ok: true })
  })
})

describe('the server is killed and started again', () => {
  it('NG2: a commit under way waits and is written once; mail is heard of after it; listeners are told that they missed something', async () => {
    const backend = await open({ leaseMs: 30_000 })
    const held = await lease(backend)
    const missed = deferred()
    backend.signals.subscribe(
      't',
      () => undefined,
      () => missed.resolve(),
    )
    await backend.commit(by(held, ['a', 0]))
    await server.kill()
    const written = backend.commit(by(held, ['a', 1]))
    await server.start()
    expect(await written).toMatchObject({ ok: true })
    await missed.promise
    const heard = deferred<string>()
    backend.mailbox.watch((thread) => heard.resolve(thread))
    await backend.mailbox.put({ to: 'b', id: 'm', body: 1 })
    expect(await heard.promise).toBe('b')
    expect(held.lost.aborted).toBe(false)
    expect(await backend.journal.read('a')).toHaveLength(2)
  })

  it('a server that was away for longer than a lease takes it; nothing is written with it, and a new one is had', async () => {
    const backend = await open({ leaseMs: 1_000 })
    const held = await lease(backend)
    await backend.commit(by(held, ['a', 0]))
    await server.kill()
    await aborted(held.lost)
    await server.start()
    expect(await backend.commit(by(held, ['a', 1]))).toEqual({ ok: false, seq: 1, epoch: held.epoch })
    const next = await lease(backend)
    expect(next.epoch).toBeGreaterThan(held.epoch)
    expect(await backend.commit(by(next, ['a', 1]))).toMatchObject({ ok: true })
  })
})

describe('a host that is taken for dead and does not know it yet', () => {
  it('N1, J4: what it commits after the take-over is found by the new owner, with the mail that it has finished', async () => {
    const [one, two] = [await open({ leaseMs: 20_000 }), await open({ leaseMs: 20_000 })]
    const held = await lease(one)
    await one.commit(by(held, ['a', 0]))
    await two.mailbox.put({ to: 'a', id: 'm', body: 1 })
    const [mail] = await one.mailbox.read('a', 0)
    const nc = await connect({ servers: server.url })
    const jsm = await jetstreamManager(nc)
    await jsm.streams.purge('crash_live', { filter: `crash.live.${(await one.hosts())[0]?.id ?? ''}` })
    expect((await lease(two)).epoch).toBeGreaterThan(held.epoch)
    const late = by(held, ['a', 1], { head: head('a', { rest: false }), done: [mail?.number ?? 0] })
    expect(await one.commit(late)).toMatchObject({ ok: true })
    expect((await two.heads.restless(0)).map(({ thread }) => thread)).toEqual(['a'])
    await nc.close()
  })
})

describe('a server that stands still for a while', () => {
  it('a renewal that is answered after the host took itself for dead does not bring its old name back; what that owned is free again', async () => {
    const leaseMs = 1_500
    const backend = await open({ leaseMs })
    const held = await lease(backend)
    const nc = await connect({ servers: server.url })
    const renewals = nc.subscribe('crash.live.*')[Symbol.asyncIterator]()
    await renewals.next()
    // The first one comes late, so that the second is sent when little time is left.
    server.pause()
    await new Promise<void>((resolve) => void systemClock.wakeAt(systemClock.now() + 0.68 * leaseMs, resolve))
    server.resume()
    await renewals.next()
    await nc.flush()
    server.pause()
    await aborted(held.lost)
    const free = deferred()
    const stop = backend.leases.watch((survey) => survey.free.includes(0) && free.resolve())
    server.resume()
    await free.promise
    stop()
    expect((await lease(backend)).epoch).toBeGreaterThan(held.epoch)
    await nc.close()
  })
})

describe('a host that is cut off', () => {
  it('takes itself for dead before anyone else may take its place; what it writes then is refused', async () => {
    const proxy = await createTcpProxy(server.port)
    const one = await open({ servers: `127.0.0.1:${proxy.port}`, leaseMs: 1_000 })
    const two = await open()
    const first = await lease(one)
    await one.commit(by(first, ['a', 0]))
    expect(await two.leases.acquire(0)).toBeUndefined()
    let lostAt = 0
    first.lost.addEventListener('abort', () => (lostAt = performance.now()))
    proxy.cut()
    const second = await lease(two)
    expect(lostAt).toBeGreaterThan(0)
    expect(lostAt).toBeLessThan(performance.now())
    await two.commit(by(second, ['a', 1]))
    proxy.mend()
    expect(await one.commit(by(first, ['a', 1]))).toEqual({ ok: false, seq: 2, epoch: second.epoch })
    expect(await one.leases.acquire(0)).toBeUndefined()
    await one.close()
    await proxy.close()
  })

  it('NT1: mail that came while the cable was cut is heard of after it, in order and once', async () => {
    const proxy = await createTcpProxy(server.port)
    const one = await open({ servers: `127.0.0.1:${proxy.port}`, leaseMs: 30_000 })
    const other = await open({}, 'client')
    await lease(one)
    const all = deferred()
    one.mailbox.watch(() => void one.mailbox.read('a', 0).then((mail) => mail.length === 30 && all.resolve()))
    for (let n = 0; n < 30; n++) {
      if (n % 10 === 5) proxy.cut()
      if (n % 10 === 9) proxy.mend()
      await other.mailbox.put({ to: 'a', id: `m${n}`, body: n })
    }
    await all.promise
    expect((await one.mailbox.read('a', 0)).map(({ body }) => body)).toEqual(Array.from({ length: 30 }, (_, n) => n))
    await one.close()
    await proxy.close()
  })
})

describe('a host that reads too slowly', () => {
  it('NG2, NT1: is cut off by the server, is told that it missed signals, and misses no mail', async () => {
    await start({ more: ['max_pending: 1MB', 'write_deadline: "500ms"'] })
    const proxy = await createTcpProxy(server.port)
    const slow = await open({ servers: `127.0.0.1:${proxy.port}`, leaseMs: 9_000 })
    const other = await open({}, 'client')
    await lease(slow)
    const [missed, all] = [deferred(), deferred()]
    slow.signals.subscribe(
      't',
      () => undefined,
      () => missed.resolve(),
    )
    slow.mailbox.watch(() => void slow.mailbox.read('a', 0).then((mail) => mail.length === 20 && all.resolve()))
    await slow.hosted() // the subscription is there
    proxy.stall()
    for (let n = 0; n < 20; n++) {
      for (let k = 0; k < 10; k++) other.signals.publish('t', 'x'.repeat(100_000))
      await other.mailbox.put({ to: 'a', id: `m${n}`, body: n })
    }
    await missed.promise
    await all.promise
    expect((await slow.mailbox.read('a', 0)).map(({ body }) => body)).toEqual(Array.from({ length: 20 }, (_, n) => n))
    await slow.close()
    await proxy.close()
  })
})

describe('mail that a commit sends', () => {
  const accounts = `accounts { A: { jetstream: enabled, users: [
    { user: all, password: x }, { user: mute, password: x, permissions: { publish: { deny: ["crash.mail.>"] } } } ] } }`
  const as = (user: string): NatsOptions => ({ credentials: { user, password: 'x' }, patienceMs: 200 })

  it('NC2: what was written and not sent is sent before the next holder gets the lease', async () => {
    await start({ more: [accounts] })
    const mute = await open(as('mute'))
    const first = await lease(mute)
    const sent = mute.commit(
      by(first, ['a', 0], {
        sends: [
          { to: 'b', id: 'one', body: 1 },
          { to: 'b', id: 'two', body: { n: 2 } },
        ],
      }),
    )
    expect(await sent).toMatchObject({ ok: true })
    await mute.close()
    const next = await open(as('all'))
    await lease(next)
    expect(await next.mailbox.read('b', 0)).toMatchObject([
      { id: 'one', body: 1 },
      { id: 'two', body: { n: 2 } },
    ])
  })

  it('NC3: what was sent is not sent again, however often the lease changes hands', async () => {
    const one = await open()
    const first = await lease(one)
    await one.commit(by(first, ['a', 0], { sends: [{ to: 'b', id: 's', body: 1 }] }))
    await one.close()
    for (let round = 0; round < 2; round++) {
      const next = await open()
      const held = await lease(next)
      const mail = await next.mailbox.read('b', 0)
      expect(mail).toHaveLength(round === 0 ? 1 : 0)
      if (round === 0) await next.commit(by(held, ['b', 0], { done: mail.map(({ number }) => number) }))
      await next.close()
    }
  })
})

describe('what is longer than a message may be', () => {
  const long = (bytes: number, filler: string): string => filler.repeat(bytes / filler.length)

  it('entries, heads, mail, snapshots and signals of any length come back whole, for the holder and for others', async () => {
    await start({ maxPayload: 64 * 1024 })
    const backend = await open()
    const held = await lease(backend)
    const client = await open({}, 'client')
    const body = long(300_000, '["ü"]')
    const pending = [
      {
        call: 'call_1_0',
        why: 'approval' as const,
        tool: 'pay',
        args: { text: long(100_000, 'abcdefghij') },
        requestedAt: 1,
      },
    ]
    const sends = [
      { to: 'b', id: 'long', body: long(200_000, '0123456789') },
      { to: 'b', id: 'short', body: 1 },
    ]
    const full = head('a', { pending, tags: ['ü'] })
    const heard = deferred<string>()
    backend.mailbox.watch((thread) => heard.resolve(thread))
    expect(
      await backend.commit(by(held, ['a', 0], { entry: { first: 1, count: 1, body, hash: 'h' }, head: full, sends })),
    ).toMatchObject({ ok: true })
    for (const each of [backend, client]) {
      expect((await each.journal.read('a')).map((entry) => entry.body === body)).toEqual([true])
      expect(await each.heads.get('a')).toEqual({ ...full, thread: 'a', seq: 1 })
      expect((await each.heads.list({ pending: true })).heads).toEqual([{ ...full, thread: 'a', seq: 1 }])
    }
    await heard.promise
    for (const each of [backend, client])
      expect(await each.mailbox.read('b', 0)).toMatchObject(sends.map(({ id, body: said }) => ({ id, body: said })))
    await backend.snapshots.put('a', Buffer.alloc(200_000, 7))
    expect(Buffer.from((await client.snapshots.get('a')) ?? []).equals(Buffer.alloc(200_000, 7))).toBe(true)
    const missed = deferred()
    client.signals.subscribe(
      't',
      () => undefined,
      () => missed.resolve(),
    )
    await client.hosted() // the subscription is there
    backend.signals.publish('t', long(100_000, 'x'))
    await missed.promise
  })

  it('J8: 64 MB of one process are those of another', async () => {
    const [one, two] = [await open(), await open({}, 'client')]
    const part = Buffer.alloc(1024 * 1024)
    async function* source(): AsyncGenerator<Uint8Array> {
      for (let n = 0; n < 64; n++) yield part.fill(n)
    }
    const { hash, size } = await one.blobs.put(source())
    expect(size).toBe(64 * 1024 * 1024)
    expect(hashOf(await bytesOf(two.blobs.get(hash)))).toBe(hash)
  })
})
