/** Listing all threads of a namespace: read once, then followed. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { connect } from '@nats-io/transport-node'
import type { NatsConnection } from '@nats-io/transport-node'
import { jetstreamManager } from '@nats-io/jetstream'
import type { Backend, StoreRole } from '../../../../src/backend/port.js'
import { commit, head } from '../../../contract/entries.js'
import { natsBackends } from '../../../helpers/nats-backends.js'
import { startNats } from '../../../helpers/nats-server.js'
import type { NatsServer } from '../../../helpers/nats-server.js'

let server: NatsServer
let raw: NatsConnection
let namespace = ''
let made = 0
const backends = natsBackends(() => ({ servers: server.url, namespace, partitions: 2 }))
const open = (role: StoreRole): Promise<Backend> => backends.open({}, role)

beforeAll(async () => {
  server = await startNats()
  raw = await connect({ servers: server.url })
})
afterAll(async () => {
  await raw.close()
  await server.remove()
})
beforeEach(() => {
  namespace = `directory${++made}`
})
afterEach(() => backends.closeAll())

const names = async ({ heads }: Backend): Promise<string[]> => (await heads.list({})).heads.map(({ thread }) => thread)

it('lists of all threads make one consumer, however many they are, and have what was acknowledged before each', async () => {
  const host = await open('host')
  const client = await open('client')
  await host.commit(commit('first', 0))
  expect(await names(client)).toEqual(['first'])
  let consumers = 0
  raw.subscribe(`$JS.API.CONSUMER.CREATE.${namespace}_log.>`, { callback: () => void consumers++ })
  await raw.flush()
  for (let n = 0; n < 20; n++) {
    await host.commit(commit(`t${n}`, 0))
    await host.commit(commit('first', n + 1, { head: head('first', { status: `s${n}` }) }))
    expect(await names(client)).toEqual(['first', ...Array.from({ length: n + 1 }, (_, of) => `t${of}`)])
    expect((await client.heads.list({ status: `s${n}` })).heads.map(({ thread }) => thread)).toEqual(['first'])
  }
  await raw.flush()
  expect(consumers).toBe(0)
})

it('what was removed, by whomever, is not listed; its id may be used again', async () => {
  const host = await open('host')
  const client = await open('client')
  for (const root of ['a', 'b'])
    for (const thread of [root, `${root}/1`]) await host.commit(commit(thread, 0, { head: head(thread, { root }) }))
  expect(await names(client)).toEqual(['a', 'a/1', 'b', 'b/1'])
  expect(await host.trees.remove({ root: 'a', expected: 1, epoch: 1 })).toEqual({ ok: true })
  expect(await names(client)).toEqual(['b', 'b/1'])
  await (await jetstreamManager(raw)).streams.purge(`${namespace}_log`, { filter: `${namespace}.log.*.b.*` }) // without a word
  expect(await names(client)).toEqual([])
  await host.commit(commit('a', 0))
  expect(await names(client)).toEqual(['a'])
})

it('J12: who follows is told of what was purged without a word, and of messages that nobody of ours wrote nothing', async () => {
  const host = await open('host')
  for (const root of ['a', 'b'])
    for (const thread of [root, `${root}/1`]) await host.commit(commit(thread, 0, { head: head(thread, { root }) }))
  const known = new Map<string, string>()
  const removed: string[] = []
  const follower = (await open('client')).heads.follow((change) => {
    if ('head' in change) return void known.set(change.head.thread, change.head.root)
    removed.push(change.removed)
    for (const [thread, root] of known) if (root === change.removed) known.delete(thread)
  })
  await follower.ready
  await raw.request(`${namespace}.log.0.forged.forged`, 'no JSON')
  await follower.current()
  expect(removed).toEqual([])
  await (await jetstreamManager(raw)).streams.purge(`${namespace}_log`, { filter: `${namespace}.log.*.b.*` })
  await follower.current()
  expect([...known.keys()].toSorted()).toEqual(['a', 'a/1'])
  expect(removed).toEqual(['b'])
  await host.commit(commit('b', 0))
  await follower.current()
  expect([...known.keys()].toSorted()).toEqual(['a', 'a/1', 'b'])
  follower.stop()
})

it('a message that nobody of ours wrote breaks neither lists nor mail', async () => {
  const host = await open('host')
  for (const partition of [0, 1]) await host.leases.acquire(partition)
  await host.commit(commit('a', 0))
  expect(await names(host)).toEqual(['a'])
  for (const subject of ['log.0.forged.forged', 'mail.0.a', 'mail.1.a'])
    await raw.request(`${namespace}.${subject}`, 'no JSON')
  expect(await names(host)).toEqual(['a'])
  await host.mailbox.put({ to: 'a', id: 'm', body: 1 })
  await expect.poll(async () => (await host.mailbox.read('a', 0)).at(-1)?.id).toBe('m')
})

it('nothing is followed after it was closed', async () => {
  await open('host')
  const client = await open('client')
  expect(await names(client)).toEqual([])
  await client.close()
  const jsm = await jetstreamManager(raw)
  await expect.poll(async () => (await jsm.streams.info(`${namespace}_log`)).state.consumer_count).toBe(0)
})
