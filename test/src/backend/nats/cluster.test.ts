/**
 * Three servers with `replicas: 3`: one of them is killed, stopped or behind. What was acknowledged is there, and who
 * takes over sees all of it. Only `npm run soak` runs it, some times over.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { head } from '../../../contract/entries.js'
import { pauseFor } from '../../../chaos/flock.js'
import { deferred } from '../../../helpers/deferred.js'
import { natsBackends } from '../../../helpers/nats-backends.js'
import { by, lease } from '../../../helpers/nats-lease.js'
import { startCluster } from '../../../helpers/nats-cluster.js'
import type { NatsCluster } from '../../../helpers/nats-cluster.js'

const rounds = 5
/** Longer than a request waits for its answer, so that it is repeated, and shorter than a leader without others stays one. */
const agreeMs = 7_000
let cluster: NatsCluster
let namespace = ''
let made = 0
const { open, closeAll } = natsBackends(() => ({
  servers: cluster.urls,
  namespace,
  replicas: 3,
  patienceMs: 30_000,
}))

beforeEach(() => void (namespace = `cluster${++made}`))
afterEach(async () => {
  await cluster.heal()
  await closeAll()
})

// Three servers take longer to agree than the test command may take.
describe.runIf(process.env['SOAK'])('a cluster of three', () => {
  beforeAll(async () => {
    cluster = await startCluster()
  })
  afterAll(() => cluster.remove())

  it('N3: goes on without the leader of its journals, which is killed under load: every commit is written once', async () => {
    // Longer than the servers take to choose a leader, also on a busy machine: without a lease nothing is written.
    const host = await open({ leaseMs: 60_000 })
    const held = await lease(host)
    const threads = Array.from({ length: 8 }, (_, n) => `t${n}`)
    for (let round = 0; round < rounds; round++) {
      const victim = await cluster.leaderOf(`${namespace}_log`)
      const [from, count] = [round * 30, 30]
      const written = threads.map(async (thread) => {
        for (let seq = from; seq < from + count; seq++)
          expect(
            await host.commit(by(held, [thread, seq], { sends: [{ to: 'box', id: `${thread}-${seq}`, body: seq }] })),
          ).toMatchObject({ ok: true })
      })
      await victim.kill()
      await Promise.all(written)
      await victim.start()
    }
    for (const thread of threads)
      expect((await host.journal.read(thread)).map(({ first }) => first)).toEqual(
        Array.from({ length: 30 * rounds }, (_, n) => n + 1),
      )
    const box = deferred()
    const look = (): void =>
      void host.mailbox
        .read('box', 0)
        .then((mail) => new Set(mail.map(({ id }) => id)).size === threads.length * 30 * rounds && box.resolve())
    host.mailbox.watch(look)
    look()
    await box.promise
  })

  it('N3: a commit that its servers are slow to agree on is written once, and is not taken for that of another', async () => {
    await open({ leaseMs: 60_000 }) // makes the streams
    for (let round = 0; round < rounds; round++) {
      const leader = await cluster.leaderOf(`${namespace}_log`)
      const host = await open({ servers: leader.url })
      const held = await lease(host)
      const thread = `slow${round}`
      expect(await host.commit(by(held, [thread, 0]))).toMatchObject({ ok: true })
      const others = cluster.nodes.filter(({ name }) => name !== leader.name)
      for (const node of others) node.pause()
      const written = host.commit(by(held, [thread, 1]))
      await pauseFor(agreeMs)
      for (const node of others) node.resume()
      expect(await written).toMatchObject({ ok: true })
      expect((await host.journal.read(thread)).map(({ first }) => first)).toEqual([1, 2])
      await held.release()
      await host.close()
    }
  })

  it('who takes over sees what was acknowledged before, though a replica is behind', async () => {
    await open({ leaseMs: 60_000 }) // so that there is a host all the time
    for (let round = 0; round < rounds; round++) {
      const one = await open()
      const held = await lease(one)
      const leader = await cluster.leaderOf(`${namespace}_log`)
      const slow = cluster.nodes.find(({ name }) => name !== leader.name)
      slow?.pause()
      const threads = Array.from({ length: 300 }, (_, n) => `r${round}-${n}`)
      await Promise.all(
        threads.map((thread) => one.commit(by(held, [thread, 0], { head: head(thread, { rest: false }) }))),
      )
      await held.release()
      slow?.resume()
      const two = await open()
      const next = await lease(two)
      const seen = new Set((await two.heads.restless(0)).map(({ thread }) => thread))
      expect(threads.filter((thread) => !seen.has(thread))).toEqual([])
      await next.release()
      await one.close()
      await two.close()
    }
  })
})
