/**
 * H1, H3: hostile values on every route, made from the table. No answer is a fault of the server, none hangs, and what
 * was refused has changed nothing.
 */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { currentPage } from '../../../scripts/http-routes.js'
import { routes } from '../../../src/http/table.js'
import type { Route } from '../../../src/http/route.js'
import { createSkein, memory } from '../../../src/index.js'
import type { Skein } from '../../../src/index.js'
import { looseTool, tinyApp } from '../../helpers/app.js'
import { keys, served } from '../../helpers/served.js'
import type { Served } from '../../helpers/served.js'
import { seededRandom } from '../../../src/sim/seeded-random.js'
import { times } from '../../helpers/soak.js'

const hostile: readonly string[] = [
  '',
  '..',
  '%2e%2e',
  '%2e%2e%2f',
  '%00',
  '%',
  '%ff',
  '%c0%ae',
  '__proto__',
  'constructor',
  'a'.repeat(5_000),
  '-1',
  '1e999',
  'NaN',
  '%F0%9F%92%A5',
  "'; drop table threads; --",
  '%0d%0aset-cookie: a=b',
  'one',
  'call_1_0',
  'missing',
]
const bodies: readonly unknown[] = [
  undefined,
  '',
  '{',
  'null',
  '[]',
  '"text"',
  '{"__proto__": {"admin": true}}',
  '{"agent": "helper", "id": "../x"}',
  '{"text": 5}',
  '{"text": "x", "id": "step_1"}',
  '{"amounts": {"tokens": -1}}',
  '{"amounts": {"tokens": 1e400}}',
  `{"text": ${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
  `{"value": "${'x'.repeat(100_000)}"}`,
  '{"output": {"a": 1}}',
  '{"tool": "__proto__"}',
  '{"tool": "look", "args": {"a": null}}',
  '{"TOKEN": "short"}',
  '{"text": "\\u0000\\ud800"}',
  Buffer.from([0xff, 0xfe, 0x00]).toString('latin1'),
]
const headers: readonly Readonly<Record<string, string>>[] = [
  {},
  { 'content-type': 'application/json' },
  { 'content-type': 'text/plain' },
  { 'content-type': 'application/json', 'last-event-id': 'x;y' },
  { range: 'bytes=9-1' },
  { 'idempotency-key': '../../x' },
]

let skein: Skein
let server: Served

beforeAll(async () => {
  const { app } = tinyApp({ tools: [looseTool('look', () => 'seen')], script: () => 'hello' })
  skein = await createSkein({ app, backend: memory(), warn: () => undefined })
  server = await served(skein, { maxBodyBytes: 65_536 })
  await server.ask('/threads', { body: { agent: 'helper', id: 'one' } })
})
afterAll(async () => {
  await server.close()
  await skein.close()
})

type Pick = <Value>(values: readonly Value[]) => Value

/** A request of a route with some of its parts replaced by hostile ones. */
function requestOf(each: Route, pick: Pick): { readonly path: string; readonly init: RequestInit } {
  const usual = (name: string): string => (name === 'thread' ? 'one' : 'x')
  const part = (name: string): string => (pick([true, false]) ? pick(hostile) : usual(name))
  const path = each.path.replaceAll(/\{(\w+)\*?\}/g, (_, name: string) => part(name === 'root' ? 'thread' : name))
  const fields = [...Object.keys(each.query), 'surplus'].filter(() => pick([true, false]))
  const query = fields.map((name) => `${name}=${pick(hostile)}`).join('&')
  const body = each.method === 'get' ? undefined : pick(bodies)
  const key = pick([...Object.values(keys), 'wrong', 'skt_x.y'])
  return {
    path: `${path}${query === '' ? '' : `?${query}`}`,
    init: {
      method: each.method.toUpperCase(),
      headers: { authorization: `Bearer ${key}`, ...pick(headers) },
      ...(body !== undefined && { body: String(body) }),
    },
  }
}

/** Streams are asked and cut off: their answer does not end. Undefined: it hung. */
async function statusOf(path: string, init: RequestInit): Promise<number | undefined> {
  const cut = new AbortController()
  const timer = setTimeout(() => cut.abort('hung'), longestMs)
  try {
    const response = await fetch(`${server.url}${path}`, { ...init, signal: cut.signal })
    if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream')) await response.arrayBuffer()
    return response.status
  } catch (thrown) {
    if (thrown === 'hung') return undefined
    throw thrown
  } finally {
    clearTimeout(timer)
    cut.abort()
  }
}

const longestMs = 30_000

/** What is wrong with answers, and how often each status came. */
class Findings {
  readonly wrong: string[] = []
  readonly statuses = new Map<number, number>()
  asked = 0

  add({ path, init }: ReturnType<typeof requestOf>, status: number | undefined): void {
    this.asked++
    if (status !== undefined) this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    if (status === undefined || status >= 500) this.blame(`${status ?? 'hung'}`, { path, init })
  }

  blame(what: string, { path, init }: ReturnType<typeof requestOf>): void {
    this.wrong.push(`${what} ${init.method ?? ''} ${path.slice(0, 200)} ${String(init.body).slice(0, 80)}`)
  }
}

/** All that threads have, when none is at work. */
async function restingDigest(): Promise<string> {
  for (;;) {
    const { threads } = await skein.threads.list()
    if (threads.every(({ rest }) => rest)) return JSON.stringify(threads.map(({ thread, seq }) => [thread, seq]))
    await new Promise((resolve) => setImmediate(resolve))
  }
}

async function askOneByOne(asked: readonly ReturnType<typeof requestOf>[], findings: Findings): Promise<void> {
  for (const request of asked) {
    const before = await restingDigest()
    const status = await statusOf(request.path, request.init)
    findings.add(request, status)
    if (status !== undefined && status >= 400 && (await restingDigest()) !== before)
      findings.blame(`${status}, and something has changed:`, request)
  }
}

it('H1, H3: whatever is sent to any route, the server answers, and no answer is a fault of its own', async () => {
  const random = seededRandom(times(20_261_117, Date.now() % 1e9))
  const pick: Pick = (values) => {
    const [value] = values.slice(random.between(0, values.length - 1))
    return value as (typeof values)[number]
  }
  const findings = new Findings()
  for (let round = 0; round < times(30, 800); round++) {
    // One of the requests may have deleted it.
    await server.ask('/threads', { body: { agent: 'helper', id: 'one' } })
    const asked = routes
      // To wait for an answer is what these are for; and everybody may ask for health.
      .filter(({ scope }) => scope !== undefined)
      .map((each) => requestOf(each, pick))
      .filter(({ path }) => !path.includes('wait='))
    if (round % 10 === 9) await askOneByOne(asked, findings)
    else
      await Promise.all(asked.map(async (request) => findings.add(request, await statusOf(request.path, request.init))))
  }
  if (times(0, 1) === 1) console.log(`${findings.asked} requests, by status:`, Object.fromEntries(findings.statuses))
  expect(findings.wrong).toEqual([])
  // It met refusals of every kind, and things that worked.
  expect([...findings.statuses.keys()]).toEqual(expect.arrayContaining([200, 400, 401, 403, 404]))
  expect((await server.ask('/health')).status).toBe(200)
})

it('H1: a refused request has changed nothing', async () => {
  const digest = async (): Promise<string> =>
    JSON.stringify([await skein.threads.list(), await (await skein.threads.get('one')).kv.list()])
  await server.ask('/threads', { body: { agent: 'helper', id: 'one' } })
  const before = await digest()
  for (const each of routes.filter(({ method }) => method !== 'get')) {
    const path = each.path.replaceAll(/\{(\w+)\*?\}/g, (_, name: string) => (name === 'thread' ? 'one' : 'x'))
    for (const key of [keys.reader, 'wrong']) {
      const { status } = await server.ask(path, {
        method: each.method.toUpperCase(),
        key,
        body: { value: 1, text: 'x' },
      })
      // What is read with POST is refused for its body.
      expect(each.scope === 'read' ? [400, 401] : [401, 403], `${each.method} ${path}`).toContain(status)
    }
  }
  expect(await digest()).toBe(before)
})

it('H1: the OpenAPI document has every route with its scope, and its examples of input are those of the schemas', async () => {
  const { body } = await server.ask('/openapi.json')
  const { openapi, paths } = body as { openapi: string; paths: Record<string, Record<string, { operationId: string }>> }
  expect(openapi).toBe('3.1.0')
  const ids = Object.values(paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId))
  expect(ids.toSorted()).toEqual(routes.map(({ name }) => name).toSorted())
  expect(new Set(ids).size).toBe(ids.length)
})

it('H1: the page of the routes is made from the table', () => {
  const page = readFileSync(new URL('../../../docs/http.md', import.meta.url), 'utf8')
  expect(currentPage(page), 'npm run http-routes').toBe(page)
})
