/** P4, H1, H3: time travel through real HTTP, and by the client as by the local API. */
import { afterEach, expect, it } from 'vitest'
import { connect } from '../../../src/client.js'
import type { RemoteSkein } from '../../../src/client.js'
import { createSkein, memory } from '../../../src/index.js'
import type { Script } from '../../../src/models/scripted.js'
import { hashKey } from '../../../src/server.js'
import { calls, looseTool, tinyApp } from '../../helpers/app.js'
import { createPageWorld } from '../../helpers/page-world.js'
import { keyAuth, keys, served } from '../../helpers/served.js'

let closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.reverse()) await close()
  closing = []
})

/** A step that writes a file, a step that charges, and the answer. */
const script: Script = ({ messages }) => {
  const results = messages.filter(({ role }) => role === 'tool').length
  const last = messages.at(-1)
  if (last?.role === 'user' && last.text === 'do') return calls({ tool: 'note', args: { n: results } })
  return last?.role === 'tool' && results % 2 === 1 ? calls({ tool: 'charge', args: { n: results } }) : 'done'
}

async function open() {
  let charges = 0
  const note = looseTool('note', async ({ files }, { n }) => {
    await files.writeFile('/notes.txt', `note ${String(n)}`)
    return 'noted'
  })
  const charge = looseTool('charge', () => `charge ${++charges}`, {
    sideEffect: true,
    revert: () => {
      if (charges > 1) throw new Error('the bank is closed')
      charges--
      return 'paid back'
    },
  })
  const { app } = tinyApp({ tools: [note, charge], script })
  const skein = await createSkein({ app, backend: memory(), warn: () => undefined })
  const tenants = ['shop', 'other'].map((tag) => ({
    name: tag,
    sha256: hashKey(`key-${tag}`),
    scopes: ['write' as const],
    tags: [tag],
  }))
  const auth = typeof keyAuth === 'object' ? { ...keyAuth, keys: [...(keyAuth.keys ?? []), ...tenants] } : keyAuth
  const server = await served(skein, { auth })
  closing.push(
    () => skein.close(),
    () => server.close(),
  )
  const thread = await skein.threads.create({ agent: 'helper', id: 'one', tags: ['shop'] })
  await thread.send('do', { id: 'm1' }).result()
  return { skein, ...server, charges: () => charges }
}

type Either = Omit<RemoteSkein, 'api' | 'definitions' | 'stream'>

const codeOf = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => 'done',
    (thrown: { readonly code?: unknown }) => thrown.code,
  )

async function scenario(skein: Either, id: string): Promise<object> {
  const thread = await skein.threads.get('one')
  const rows = await thread.timeline()
  const dry = await thread.fork({ at: { step: 1 }, dry: true })
  const refused: unknown = await thread.fork({ at: { step: 1 } }).catch((thrown: unknown) => thrown)
  const fork = await thread.fork({ at: { step: 1 }, effects: 'refuse', go: true, id, tags: ['what-if'] })
  const again = await thread.fork({ at: { step: 1 }, effects: 'refuse', id })
  const { status, forkedFrom, tags } = await fork.settled()
  const then = await thread.files.at({ step: 0 })
  const diff = await skein.diff({ thread: 'one', at: { turn: 'm1' } }, 'one', { of: ['files'], patches: true })
  return {
    rows,
    page: await thread.timeline({ after: rows[0]?.seq ?? 0, limit: 1 }),
    dry,
    refused: refused instanceof Error && 'data' in refused && 'code' in refused && [refused.code, refused.data],
    fork: [fork.id === id, again.id === id, status, forkedFrom, tags, fork.agent],
    files: [
      await then.exists('/notes.txt'),
      await (await thread.files.at({ step: 2 })).readFile('/notes.txt', 'utf8'),
      await (await thread.files.at({ message: 'm1' })).readdir('/'),
      await codeOf(then.readFile('/notes.txt')),
    ],
    diff,
    values: Object.keys(await skein.diff('one', { thread: id, at: { seq: 1 } })),
    codes: [
      await codeOf(thread.files.at({ step: 9 })),
      await codeOf(thread.fork({ at: { turn: 'none' } })),
      await codeOf(thread.fork({ id: 'one' })),
      await codeOf(skein.diff('one', 'none')),
      await codeOf(skein.diff('one', { thread: 'one', at: { cursor: '0.1' } })),
    ],
  }
}

it('P4, H1: one scenario by the local API and by the client gives the same', async () => {
  const { skein, url, charges } = await open()
  await using client = connect(url, { key: keys.admin })
  const near = await scenario(skein, 'near')
  expect(JSON.parse(JSON.stringify(await scenario(client, 'near')))).toEqual(JSON.parse(JSON.stringify(near)))
  expect(near).toMatchObject({
    dry: { thread: 'one', effects: [{ tool: 'charge', state: 'done' }] },
    refused: ['EFFECTS_CROSSED', { crossing: { effects: [{ call: 'call_2_0' }] } }],
    diff: { files: [{ path: '/notes.txt', change: 'added' }] },
    codes: ['BAD_OPTION', 'BAD_OPTION', 'COMMAND_REFUSED', 'UNKNOWN_THREAD', 'BAD_OPTION'],
  })
  expect(charges()).toBe(1)
})

it('P4, H3: what was crossed is a problem with the report; that it is done again needs the scope approve', async () => {
  const { ask, charges } = await open()
  const fork = (body: object, key: string = keys.writer) => ask('/threads/one/fork', { body, key })
  expect(await fork({ at: { step: 1 } })).toMatchObject({
    status: 409,
    body: {
      code: 'EFFECTS_CROSSED',
      data: { crossing: { thread: 'one', effects: [{ tool: 'charge', key: expect.any(String) }] } },
    },
  })
  expect(await fork({ dry: true, at: { step: 1 } }, keys.reader)).toMatchObject({ status: 403 })
  for (const body of [{ at: { step: 1 }, force: true }, { effects: 'run' }])
    expect(await fork(body)).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining('needs the scope approve') },
    })
  expect(await fork({ at: { step: 1 }, effects: 'ask', go: true, id: 'asks' })).toMatchObject({
    status: 201,
    body: { thread: 'asks', forkedFrom: { thread: 'one' } },
  })
  expect(await fork({ at: { step: 1 }, force: true, go: true, id: 'again' }, keys.admin)).toMatchObject({ status: 201 })
  expect((await ask('/threads/again/settled?wait=60000')).status).toBe(200)
  expect(charges()).toBe(2)
  expect(await fork({ id: 'now' })).toMatchObject({ status: 201 })
  await ask('/threads/now/messages?wait=60000', { body: { text: 'do' } })
  expect(await ask('/threads/now')).toMatchObject({ body: { status: 'awaiting_approval' } })
  expect(charges()).toBe(2)
  for (const at of [{ step: -1 }, { step: 1, seq: 1 }, { cursor: 'x' }, 3, {}])
    expect(await fork({ at })).toMatchObject({ status: 400, body: { code: 'BAD_OPTION' } })
})

it('P4, H3: a thread goes back over HTTP; undoing effects or leaving them needs the scope approve', async () => {
  const { ask, url, charges, skein } = await open()
  const rewind = (body: object, key: string = keys.writer) => ask('/threads/one/rewind', { body, key })
  const crossed = { thread: 'one', effects: [{ tool: 'charge', revert: true }] }
  expect(await rewind({ to: { step: 1 } })).toMatchObject({
    status: 409,
    body: { code: 'EFFECTS_CROSSED', data: { crossing: crossed } },
  })
  expect(await rewind({ to: { step: 1 }, dry: true })).toMatchObject({ status: 200, body: crossed })
  for (const word of ['force', 'revert'])
    expect(await rewind({ to: { step: 1 }, [word]: true })).toMatchObject({ status: 403 })
  for (const body of [{}, { to: 1 }, { to: { step: 1 }, more: 1 }])
    expect(await rewind(body)).toMatchObject({ status: 400, body: { code: 'BAD_OPTION' } })
  await using client = connect(url, { key: keys.admin })
  const thread = await client.threads.get('one')
  expect(await thread.rewind({ to: { step: 1 }, dry: true })).toEqual(
    await (await skein.threads.get('one')).rewind({ to: { step: 1 }, dry: true }),
  )
  expect(await thread.rewind({ to: { step: 1 }, revert: true })).toMatchObject({ reverted: ['call_2_0'] })
  expect(charges()).toBe(0)
  expect((await thread.timeline()).at(-1)).toMatchObject({ kind: 'rewound' })
  expect(await ask('/threads/one/effects', { key: keys.reader })).toMatchObject({
    body: {
      effects: [
        { call: 'call_2_0', undone: true },
        { state: 'done', reverts: 'call_2_0' },
      ],
    },
  })
  expect(await rewind({ to: { turn: 'm1' } })).toMatchObject({ status: 200, body: { reverted: [] } })
  expect((await thread.messages()).length).toBe(0)
  await thread.send('do', { id: 'm2' }).result()
  await (await thread.fork({ id: 'twice', force: true, at: { turn: 'm2' } })).send('do').result()
  expect(await codeOf(thread.rewind({ to: { turn: 'm2' }, revert: true }))).toBe('REVERT_FAILED')
})

it('P4, H3: a fork stays with its tenant; a key of some trees makes none, and what it may not see is not there', async () => {
  const { ask, skein } = await open()
  const tina = { key: 'key-shop' }
  const forked = await ask('/threads/one/fork', { ...tina, body: { id: 'own', effects: 'ask', tags: [] } })
  expect(forked).toMatchObject({ status: 201, body: { tags: ['shop'] } })
  expect(await ask('/threads/one/fork', { ...tina, body: { tags: ['other'] } })).toMatchObject({ status: 403 })
  await skein.threads.create({ agent: 'helper', id: 'two' })
  for (const path of ['/diff?a=one&b=two', '/diff?a=two&b=own', '/threads/two/timeline'])
    expect(await ask(path, tina)).toMatchObject({ status: 404, body: { code: 'UNKNOWN_THREAD' } })
  expect(await ask('/threads/one/fork', { ...tina, body: { id: 'two' } })).toMatchObject({ status: 404 })
  expect(await ask('/diff?a=one@1&b=own@seq:1&of=files', tina)).toMatchObject({ status: 200 })
  expect(await ask('/diff?a=one@x&b=own')).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('a point is a step as 3') },
  })
  const minted = await ask('/threads/one/tokens', { body: { name: 'page', scopes: ['write'], ttlMs: 60_000 } })
  const { token = '' } = minted.body as { token?: string }
  expect(await ask('/threads/one/fork', { key: token, body: { dry: true } })).toMatchObject({ status: 200 })
  expect(await ask('/threads/one/fork', { key: token, body: {} })).toMatchObject({ status: 403 })
})

it('P4, A4: what waits below a fork says whose fork it is, with a directory and without one', async () => {
  const world = await createPageWorld('Paid.')
  closing.push(() => world.close())
  await world.waits('one')
  const one = await world.skein.threads.get('one')
  const fork = await one.fork({ at: { step: 0 }, id: 'other', go: true })
  for await (const [item] of world.skein.inbox.watch({ root: fork.id })) if (item) break
  const told = async (): Promise<unknown> =>
    (await world.skein.inbox.list()).map(({ path, forkedFrom }) => [path[0], path.length, forkedFrom?.thread])
  const expected = [
    ['one', 4, undefined],
    ['other', 4, 'one'],
  ]
  expect(await told()).toEqual(expected)
  const [, below] = await world.skein.inbox.list()
  expect(await world.skein.inbox.list({ thread: below?.thread ?? '' })).toEqual([below])
  await world.skein.directory().ready()
  expect(await told()).toEqual(expected)
})
