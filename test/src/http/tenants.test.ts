/** H3: what a tenant may see ends where its trees end, and when its right ends. */
import { afterEach, expect, it } from 'vitest'
import { manualClock } from '../../../src/core/manual-clock.js'
import { createKey, hashKey } from '../../../src/server.js'
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
  const bound = (name: string, key: string) => ({ name, sha256: hashKey(key), scopes: ['admin' as const], tags: [name] })
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
