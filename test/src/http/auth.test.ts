/** H3: keys with scopes, tokens for one tree, and what is closed by default. */
import { createHash } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { manualClock } from '../../../src/core/manual-clock.js'
import { createKey, createHandler, hashKey, serve } from '../../../src/server.js'
import { routes } from '../../../src/http/table.js'
import { createSkein, memory } from '../../../src/index.js'
import type { Skein } from '../../../src/index.js'
import { tinyApp } from '../../helpers/app.js'
import { keyAuth, keys, served } from '../../helpers/served.js'
import type { Served } from '../../helpers/served.js'

let skein: Skein | undefined
let server: Served | undefined
afterEach(async () => {
  await server?.close()
  await skein?.close()
})

async function open(options: Parameters<typeof served>[1] = {}): Promise<{ skein: Skein; ask: Served['ask'] }> {
  skein = await createSkein({ app: tinyApp({ script: () => 'hello' }).app, backend: memory() })
  server = await served(skein, options)
  return { skein, ask: server.ask }
}

/** The path of a route with values for what is in braces. */
const pathOf = (path: string, thread: string): string =>
  path
    .replace('{path*}', 'a')
    .replace(/\{(thread|root)\}/, thread)
    .replaceAll(/\{\w+\}/g, 'x')

describe('H3: keys', () => {
  it('H3: every route but health needs a key, and the same is said of a wrong one', async () => {
    const { ask } = await open()
    for (const { method, path, scope } of routes) {
      const asked = { method: method.toUpperCase(), ...(method !== 'get' && { body: {} }) }
      const without = await ask(pathOf(path, 'one'), { ...asked, key: '' })
      const wrong = await ask(pathOf(path, 'one'), { ...asked, key: 'wrong' })
      const expected = scope === undefined ? 200 : 401
      expect([without.status, wrong.status], path).toEqual([expected, expected])
      expect(without.body, path).toEqual(wrong.body)
    }
  })

  it('H3: an empty key lets nobody in: its hash is refused, and so is the hash that another program made of it', async () => {
    expect(() => hashKey('')).toThrow(/the key is empty.*environment/)
    expect(() => hashKey('  ')).toThrow(/the key is empty/)
    const { NO_SUCH_KEY: missing } = process.env
    expect(() => Reflect.apply(hashKey, undefined, [missing])).toThrow(/^hashKey: the key is undefined.*environment/)
    const { skein: opened } = await open()
    const sha256 = createHash('sha256').update('').digest('hex')
    expect(() => createHandler(opened, { auth: { keys: [{ name: 'shop', sha256, scopes: ['read'] }] } })).toThrow(
      /is the hash of an empty key/,
    )
    const handler = createHandler(opened, { auth: keyAuth })
    for (const authorization of [`Basic ${btoa('anyone:')}`, `Basic ${btoa('anyone: ')}`, 'Bearer ', 'Bearer'])
      expect((await handler.fetch(new Request('http://one/threads', { headers: { authorization } }))).status).toBe(401)
  })

  it('H3: a key does what its scopes say: write reads, approve is apart, admin is all', async () => {
    const { ask } = await open()
    await ask('/threads', { body: { agent: 'helper', id: 'one' } })
    const allowed = {
      [keys.reader]: ['read'],
      [keys.writer]: ['read', 'write'],
      [keys.approver]: ['read', 'approve'],
      [keys.admin]: ['read', 'write', 'approve', 'admin'],
    }
    for (const [key, scopes] of Object.entries(allowed))
      for (const { method, path, scope, answer } of routes) {
        if (scope === undefined || answer.type === 'events' || method === 'delete') continue
        // A body that no route takes: what may be done is decided before.
        const asked = { method: method.toUpperCase(), key, ...(method !== 'get' && { body: { nonsense: 1 } }) }
        const { status } = await ask(pathOf(path, 'missing'), asked)
        expect(status === 403, `${key} ${method} ${path} ${status}`).toBe(!scopes.includes(scope))
      }
  })

  it('H3: a key that is bound to a tag sees its trees alone, in every list and on every route', async () => {
    const mine = createKey()
    const auth = {
      keys: [
        ...(typeof keyAuth === 'object' ? keyAuth.keys : []),
        { name: 'tenant', sha256: mine.sha256, scopes: ['admin' as const], tags: ['tenant:a'] },
      ],
    }
    const { ask } = await open({ auth })
    await ask('/threads', { body: { agent: 'helper', id: 'theirs' } })
    await ask('/threads', { body: { agent: 'helper', id: 'mine' }, key: mine.key })
    expect((await ask('/threads/mine')).body).toMatchObject({ tags: ['tenant:a'] })
    expect((await ask('/threads', { key: mine.key })).body).toMatchObject({ threads: [{ thread: 'mine' }] })
    expect((await ask('/inbox', { key: mine.key })).status).toBe(200)
    expect((await ask('/hosts', { key: mine.key })).status).toBe(403)
    for (const { method, path } of routes.filter((each) => /\{(thread|root)\}/.test(each.path))) {
      const asked = { method: method.toUpperCase(), key: mine.key, ...(method !== 'get' && { body: {} }) }
      const other = await ask(pathOf(path, 'theirs'), asked)
      const nobody = await ask(pathOf(path, 'nobody'), asked)
      expect([other.status, nobody.status], `${method} ${path}`).toEqual([404, 404])
      expect(JSON.stringify(other.body).replaceAll('theirs', 'x')).toBe(
        JSON.stringify(nobody.body).replaceAll('nobody', 'x'),
      )
    }
    // An id that another tenant has is not told either.
    expect((await ask('/threads', { body: { agent: 'helper', id: 'theirs' }, key: mine.key })).status).toBe(404)
  })

  it('H3: a key that is bound to tags gives no tag that others are bound to', async () => {
    const tenants = ['a', 'b'].map((name) => ({ ...createKey(), name, tags: [`tenant:${name}`] }))
    const auth = {
      keys: tenants.map(({ name, sha256, tags }) => ({ name, sha256, tags, scopes: ['admin' as const] })),
    }
    const [first, second] = tenants.map(({ key }) => key)
    const { ask } = await open({ auth })
    const create = (id: string, tags: readonly string[]) =>
      ask('/threads', { body: { agent: 'helper', id, tags }, key: first ?? '' })
    expect(await create('x', ['demo', 'tenant:b'])).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } })
    expect(await create('y', ['demo', 'tenant:a'])).toMatchObject({ status: 201 })
    expect((await ask('/threads', { key: second ?? '' })).body).toEqual({ threads: [] })
    expect((await ask('/threads', { key: first ?? '' })).body).toMatchObject({
      threads: [{ tags: ['demo', 'tenant:a'] }],
    })
  })

  it('H3: where the app says who asks, one that is bound to tags gives no others', async () => {
    const auth = () => ({ name: 'app', scopes: ['write' as const], tags: ['a'] })
    const { ask } = await open({ auth })
    const create = (id: string, tags: readonly string[]) => ask('/threads', { body: { agent: 'helper', id, tags } })
    expect(await create('x', ['b'])).toMatchObject({ status: 403 })
    expect(await create('y', ['a'])).toMatchObject({ status: 201 })
  })

  it('H3: a tree token is for one tree, for a time, and ends with its tree', async () => {
    const clock = manualClock(1_700_000_000_000)
    const { ask, skein: opened } = await open({ clock })
    for (const id of ['one', 'two']) await ask('/threads', { body: { agent: 'helper', id } })
    const minted = await ask('/threads/one/tokens', { body: { name: 'page', scopes: ['read'], ttlMs: 60_000 } })
    const { token } = minted.body as { token: string }
    expect((await ask('/threads/one', { key: token })).status).toBe(200)
    expect((await ask('/threads', { key: token })).body).toMatchObject({ threads: [{ thread: 'one' }] })
    expect((await ask('/threads/two', { key: token })).status).toBe(404)
    expect((await ask('/threads/one/messages', { key: token, body: { text: 'x' } })).status).toBe(403)
    expect((await ask('/threads/one/tokens', { key: token, body: {} })).status).toBe(403)
    for (const broken of [`${token}x`, token.slice(0, -2), 'skt_', 'skt_.', 'skt_e30.e30', `${token}.a`])
      expect((await ask('/threads/one', { key: broken })).status).toBe(401)
    await opened.threads.delete('one')
    await ask('/threads', { body: { agent: 'helper', id: 'one' } })
    expect((await ask('/threads/one', { key: token })).status).toBe(401)
    const again = await ask('/threads/one/tokens', { body: { name: 'page', scopes: ['read'], ttlMs: 60_000 } })
    clock.advance(60_001)
    expect((await ask('/threads/one', { key: (again.body as { token: string }).token })).status).toBe(401)
  })
})

describe('H3: closed by default', () => {
  it('H3: who may use it must be said, and without keys only on loopback', async () => {
    skein = await createSkein({ app: tinyApp({ script: () => 'hello' }).app, backend: memory() })
    const opened = skein
    // @ts-expect-error it is required
    expect(() => createHandler(opened, {})).toThrow(/say who may use it/)
    await expect(serve(opened, { auth: 'none', host: '0.0.0.0', port: 0 })).rejects.toMatchObject({
      code: 'BAD_OPTION',
    })
    const local = await serve(opened, { auth: 'none', port: 0 })
    expect((await fetch(`${local.url}/threads`)).status).toBe(200)
    await local.close()
    const weak = { auth: { keys: [{ name: 'a', sha256: 'not a hash', scopes: ['read' as const] }] } }
    expect(() => createHandler(opened, weak)).toThrow(/hashKey/)
    expect(hashKey('a')).toMatch(/^[0-9a-f]{64}$/)
  })

  it('H3: pages of other sites get no header; those that may get theirs, and a preflight is answered', async () => {
    const { ask } = await open({ cors: ['https://app.example'] })
    const other = await ask('/health', { headers: { origin: 'https://evil.example' } })
    expect(other.headers.get('access-control-allow-origin')).toBeNull()
    const ours = await ask('/health', { headers: { origin: 'https://app.example' } })
    expect(ours.headers.get('access-control-allow-origin')).toBe('https://app.example')
    const preflight = await ask('/threads', { method: 'OPTIONS', headers: { origin: 'https://app.example' } })
    expect(preflight.status).toBe(204)
  })

  it('H3: an error of the server tells nothing about itself, and its operator all', async () => {
    const told: unknown[] = []
    skein = await createSkein({ app: tinyApp({ script: () => 'hello' }).app, backend: memory() })
    const broken = {
      ...skein,
      threads: {
        ...skein.threads,
        list: async () => {
          throw new Error('secret path /etc/key')
        },
      },
    }
    server = await served(broken, { warn: (_, thrown) => void told.push(thrown) })
    const answer = await server.ask('/threads')
    expect(answer).toMatchObject({ status: 500, body: { code: 'INTERNAL' } })
    expect(JSON.stringify(answer.body)).not.toContain('/etc/key')
    expect(String(told[0])).toContain('/etc/key')
  })
})
