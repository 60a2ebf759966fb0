/** The nats.conf that Skein ships, on the oldest and the newest server; and a back-up of what it holds. */
import { cp, rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { nats } from '../../../../src/backend/nats/nats.js'
import { bytesOf, commit } from '../../../contract/entries.js'
import { natsVersions } from '../../../helpers/nats-binary.js'
import { startNats } from '../../../helpers/nats-server.js'

const conf = fileURLToPath(new URL('../../../../nats.conf', import.meta.url))

describe.each(natsVersions)('nats-server %s', (version) => {
  it('starts with nats.conf, on loopback, writes before it acknowledges, and Skein has nothing to say against it', async () => {
    const warnings: string[] = []
    const heard = (warning: Error): void => void warnings.push(warning.message)
    process.on('warning', heard)
    const server = await startNats({ version, conf })
    const varz = await (await fetch(`${server.monitor}/varz`)).json()
    expect(varz).toMatchObject({
      host: '127.0.0.1',
      max_payload: 1024 * 1024,
      jetstream: { config: { sync_always: true } },
    })
    const backend = await nats({ servers: server.url, monitor: server.monitor }).open('host')
    expect(backend.leases.partitions).toBe(64)
    expect(await backend.commit(commit('a', 0))).toMatchObject({ ok: true })
    await backend.close()
    process.off('warning', heard)
    expect(warnings).toEqual([])
    await server.remove()
  })

  it('F8: a copy of its folder, made while it is stopped, is a back-up: put in place it has everything', async () => {
    const server = await startNats({ version, conf })
    const source = nats({ servers: server.url, monitor: server.monitor })
    const before = await source.open('host')
    const { hash } = await before.blobs.put(Buffer.from('kept'))
    await before.commit(commit('a', 0, { sends: [{ to: 'b', id: 'm', body: 1 }] }))
    await before.snapshots.put('a', Uint8Array.from([1]))
    await before.close()
    await server.kill()
    await cp(server.data, `${server.data}.copy`, { recursive: true })
    await server.start()
    const later = await source.open('host')
    await later.commit(commit('a', 1))
    await later.close()
    await server.kill()
    await rm(server.data, { recursive: true })
    await cp(`${server.data}.copy`, server.data, { recursive: true })
    await server.start()
    const restored = await source.open('host')
    expect(await restored.journal.read('a')).toHaveLength(1)
    expect(await restored.mailbox.read('b', 0)).toMatchObject([{ id: 'm', body: 1 }])
    expect([...((await restored.snapshots.get('a')) ?? [])]).toEqual([1])
    expect((await bytesOf(restored.blobs.get(hash))).toString()).toBe('kept')
    expect(await restored.commit(commit('a', 1))).toMatchObject({ ok: true })
    await restored.close()
    await server.remove()
  })
})
