/** What is asked of the server and sent to it, and what a scan does when messages are removed. */
import { connect } from '@nats-io/transport-node'
import type { NatsConnection } from '@nats-io/transport-node'
import { jetstream } from '@nats-io/jetstream'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ServerConnection } from '../../../../src/backend/nats/connection/connection.js'
import { StreamReader } from '../../../../src/backend/nats/connection/read.js'
import { head } from '../../../contract/entries.js'
import { natsBackends } from '../../../helpers/nats-backends.js'
import { by, lease } from '../../../helpers/nats-lease.js'
import { startNats } from '../../../helpers/nats-server.js'
import type { NatsServer } from '../../../helpers/nats-server.js'

let server: NatsServer
let tap: NatsConnection
const { open, closeAll } = natsBackends(() => ({ servers: server.url, namespace: 'reading' }))

beforeAll(async () => {
  server = await startNats()
  tap = await connect({ servers: server.url })
})

afterAll(async () => {
  await closeAll()
  await tap.close()
  await server.remove()
})

/** Questions to a stream while something is done. */
async function asked(stream: string, work: () => Promise<unknown>): Promise<string[]> {
  const kinds: string[] = []
  const subscription = tap.subscribe('$JS.API.>', {
    callback: (_failed, { subject }) => {
      if (subject.includes(`.${stream}`)) kinds.push(subject.split(`.${stream}`)[0] ?? subject)
    },
  })
  await tap.flush()
  await work()
  await tap.flush()
  subscription.unsubscribe()
  return kinds
}

it('NC3: a partition that was given back is taken with one look at its journals, and a thread of it with one more', async () => {
  const first = await open()
  const held = await lease(first)
  const restless = head('busy', { rest: false, status: 'thinking' })
  await first.commit(by(held, ['busy', 0], { head: restless }))
  await first.commit(by(held, ['busy', 1], { head: restless }))
  await first.commit(by(held, ['idle', 0]))
  const next = await open()
  await held.release()
  // A server that answers no question with many messages is asked by a consumer.
  const most = tap.info?.version.startsWith('2.10.') ? 5 : 1
  const looks = await asked('reading_log', async () => {
    const taken = await lease(next)
    expect(taken.restless?.map(({ thread, seq }) => [thread, seq])).toEqual([['busy', 2]])
  })
  expect(looks.length).toBeLessThanOrEqual(most)
  expect(await asked('reading_snapshots', () => next.snapshots.get('busy'))).toEqual([])
  const reads = await asked('reading_log', async () => {
    expect((await next.journal.read('busy')).map(({ first: seq }) => seq)).toEqual([1, 2])
    expect(await next.journal.read('busy', { after: 2 })).toEqual([])
  })
  expect(reads.length).toBeLessThanOrEqual(most)
  // Of a thread that is not there it is asked once, by whoever holds its partition.
  const unknown = await asked('reading_log', async () => {
    expect(await next.snapshots.get('new')).toBeUndefined()
    expect(await next.journal.read('new')).toEqual([])
  })
  expect(unknown).toEqual(['$JS.API.DIRECT.GET'])
})

it('J6: a snapshot that was taken is given, by its holder and by the next one', async () => {
  const own = { namespace: 'snapshots' }
  const first = await open(own)
  const held = await lease(first)
  await first.commit(by(held, ['a', 0]))
  expect(await first.snapshots.get('a')).toBeUndefined()
  await first.snapshots.put('a', Buffer.from('folded'))
  expect(await first.snapshots.get('a')).toEqual(Buffer.from('folded'))
  await first.commit(by(held, ['a', 1]))
  await held.release()
  const next = await open(own)
  await lease(next)
  expect(await next.snapshots.get('a')).toEqual(Buffer.from('folded'))
})

it('a scan ends with what there is when messages that were promised are removed before they are asked for', async () => {
  const name = 'scan'
  const connection = await ServerConnection.open({
    transport: { servers: server.url },
    namespace: name,
    address: server.url,
    patienceMs: 5_000,
  })
  const { consumers, streams } = connection.jsm
  try {
    await streams.add({ name, subjects: ['scan.m.>'], allow_direct: true })
    for (const subject of ['gone.1', 'stays.1', 'gone.2', 'stays.2', 'gone.3'])
      await jetstream(connection.nc).publish(`scan.m.${subject}`, subject)
    const add = consumers.add.bind(consumers)
    const promised: number[] = []
    consumers.add = async (stream, config) => {
      const made = await add(stream, config)
      if (promised.length === 0) await streams.purge(name, { filter: 'scan.m.gone.>' })
      promised.push(made.num_pending)
      return made
    }
    const given: string[] = []
    await new StreamReader(connection, 1).scan(
      { stream: name, filter: 'scan.m.>', headersOnly: true },
      ({ subject }) => void given.push(subject),
    )
    expect(given).toEqual(['scan.m.stays.1', 'scan.m.stays.2'])
    // Three of the five never came: only a new consumer knew that there was nothing more.
    expect(promised).toEqual([5, 0])
  } finally {
    await connection.close()
  }
})

it('NG3: a host sends what may be heard: it learns who listens when it comes, and when a listener comes or goes', async () => {
  const own = { namespace: 'interest' }
  const first = await open(own)
  const client = await open(own, 'client')
  const stop = client.signals.subscribe('early', () => undefined)
  const second = await open(own)
  const hosts = [first, second]
  expect(second.signals.heard('nobody')).toBe(true) // it does not know yet
  const heard = (topic: string): boolean[] => hosts.map(({ signals }) => signals.heard(topic))
  await expect.poll(() => heard('nobody'), { timeout: 60_000 }).toEqual([false, false])
  expect(heard('early')).toEqual([true, true])
  const told = new Promise((resolve) => void client.signals.subscribe('late', resolve))
  /** Whoever has an answer that was asked for after something was told knows of it. */
  const known = async (): Promise<unknown> => {
    await client.heads.get('x')
    return Promise.all(hosts.map(({ heads }) => heads.get('x')))
  }
  await known()
  expect(heard('late')).toEqual([true, true])
  second.signals.publish('late', 'said')
  expect(await told).toBe('said')
  stop()
  await known()
  expect(heard('early')).toEqual([false, false])
})
