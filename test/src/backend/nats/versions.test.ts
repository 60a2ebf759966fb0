/** Hosts of different versions and apps on one namespace: who gets partitions, and who is refused. */
import { connect } from '@nats-io/transport-node'
import { jetstreamManager } from '@nats-io/jetstream'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { nats } from '../../../../src/backend/nats/nats.js'
import { anonymousHost } from '../../../../src/backend/host-info.js'
import type { HostProfile, HostSelf } from '../../../../src/backend/host-info.js'
import type { Backend, Survey } from '../../../../src/backend/port.js'
import { limitOf } from '../../../helpers/contention.js'
import { startNats } from '../../../helpers/nats-server.js'
import type { NatsServer } from '../../../helpers/nats-server.js'

let server: NatsServer
const opened = new Set<Backend>()
beforeAll(async () => {
  server = await startNats()
})
afterAll(() => server.remove())
afterEach(async () => {
  for (const backend of opened) await backend.close()
  opened.clear()
})

async function open(namespace: string, profile: Partial<HostProfile>): Promise<Backend> {
  const self: HostSelf = { ...anonymousHost, profile: { ...anonymousHost.profile, ...profile } }
  const backend = await nats({ servers: server.url, namespace, partitions: 4, leaseMs: 1_000, sync: 'relaxed' }).open(
    'host',
    self,
  )
  opened.add(backend)
  return backend
}

/** The first survey from now on for which it holds. */
function surveyed({ leases }: Backend, holds: (survey: Survey) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const stop = leases.watch((survey) => {
      if (!holds(survey)) return
      stop()
      resolve()
    })
  })
}

async function takeAll({ leases }: Backend): Promise<readonly number[]> {
  const all = await Promise.all((await leases.survey()).free.map((partition) => leases.acquire(partition)))
  return all.flatMap((lease) => (lease ? [lease.partition] : []))
}

it('the newest version of the app has all partitions; older ones get them back when it is gone', async () => {
  const old = await open('versions', { records: 2, appVersion: '1.9.0' })
  expect(await takeAll(old)).toEqual([0, 1, 2, 3])
  const told = surveyed(old, ({ share }) => share === 0)
  const [one, two] = [
    await open('versions', { records: 2, appVersion: '1.10.0' }),
    await open('versions', { records: 2, appVersion: '1.10.0' }),
  ]
  await told
  expect(await one.leases.survey()).toMatchObject({ share: 2, free: [] })
  expect((await two.leases.survey()).share).toBe(2)
  // One that has no version is older than all that have.
  expect((await (await open('versions', { records: 2 })).leases.survey()).share).toBe(0)
  await one.close()
  await two.close()
  expect((await old.leases.survey()).share).toBe(4)
})

it('a partition that newer records were written to is for no host of older ones, also when nobody else is there', async () => {
  const newer = await open('records', { records: 3, appVersion: '1.0.0' })
  const lease = await newer.leases.acquire(2)
  await lease?.release()
  await newer.close()
  const older = await open('records', { records: 2, appVersion: '9.0.0' })
  expect(await older.leases.survey()).toEqual({ share: 4, free: [0, 1, 3], barred: 1 })
  expect(await older.leases.acquire(2)).toBeUndefined()
  expect(await takeAll(older)).toEqual([0, 1, 3])
  const again = await open('records', { records: 3, appVersion: '1.0.0' })
  expect(await again.leases.survey()).toEqual({ share: 4, free: [2], barred: 0 })
})

it('a namespace serves one app: another is refused with what to do, one without a name is not', async () => {
  await (await open('apps', {})).close()
  await (await open('apps', { app: 'shop' })).close()
  await expect(open('apps', { app: 'blog' })).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringMatching(
      /namespace apps .* serves the app "shop", and this host has "blog"\. Give it a namespace of its own/,
    ),
    data: { app: 'shop' },
  })
  await open('apps', { app: 'shop' })
  await open('apps', {})
})

it('what a host says is renewed with its lease; what it cannot say is a stranger', async () => {
  let busy = 1
  const source = nats({ servers: server.url, namespace: 'says', partitions: 1, leaseMs: 1_000, sync: 'relaxed' })
  const backend = await source.open('host', {
    ...anonymousHost,
    profile: { ...anonymousHost.profile, name: 'pear/1' },
    work: () => ({ awake: 5, busy, load: 0 }),
  })
  opened.add(backend)
  expect(await backend.hosts()).toMatchObject([{ name: 'pear/1', busy: 1, partitions: [] }])
  busy = 4
  for (let seen = 1; seen !== 4;) seen = (await backend.hosts())[0]?.busy ?? 0
})

it('a host that was killed is no host any more when it should have been heard of, not only when its lease ends', async () => {
  const leaseMs = 2_000
  const source = nats({ servers: server.url, namespace: 'killed', partitions: 1, leaseMs, sync: 'relaxed' })
  await (await source.open('host')).close()
  const client = await source.open('client')
  opened.add(client)
  expect(await client.hosted()).toBe(false)
  // An entry that nobody renews.
  const nc = await connect({ servers: server.url })
  const jsm = await jetstreamManager(nc)
  await jsm.jetstream().publish('killed.live.dead')
  const limit = limitOf(leaseMs * 0.6)
  const began = performance.now()
  let lastSeen = began
  for (let there = true; there;) {
    const asked = performance.now()
    there = await client.hosted()
    if (there) lastSeen = asked
  }
  expect(lastSeen - began).toBeLessThan(limit())
  await nc.close()
})
