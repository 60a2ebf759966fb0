/** Servers that others wrote, as they come: the reference servers of the protocol. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApp } from '../../../src/agent/app.js'
import { SkeinError } from '../../../src/core/failure.js'
import { isObject } from '../../../src/core/json.js'
import { connectMcp } from '../../../src/mcp/connect.js'
import type { ConnectedMcp } from '../../../src/mcp/connect.js'
import { fromMcp } from '../../../src/tools/foreign/from-tools.js'
import { runBody } from '../tools/fixtures/body.js'
import type { Ran } from '../tools/fixtures/body.js'

const { resolve } = createRequire(import.meta.url)
const everything = resolve('@modelcontextprotocol/server-everything/dist/index.js')
const filesystem = resolve('@modelcontextprotocol/server-filesystem/dist/index.js')

const call = ({ tools }: ConnectedMcp, name: string, args: unknown = {}): Promise<Ran> =>
  runBody(
    tools.find((tool) => tool.name === name),
    args,
  )

describe('server-everything', () => {
  let connected: ConnectedMcp
  beforeAll(async () => {
    connected = await connectMcp([fromMcp({ name: 'everything', command: process.execPath, args: [everything] })])
  })
  afterAll(() => connected.close())

  it('D9: args are checked and repaired before the server hears of them', async () => {
    expect((await call(connected, 'get-sum', { a: '2', b: 3 })).outcome).toEqual({
      ok: true,
      value: 'The sum of 2 and 3 is 5.',
    })
    expect((await call(connected, 'get-sum', { a: 2 })).outcome).toMatchObject({
      ok: false,
      failure: { code: 'TOOL_INPUT_INVALID', data: { fields: [{ path: 'b' }] } },
    })
    expect(createApp(connected.tools, 'the test').parameters.get('echo')).toEqual({
      type: 'object',
      properties: { message: { type: 'string', description: 'Message to echo' } },
      required: ['message'],
    })
  })

  it('D9: structured content, images and resources', async () => {
    expect((await call(connected, 'get-structured-content', { location: 'New York' })).outcome).toMatchObject({
      ok: true,
      value: { conditions: expect.any(String), humidity: expect.any(Number) },
    })
    const image = await call(connected, 'get-tiny-image')
    expect(image.outcome).toMatchObject({
      value: {
        content: [
          { type: 'text' },
          { type: 'image', mimeType: 'image/png', bytes: expect.any(Number), data: expect.stringMatching(/^iVBOR/) },
          { type: 'text' },
        ],
      },
    })
    expect(image.text).toMatch(/\n\[image image\/png, \d+ bytes, not shown\]\n/)
    expect((await call(connected, 'get-resource-links', { count: 2 })).text).toMatch(/\[resource_link .*demo:/)
  })

  it('D9: progress of a long call, and its abort', async () => {
    const stop = new AbortController()
    const tool = connected.tools.find(({ name }) => name === 'trigger-long-running-operation')
    const ran = await runBody(
      tool,
      { duration: 60, steps: 6000 },
      { signal: stop.signal, progress: () => stop.abort(new SkeinError('CANCELLED', 'enough')) },
    )
    expect(ran).toMatchObject({
      outcome: { ok: false, failure: { code: 'CANCELLED' } },
      progress: [{ progress: 1, total: 6000 }],
    })
  })
})

describe('server-filesystem', () => {
  let folder: string
  let connected: ConnectedMcp
  beforeAll(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'skein-mcp-')))
    connected = await connectMcp([
      fromMcp({ name: 'files', command: process.execPath, args: [filesystem, folder] }, { prefix: 'fs_' }),
    ])
  })
  afterAll(async () => {
    await connected.close()
    await rm(folder, { recursive: true })
  })

  it('D9: it writes and reads, and its hints are believed', async () => {
    const path = join(folder, 'a.txt')
    expect((await call(connected, 'fs_write_file', { path, content: 'hello' })).outcome).toMatchObject({ ok: true })
    expect(await readFile(path, 'utf8')).toBe('hello')
    expect((await call(connected, 'fs_read_text_file', { path })).outcome).toEqual({
      ok: true,
      value: { content: 'hello' },
    })
    const effects = Object.fromEntries(
      connected.tools.map(({ name, sideEffect, idempotent }) => [name, [sideEffect, idempotent]]),
    )
    expect(effects).toMatchObject({
      fs_read_text_file: [false, undefined],
      fs_write_file: [true, true],
      fs_edit_file: [true, undefined],
    })
  })

  it('what it refuses is an error result', async () => {
    expect((await call(connected, 'fs_read_text_file', { path: '/etc/passwd' })).outcome).toMatchObject({
      ok: false,
      failure: { code: 'TOOL_FAILED', message: expect.stringMatching(/denied/i) },
    })
  })

  it('an image inside structured content is kept once, and not read by the model', async () => {
    const path = join(folder, 'a.png')
    const bytes = Buffer.alloc(30_000, 7)
    await writeFile(path, bytes)
    const ran = await call(connected, 'fs_read_media_file', { path })
    const stored = JSON.stringify(ran.outcome)
    expect(stored.split(bytes.toString('base64'))).toHaveLength(2)
    expect(ran.text).toContain('image/png, 30000 bytes, not shown')
    expect(ran.text?.length).toBeLessThan(500)
  })
})

describe('server-everything over HTTP', () => {
  it('D9: it is called, and again after it was started anew', async () => {
    const port = await freePort()
    let server = await startEverything(port)
    const connected = await connectMcp([
      fromMcp({ name: 'everything', url: `http://127.0.0.1:${port}/mcp` }, { tools: ['echo'] }),
    ])
    try {
      expect((await call(connected, 'echo', { message: 'hi' })).outcome).toEqual({ ok: true, value: 'Echo: hi' })
      await server.stop()
      server = await startEverything(port)
      const lost = await call(connected, 'echo', { message: 'hi' })
      expect(lost.outcome).toMatchObject({ ok: false, failure: { code: 'TOOL_FAILED', retry: true } })
      expect((await call(connected, 'echo', { message: 'again' })).outcome).toEqual({ ok: true, value: 'Echo: again' })
    } finally {
      await connected.close()
      await server.stop()
    }
  })
})

async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return isObject(address) ? Number(address['port']) : 0
}

async function startEverything(port: number): Promise<{ stop(): Promise<void> }> {
  const child = spawn(process.execPath, [everything, 'streamableHttp'], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  for await (const chunk of child.stderr) {
    said += String(chunk)
    if (said.includes('listening')) break
  }
  if (!said.includes('listening')) throw new Error(`server-everything did not start: ${said}`)
  const exited = once(child, 'exit')
  return {
    async stop() {
      child.kill('SIGKILL')
      await exited
    },
  }
}
