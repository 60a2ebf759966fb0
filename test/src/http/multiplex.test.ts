/** R2, A4, H1: several trees and inboxes over one stream. */
import { afterEach, expect, it } from 'vitest'
import { connect } from '../../../src/client.js'
import { createKey } from '../../../src/server.js'
import { merge } from '../../../src/http/stream/merge.js'
import { calls, looseTool, tinyApp } from '../../helpers/app.js'
import { keys, keyAuth, served } from '../../helpers/served.js'
import type { Sent, Served } from '../../helpers/served.js'
import { createTcpProxy } from '../../helpers/tcp-proxy.js'
import { onEveryStore } from '../../helpers/world.js'

let closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.reverse()) await close()
  closing = []
})

interface Told {
  readonly tree?: string
  readonly inbox?: string
  readonly event?: { readonly type: string; readonly cursor?: string; readonly seq?: number }
  readonly items?: readonly { readonly id: string }[]
}

const told = ({ data }: Sent): Told => data as Told

onEveryStore('one stream of many', (world) => {
  const open = async (options: Parameters<typeof served>[1] = {}) => {
    const pay = looseTool('pay', () => 'paid', { needsApproval: true })
    const script = ({ messages }: { readonly messages: readonly { readonly text: string }[] }) =>
      messages.at(-1)?.text === 'pay' ? calls('pay') : 'fine'
    const skein = await world.open(tinyApp({ tools: [pay], script }).app)
    const server: Served = await served(skein, options)
    closing.push(() => server.close())
    for (const id of ['one', 'two', 'six']) await skein.threads.create({ agent: 'helper', id, tags: [`of:${id}`] })
    return { skein, server }
  }
  const turnOf = async (skein: Awaited<ReturnType<typeof open>>['skein'], id: string, text = 'hi') =>
    (await skein.threads.get(id)).send(text).result()

  it('R2, A4, H1: events say what they are of; Last-Event-ID resumes all trees, each event once', async () => {
    const { skein, server } = await open()
    await turnOf(skein, 'one')
    await turnOf(skein, 'two')
    await turnOf(skein, 'six')
    const path = '/stream?tree=one&tree=two&inbox=two'
    const seen: Sent[] = []
    const read = async (headers: Record<string, string>, enough: (each: Sent) => boolean) => {
      const leave = new AbortController()
      for await (const each of await server.stream(path, { headers, signal: leave.signal })) {
        seen.push(each)
        if (enough(each)) break
      }
      leave.abort()
    }
    let durable = 0
    await read({}, ({ id }) => id !== undefined && ++durable === 5)
    expect(seen[0]).toMatchObject({ event: 'clock', data: { now: expect.any(Number) } })
    const cursor = seen.findLast(({ id }) => id !== undefined)?.id ?? ''
    expect(cursor).toMatch(/^(one|two)=\d+\.\d+(;(one|two)=\d+\.\d+)?$/)
    const asked = (await skein.threads.get('two')).send('pay')
    await asked.accepted()
    await (await skein.threads.get('two')).settled()
    const last = (await skein.threads.get('two')).info()
    const left = new Set(['inbox', `two ${(await last).seq}`])
    await read({ 'last-event-id': cursor }, (each) => {
      const { items = [], tree, event } = told(each)
      if (items.length > 0) left.delete('inbox')
      left.delete(`${tree} ${event?.seq}`)
      return left.size === 0
    })
    const of = (root: string) =>
      seen.flatMap((each) => (told(each).tree === root && told(each).event?.cursor ? [told(each).event?.cursor] : []))
    for (const root of ['one', 'two']) {
      const all: string[] = []
      for await (const event of skein.events({ root, until: 'now' })) if ('cursor' in event) all.push(event.cursor)
      expect(of(root)).toEqual(all.slice(0, of(root).length))
      expect(new Set(of(root)).size).toBe(of(root).length)
    }
    expect(seen.some((each) => told(each).tree === 'six')).toBe(false)
    expect(seen.findLast((each) => each.event === 'inbox')?.data).toMatchObject({
      inbox: 'two',
      items: [{ id: 'two/call_2_0' }],
    })
  })

  it('R2: a tree that is deleted is told and the others go on; a cursor of an older tree is reset', async () => {
    const { skein, server } = await open()
    await turnOf(skein, 'one')
    const leave = new AbortController()
    const stream = await server.stream('/stream?tree=one,two', { signal: leave.signal })
    let old = ''
    let removed = false
    for await (const each of stream) {
      if (each.id !== undefined) old = each.id
      if (told(each).event?.type === 'turn.ended' && told(each).tree === 'one') await skein.threads.delete('one')
      if (each.event === 'removed') {
        removed = told(each).tree === 'one'
        void turnOf(skein, 'two')
      }
      if (removed && told(each).tree === 'two' && told(each).event?.type === 'turn.ended') break
    }
    leave.abort()
    expect([removed, old.includes('one=')]).toEqual([true, true])
    await skein.threads.create({ agent: 'helper', id: 'one' })
    const again = new AbortController()
    for await (const each of await server.stream(`/stream?tree=one&from=${encodeURIComponent(old)}`, {
      signal: again.signal,
    })) {
      if (each.event === 'clock') continue
      expect(each).toMatchObject({ event: 'reset', data: { tree: 'one' }, id: '' })
      break
    }
    again.abort()
  })

  it('H3: it is filtered by who asks, and what is wrong is told before it begins', async () => {
    const mine = createKey()
    const auth = {
      keys: [
        ...(typeof keyAuth === 'object' ? keyAuth.keys : []),
        { name: 'tenant', sha256: mine.sha256, scopes: ['read' as const], tags: ['of:one'] },
      ],
    }
    const { server } = await open({ auth })
    const status = async (query: string, key: string = mine.key) =>
      (await server.ask(`/stream${query}`, { key })).status
    for (const query of ['?tree=one&tree=two', '?inbox=two', '?tree=none']) expect(await status(query)).toBe(404)
    expect(await status('?tree=two', '')).toBe(401)
    for (const query of ['', '?tree=', '?tree=..', '?tree=one&from=x', '?tree=one&colour=red'])
      expect(await status(query)).toBe(400)
  })

  it('R2: the client goes on after its connection was cut, with every event once', async () => {
    const { skein, server } = await open({ heartbeatMs: 200 })
    const proxy = await createTcpProxy(Number(new URL(server.url).port))
    closing.push(() => proxy.close())
    const client = connect(`http://127.0.0.1:${proxy.port}`, { key: keys.reader })
    const seen: string[] = []
    let ended = 0
    await turnOf(skein, 'one')
    for await (const each of client.stream({ trees: ['one', 'two'] })) {
      const { tree, event } = each as Told
      if (event?.cursor === undefined) continue
      seen.push(`${tree} ${event.cursor}`)
      if (seen.length % 3 === 0) {
        proxy.cut()
        proxy.mend()
      }
      if (event.type !== 'turn.ended') continue
      ended++
      if (ended === 1) void turnOf(skein, 'two')
      else break
    }
    expect(new Set(seen).size).toBe(seen.length)
    const all: string[] = []
    for (const root of ['one', 'two'])
      for await (const event of skein.events({ root, until: 'now' }))
        if ('cursor' in event) all.push(`${root} ${event.cursor}`)
    expect(seen.toSorted()).toEqual(all.toSorted())
    await client.close()
  })
})

it('FW: sources are merged as they come, end together, and are left together', async () => {
  const left: string[] = []
  async function* source(name: string, count: number): AsyncGenerator<string> {
    try {
      for (let number = 1; number <= count; number++) yield `${name}${number}`
    } finally {
      left.push(name)
    }
  }
  const all: string[] = []
  for await (const each of merge([source('a', 3), source('b', 1)])) all.push(each)
  expect(all.toSorted()).toEqual(['a1', 'a2', 'a3', 'b1'])
  expect(all.filter((each) => each.startsWith('a'))).toEqual(['a1', 'a2', 'a3'])
  left.length = 0
  for await (const _ of merge([source('a', 3), source('b', 3)])) break
  await Promise.resolve()
  expect(left.toSorted()).toEqual(['a', 'b'])
  const failing = merge([
    source('a', 1),
    { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('x')) }) },
  ])
  await expect(
    (async () => {
      for await (const _ of failing) continue
    })(),
  ).rejects.toThrow('x')
})
