/** What is found about a folder and about a NATS server, each with something wrong. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@nats-io/transport-node'
import type { NatsConnection } from '@nats-io/transport-node'
import { jetstreamManager } from '@nats-io/jetstream'
import type { JetStreamManager } from '@nats-io/jetstream'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openDatabase } from '../../../src/backend/local/database/driver.js'
import { local } from '../../../src/backend/local/local.js'
import { takeOwnership } from '../../../src/backend/local/owner.js'
import { anonymousHost } from '../../../src/backend/host-info.js'
import { nats } from '../../../src/backend/nats/nats.js'
import type { NatsOptions } from '../../../src/backend/nats/nats.js'
import type { Store } from '../../../src/backend/port.js'
import { systemClock } from '../../../src/core/clock.js'
import type { Finding } from '../../../src/core/finding.js'
import { manualClock } from '../../../src/core/manual-clock.js'
import { startNats } from '../../helpers/nats-server.js'
import type { NatsServer } from '../../helpers/nats-server.js'

type Levels = Readonly<Record<string, string>>

async function look(
  source: Store,
  clock = systemClock,
): Promise<{ readonly levels: Levels; of(check: string): Finding | undefined }> {
  const { findings } = (await source.examine?.(clock)) ?? { findings: [] }
  return {
    levels: Object.fromEntries(findings.map(({ check, level }) => [check, level])),
    of: (check) => findings.find((each) => each.check === check),
  }
}

describe('a folder', () => {
  function folder(): string {
    const made = mkdtempSync(join(tmpdir(), 'skein-examine-'))
    onTestFinished(() => rmSync(made, { recursive: true, force: true }))
    return made
  }

  async function withVersion(version: number): Promise<string> {
    const dir = folder()
    const database = await openDatabase(join(dir, 'skein.db'))
    database.exec(`PRAGMA user_version = ${version}`)
    database.close()
    return dir
  }

  it('is fine when it is there, served or not, and when it is not there yet', async () => {
    const dir = folder()
    expect((await look(local(join(dir, 'a', 'b')))).levels).toEqual({ folder: 'ok', space: expect.any(String) })
    const backend = await local(dir).open('host', {
      ...anonymousHost,
      profile: { ...anonymousHost.profile, name: 'pear/1' },
    })
    const served = await look(local(dir))
    expect(served.levels).toMatchObject({ folder: 'ok', host: 'ok', store: 'ok' })
    expect(served.of('host')?.says).toBe('served by pear/1')
    await backend.close()
    expect((await look(local(dir))).of('host')).toMatchObject({ level: 'ok', says: 'no host serves it now' })
  })

  it('that cannot be written, has no room or is a file fails', async () => {
    expect((await look(local('/proc'))).levels).toEqual({ folder: 'fail', space: 'fail' })
    const file = join(folder(), 'file')
    writeFileSync(file, '')
    expect((await look(local(file))).of('folder')).toMatchObject({
      level: 'fail',
      advice: expect.stringContaining('--store'),
    })
  })

  it('whose tables are newer or damaged fails; older ones are brought up to date by a host', async () => {
    expect((await look(local(await withVersion(99)))).of('store')).toMatchObject({
      level: 'fail',
      says: expect.stringContaining('newer Skein'),
    })
    expect((await look(local(await withVersion(1)))).of('store')).toMatchObject({
      level: 'warn',
      says: expect.stringContaining('start a host'),
    })
    const dir = folder()
    writeFileSync(join(dir, 'skein.db'), 'x'.repeat(5_000))
    expect((await look(local(dir))).of('store')).toMatchObject({
      level: 'fail',
      advice: expect.stringContaining('back-up'),
    })
  })

  it('whose lock is held by someone who does not answer is told, with who that is', async () => {
    const dir = folder()
    const ownership = await takeOwnership(dir)
    expect((await look(local(dir))).of('host')).toMatchObject({
      level: 'warn',
      says: expect.stringContaining(`pid ${process.pid}`),
    })
    await ownership?.release()
  })
})

describe('a NATS server', () => {
  let server: NatsServer
  const opened: NatsConnection[] = []
  const at = (user: string, more: NatsOptions = {}): Store =>
    nats({ servers: server.url, credentials: { user, password: 'x' }, monitor: server.monitor, ...more })
  const manager = async (user: string): Promise<JetStreamManager> => {
    const nc = await connect({ servers: server.url, user, pass: 'x' })
    opened.push(nc)
    return jetstreamManager(nc)
  }

  beforeAll(async () => {
    const account = (name: string, jetstream: string): string =>
      `${name}: { jetstream: ${jetstream}, users: [{ user: ${name}, password: x }] }`
    server = await startNats({
      maxPayload: 32 * 1024,
      more: [
        `accounts { ${[account('free', 'enabled'), account('few', '{ max_file: 10MB, max_streams: 3 }'), account('full', '{ max_file: 64KB, max_streams: 9 }')].join(', ')} }`,
      ],
    })
  })
  afterAll(async () => {
    for (const nc of opened) await nc.close()
    await server.remove()
  })

  it('that acknowledges before it writes, takes short messages only or has no streams to give is told; nothing is made', async () => {
    const { levels, of } = await look(at('few'))
    expect(levels).toEqual({
      server: 'ok',
      sync: 'warn',
      payload: 'fail',
      limits: 'fail',
      namespace: 'ok',
      clock: 'ok',
    })
    expect(of('payload')?.advice).toContain('max_payload')
    expect(of('limits')?.says).toContain('3 streams')
    expect(await (await manager('few')).streams.names().next()).toEqual([])
    // Without its monitoring port nothing is known of the disk and the time.
    expect((await look(at('few', { monitor: 'http://127.0.0.1:1' }))).levels).toMatchObject({
      sync: 'warn',
      clock: 'warn',
    })
  })

  it('whose account is full fails', async () => {
    const jsm = await manager('full')
    await jsm.streams.add({ name: 'x', subjects: ['x'] })
    const { of: before } = await look(at('full'))
    expect(before('limits')).toMatchObject({ level: 'ok' })
    for (let n = 0; n < 3; n++) await jsm.jetstream().publish('x', new Uint8Array(21_500))
    expect((await look(at('full'))).of('limits')).toMatchObject({
      level: 'fail',
      says: expect.stringMatching(/9\d % of the 6\d+ bytes/),
    })
  })

  it('with another time fails, by as much as that is', async () => {
    const { of } = await look(at('free'), manualClock(systemClock.now() - 60_000))
    expect(of('clock')).toMatchObject({
      level: 'fail',
      says: expect.stringMatching(/the server is (59|60)\d{3} ms ahead/),
      advice: expect.stringContaining('NTP'),
    })
    expect((await look(at('free'), manualClock(systemClock.now() + 3_000))).of('clock')).toMatchObject({
      level: 'warn',
    })
  })

  it('whose streams are missing, changed or full fails; partitions that nobody holds are told', async () => {
    const source = at('free', { partitions: 2, sync: 'relaxed' })
    const host = await source.open('host')
    await host.leases.acquire(0)
    expect((await look(source)).of('hosts')).toMatchObject({
      level: 'warn',
      says: 'a host serves 1 of its 2 partitions',
    })
    await host.leases.acquire(1)
    expect((await look(source)).levels).toMatchObject({ sync: 'ok', namespace: 'ok', hosts: 'ok' })
    const jsm = await manager('free')
    await jsm.streams.update('skein_meta', { max_msgs: 3 })
    expect((await look(source)).of('namespace')).toMatchObject({
      level: 'fail',
      says: expect.stringContaining('the stream skein_meta is 100 % full'),
    })
    await jsm.streams.update('skein_meta', { max_msgs: -1 })
    await jsm.streams.update('skein_log', { discard: 'old' })
    expect((await look(source)).of('namespace')).toMatchObject({
      level: 'fail',
      says: expect.stringContaining('skein_log has discard: old'),
    })
    await jsm.streams.update('skein_log', { discard: 'new' })
    await host.close()
    await jsm.streams.delete('skein_mail')
    expect((await look(source)).of('namespace')).toMatchObject({
      level: 'fail',
      says: expect.stringContaining('lacks the streams skein_mail'),
    })
  })

  it('that is not there, is too old or lets nobody in is the one finding', async () => {
    expect((await look(nats({ servers: 'nats://127.0.0.1:1' }))).levels).toEqual({ server: 'fail' })
    expect(
      (await look(nats({ servers: server.url, credentials: { user: 'free', password: 'wrong' } }))).levels,
    ).toEqual({ server: 'fail' })
    const old = createServer((socket) => {
      socket.write('INFO {"server_id":"X","version":"2.9.10","proto":1,"headers":true,"max_payload":1048576}\r\n')
      socket.on('data', (chunk) => String(chunk).includes('PING') && socket.write('PONG\r\n'))
      socket.on('error', () => undefined)
    })
    await new Promise<void>((resolve) => old.listen(0, '127.0.0.1', resolve))
    const found = await look(nats({ servers: `127.0.0.1:${(old.address() as AddressInfo).port}` }))
    expect(found.of('server')).toMatchObject({ level: 'fail', says: expect.stringContaining('2.10 or newer') })
    await new Promise((resolve) => old.close(resolve))
  })
})
