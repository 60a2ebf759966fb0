/** `skein mcp`: the real process and the official client. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, it, onTestFinished } from 'vitest'
import { deferred } from '../../helpers/deferred.js'
import { app, binary, fixture, place } from './binary.js'

interface Connected {
  readonly client: Client
  readonly pid: () => number
  readonly stderr: () => string
}

async function connected(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<Connected> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [binary, 'mcp', ...args],
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stderr: 'pipe',
  })
  let stderr = ''
  transport.stderr?.on('data', (text: Buffer) => (stderr += text.toString()))
  const client = new Client({ name: 'test', version: '1' })
  // What is no message of the protocol is an error of the transport.
  const errors: Error[] = []
  Object.assign(client, { onerror: (error: Error) => errors.push(error) })
  onTestFinished(async () => {
    await client.close()
    expect(errors).toEqual([])
  })
  await client.connect(transport)
  return { client, pid: () => transport.pid ?? 0, stderr: () => stderr }
}

it('E5: mcp is a host for its client; stdout has the protocol alone; kill -9 in a call loses nothing', async () => {
  const { env, folder } = place()
  const gate = join(folder, 'gate')
  const settings = { ...env, NODE_GATE_FILE: gate }
  const first = await connected(settings, fixture('prints'))
  expect((await first.client.listTools()).tools.map(({ name }) => name)).toContain('ask_echo')
  const said = await first.client.callTool({ name: 'ask_echo', arguments: { message: 'hi' } })
  expect(said.content).toEqual([{ type: 'text', text: 'you said: hi' }])
  expect(first.stderr()).toContain('the app is loaded')
  const seen = deferred<void>()
  const asked = first.client
    .callTool({ name: 'ask_gated', arguments: { message: 'go', id: 'm1' } }, { onprogress: () => seen.resolve() })
    .catch((thrown: unknown) => thrown)
  await seen.promise
  process.kill(first.pid(), 'SIGKILL')
  expect(await asked).toBeInstanceOf(Error)

  writeFileSync(gate, '')
  const second = await connected(settings, fixture('prints'))
  const again = await second.client.callTool({ name: 'ask_gated', arguments: { message: 'go', id: 'm1' } })
  expect(again.content).toEqual([{ type: 'text', text: 'through the gate' }])
  const { structuredContent } = await second.client.callTool({ name: 'list_threads', arguments: { agent: 'gated' } })
  expect(structuredContent).toMatchObject({ threads: [{ agent: 'gated' }] })
  expect(structuredContent).not.toMatchObject({ threads: [{}, {}] })
})

it('C1, E5: mcp says what is wrong on stderr, and ends with its client', async () => {
  const { skein, folder } = place()
  const refused = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await skein(['mcp', ...args])
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    return stderr
  }
  expect(await refused(join(folder, 'none.ts'))).toContain('none.ts')
  expect(await refused(app, '--url', 'http://127.0.0.1:1')).toContain('which has an app of its own')
  expect(await refused('--url', 'nonsense')).toContain('--url nonsense is no address of a server')
  expect(await refused('--env', 'A=1')).toContain('are for an app; name one')
  expect(await refused(app, '--nonsense')).toContain('--nonsense')
  expect(await refused()).toContain('there is no Skein store')
  expect(await skein(['mcp', app])).toMatchObject({ code: 0, stdout: '', stderr: '' })
  const alone = await skein(['mcp'])
  expect(alone).toMatchObject({ code: 0, stdout: '' })
  expect(alone.stderr).toMatch(/no host serves .*; start one: skein host '<app>'/)
})
