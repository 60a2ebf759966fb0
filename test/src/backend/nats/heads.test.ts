/** Heads that someone else wrote, or that are damaged: no list fails because of one. */
import { jetstream } from '@nats-io/jetstream'
import { connect, headers } from '@nats-io/transport-node'
import { expect, it } from 'vitest'
import { nats } from '../../../../src/backend/nats/nats.js'
import type { SkeinError } from '../../../../src/core/failure.js'
import { startNats } from '../../../helpers/nats-server.js'
import { commit, head } from '../../../contract/entries.js'

const { pending: _, tags: __, ...untagged } = head('bad')

it.each([
  ['not JSON', '{"thread":', 'JOURNAL_CORRUPT of bad'],
  ['of another form', '{"thread":7}', 'JOURNAL_CORRUPT of bad'],
  ['without tags', JSON.stringify({ thread: 'bad', seq: 1, epoch: 1, born: 0, sends: 0, head: untagged }), 'read'],
  [
    'with what it waits for of another form',
    JSON.stringify({ thread: 'bad', seq: 1, epoch: 1, born: 0, sends: 0, head: { ...head('bad'), pending: 3 } }),
    'read',
  ],
])('J11: a head that is %s is given as damaged, and all others as they are', async (_what, note, journal) => {
  const server = await startNats()
  const connection = await connect({ servers: server.url })
  const backend = await nats({
    servers: server.url,
    namespace: 'heads',
    partitions: 1,
    leaseMs: 10_000,
    sync: 'relaxed',
  }).open('host')
  try {
    const lease = await backend.leases.acquire(0)
    await backend.commit(commit('good', 0, { epoch: lease?.epoch ?? 0 }))
    const header = headers()
    header.set('Skein-Commit', note)
    await jetstream(connection).publish('heads.log.0.bad.bad', 'x', { headers: header })
    const all = (await backend.heads.list({})).heads.map(({ thread, status }) => `${thread} ${status}`)
    expect(all).toEqual(['good idle', 'bad damaged'])
    expect((await backend.heads.list({ pending: true })).heads).toEqual([])
    expect((await backend.heads.list({ tag: 'x' })).heads).toEqual([])
    expect((await backend.heads.list({ root: 'bad' })).heads).toMatchObject([
      { thread: 'bad', damaged: expect.any(String) },
    ])
    expect(await backend.heads.get('bad')).toMatchObject({ damaged: expect.any(String) })
    const read = backend.journal.read('bad').then(
      () => 'read',
      ({ code, data }: SkeinError) => `${code} of ${String(data?.['thread'])}`,
    )
    expect(await read).toBe(journal)
    expect((await backend.heads.restless(0)).map(({ thread }) => thread)).toEqual(['bad'])
  } finally {
    await backend.close()
    await connection.close()
    await server.remove()
  }
})
