/** What a cut cable, a stopped process or a full disk leaves undone, and that it is done when it is over. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { connect } from '@nats-io/transport-node'
import { jetstreamManager } from '@nats-io/jetstream'
import { systemClock } from '../../../../src/core/clock.js'
import { head } from '../../../contract/entries.js'
import { deferred } from '../../../helpers/deferred.js'
import { natsBackends } from '../../../helpers/nats-backends.js'
import { by, lease } from '../../../helpers/nats-lease.js'
import { startNats } from '../../../helpers/nats-server.js'
import type { NatsServer } from '../../../helpers/nats-server.js'
import { createTcpProxy } from '../../../helpers/tcp-proxy.js'
import type { TcpProxy } from '../../../helpers/tcp-proxy.js'

let server: NatsServer
let proxy: TcpProxy
let namespace = ''
let made = 0
/** Through the cable that is cut. */
const { open, closeAll } = natsBackends(() => ({ servers: `127.0.0.1:${proxy.port}`, namespace }))
/** Straight to the server. */
const openBeside: typeof open = (options, role) => open({ servers: `127.0.0.1:${server.port}`, ...options }, role)

beforeAll(async () => {
  server = await startNats({ maxPayload: 64 * 1024 })
})
afterAll(() => server.remove())
beforeEach(async () => {
  namespace = `outage${++made}`
  proxy = await createTcpProxy(server.port)
})
afterEach(async () => {
  proxy.mend()
  await closeAll()
  await proxy.close()
})

/**
 * As if it was stopped right after it did something: no timer runs and no answer is read for that long; then answers
 * are read before timers run.
 */
const standStill = <T>(ms: number, after: () => T): Promise<T> =>
  new Promise((resolve) => {
    const soon = systemClock.now() + 1
    systemClock.wakeAt(soon, () => resolve(after()))
    systemClock.wakeAt(soon, () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms))
  })

describe('a cable that is cut', () => {
  it('J12: who follows heads goes on after it, without what was removed and with what was written meanwhile', async () => {
    const host = await openBeside()
    const held = await lease(host)
    for (const thread of ['gone', 'kept']) await host.commit(by(held, [thread, 0]))
    const follower = await open({}, 'client')
    const known = new Set<string>()
    const { ready, current } = follower.heads.follow((change) => {
      if ('head' in change) known.add(change.head.thread)
      else known.delete(change.removed)
    })
    await ready
    proxy.cut()
    await host.trees.remove({ root: 'gone', expected: 1, epoch: held.epoch })
    await host.commit(by(held, ['kept', 1]))
    await host.commit(by(held, ['late', 0]))
    proxy.mend()
    await current()
    expect([...known].toSorted()).toEqual(['kept', 'late'])
  })

  it('NC1: a commit that waits for the server is not written when its lease has ended meanwhile', async () => {
    const one = await open({ leaseMs: 3_000 })
    const first = await lease(one)
    await one.commit(by(first, ['a', 0]))
    proxy.cut()
    const waiting = one.commit(by(first, ['a', 1]))
    const two = await openBeside()
    const second = await lease(two)
    proxy.mend()
    expect(await waiting).toEqual({ ok: false, seq: 1, epoch: first.epoch })
    expect(await two.commit(by(second, ['a', 1]))).toMatchObject({ ok: true })
  })

  it('NC3: a host that lost its lease and has it again says that the mail of its earlier commits is out', async () => {
    const host = await open({ leaseMs: 3_000 })
    const first = await lease(host)
    await host.commit(by(first, ['a', 0], { sends: [{ to: 'b', id: 'm', body: 1 }] }))
    proxy.cut()
    if (!first.lost.aborted)
      await new Promise((resolve) => first.lost.addEventListener('abort', resolve, { once: true }))
    proxy.mend()
    expect((await lease(host)).epoch).toBeGreaterThan(first.epoch)
    const other = await openBeside({}, 'client')
    expect(await other.mailbox.waiting(undefined, 'a')).toEqual(['b'])
  })

  it('mail whose text is a blob that cannot be read meanwhile is heard of after it, in its place', async () => {
    const host = await open({ leaseMs: 30_000, patienceMs: 100 })
    await lease(host)
    const other = await openBeside({}, 'client')
    const cut = deferred()
    host.mailbox.watch(() => {
      proxy.cut() // the next one is here already, its text is not
      cut.resolve()
    })
    proxy.cut()
    await other.mailbox.put({ to: 'a', id: 'short', body: 1 })
    await other.mailbox.put({ to: 'a', id: 'long', body: 'x'.repeat(100_000) })
    await other.mailbox.put({ to: 'a', id: 'after', body: 3 })
    proxy.mend()
    await cut.promise
    await expect(host.hosted()).rejects.toMatchObject({ code: 'STORE_FAILED' }) // so had whoever wanted the text
    while ((await host.mailbox.read('a', 0)).length < 3) {
      proxy.mend()
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect((await host.mailbox.read('a', 0)).map(({ id }) => id)).toEqual(['short', 'long', 'after'])
  })

  it('who reads much while it is cut and mended reads all of it', async () => {
    const host = await openBeside()
    const held = await lease(host)
    const threads = Array.from({ length: 700 }, (_, n) => `t${n}`)
    await Promise.all(
      threads.map((thread) => host.commit(by(held, [thread, 0], { head: head(thread, { root: 'r' }) }))),
    )
    const client = await open({}, 'client')
    for (const turns of [1, 4, 8, 16, 24, 32]) {
      const [heads, entries] = [client.heads.list({}), client.journal.readTree('r')]
      for (let n = 0; n < turns; n++) await new Promise((resolve) => setImmediate(resolve))
      proxy.cut()
      proxy.mend()
      expect((await heads).heads.map(({ thread }) => thread).sort()).toEqual([...threads].sort())
      expect((await entries).map(({ thread }) => thread).sort()).toEqual([...threads].sort())
    }
  })
})

describe('a lease that ends while it is being taken', () => {
  it('leaves nothing behind that follows its mail', async () => {
    const one = await open({ leaseMs: 3_000 })
    const other = await openBeside({}, 'client')
    for (let n = 0; n < 60; n++) await other.mailbox.put({ to: 'a', id: `m${n}`, body: 'x'.repeat(50_000) })
    const stop = one.mailbox.watch(() => {
      stop()
      proxy.stall()
    })
    const taken = one.leases.acquire(0)
    const two = await openBeside()
    await (await lease(two)).release()
    proxy.flow()
    expect(await taken).toBeUndefined()
    const nc = await connect({ servers: server.url })
    const jsm = await jetstreamManager(nc)
    while ((await jsm.streams.info(`${namespace}_mail`)).state.consumer_count > 0) continue
    await nc.close()
  })
})

describe('mail that is removed while it is being read', () => {
  it('a new holder does not wait for what is gone', async () => {
    const host = await open({ leaseMs: 30_000 })
    const other = await openBeside({}, 'client')
    // More than the server sends without an answer.
    for (let n = 0; n < 60; n++) await other.mailbox.put({ to: 'a', id: `m${n}`, body: 'x'.repeat(50_000) })
    const nc = await connect({ servers: server.url })
    const jsm = await jetstreamManager(nc)
    let first = true
    host.mailbox.watch(() => {
      if (!first) return
      first = false
      proxy.stall()
      void jsm.streams.purge(`${namespace}_mail`).then(() => proxy.flow())
    })
    await lease(host)
    expect((await host.mailbox.read('a', 0)).length).toBeLessThan(60)
    await nc.close()
  })
})

describe('a process that stands still', () => {
  it('knows that its lease is over before it learns that its last commit was written', async () => {
    const host = await openBeside({ leaseMs: 3_000 })
    const held = await lease(host)
    await host.commit(by(held, ['a', 0]))
    const seen = await standStill(2_600, () =>
      host.commit(by(held, ['a', 1])).then(({ ok }) => ({ ok, lost: held.lost.aborted })),
    )
    expect(seen).toEqual({ ok: true, lost: true })
  })
})
