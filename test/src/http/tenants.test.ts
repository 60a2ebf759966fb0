/** H3: what a tenant may see ends where its trees end, and when its right ends. */
import { request } from 'node:http'
import { afterEach, expect, it } from 'vitest'
import { manualClock } from '../../../src/core/manual-clock.js'
import { createHandler, createKey, hashKey } from '../../../src/server.js'
import type { Auth } from '../../../src/server.js'
import { createSkein, memory } from '../../../src/index.js'
import type { Skein } from '../../../src/index.js'
import { calls, looseTool, tinyApp } from '../../helpers/app.js'
import { keyAuth, served } from '../../helpers/served.js'
import type { Sent, Served } from '../../helpers/served.js'

let closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.reverse()) await close()
  closing = []
})

const tenant = createKey().key
const other = createKey().key

function tenants(): Auth {
  const { keys: all } = typeof keyAuth === 'object' ? keyAuth : { keys: [] }
  const bound = (name: string, key: string) => ({
    name,
    sha256: hashKey(key),
    scopes: ['admin' as const],
    tags: [name],
  })
  return { keys: [...all, bound('tenant', tenant), bound('other', other)] }
}

async function open(options: Parameters<typeof served>[1] = {}): Promise<{ skein: Skein; server: Served }> {
  const pay = looseTool('pay', () => 'paid', { needsApproval: true })
  const skein = await createSkein({ app: tinyApp({ tools: [pay], script: () => calls('pay') }).app, backend: memory() })
  closing.push(() => skein.close())
  const server = await served(skein, { auth: tenants(), ...options })
  closing.push(() => server.close())
  return { skein, server }
}

const create = (server: Served, key: string, body: object = {}) =>
  server.ask('/threads', { key, body: { agent: 'helper', id: 'one', ...body } })

it.each(['/trees/one/inbox/events', '/stream?inbox=one'])(
  'H3: %s ends with its tree: another tenant has the id now',
  async (path) => {
    const { skein, server } = await open({ heartbeatMs: 100 })
    await create(server, tenant)
    const leave = new AbortController()
    const stream = await server.stream(path, { key: tenant, signal: leave.signal })
    const seen: Sent[] = []
    let isReplaced = false
    for await (const each of stream) {
      seen.push(each)
      if (each.event === 'inbox' && !isReplaced) {
        isReplaced = true
        await server.ask('/threads/one', { method: 'DELETE', key: tenant })
        await create(server, other)
        const thread = await skein.threads.get('one')
        await thread.send('pay').accepted()
        await thread.settled()
      }
      if (['removed', 'error'].includes(each.event)) break
    }
    leave.abort()
    expect(seen.filter(({ event }) => event !== 'clock').map(({ event }) => event)).toEqual([
      'inbox',
      path.startsWith('/stream') ? 'removed' : 'error',
    ])
  },
)

it('H3: a stream ends with the token that it was opened with', async () => {
  const clock = manualClock(1_000)
  const { skein, server } = await open({ clock, heartbeatMs: 1_000 })
  await create(server, tenant)
  for (const path of ['/trees/one/events', '/stream?tree=one&inbox=one', '/threads/one/changes']) {
    const asked = { body: { name: 'page', scopes: ['read'], ttlMs: 10_000 } }
    const { token } = (await server.ask('/threads/one/tokens', asked)).body as { token: string }
    const texts: string[] = []
    for await (const each of await server.stream(path, { key: token })) {
      texts.push(JSON.stringify(each.data))
      if (texts.length > 1) continue
      clock.advance(10_000)
      await (await skein.threads.get('one')).inject(`said too late for ${path}`)
    }
    expect(texts.join()).not.toContain(`said too late for ${path}`)
    expect((await server.ask('/threads/one', { key: token })).status).toBe(401)
  }
})

it('H3: a wait for a result ends with the token that it was asked with', async () => {
  const { skein, server } = await open()
  await create(server, tenant)
  const thread = await skein.threads.get('one')
  await thread.pause()
  await thread.send('pay', { id: 'm1' }).accepted()
  const asked = { body: { name: 'page', scopes: ['read'], ttlMs: 300 } }
  const { token } = (await server.ask('/threads/one/tokens', asked)).body as { token: string }
  // Without a wait of 10 minutes: the test would end before.
  expect(await server.ask('/threads/one/runs/m1?wait=600000', { key: token })).toMatchObject({ status: 202 })
  expect((await server.ask('/threads/one', { key: token })).status).toBe(401)
})

it('H3: an id that another tenant has is not there, whatever agent is asked for', async () => {
  const { server } = await open()
  await create(server, other)
  const taken = await create(server, tenant)
  expect(taken).toMatchObject({ status: 404, body: { code: 'UNKNOWN_THREAD' } })
  const wrong = await create(server, tenant, { agent: 'none' })
  expect([wrong.status, wrong.body]).toEqual([404, taken.body])
  expect((await create(server, other, { agent: 'none' })).status).toBe(409)
})

it('H3: a list among the threads of others is read in few pages, and its cursors go on', async () => {
  const { skein, server } = await open()
  for (let each = 0; each < 40; each++)
    await skein.threads.create({ agent: 'helper', id: `t${each}`, tags: [each % 10 === 9 ? 'tenant' : 'other'] })
  const directory = skein.directory()
  await directory.ready()
  for (const [query, own] of [
    ['', ['t9', 't19', 't29', 't39']],
    ['&sort=newest', ['t39', 't29', 't19', 't9']],
  ] as const) {
    const found: string[] = []
    let cursor = ''
    do {
      const { body } = await server.ask(`/threads?limit=1${query}${cursor}`, { key: tenant })
      const { threads, next } = body as { threads: { thread: string }[]; next?: string }
      found.push(...threads.map(({ thread }) => thread))
      cursor = next === undefined ? '' : `&cursor=${encodeURIComponent(next)}`
    } while (cursor !== '')
    expect(found).toEqual(own)
  }
  let pages = 0
  const list = directory.list.bind(directory)
  directory.list = (...asked) => {
    pages++
    return list(...asked)
  }
  await server.ask('/threads?limit=1&sort=cost', { key: tenant })
  expect(pages).toBe(2)
})

/** A request with any headers; `fetch` sets some by itself. */
function rawStatus(url: string, method: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    sent.on('error', reject)
    sent.end()
  })
}

it('H3: a page of another site changes nothing by what a browser sends by itself', async () => {
  const cors = ['https://shop.example']
  const { server } = await open({ auth: 'none', cors })
  await create(server, '')
  const { host } = new URL(server.url)
  const pause = (headers: Record<string, string>) => rawStatus(`${server.url}/threads/one/pause`, 'POST', headers)
  const evil = 'https://evil.example'
  expect(await pause({ origin: evil })).toBe(403)
  expect(await pause({ origin: 'null' })).toBe(403)
  expect(await pause({ origin: evil, 'sec-fetch-site': 'cross-site' })).toBe(403)
  expect(await pause({ 'sec-fetch-site': 'same-site' })).toBe(403)
  expect(await pause({ origin: evil, authorization: `Basic ${btoa('x:y')}` })).toBe(403)
  expect(await pause({})).toBe(200)
  expect(await pause({ origin: `http://${host}` })).toBe(200)
  expect(await pause({ origin: `http://${host}`, 'sec-fetch-site': 'same-origin' })).toBe(200)
  expect(await pause({ origin: 'https://shop.example', 'sec-fetch-site': 'cross-site' })).toBe(200)
})

it('H3: without keys a server answers to names of its machine alone', async () => {
  const { server } = await open({ auth: 'none' })
  const { port } = new URL(server.url)
  const status = (host: string) => rawStatus(`${server.url}/threads`, 'GET', { host })
  for (const host of ['evil.example', `evil.example:${port}`, 'localhost.evil.example', '127.0.0.1.evil.example'])
    expect(await status(host), host).toBe(403)
  for (const host of [`localhost:${port}`, '127.0.0.1', `[::1]:${port}`]) expect(await status(host), host).toBe(200)
})

it('H3, E4, E5: who a function of the service binds to a tag may use A2A and MCP', async () => {
  const { server } = await open({ auth: () => ({ name: 'shop', scopes: ['write'], tags: ['shop'] }) })
  const rpc = (method: string, params: object) => ({ body: { jsonrpc: '2.0', id: 1, method, params } })
  const message = { role: 'ROLE_USER', messageId: 'm1', contextId: 'trip', parts: [{ text: 'hello' }] }
  const task = await server.ask('/a2a/helper', rpc('SendMessage', { message }))
  expect(task.body).toMatchObject({ result: { task: { contextId: 'trip' } } })
  const asked = rpc('tools/call', { name: 'ask_helper', arguments: { message: 'hello' } })
  const headers = { accept: 'application/json, text/event-stream' }
  expect(JSON.stringify((await server.ask('/mcp', { ...asked, headers })).body)).not.toContain('FORBIDDEN')
  expect((await create(server, '', { tags: ['other'] })).status).toBe(403)
})

it('H3, E4: data that is nested without end is a mistake of who sent it, and no fault of the server', async () => {
  const faults: string[] = []
  const { server } = await open({ warn: (what) => void faults.push(what) })
  const data = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
  const message = `{ "role": "ROLE_USER", "messageId": "m1", "parts": [{ "data": ${data} }] }`
  const body = `{ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": { "message": ${message} } }`
  expect((await server.ask('/a2a/helper', { body })).body).toMatchObject({ error: { code: -32_602 } })
  expect(faults).toEqual([])
})

it('H3: nobody takes the id that the server makes for the conversation of another', async () => {
  const { server } = await open()
  const asked = { model: 'helper', messages: [{ role: 'user', content: 'hi' }] }
  const ask = (key: string) =>
    server.ask('/v1/chat/completions', { key, body: asked, headers: { 'idempotency-key': 'first' } })
  const { headers } = await ask(tenant)
  const id = headers.get('x-skein-thread') ?? ''
  expect(id).toMatch(/^openai_[0-9a-f]{32}$/)
  expect((await ask(tenant)).headers.get('x-skein-thread')).toBe(id)
  expect((await ask(other)).headers.get('x-skein-thread')).not.toBe(id)
  for (const face of ['openai', 'a2a', 'mcp']) {
    const taken = `${face}_${'0'.repeat(32)}`
    const refused = { status: 400, body: { code: 'BAD_OPTION' } }
    expect(await create(server, other, { id: taken })).toMatchObject(refused)
    const key = { 'idempotency-key': taken }
    expect(await server.ask('/threads', { key: other, body: { agent: 'helper' }, headers: key })).toMatchObject(refused)
  }
  expect((await create(server, other, { id: 'openai_mine' })).status).toBe(201)
})

it('H3: keys of one name are for the same trees', () => {
  const key = { name: 'shop', scopes: ['write' as const] }
  const both = (more: object) => [
    { ...key, sha256: hashKey('a'), tags: ['shop'] },
    { ...key, sha256: hashKey('b'), ...more },
  ]
  const skein = {} as Skein
  expect(() => createHandler(skein, { auth: { keys: both({}) } })).toThrow('two keys are called "shop"')
  expect(() => createHandler(skein, { auth: { keys: both({ tags: ['shop'], roots: ['x'] }) } })).toThrow('bound to')
})
