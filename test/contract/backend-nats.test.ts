/** The NATS backend passes the suite of all backends, on the oldest server that it takes and on the newest. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nats } from '../../src/backend/nats/nats.js'
import { natsVersions } from '../helpers/nats-binary.js'
import { startNats } from '../helpers/nats-server.js'
import type { NatsServer } from '../helpers/nats-server.js'
import { backendContract } from './backend.js'

describe.each(natsVersions)('nats-server %s', (version) => {
  let server: NatsServer
  let made = 0
  beforeAll(async () => {
    server = await startNats({ version, sync: 'always' })
  })
  afterAll(() => server.remove())

  // With `npm run soak` only: it makes a thousand consumers.
  it.skipIf(!process.env['SOAK'])(
    'one host holds the most partitions that there can be, and its own lease lives through it',
    async () => {
      const backend = await nats({
        servers: server.url,
        namespace: 'most',
        partitions: 1024,
        monitor: server.monitor,
      }).open('host')
      const leases = await Promise.all(
        Array.from({ length: 1024 }, (_, partition) => backend.leases.acquire(partition)),
      )
      expect(leases.filter((lease) => lease && !lease.lost.aborted)).toHaveLength(1024)
      await backend.close()
    },
  )

  backendContract(`nats, server ${version}`, async () => ({
    source: nats({ servers: server.url, namespace: `contract${++made}`, partitions: 2, monitor: server.monitor }),
  }))
})
