/** MCP servers over streamable HTTP, of both ages of the protocol. */
import { afterEach, expect, it } from 'vitest'
import { SkeinError } from '../../../src/core/failure.js'
import { connectMcp } from '../../../src/mcp/connect.js'
import type { ConnectedMcp } from '../../../src/mcp/connect.js'
import { fromMcp } from '../../../src/tools/foreign/from-tools.js'
import { runBody } from '../tools/fixtures/body.js'
import { startEndpoint } from './fixtures/mcp-endpoint.js'
import type { Endpoint } from './fixtures/mcp-endpoint.js'

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function start(...given: Parameters<typeof startEndpoint>): Promise<Endpoint> {
  const endpoint = await startEndpoint(...given)
  ends.push(() => endpoint.stop())
  return endpoint
}

async function connect({ url }: Endpoint, headers: Readonly<Record<string, string>> = {}): Promise<ConnectedMcp> {
  const connected = await connectMcp([fromMcp({ name: 'web', url, headers })])
  ends.push(() => connected.close())
  return connected
}

const greet = async ({ tools: [tool] }: ConnectedMcp) => (await runBody(tool)).outcome
const hello = { ok: true, value: 'hello' }

it.each(['sessions', 'modern'] as const)(
  'D9: tools of an endpoint (%s) are listed and called, with the headers',
  async (kind) => {
    const endpoint = await start(kind)
    const connected = await connect(endpoint, { authorization: 'Bearer x' })
    expect(connected.tools).toMatchObject([
      { name: 'greet', sideEffect: false },
      { name: 'wait', sideEffect: true, commutes: true },
    ])
    expect(await greet(connected)).toEqual(hello)
    expect(endpoint.heard.filter(({ headers }) => headers['authorization'] !== 'Bearer x')).toEqual([])
  },
)

it('a session is told that it is over', async () => {
  const endpoint = await start('sessions')
  const connected = await connect(endpoint)
  await connected.close()
  expect(endpoint.heard.at(-1)?.method).toBe('DELETE')
})

it('a server that forgot the session is asked again in a new one', async () => {
  const endpoint = await start('sessions')
  const connected = await connect(endpoint)
  endpoint.forgetSessions()
  expect(await greet(connected)).toEqual(hello)
})

it('an answer that breaks off is an error result; calls go on when the server is back', async () => {
  const endpoint = await start('sessions')
  const connected = await connect(endpoint)
  const ran = await runBody(connected.tools[1], {}, { progress: () => void endpoint.stop() })
  expect(ran.outcome).toMatchObject({
    ok: false,
    failure: {
      code: 'TOOL_FAILED',
      message: expect.stringMatching(
        /^the connection to the MCP server web was lost in the middle of wait: the answer broke off/,
      ),
    },
  })
  expect(await greet(connected)).toMatchObject({
    ok: false,
    failure: {
      code: 'TOOL_FAILED',
      retry: true,
      message: expect.stringMatching(/^the MCP server web could not be connected: .*ECONNREFUSED/),
    },
  })
  await start('sessions', endpoint.port)
  expect(await greet(connected)).toEqual(hello)
})

it('D9: an abort ends a call that is under way, and only that', async () => {
  const connected = await connect(await start('sessions'))
  const stop = new AbortController()
  const ran = await runBody(
    connected.tools[1],
    {},
    { signal: stop.signal, progress: () => stop.abort(new SkeinError('CANCELLED', 'enough')) },
  )
  expect(ran.outcome).toMatchObject({ ok: false, failure: { code: 'CANCELLED' } })
  expect(await greet(connected)).toEqual(hello)
})

it('an endpoint that is not there is named', async () => {
  const { url, stop } = await startEndpoint('modern')
  await stop()
  const attempt = connectMcp([fromMcp({ name: 'web', url, headers: { authorization: 'Bearer x' } })])
  await expect(attempt).rejects.toMatchObject({ code: 'APP_NOT_LOADED' })
  await expect(attempt).rejects.toThrow(`the MCP server "web" at ${url} could not be connected`)
  await expect(attempt).rejects.not.toThrow('Bearer')
})
