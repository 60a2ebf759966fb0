/** V2: the view of a tree over HTTP: a snapshot and what follows it are the state, without bodies, for who may see it. */
import { afterEach, expect, it } from 'vitest'
import { TreeStore } from '../../../src/page/store/tree-store.js'
import { createPageWorld, serverDigest } from '../../helpers/page-world.js'
import type { PageWorld } from '../../helpers/page-world.js'
import { asking, keyAuth, keys } from '../../helpers/served.js'

let world: PageWorld | undefined
afterEach(async () => world?.close())

it('V2: a snapshot and the changes after it are the next snapshot, and hold no body', async () => {
  world = await createPageWorld('a secret answer')
  const { url } = world.server
  const item = await world.waits('one')
  const { ask, stream } = asking(url)
  const { body } = await ask('/trees/one/snapshot')
  const snapshot = Object(body)
  expect(JSON.stringify(body)).not.toContain('euros')
  const store = new TreeStore('one')
  store.load(snapshot)
  expect([...store.rows()].map(({ agent }) => agent)).toEqual(['lead', 'planner', 'buyer', 'clerk'])
  const { epoch, at } = store.position
  const leaving = new AbortController()
  const events = await stream(`/view?inbox=1&roots=1&trees=one@${epoch}.${at.join('.')}`, { signal: leaving.signal })
  await world.skein.inbox.approve(item)
  const seen = new Set<string>()
  for await (const { event, data } of events) {
    seen.add(event)
    if (event === 'tree' && store.apply(Object(data)) !== 'applied') throw new Error('a change does not follow')
    if (store.row('one')?.status === 'idle' && seen.has('inbox') && seen.has('roots')) break
  }
  leaving.abort()
  const spans = [...store.rows()].flatMap(({ thread }) => store.spansOf(thread))
  expect(spans.filter(({ kind }) => kind === 'person')).toMatchObject([{ name: 'approval', state: 'ok' }])
  expect(spans.filter(({ endedAt }) => endedAt === undefined)).toEqual([])
  expect(store.digest()).toBe(await serverDigest(url, 'one'))
  expect(seen).toContain('live')
})

it('V2: a position of another epoch is told to begin anew, a wrong one is refused', async () => {
  world = await createPageWorld('done')
  await world.waits('one')
  const { ask, stream } = asking(world.server.url)
  const leaving = new AbortController()
  for await (const { event, data } of await stream('/view?trees=one@other.1.1', { signal: leaving.signal })) {
    if (event !== 'reset') continue
    expect(data).toMatchObject({ of: 'tree', root: 'one', code: 'EPOCH' })
    break
  }
  leaving.abort()
  expect(await ask('/view?trees=one')).toMatchObject({ status: 400, body: { code: 'BAD_OPTION' } })
  expect(await ask('/trees/none/snapshot')).toMatchObject({ status: 404, body: { code: 'UNKNOWN_THREAD' } })
})

it('V1, H3: the page needs no key, its data do', async () => {
  world = await createPageWorld('done', { auth: keyAuth })
  await world.waits('one')
  const { ask } = asking(world.server.url)
  expect(await ask('/ui/trees/one', { key: '' })).toMatchObject({ status: 200 })
  for (const path of ['/view?roots=1', '/trees/one/snapshot', '/view/session'])
    expect(await ask(path, { key: '' })).toMatchObject({ status: 401 })
  expect(await ask('/view/session', { key: keys.reader })).toMatchObject({ body: { name: 'rita', scopes: ['read'] } })
})

it('V1, H4: the document names its files from whatever address it is asked for', async () => {
  world = await createPageWorld('done', { basePath: '/x/y' })
  const { ask } = asking(world.server.url)
  for (const [path, prefix] of [
    ['/ui', 'ui/'],
    ['/ui/', ''],
    ['/ui/trees', ''],
    ['/ui/trees/one', '../'],
    ['/ui/threads/one/steps', '../../'],
  ] as const) {
    const { body, headers } = await ask(path, { key: '' })
    expect(body, path).toMatch(new RegExp(`src="${prefix.replaceAll('.', String.raw`\.`)}assets/[\\w-]+\\.js"`))
    expect(headers.get('content-security-policy')).toContain("require-trusted-types-for 'script'")
    const [, script = ''] = /src="([^"]+)"/.exec(String(body)) ?? []
    const asset = await fetch(new URL(script, `${world.server.url}${path}`))
    expect(asset.headers.get('cache-control')).toContain('immutable')
  }
  expect(await ask('/ui/assets/none.js')).toMatchObject({ status: 404 })
})
