/**
 * Who may use a server, on real ones: user and password, token, nkey, creds of an operator, TLS; what is wrong is one
 * clear error at once. And that the permissions in docs/nats.md are enough for everything, and for nothing else.
 */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { connect, nkeys } from '@nats-io/transport-node'
import type { Backend } from '../../../../src/backend/port.js'
import { nats } from '../../../../src/backend/nats/nats.js'
import type { NatsOptions } from '../../../../src/backend/nats/nats.js'
import { bytesOf, commit } from '../../../contract/entries.js'
import { limitOf } from '../../../helpers/contention.js'
import { certify, documentedPermissions, operate, seedOf } from '../../../helpers/nats-access.js'
import { natsVersions } from '../../../helpers/nats-binary.js'
import { startNats } from '../../../helpers/nats-server.js'
import type { NatsServer, NatsServerOptions } from '../../../helpers/nats-server.js'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function serve(...more: readonly string[]): Promise<NatsServer> {
  return started({ more })
}

async function started(options: NatsServerOptions): Promise<NatsServer> {
  const server = await startNats(options)
  closing.push(() => server.remove())
  return server
}

async function open(options: NatsOptions, role: 'host' | 'client' = 'host'): Promise<Backend> {
  const backend = await nats({ partitions: 2, sync: 'relaxed', ...options }).open(role)
  closing.push(() => backend.close())
  return backend
}

async function works(options: NatsOptions): Promise<boolean> {
  const backend = await open(options)
  return (await backend.commit(commit('a', 0))).ok
}

/** At once: no patience is spent on what will not pass. */
async function refused(options: NatsOptions, wanted: object): Promise<void> {
  const limit = limitOf(5_000)
  const start = performance.now()
  await expect(open(options)).rejects.toMatchObject(wanted)
  const tookMs = performance.now() - start
  expect(tookMs).toBeLessThan(limit())
}

const badCredentials = {
  code: 'STORE_FAILED',
  retry: false,
  message: expect.stringMatching(/Authorization Violation; it refuses the credentials/i),
}

describe('credentials', () => {
  it('a token, as an option and in the URL', async () => {
    const { url, port } = await serve('authorization { token: "t0ken" }')
    expect(await works({ servers: url, credentials: { token: 't0ken' } })).toBe(true)
    await open({ servers: `nats://t0ken@127.0.0.1:${port}` })
    await refused({ servers: url, credentials: { token: 'other' } }, badCredentials)
    await refused({ servers: url }, badCredentials)
  })

  it('an nkey; one that is none is an error before the server is asked', async () => {
    const user = nkeys.createUser()
    const { url } = await serve(`authorization { users: [{ nkey: ${user.getPublicKey()} }] }`)
    expect(await works({ servers: url, credentials: { nkey: seedOf(user) } })).toBe(true)
    await refused({ servers: url, credentials: { nkey: seedOf(nkeys.createUser()) } }, badCredentials)
    await refused(
      { servers: url, credentials: { nkey: 'SUNOTASEED' } },
      { code: 'BAD_OPTION', message: expect.stringMatching(/nkey.*begins with SU/) },
    )
    await refused(
      { servers: url, credentials: { nkey: 'SUNOTASEED' } },
      { message: expect.not.stringContaining('SUNOTASEED') },
    )
  })

  it('creds of an operator, as text and as a file that is renewed, away or half written', async () => {
    const operated = operate()
    const server = await serve(...operated.conf)
    const { url, data } = server
    const credsFile = join(data, '..', 'me.creds')
    expect(await works({ servers: url, credentials: { creds: operated.creds() } })).toBe(true)
    await refused({ servers: url, credentials: { creds: operate().creds() } }, badCredentials)
    await refused({ servers: url, credentials: { creds: operated.creds(-60) } }, badCredentials)
    await refused(
      { servers: url, credentials: { creds: 'no creds' } },
      { code: 'BAD_OPTION', message: expect.stringMatching(/creds.*a JWT and a seed/) },
    )
    await refused(
      { servers: url, credentials: { credsFile } },
      { code: 'BAD_OPTION', message: expect.stringMatching(/me\.creds.*ENOENT/) },
    )
    writeFileSync(credsFile, operated.creds())
    const backend = await open({ servers: url, credentials: { credsFile } })
    for (const spoil of [
      () => writeFileSync(credsFile, 'half'),
      () => rmSync(credsFile),
      () => writeFileSync(credsFile, operated.creds()),
    ]) {
      spoil()
      await server.kill()
      await server.start()
      await backend.mailbox.put({ to: 'a', id: 'm', body: 1 })
    }
    expect(await backend.mailbox.read('a', 0)).toHaveLength(1)
  })

  it('a user who is thrown out while he works gets errors, and goes on when he is let in again', async () => {
    const server = await serve('authorization { users: [{ user: me, password: one }] }')
    const other = await started({
      more: ['authorization { users: [{ user: me, password: two }] }'],
      port: server.port,
      start: false,
    })
    const backend = await open({ servers: server.url, credentials: { user: 'me', password: 'one' }, patienceMs: 300 })
    await server.kill()
    await other.start()
    await expect(backend.mailbox.put({ to: 'a', id: 'm', body: 1 })).rejects.toMatchObject({
      code: 'STORE_FAILED',
      retry: true,
    })
    await other.kill()
    await server.start()
    await expect
      .poll(
        () =>
          backend.mailbox.put({ to: 'a', id: 'm', body: 1 }).then(
            () => true,
            () => false,
          ),
        { timeout: 300_000 },
      )
      .toBe(true)
  })
})

describe('TLS', () => {
  it('with an authority of our own, for the server alone and for both', async () => {
    const { ca, server, client } = certify()
    const shown = ({ cert, key }: typeof server): string => `cert_file: "${cert}", key_file: "${key}", ca_file: "${ca}"`
    const one = await serve(`tls { ${shown(server)} }`)
    expect(await works({ servers: one.url, tls: { caFile: ca } })).toBe(true)
    await refused(
      { servers: one.url },
      { code: 'STORE_FAILED', message: expect.stringMatching(/certificate.*tls: \{ caFile \}/) },
    )
    await refused(
      { servers: one.url, tls: { caFile: `${ca}.gone` } },
      { code: 'BAD_OPTION', message: expect.stringMatching(/nats\(\{ tls \}\).*ca\.pem\.gone/) },
    )
    const both = await serve(`tls { ${shown(server)}, verify: true }`)
    expect(await works({ servers: both.url, tls: { caFile: ca, certFile: client.cert, keyFile: client.key } })).toBe(
      true,
    )
    const other = await serve(`tls { ${shown(client)} }`)
    await refused(
      { servers: other.url, tls: { caFile: ca } },
      { code: 'STORE_FAILED', message: expect.stringMatching(/altnames.*the server as the certificate does/) },
    )
  })
})

describe.each(natsVersions)('permissions, nats-server %s', (version) => {
  /** A server whose namespaces `orders` and `other` were made by an operator, and how to come to it. */
  async function shared(): Promise<{ readonly server: NatsServer; as(user: string, namespace?: string): NatsOptions }> {
    const users = ['orders', 'other'].map(
      (namespace) => `{ user: ${namespace}, password: pw, ${documentedPermissions(namespace)} }`,
    )
    const server = await started({
      version,
      more: [`accounts { A { jetstream: enabled, users: [{ user: operator, password: pw }, ${users.join(', ')}] } }`],
    })
    const as = (user: string, namespace = user): NatsOptions => ({
      servers: server.url,
      namespace,
      credentials: { user, password: 'pw' },
    })
    await expect(open(as('orders'))).rejects.toMatchObject({
      code: 'STORE_FAILED',
      retry: false,
      message: expect.stringMatching(/making the stream orders_meta.*permission.*docs\/nats\.md/is),
    })
    for (const namespace of ['orders', 'other']) await (await open(as('operator', namespace))).close()
    return { server, as }
  }

  it('those of docs/nats.md are enough for all that a host and a client do, and keep them out of another namespace', async () => {
    const { server, as } = await shared()
    const other = await open(as('other'))
    await other.commit(commit('theirs', 0))
    const denied = { code: 'STORE_FAILED', retry: false, message: expect.stringMatching(/permission/i) }
    await refused(as('orders', 'other'), denied)
    await refused(as('orders', 'third'), denied)

    const host = await open(as('orders'))
    const violations = await listen(server, 'orders')
    await everything(host, await open(as('orders'), 'client'))
    const second = await open(as('orders'))
    expect((await second.leases.survey()).share).toBe(1)
    expect(await violations()).toEqual([])
  })

  it('a hostile user of the same account hears, reads and copies nothing of another namespace', async () => {
    const { server, as } = await shared()
    const nc = await connect({ servers: server.url, user: 'orders', pass: 'pw', inboxPrefix: 'orders.inbox' })
    closing.push(() => nc.close())
    const heard: string[] = []
    const refusals: string[] = []
    const listened = [
      '>',
      '_INBOX.>',
      'other.>',
      'other.inbox.>',
      'other.log.>',
      '*.inbox.>',
      '*.signal.>',
      '$JS.EVENT.>',
      '$JS.ACK.>',
    ]
    for (const subject of listened)
      nc.subscribe(subject, {
        callback: (failed, message) => void (failed ? refusals.push(subject) : heard.push(message.subject)),
      })
    await everything(await open(as('other')), await open(as('other'), 'client'))
    await nc.flush()
    expect(heard).toEqual([])
    expect(refusals.sort()).toEqual([...listened].sort())
    for (const [subject, body] of attempts) {
      await expect(nc.request(subject, JSON.stringify(body), { timeout: 1_000 }), subject).rejects.toThrow(
        /Permissions Violation/i,
      )
    }
  })

  it('with an account of its own a hostile user who may do anything there has nothing of another', async () => {
    const account = (name: string): string => `${name} { jetstream: enabled, users: [{ user: ${name}, password: pw }] }`
    const server = await started({ version, more: [`accounts { ${account('orders')}, ${account('other')} }`] })
    const nc = await connect({ servers: server.url, user: 'orders', pass: 'pw' })
    closing.push(() => nc.close())
    const heard: string[] = []
    nc.subscribe('>', { callback: (_, message) => void heard.push(message.subject) })
    const as = { servers: server.url, namespace: 'other', credentials: { user: 'other', password: 'pw' } }
    const host = await open(as)
    await everything(host, await open(as, 'client'))
    await nc.flush()
    expect(heard).toEqual([])
    const copied = await nc.request(
      '$JS.API.STREAM.CREATE.copy',
      JSON.stringify({ name: 'copy', storage: 'file', retention: 'limits', mirror: { name: 'other_log' } }),
      { timeout: 300_000 },
    )
    expect(JSON.stringify(copied.json())).toMatch(/error|"messages":0/)
    for (const partition of [0, 1]) nc.publish(`other.mail.${partition}.c`, JSON.stringify([{ id: 'forged', body: 1 }]))
    await nc.flush()
    expect(await host.mailbox.waiting()).toEqual(['b'])
  })
})

/** Ways to what another namespace has. */
const attempts: readonly (readonly [string, object])[] = [
  ['$JS.API.STREAM.CREATE.copy', { name: 'copy', mirror: { name: 'other_log' } }],
  [
    '$JS.API.STREAM.CREATE.orders_log',
    { name: 'orders_log', subjects: ['orders.log.>'], sources: [{ name: 'other_log' }] },
  ],
  [
    '$JS.API.STREAM.UPDATE.orders_log',
    { name: 'orders_log', subjects: ['orders.log.>'], sources: [{ name: 'other_log' }] },
  ],
  ['$JS.API.STREAM.RESTORE.orders_log', { config: { name: 'orders_log' } }],
  ['$JS.API.STREAM.SNAPSHOT.other_log', { deliver_subject: 'orders.inbox.x' }],
  ['$JS.API.STREAM.INFO.other_log', { subjects_filter: '>' }],
  ['$JS.API.STREAM.NAMES', {}],
  ['$JS.API.STREAM.LIST', {}],
  ['$JS.API.STREAM.PURGE.other_log', {}],
  ['$JS.API.STREAM.DELETE.other_log', {}],
  ['$JS.API.STREAM.MSG.GET.other_log', { seq: 1 }],
  ['$JS.API.STREAM.MSG.DELETE.other_log', { seq: 1 }],
  ['$JS.API.DIRECT.GET.other_log', { seq: 1 }],
  ['$JS.API.DIRECT.GET.other_meta.other.meta.settings', {}],
  [
    '$JS.API.CONSUMER.CREATE.other_log',
    { stream_name: 'other_log', config: { deliver_subject: 'orders.inbox.x', ack_policy: 'none' } },
  ],
  [
    '$JS.API.CONSUMER.CREATE.other_log.mine',
    { stream_name: 'other_log', config: { name: 'mine', ack_policy: 'none' } },
  ],
  [
    '$JS.API.CONSUMER.DURABLE.CREATE.other_log.mine',
    { stream_name: 'other_log', config: { durable_name: 'mine', ack_policy: 'none' } },
  ],
  ['$JS.API.CONSUMER.LIST.other_mail', {}],
  ['$JS.API.CONSUMER.MSG.NEXT.other_mail.mine', { batch: 1 }],
  ['other.mail.0.theirs', {}],
]

/** What the server has refused to that user since. */
async function listen(server: NatsServer, user: string): Promise<() => Promise<string[]>> {
  const before = (await server.log()).length
  return async () =>
    (await server.log())
      .slice(before)
      .split('\n')
      .filter((line) => line.includes('Permissions Violation') && line.includes(user))
}

/** One of each: every request that the backend ever makes. */
async function everything(host: Backend, client: Backend): Promise<void> {
  const heard = new Promise((resolve) => void client.signals.subscribe('news', resolve))
  for (const partition of [0, 1]) expect(await host.leases.acquire(partition)).toBeDefined()
  const large = await host.blobs.put(new Uint8Array(1_500_000).fill(1))
  expect(await bytesOf(client.blobs.get(large.hash))).toHaveLength(1_500_000)
  await client.mailbox.put({ to: 'a', id: 'm', body: 'x'.repeat(2_000_000) })
  await expect.poll(async () => (await host.mailbox.read('a', 0)).length).toBe(1)
  const [mail] = await host.mailbox.read('a', 0)
  expect(await client.mailbox.read('a', 0)).toHaveLength(1)
  expect(
    await host.commit(
      commit('a', 0, { epoch: 1_000, done: [mail?.number ?? 0], sends: [{ to: 'b', id: 's', body: 1 }] }),
    ),
  ).toMatchObject({ ok: true })
  for (let seq = 1; seq < 5; seq++) await host.commit(commit('a', seq, { epoch: 1_000 }))
  expect(await client.journal.read('a')).toHaveLength(5)
  expect(await client.journal.readTree('a')).toHaveLength(5)
  expect((await client.heads.list({})).heads).toHaveLength(1)
  expect(await host.heads.restless()).toEqual([])
  expect(await client.mailbox.waiting()).toEqual(['b'])
  await host.snapshots.put('a', Uint8Array.from([1]))
  expect(await host.snapshots.get('a')).toBeDefined()
  expect(await client.hosted()).toBe(true)
  host.signals.publish('news', 1)
  expect(await heard).toBe(1)
  expect(await host.trees.remove({ root: 'a', expected: 5, epoch: 1_000 })).toEqual({ ok: true })
  while ((await host.trees.sweep({ olderThanMs: -1_000 })).more);
}
