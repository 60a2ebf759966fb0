/** MCP servers as processes: what is carried over, what is hinted, and what happens when a server is not well. */
import { tmpdir } from 'node:os'
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { createApp } from '../../../src/agent/app.js'
import type { ToolDefinition } from '../../../src/agent/define.js'
import { SkeinError, isSkeinError } from '../../../src/core/failure.js'
import { isObject } from '../../../src/core/json.js'
import type { Json } from '../../../src/core/json.js'
import { checkArgs } from '../../../src/tools/args.js'
import { connectMcp } from '../../../src/mcp/connect.js'
import type { ConnectedMcp } from '../../../src/mcp/connect.js'
import { fromMcp } from '../../../src/tools/foreign/from-tools.js'
import type { McpOptions, McpProcess } from '../../../src/tools/foreign/from-tools.js'
import { until } from '../../helpers/deferred.js'
import { runBody } from '../tools/fixtures/body.js'

const file = fileURLToPath(new URL('./fixtures/mcp-server.mjs', import.meta.url))
const fixture = (life = 'plain', options?: McpOptions, more: Partial<McpProcess> = {}) =>
  fromMcp({ name: 'fixture', command: process.execPath, args: [file, life], ...more }, options)

const named = ({ tools }: ConnectedMcp, name: string): ToolDefinition | undefined =>
  tools.find((tool) => tool.name === name)

async function valueOf(
  connected: ConnectedMcp,
  name: string,
  args: unknown = {},
): Promise<Readonly<Record<string, unknown>>> {
  const { outcome } = await runBody(named(connected, name), args)
  if (!outcome.ok || !isObject(outcome.value)) throw new Error(`${name} gave ${JSON.stringify(outcome)}`)
  return outcome.value
}

const pidOf = async (connected: ConnectedMcp): Promise<number> => Number((await valueOf(connected, 'pid'))['pid'])

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (thrown) {
    return isObject(thrown) && thrown['code'] === 'EPERM'
  }
}

describe('a server that does what others do not', () => {
  let connected: ConnectedMcp
  beforeAll(async () => {
    vi.stubEnv('KEPT_FROM_SERVERS', 'a secret')
    connected = await connectMcp([fixture('plain', undefined, { env: { GIVEN: 'yes' }, cwd: tmpdir() })])
  })
  afterAll(async () => {
    vi.unstubAllEnvs()
    await connected.close()
  })

  it('D9: all pages of its tools are listed; those that only run as tasks are left out; an app takes them', () => {
    expect(connected.tools.map(({ name }) => name)).toEqual([
      'files_read_all',
      'broken',
      'mute',
      'status',
      'chart',
      'lies',
      'mixed',
      'pid',
      'die',
      'put',
      'env',
      'refused',
      'wait',
    ])
    expect(createApp(connected.tools, 'the test').parameters.get('pid')).toEqual({ type: 'object', properties: {} })
  })

  // Only root may become someone else, and only on Linux can it be seen like this.
  it.runIf(process.platform === 'linux' && process.getuid?.() === 0)(
    'D9: it runs as the user that it is given',
    async () => {
      const other = await connectMcp([fixture('plain', undefined, { uid: 12_345, gid: 23_456 })])
      try {
        const status = readFileSync(`/proc/${await pidOf(other)}/status`, 'utf8')
        expect(status).toMatch(/^Uid:\s+12345\s+12345/m)
        expect(status).toMatch(/^Gid:\s+23456\s+23456/m)
        expect(status).toMatch(/^Groups:\s*$/m)
      } finally {
        await other.close()
      }
    },
  )

  it('hints loosen what a foreign tool is taken for', () => {
    expect(named(connected, 'broken')).toMatchObject({
      sideEffect: true,
      commutes: true,
      where: 'host',
      description: 'does broken',
    })
    expect(named(connected, 'broken')).not.toHaveProperty('idempotent')
    expect(named(connected, 'pid')).toMatchObject({ sideEffect: false })
    expect(named(connected, 'put')).toMatchObject({ sideEffect: true, commutes: true, idempotent: true })
  })

  it('a name that cannot be one here is changed, the call goes to the tool all the same; texts are joined', async () => {
    expect(await runBody(named(connected, 'files_read_all'), { path: '/a' })).toMatchObject({
      outcome: { ok: true, value: 'one\ntwo /a' },
      text: 'one\ntwo /a',
    })
  })

  it('errors are results, and the model reads no bytes in them', async () => {
    expect((await runBody(named(connected, 'broken'))).outcome).toMatchObject({
      ok: false,
      failure: { code: 'TOOL_FAILED', message: 'no such row\n[image image/png, 7 bytes, not shown]' },
    })
    expect((await runBody(named(connected, 'mute'))).outcome).toMatchObject({
      ok: false,
      failure: { message: 'mute reported an error without saying which' },
    })
    expect((await runBody(named(connected, 'refused'))).outcome).toMatchObject({
      ok: false,
      failure: { code: 'TOOL_FAILED', message: 'the MCP server fixture could not do refused: not today' },
    })
    expect((await runBody(named(connected, 'lies'))).outcome).toMatchObject({
      ok: false,
      failure: { message: expect.stringContaining('does not match the tool') },
    })
  })

  it('structured content is the value, also when it looks like an error; what it does not hold is kept beside it', async () => {
    expect(await valueOf(connected, 'status')).toEqual({ status: 'error', detail: 'of the patient' })
    const data = Buffer.from('a pixel').toString('base64')
    const ran = await runBody(named(connected, 'chart'))
    expect(ran.outcome).toEqual({
      ok: true,
      value: {
        content: [
          { type: 'text', text: '{}' },
          { type: 'image', mimeType: 'image/png', data, bytes: 7 },
        ],
        structuredContent: { rows: 2 },
      },
    })
    expect(ran.text).not.toContain(data)
  })

  it('D9: audio, embedded resources and links are carried over, and told to the model in words', async () => {
    const blob = Buffer.from('a pixel').toString('base64')
    const ran = await runBody(named(connected, 'mixed'))
    expect(ran.outcome).toMatchObject({
      value: {
        content: [
          { type: 'text', text: 'all of it' },
          { type: 'audio', mimeType: 'audio/wav', data: blob, bytes: 7 },
          { type: 'resource', resource: { uri: 'mem://a', mimeType: 'application/zip', blob, bytes: 7 } },
          { type: 'resource', resource: { uri: 'mem://b', text: 'inside b' } },
          { type: 'resource_link', uri: 'mem://c', name: 'c' },
        ],
      },
    })
    expect(ran.text).toBe(
      'all of it\n[audio audio/wav, 7 bytes, not shown]\n[resource mem://a application/zip, 7 bytes, not ' +
        'shown]\ninside b\n[resource_link c mem://c]',
    )
  })

  it('a server gets the env and folder it was given, and not the host’s env', async () => {
    expect(await valueOf(connected, 'env')).toEqual({ given: 'yes', kept: null, cwd: realpathSync(tmpdir()) })
  })

  it('D9: progress is told, and an abort cancels the request at the server', async () => {
    const stop = new AbortController()
    const ran = await runBody(
      named(connected, 'wait'),
      {},
      { signal: stop.signal, progress: () => stop.abort(new SkeinError('CANCELLED', 'enough')) },
    )
    expect(ran).toMatchObject({
      outcome: { ok: false, failure: { code: 'CANCELLED', message: 'enough' } },
      progress: [{ progress: 1, total: 2, message: 'waiting' }],
    })
    await until('the server hears of the cancel', async () => (await valueOf(connected, 'pid'))['cancelled'] === 1)
  })

  it('a server that dies costs the calls under way an error; the next call starts it again', async () => {
    const before = await pidOf(connected)
    let waiting: () => void = () => undefined
    const begun = new Promise<void>((resolve) => {
      waiting = resolve
    })
    const other = runBody(named(connected, 'wait'), {}, { progress: () => waiting() })
    await begun
    expect((await runBody(named(connected, 'die'))).outcome).toMatchObject({
      ok: false,
      failure: {
        code: 'TOOL_FAILED',
        retry: false,
        message: expect.stringMatching(/lost in the middle of die: .*Whether it took effect is not known/),
      },
    })
    expect((await other).outcome).toMatchObject({ ok: false, failure: { code: 'TOOL_FAILED' } })
    expect(isAlive(before)).toBe(false)
    const [one, two] = await Promise.all([pidOf(connected), pidOf(connected)])
    expect([one === before, one === two]).toEqual([false, true])
    expect((await valueOf(connected, 'status'))['status']).toBe('error')
  })
})

describe('the life of a server', () => {
  const open: ConnectedMcp[] = []
  const connect = async (...given: Parameters<typeof connectMcp>): Promise<ConnectedMcp> => {
    const connected = await connectMcp(...given)
    open.push(connected)
    return connected
  }
  afterEach(async () => {
    await Promise.all(open.splice(0).map((connected) => connected.close()))
  })

  it('close ends the process; calls after it start nothing', async () => {
    const connected = await connect([fixture()])
    const pid = await pidOf(connected)
    await connected.close()
    expect(isAlive(pid)).toBe(false)
    expect((await runBody(named(connected, 'pid'))).outcome).toMatchObject({
      ok: false,
      failure: { code: 'TOOL_FAILED', message: expect.stringContaining('is closed') },
    })
    await connected.close()
  })

  it('close ends a process that does not want to end', async () => {
    const connected = await connect([fixture('deaf')])
    const pid = await pidOf(connected)
    await connected.close()
    expect(isAlive(pid)).toBe(false)
  })

  it('a server of the newest protocol only is understood', async () => {
    expect(await valueOf(await connect([fixture('modern')]), 'status')).toMatchObject({ status: 'error' })
  })

  it('one that does not come up is named, with its command and what it wrote', async () => {
    const attempt = connect([fixture('broken')])
    await expect(attempt).rejects.toMatchObject({ code: 'APP_NOT_LOADED' })
    await expect(attempt).rejects.toThrow(
      `the MCP server "fixture" (${process.execPath} ${file} broken) could not be connected: Connection ` +
        `closed\nIt wrote:\nthe key is missing`,
    )
    await expect(connect([fromMcp({ name: 'gone', command: '/no/such/program' })])).rejects.toThrow(
      'the MCP server "gone" (/no/such/program) could not be connected: spawn /no/such/program ENOENT',
    )
  })

  it('one that does not answer is given up in time, and the others with it; all that failed are named', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'skein-mcp-'))
    const keeping = (life: string) => ({
      ...fixture(life, undefined, { env: { PID_FILE: join(folder, life) } }),
      name: life,
    })
    const attempt = connect(['plain', 'silent', 'broken'].map(keeping), { timeoutMs: 1500 })
    const thrown: unknown = await attempt.catch((error: unknown) => error)
    expect(isSkeinError(thrown) && [thrown.code, /"silent".*timed out[\s\S]*"broken"/.test(thrown.message)]).toEqual([
      'APP_NOT_LOADED',
      true,
    ])
    expect(
      ['plain', 'silent', 'broken'].map((life) => isAlive(Number(readFileSync(join(folder, life), 'utf8')))),
    ).toEqual([false, false, false])
    rmSync(folder, { recursive: true })
  })

  it('connecting is given up when it is no longer wanted', async () => {
    const stop = new AbortController()
    const attempt = connect([fixture('silent')], { signal: stop.signal })
    stop.abort(new SkeinError('CANCELLED', 'never mind'))
    await expect(attempt).rejects.toMatchObject({ code: 'CANCELLED', message: 'never mind' })
  })
})

describe('what a caller says of a server', () => {
  it('D9: a definition is plain data, and starts nothing', () => {
    const definition = fromMcp({ name: 'x', command: '/no/such/program' }, { prefix: 'x_' })
    expect(definition).toEqual({ kind: 'mcp', name: 'x', command: '/no/such/program', options: { prefix: 'x_' } })
    expect(structuredClone(definition)).toEqual(definition)
  })

  it('D9: prefix, a choice of tools, and words over the hints', async () => {
    const connected = await connectMcp([
      fixture('plain', {
        prefix: '9 ',
        tools: ['pid', 'put'],
        timeoutMs: 7,
        byName: { pid: { sideEffect: true, commutes: false } },
      }),
    ])
    await connected.close()
    expect(connected.tools).toMatchObject([
      { name: 't_9_pid', sideEffect: true, commutes: false, timeoutMs: 7, where: 'host' },
      { name: 't_9_put', sideEffect: true, commutes: true, idempotent: true, timeoutMs: 7 },
    ])
  })

  it.each([
    [
      [fixture('plain', { tools: ['pid', 'pidd'] })],
      'BAD_OPTION',
      'the MCP server "fixture" has no tool "pidd"; there are: files.read all, broken',
    ],
    [
      [fixture('plain', { tools: ['pid'] }), { ...fixture('plain', { tools: ['pid'] }), name: 'twin' }],
      'DUPLICATE_NAME',
      'the MCP servers "fixture" and "twin" both have a tool "pid"; give one of them a prefix',
    ],
    [[fixture(), fixture()], 'DUPLICATE_NAME', 'there are two definitions of the MCP server "fixture"'],
    [[fromMcp({ name: 'x', url: 'ftp://x' })], 'BAD_OPTION', 'the MCP server "x" must have a name and either command'],
    [[fromMcp({ name: 'x', command: '' })], 'BAD_OPTION', 'the MCP server "x" must have'],
  ])('mistakes are told (%#)', async (definitions, code, message) => {
    const attempt = connectMcp(definitions)
    await expect(attempt).rejects.toMatchObject({ code })
    await expect(attempt).rejects.toThrow(message)
  })
})

describe('a hostile server', () => {
  it('D9: it does not take the place of a built-in tool; a prefix, a choice or the app’s own word helps', async () => {
    const attempt = connectMcp([fixture('hostile')])
    await expect(attempt).rejects.toMatchObject({ code: 'DUPLICATE_NAME' })
    await expect(attempt).rejects.toThrow(
      /"fixture" has tools with the names of built-in tools: "read", "bash".*prefix.*replaces: \["read"\]/,
    )
    for (const options of [{ prefix: 'x_' }, { tools: ['evil'] }, { replaces: ['read', 'bash'] }])
      await (await connectMcp([fixture('hostile', options)])).close()
  })

  it('patterns that never end and alternatives without number cost no more than others', async () => {
    const connected = await connectMcp([fixture('hostile', { prefix: 'x_' })])
    const hanging = { text: `${'a'.repeat(50)}!` }
    const checked = checkArgs('evil', named(connected, 'x_evil')?.args ?? z.never(), hanging)
    expect(checked).toMatchObject({
      ok: false,
      failure: { code: 'TOOL_INPUT_INVALID', message: expect.stringContaining('must match pattern') },
    })
    expect(checkArgs('evil', named(connected, 'x_evil')?.args ?? z.never(), { text: 'aaa' }).ok).toBe(true)
    let deep: Json = { n: 'x' }
    for (let level = 0; level < 100; level++) deep = { next: deep }
    expect(checkArgs('many', named(connected, 'x_many')?.args ?? z.never(), { tree: deep }).ok).toBe(false)
    for (const n of [1, { a: [] }])
      expect(checkArgs('round', named(connected, 'x_round')?.args ?? z.never(), { n }).ok).toBe(true)
    expect(await runBody(named(connected, 'x_evil'), { text: 'aaa' })).toMatchObject({
      outcome: { ok: false, failure: { code: 'TOOL_FAILED' } },
    })
    await connected.close()
  })

  it('a schema that is too large is refused with the names of its tool and server', async () => {
    await expect(connectMcp([fixture('huge')])).rejects.toThrow(
      /the tool "huge" of the MCP server "fixture" cannot be used: its schema .*Choose others/,
    )
  })
})
