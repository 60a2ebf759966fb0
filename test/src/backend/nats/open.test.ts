/** What is checked before a NATS backend is used: options, the server, the namespace, the streams. */
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { isAbsolute } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect } from '@nats-io/transport-node'
import { jetstreamManager } from '@nats-io/jetstream'
import { nats } from '../../../../src/backend/nats/nats.js'
import { startNats } from '../../../helpers/nats-server.js'
import type { NatsServer } from '../../../helpers/nats-server.js'

describe('options', () => {
  it.each([
    [{ namespace: 'a.b' }, 'namespace'],
    [{ partitions: 0 }, 'partitions'],
    [{ replicas: 2 }, 'replicas'],
    [{ credentials: { user: 'x' } }, 'credentials'],
    [{ colour: 'red' }, 'colour'],
  ])('refuses %j', (options, named) => {
    expect(() => nats(options as object)).toThrow(
      expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining(named) }),
    )
  })
})

describe('the server', () => {
  it('one below 2.10 is refused with its version and what to do', async () => {
    const old = createServer((socket) => {
      socket.write('INFO {"server_id":"X","version":"2.9.10","proto":1,"headers":true,"max_payload":1048576}\r\n')
      socket.on('data', (chunk) => String(chunk).includes('PING') && socket.write('PONG\r\n'))
      socket.on('error', () => undefined)
    })
    await new Promise<void>((resolve) => old.listen(0, '127.0.0.1', resolve))
    const { port } = old.address() as AddressInfo
    await expect(nats({ servers: `127.0.0.1:${port}` }).open('host')).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringMatching(/2\.9\.10.*2\.10 or newer.*Update the server/),
      data: { version: '2.9.10' },
    })
    await new Promise((resolve) => old.close(resolve))
  })

  it('one that is not there is named, without the password in its URL', async () => {
    const failed = nats({ servers: 'nats://me:s3cret@127.0.0.1:1' }).open('host')
    await expect(failed).rejects.toMatchObject({
      code: 'STORE_FAILED',
      retry: true,
      message: expect.stringMatching(/nats:\/\/127\.0\.0\.1:1 cannot be used: .*`nats-server -c \S*nats\.conf`/),
    })
    const [, config = ''] = /-c (\S*nats\.conf)`/.exec(String(await failed.catch((thrown: unknown) => thrown))) ?? []
    expect([isAbsolute(config), existsSync(config)]).toEqual([true, true])
    await expect(failed).rejects.not.toMatchObject({ message: expect.stringContaining('s3cret') })
  })

  it('one without JetStream is refused with what to do', async () => {
    const server = await startNats({ more: ['accounts { A: { users: [{ user: a, password: b }] } }'] })
    await expect(
      nats({ servers: server.url, credentials: { user: 'a', password: 'b' } }).open('host'),
    ).rejects.toMatchObject({ code: 'STORE_FAILED', message: expect.stringContaining('nats.conf') })
    await server.remove()
  })

  it('user and password are taken from options and from the URL; a wrong one is an error', async () => {
    const server = await startNats({
      more: ['accounts { A: { jetstream: enabled, users: [{ user: me, password: "p:w@1" }] } }'],
    })
    const at = `127.0.0.1:${server.port}`
    for (const options of [
      { servers: server.url, credentials: { user: 'me', password: 'p:w@1' } },
      { servers: `nats://me:${encodeURIComponent('p:w@1')}@${at}` },
    ]) {
      const backend = await nats({ ...options, sync: 'relaxed' }).open('host')
      expect(await backend.heads.list({})).toEqual({ heads: [] })
      await backend.close()
    }
    await expect(
      nats({ servers: server.url, credentials: { user: 'me', password: 'no' } }).open('host'),
    ).rejects.toMatchObject({ code: 'STORE_FAILED', message: expect.stringContaining('credentials') })
    await server.remove()
  })
})

describe('the namespace', () => {
  let server: NatsServer
  beforeAll(async () => {
    server = await startNats({ sync: 'always' })
  })
  afterAll(() => server.remove())

  it('what the first host fixed is refused when another wants it otherwise, and taken when it says nothing', async () => {
    const at = { servers: server.url, namespace: 'fixed', monitor: server.monitor }
    const first = await nats({ ...at, partitions: 8, leaseMs: 2_000 }).open('host')
    await first.close()
    for (const role of ['host', 'client'] as const) {
      await expect(nats({ ...at, partitions: 16 }).open(role)).rejects.toMatchObject({
        code: 'BAD_OPTION',
        message: expect.stringContaining('partitions: 8'),
      })
      const same = await nats(at).open(role)
      expect(same.leases.partitions).toBe(8)
      await same.close()
    }
  })

  it('a client of a namespace that nobody made is told so, and makes nothing', async () => {
    await expect(nats({ servers: server.url, namespace: 'nobody' }).open('client')).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining('namespace nobody'),
    })
    await expect(nats({ servers: server.url, namespace: 'nobody' }).open('client')).rejects.toMatchObject({
      code: 'BAD_OPTION',
    })
  })

  it('NS1: a stream that would drop old records is refused', async () => {
    const nc = await connect({ servers: server.url })
    const jsm = await jetstreamManager(nc)
    await jsm.streams.add({ name: 'bad_log', subjects: ['bad.log.>'], max_msgs: 10, discard: 'old' })
    await expect(nats({ servers: server.url, namespace: 'bad' }).open('host')).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringMatching(/bad_log has discard: old/),
    })
    await nc.close()
  })

  it('NS2: limits that an operator set are kept, and a full stream refuses a write instead of dropping an old one', async () => {
    const nc = await connect({ servers: server.url })
    const jsm = await jetstreamManager(nc)
    const source = nats({ servers: server.url, namespace: 'full', partitions: 1, monitor: server.monitor })
    const backend = await source.open('host')
    await jsm.streams.update('full_snapshots', { max_bytes: 1_000_000 })
    await jsm.streams.update('full_mail', { max_msgs: 1 })
    await backend.close()
    const again = await source.open('host')
    await again.mailbox.put({ to: 'a', id: 'one', body: 1 })
    await expect(again.mailbox.put({ to: 'a', id: 'two', body: 2 })).rejects.toMatchObject({ code: 'STORE_FAILED' })
    expect(await again.mailbox.read('a', 0)).toMatchObject([{ id: 'one' }])
    await again.close()
    await nc.close()
  })

  it('a server that acknowledges before it writes to the disk is warned of, one that does not is not', async () => {
    const warnings: string[] = []
    const heard = (warning: Error): void => void warnings.push(warning.message)
    process.on('warning', heard)
    const relaxed = await startNats()
    for (const { url, monitor } of [server, relaxed]) {
      const backend = await nats({ servers: url, namespace: 'sync', monitor }).open('host')
      await backend.close()
    }
    while (warnings.length === 0) await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', heard)
    expect(warnings).toEqual([
      expect.stringContaining(`${relaxed.url} acknowledges records before they are on the disk`),
    ])
    await relaxed.remove()
  })
})
