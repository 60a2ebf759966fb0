/** H4: the handler below any path of an existing service, with each framework as it is installed. */
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve as serveHono } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { afterEach, expect, it } from 'vitest'
import { createHandler } from '../../../src/server.js'
import { createSkein, memory } from '../../../src/index.js'
import type { Skein } from '../../../src/index.js'
import { tinyApp } from '../../helpers/app.js'
import { asking, keyAuth } from '../../helpers/served.js'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function open(): Promise<Skein> {
  const skein = await createSkein({ app: tinyApp({ script: () => 'hello' }).app, backend: memory() })
  closing.push(() => skein.close())
  return skein
}

async function urlOf(server: Server): Promise<string> {
  await new Promise<void>((resolve) => {
    if (server.listening) resolve()
    else server.listen(0, '127.0.0.1', () => resolve())
  })
  closing.push(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Creates a thread, has it answer, follows its events, and asks for what is not there; the service's own route stays. */
async function works(base: string, own: string): Promise<boolean> {
  const { ask, stream } = asking(base)
  expect((await ask('/threads', { body: { agent: 'helper', id: 'one' } })).status).toBe(201)
  const answered = await ask('/threads/one/messages?wait=60000', { body: { text: 'hi' } })
  expect(answered.body).toMatchObject({ result: { text: 'hello' } })
  const seen: string[] = []
  for await (const { event } of await stream('/threads/one/events')) {
    seen.push(event)
    if (event === 'turn.ended') break
  }
  expect(seen).toContain('model.replied')
  await ask('/threads/one/files/a/b%20c.txt', {
    method: 'PUT',
    body: 'text',
    headers: { 'content-type': 'text/plain' },
  })
  expect((await ask('/threads/one/files/a/b%20c.txt')).body).toBe('text')
  expect(await ask('/nothing')).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } })
  expect((await ask('/threads', { method: 'PUT' })).status).toBe(405)
  expect(await (await fetch(own)).text()).toBe('own')
  return true
}

it('H4: Express 5', async () => {
  const handler = createHandler(await open(), { auth: keyAuth })
  const app = express()
  app.get('/own', (_request, response) => void response.send('own'))
  app.use('/api/skein', (request, response) => void handler.node(request, response))
  const url = await urlOf(createServer(app))
  expect(await works(`${url}/api/skein`, `${url}/own`)).toBe(true)
})

it('H4: Express 5, behind its own JSON parser', async () => {
  const handler = createHandler(await open(), { auth: keyAuth })
  const app = express()
  app.use(express.json())
  app.get('/own', (_request, response) => void response.send('own'))
  app.use('/api/skein', (request, response) => void handler.node(request, response))
  const url = await urlOf(createServer(app))
  expect(await works(`${url}/api/skein`, `${url}/own`)).toBe(true)
})

it('H4: Fastify 5', async () => {
  const handler = createHandler(await open(), { auth: keyAuth, basePath: '/api/skein' })
  const app = fastify()
  app.get('/own', () => 'own')
  app.register(async (scope) => {
    // Bodies stay as they came.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
    scope.all('/api/skein/*', async (request, reply) => {
      reply.hijack()
      await handler.node(request.raw, reply.raw)
    })
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  closing.push(async () => {
    handler.close()
    app.server.closeAllConnections()
    await app.close()
  })
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  expect(await works(`${url}/api/skein`, `${url}/own`)).toBe(true)
})

it('H4: Hono', async () => {
  const handler = createHandler(await open(), { auth: keyAuth })
  const app = new Hono().get('/own', (context) => context.text('own')).mount('/api/skein', handler.fetch)
  const server = serveHono({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
  if (!('closeAllConnections' in server)) throw new Error('not a server of HTTP/1')
  const url = await new Promise<string>((resolve) => {
    server.once('listening', () => resolve(urlOf(server)))
  })
  expect(await works(`${url}/api/skein`, `${url}/own`)).toBe(true)
})

it('H4: route handlers that get a whole request, as those of Next.js', async () => {
  const handler = createHandler(await open(), { auth: keyAuth, basePath: '/api/skein' })
  // app/api/skein/[...path]/route.ts exports these.
  const route = {
    GET: handler.fetch,
    POST: handler.fetch,
    PUT: handler.fetch,
    DELETE: handler.fetch,
    PATCH: handler.fetch,
  }
  const own = new Hono().get('/own', (context) => context.text('own'))
  const app = new Hono()
    .all('/api/skein/*', ({ req }) => {
      const serveRoute = Object.entries(route).find(([method]) => method === req.method)?.[1] ?? handler.fetch
      return serveRoute(req.raw)
    })
    .route('/', own)
  const server = serveHono({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
  if (!('closeAllConnections' in server)) throw new Error('not a server of HTTP/1')
  const url = await new Promise<string>((resolve) => {
    server.once('listening', () => resolve(urlOf(server)))
  })
  expect(await works(`${url}/api/skein`, `${url}/own`)).toBe(true)
})

it('H4: plain node:http; two skeins in one process have nothing in common', async () => {
  const first = createHandler(await open(), { auth: keyAuth, basePath: '/a' })
  const second = createHandler(await open(), { auth: keyAuth, basePath: '/b' })
  const server = createServer((request, response) => {
    if (request.url === '/own') return void response.end('own')
    void (request.url?.startsWith('/a/') ? first : second).node(request, response)
  })
  const url = await urlOf(server)
  expect(await works(`${url}/a`, `${url}/own`)).toBe(true)
  expect((await asking(`${url}/b`).ask('/threads')).body).toEqual({ threads: [] })
  expect(await works(`${url}/b`, `${url}/own`)).toBe(true)
})

it('H4: a handler that is closed ends its streams and refuses requests; turns go on', async () => {
  const skein = await open()
  const handler = createHandler(skein, { auth: keyAuth })
  const url = await urlOf(createServer((request, response) => void handler.node(request, response)))
  const { ask, stream } = asking(url)
  await ask('/threads', { body: { agent: 'helper', id: 'one' } })
  const events = await stream('/threads/one/events')
  await events.next()
  handler.close()
  for await (const _ of events) {
    // What was sent before.
  }
  expect((await ask('/threads')).status).toBe(503)
  const thread = await skein.threads.get('one')
  expect(await thread.send('hi').text()).toBe('hello')
})
