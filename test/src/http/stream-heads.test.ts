/** DY2, R2, H1: all threads that a key may see, over the one stream, resumed by its one cursor. */
import { afterEach, expect, it } from 'vitest'
import { connect } from '../../../src/client.js'
import { createKey } from '../../../src/server.js'
import { connectSkein } from '../../../src/index.js'
import type { RemoteHeads } from '../../../src/client.js'
import { tinyApp } from '../../helpers/app.js'
import { keyAuth, keys, served } from '../../helpers/served.js'
import type { Sent, Served } from '../../helpers/served.js'
import { createTcpProxy } from '../../helpers/tcp-proxy.js'
import { onEveryStore } from '../../helpers/world.js'

let closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.reverse()) await close()
  closing = []
})

const headsOf = ({ data }: Sent): RemoteHeads | undefined => (data as { readonly heads?: RemoteHeads }).heads

/** What a page keeps of the heads that it was told. */
class Shown {
  readonly threads = new Map<string, RemoteHeads['threads'][number]>()
  pages: RemoteHeads[] = []

  take(page: RemoteHeads): void {
    this.pages.push(page)
    if (page.all) this.threads.clear()
    for (const [id, { root }] of this.threads) if (page.removed.includes(root)) this.threads.delete(id)
    for (const thread of page.threads) this.threads.set(thread.thread, thread)
  }

  get ids(): readonly string[] {
    return [...this.threads.keys()].toSorted()
  }
}

onEveryStore('heads in one stream', (world) => {
  const open = async (options: Parameters<typeof served>[1] = {}) => {
    const skein = await world.open(tinyApp({ script: () => 'fine' }).app)
    const server: Served = await served(skein, options)
    closing.push(() => server.close())
    const create = (id: string, of = id) => skein.threads.create({ agent: 'helper', id, tags: [`of:${of}`] })
    return { skein, server, create }
  }

  /** Reads until it is enough; gives the last id. */
  const read = async (
    server: Pick<Served, 'stream'>,
    [query, key, from]: readonly [query: string, key: string, from?: string],
    enough: (each: Sent) => boolean,
  ): Promise<string> => {
    const leave = new AbortController()
    const headers = from === undefined ? {} : { 'last-event-id': from }
    let last = from ?? ''
    for await (const each of await server.stream(`/stream?${query}`, { key, headers, signal: leave.signal })) {
      last = each.id ?? last
      if (enough(each)) break
    }
    leave.abort()
    return last
  }

  it('DY2, R2: all heads as of one position, then changes; the id goes on with those alone, through another server', async () => {
    const { skein, server, create } = await open()
    for (const id of ['one', 'two', 'six']) await create(id)
    const shown = new Shown()
    const take = (each: Sent): void => {
      const page = headsOf(each)
      if (page) shown.take(page)
    }
    const first = await read(server, ['heads=1&tree=one', keys.reader], (each) => {
      take(each)
      return shown.pages.some(({ position }) => position !== undefined) && /one=/.test(each.id ?? '')
    })
    expect(first).toMatch(/^(h\d+;one=\d+\.\d+|one=\d+\.\d+;h\d+)$/)
    expect(shown.pages[0]).toMatchObject({ all: true, removed: [] })
    expect(shown.ids).toEqual(['one', 'six', 'two'])
    await (await skein.threads.get('two')).send('hi').result()
    await skein.threads.delete('six')
    await create('seven')
    shown.pages = []
    const position = /h(\d+)/.exec(first)?.[0] ?? ''
    const again = await read(server, ['heads=1', keys.reader, position], (each) => {
      take(each)
      return shown.ids.join() === 'one,seven,two'
    })
    expect(shown.pages.some(({ all }) => all)).toBe(false)
    const changed = shown.pages.flatMap(({ threads }) => threads.map(({ thread }) => thread))
    expect(changed).toContain('two')
    expect(changed).not.toContain('one')
    expect(shown.threads.get('two')).toEqual(await (await skein.threads.get('two')).info())
    // A server that began later does not know what was removed before, and says so.
    const client = await connectSkein({ backend: world.store.source, clock: world.clock })
    const other = await served(client)
    closing.push(() => other.close())
    closing.push(() => client.close())
    const resets: Sent[] = []
    await read(other, ['heads=1', keys.reader, position], (each) => {
      if (headsOf(each)) resets.push(each)
      return resets.length === 1
    })
    expect(resets[0]).toMatchObject({ event: 'reset', data: { heads: { all: true } } })
    await create('eight')
    shown.pages = []
    await read(other, ['heads=1', keys.reader, again], (each) => {
      take(each)
      return shown.ids.join() === 'eight,one,seven,two'
    })
    expect(shown.pages).not.toEqual([])
    // A position that the store has never had.
    const ahead: Sent[] = []
    await read(server, ['heads=1', keys.reader, 'h999999999'], (each) => {
      if (headsOf(each)) ahead.push(each)
      return ahead.length === 1
    })
    expect(ahead[0]?.event).toBe('reset')
  })

  it('H3: a key sees the threads of its trees, also when one of another is deleted and its id is used again', async () => {
    const [byTag, byRoot] = [createKey(), createKey()]
    const own = [
      { name: 'tenant', sha256: byTag.sha256, scopes: ['read' as const], tags: ['of:one'] },
      { name: 'rooted', sha256: byRoot.sha256, scopes: ['read' as const], roots: ['two'] },
    ]
    const auth = { keys: [...(typeof keyAuth === 'object' ? keyAuth.keys : []), ...own] }
    const { skein, server, create } = await open({ auth })
    await create('one')
    await create('two')
    await create('six', 'one')
    const [tenant, rooted] = [new Shown(), new Shown()]
    const follow = (shown: Shown, key: string) => (enough: () => boolean) =>
      read(server, ['heads=1', key], (each) => {
        const page = headsOf(each)
        if (page) shown.take(page)
        return enough()
      })
    await follow(rooted, byRoot.key)(() => rooted.pages.length === 1)
    expect(rooted.ids).toEqual(['two'])
    const told: string[] = []
    const watching = follow(
      tenant,
      byTag.key,
    )(() => {
      told.push(tenant.ids.join())
      return tenant.threads.has('last')
    })
    await expect.poll(() => told).toContain('one,six')
    await skein.threads.delete('two')
    await skein.threads.delete('six')
    await expect.poll(() => told.at(-1)).toBe('one')
    await create('six', 'another')
    await create('last', 'one')
    await watching
    expect(tenant.ids).toEqual(['last', 'one'])
    expect(tenant.pages.flatMap(({ removed }) => removed)).toEqual(['six'])
    for (const query of ['heads=2', 'heads=', 'heads=1&from=h1.2', 'heads=1&from=hx'])
      expect((await server.ask(`/stream?${query}`)).status).toBe(400)
  })

  it('R2: the client has every thread as it is, over connections that break', async () => {
    const { skein, server, create } = await open({ heartbeatMs: 200 })
    const proxy = await createTcpProxy(Number(new URL(server.url).port))
    closing.push(() => proxy.close())
    const client = connect(`http://127.0.0.1:${proxy.port}`, { key: keys.reader })
    const shown = new Shown()
    await create('t0')
    let count = 0
    for await (const each of client.stream({ heads: true })) {
      if (!('heads' in each)) continue
      shown.take(each.heads)
      if (count === 6 && shown.threads.size === 6) break
      if (each.heads.position === undefined || count === 6) continue
      count++
      proxy.cut()
      if (count < 6) await create(`t${count}`)
      else await skein.threads.delete('t0').then(() => create('t6'))
      proxy.mend()
    }
    expect(shown.ids).toEqual(['t1', 't2', 't3', 't4', 't5', 't6'])
    await client.close()
  })
})
