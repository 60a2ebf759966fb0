/** H2: endpoints that the app defines for its threads, through real HTTP. */
import { afterEach, expect, it } from 'vitest'
import { connect } from '../../../src/client.js'
import { createSkein, defineThreadEndpoint, memory } from '../../../src/index.js'
import type { Endpoint, Skein } from '../../../src/index.js'
import { tinyApp } from '../../helpers/app.js'
import { keys, served } from '../../helpers/served.js'
import type { Served } from '../../helpers/served.js'

let opened: { readonly skein: Skein; readonly server: Served } | undefined
afterEach(async () => {
  await opened?.server.close()
  await opened?.skein.close()
  opened = undefined
})

const say = (name: string, more: Partial<Endpoint> = {}) =>
  defineThreadEndpoint({ name, run: (_, { id }, params) => Response.json({ name, id, params }), ...more })

const app = (names: readonly ReturnType<typeof say>[]) => [...tinyApp({ script: () => 'fine' }).app, ...names]

async function open(endpoints: readonly ReturnType<typeof say>[], options: Parameters<typeof served>[1] = {}) {
  const warnings: string[] = []
  const skein = await createSkein({ app: app(endpoints), backend: memory() })
  const server = await served(skein, { warn: (what) => void warnings.push(what), ...options })
  opened = { skein, server }
  await skein.threads.create({ agent: 'helper', id: 'one', tags: ['mine'] })
  const ask = async (path: string, asked: Parameters<Served['ask']>[1] = {}) =>
    server.ask(`/threads/one/api/${path}`, asked)
  return { skein, ask, server, warnings }
}

it('H2: a file gives the route: method suffix, index, [name], [*]; static before dynamic before catch-all', async () => {
  const { ask, server } = await open([
    say('[*]'),
    say('index'),
    say('notes/index'),
    say('notes/[id].get'),
    say('notes/[id].delete'),
    say('notes/new'),
    say('notes/[id]/[*]'),
    say('notes/[id]/text'),
    say('[kind]/all'),
  ])
  const answered = async (path: string, method = 'GET') => {
    const { status, body } = await ask(path, { method })
    const { name, params } = body as { name?: string; params?: unknown }
    return status === 200 ? [name, params] : status
  }
  expect(await answered('')).toEqual(['index', {}])
  expect(await answered('notes')).toEqual(['notes/index', {}])
  expect(await answered('notes/new')).toEqual(['notes/new', {}])
  expect(await answered('notes/7')).toEqual(['notes/[id].get', { id: '7' }])
  expect(await answered('notes/7', 'DELETE')).toEqual(['notes/[id].delete', { id: '7' }])
  // The static route has no DELETE, so the dynamic one answers.
  expect(await answered('notes/new', 'DELETE')).toEqual(['notes/[id].delete', { id: 'new' }])
  expect(await answered('notes/7/text')).toEqual(['notes/[id]/text', { id: '7' }])
  expect(await answered('notes/7/a/b')).toEqual(['notes/[id]/[*]', { id: '7', '*': 'a/b' }])
  expect(await answered('notes/all')).toEqual(['notes/[id].get', { id: 'all' }])
  expect(await answered('todos/all')).toEqual(['[kind]/all', { kind: 'todos' }])
  // A part is taken apart before it is decoded, and none is empty.
  expect(await answered('notes/a%2fb')).toEqual(['notes/[id].get', { id: 'a/b' }])
  expect(await answered('notes/a%252fb')).toEqual(['notes/[id].get', { id: 'a%2fb' }])
  expect(await answered('notes/7/')).toEqual(['notes/[id].get', { id: '7' }])
  for (const path of ['notes//', '/notes', 'notes//text', 'notes/%']) expect(await answered(path)).toBeGreaterThan(399)
  expect(await answered('any/thing%20else/x')).toEqual(['[*]', { '*': 'any/thing else/x' }])
  expect(await ask('notes/7', { body: {} })).toMatchObject({ status: 405, body: { code: 'METHOD_NOT_ALLOWED' } })
  expect((await ask('notes/7', { method: 'PUT' })).headers.get('allow')).toBe('GET, DELETE')
  const { paths } = (await server.ask('/openapi.json')).body as { paths: Record<string, Record<string, object>> }
  expect(paths['/threads/{thread}/api/notes/{id}']).toMatchObject({
    get: { 'x-scope': 'read', parameters: [{ name: 'thread' }, { name: 'id' }] },
    delete: { 'x-scope': 'write' },
  })
  expect(paths['/threads/{thread}/api/notes/{id}/{rest}']).toBeDefined()
  // What the app itself answers is told to those who have a key; the rest is no secret.
  for (const key of ['', 'wrong']) {
    const { status, body } = await server.ask('/openapi.json', { key })
    expect([status, JSON.stringify(body).includes('/api/notes')]).toEqual([200, false])
    expect(body).toMatchObject({ paths: { '/threads/{thread}/messages': { post: {} } } })
  }
})

it('H2: an endpoint has the thread, the body and the query; it answers what it likes, and scopes and limits hold', async () => {
  const { ask, server, skein } = await open(
    [
      say('notes.post', {
        async run(request, thread) {
          const { text } = (await request.json()) as { text: string }
          await thread.kv.set('note', text)
          return new Response(`kept for ${new URL(request.url).searchParams.get('for')}`, { status: 201 })
        },
      }),
      say('decide.post', { scope: 'approve' }),
      say('broken', {
        run() {
          throw new Error('the secret is 42')
        },
      }),
    ],
    { maxBodyBytes: 1_000 },
  )
  const note = await ask('notes?for=ada', { body: { text: 'milk' } })
  expect(note).toMatchObject({ status: 201, body: 'kept for ada' })
  expect(await (await skein.threads.get('one')).kv.get('note')).toBe('milk')
  expect(await ask('notes', { body: { text: 'x' }, key: keys.reader })).toMatchObject({ status: 403 })
  expect(await ask('notes', { body: { text: 'x' }, key: '' })).toMatchObject({ status: 401 })
  expect(await ask('decide', { body: {}, key: keys.writer })).toMatchObject({ status: 403 })
  expect(await ask('decide', { body: {}, key: keys.approver })).toMatchObject({ status: 200 })
  expect(await ask('notes', { body: { text: 'x'.repeat(5_000) } })).toMatchObject({ status: 413 })
  const chunked = await fetch(`${server.url}/threads/one/api/notes`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys.admin}` },
    body: new Blob([JSON.stringify({ text: 'x'.repeat(5_000) })]).stream(),
    duplex: 'half',
  } as RequestInit)
  expect(chunked.status).toBe(413)
  const broken = await ask('broken')
  expect(broken).toMatchObject({ status: 500, body: { code: 'INTERNAL' } })
  expect(JSON.stringify(broken.body)).not.toContain('42')
  expect(await ask('nothing')).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })
  expect(await server.ask('/threads/none/api/notes')).toMatchObject({ status: 405 })
  expect(await server.ask('/threads/none/api/broken')).toMatchObject({ status: 404, body: { code: 'UNKNOWN_THREAD' } })
})

it('H2: the client asks endpoints; an app that is loaded again has its new ones at once', async () => {
  const { skein, server } = await open([say('notes/[id]')])
  const client = connect(server.url, { key: keys.admin })
  expect(await (await client.api('one', 'notes/a b')).json()).toMatchObject({ params: { id: 'a b' } })
  await expect(client.api('one', '../../health')).rejects.toMatchObject({ code: 'BAD_OPTION' })
  await skein.reload(app([say('tasks.post')]))
  await expect(client.api('one', 'notes/1')).rejects.toMatchObject({ data: { problem: 'NOT_FOUND', status: 404 } })
  expect(await (await client.api('one', 'tasks', { method: 'POST', body: {} })).json()).toMatchObject({ id: 'one' })
  expect((await client.definitions()).endpoints).toEqual([{ name: 'tasks.post' }])
  await client.close()
})
