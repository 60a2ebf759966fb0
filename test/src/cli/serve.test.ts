/** `skein serve`: a host that answers HTTP, and the keys that it asks for. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { startCollector, treeOf } from '../../helpers/collector.js'
import { asking } from '../../helpers/served.js'
import { app, objects, place } from './binary.js'

const urlIn = (text: string): string => /http:\/\/[\d.:]+/.exec(text)?.[0] ?? ''

it('C1, H1: serve answers HTTP with the keys of the environment; SIGTERM ends streams and hands over', async () => {
  const { start } = place()
  const observed = ['--metrics', '--log-json']
  const server = start(
    ['serve', app, '--port', '0', '--json', '--key-env', 'ADMIN_KEY', '--key-env', 'READ_KEY=read', ...observed],
    { env: { ADMIN_KEY: 'key-a', READ_KEY: 'key-r' } },
  )
  let said = ''
  server.child.stdout?.on('data', (text: string) => (said += text))
  await server.says('"type":"listening"')
  const { ask, stream } = asking(urlIn(said))
  expect((await ask('/ready', { key: '' })).status).toBe(200)
  expect((await ask('/threads', { key: 'key-x' })).status).toBe(401)
  const body = { agent: 'echo', id: 'one' }
  expect((await ask('/threads', { key: 'key-r', body })).status).toBe(403)
  expect((await ask('/threads', { key: 'key-a', body })).status).toBe(201)
  expect((await ask('/threads/one/messages?wait=60000', { key: 'key-a', body: { text: 'hi' } })).body).toMatchObject({
    result: { text: 'you said: hi' },
  })
  expect(String((await ask('/metrics', { key: 'key-r' })).body)).toContain('skein_turns_total{agent="echo"')
  const events = await stream('/trees/one/events', { key: 'key-r' })
  await events.next()
  server.child.kill('SIGTERM')
  for await (const _ of events) continue
  const { code, stdout, stderr } = await server.ended
  expect(code).toBe(143)
  expect(objects(stderr)).toContainEqual(
    expect.objectContaining({ level: 'info', msg: 'turn of echo: completed', thread: 'one' }),
  )
  expect(objects(stdout).map(({ type }) => type)).toEqual([
    'serving',
    'listening',
    'turn',
    'closing',
    'stopping',
    'stopped',
  ])
})

it('C1, H3: serve says who may use it before it opens anything; keys new makes an entry for its file', async () => {
  const { skein, startHere, folder } = place()
  const refused = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await skein(['serve', app, '--port', '0', ...args])
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    return stderr
  }
  expect(await refused()).toContain('say who may use it: --key-env NAME')
  expect(await refused('--key-env', 'NOTHING')).toContain('--key-env NOTHING: the environment has no variable')
  expect(await refused('--no-auth', '--key-env', 'NOTHING')).toContain('--no-auth asks nobody')
  expect(await refused('--no-auth', '--host', '0.0.0.0')).toContain('0.0.0.0 can be reached from other machines')
  expect(await refused('--port', 'x', '--no-auth')).toContain('a port is a number')
  const file = join(folder, 'keys.json')
  writeFileSync(file, '{ "keys": [{ "name": "ada" }] }')
  expect(await refused('--keys', file)).toContain('sha256')

  expect(await refused('--no-auth', '--public-url', 'example.com')).toContain('--public-url example.com: it looks like')

  const bound = await skein(['keys', 'new', 'eve', '--tag', 'shop', '--root', 't1', 't2', '--json'])
  expect(objects(bound.stdout)[0]?.['entry']).toMatchObject({ name: 'eve', tags: ['shop'], roots: ['t1', 't2'] })
  const made = await skein(['keys', 'new', 'ada', '--scope', 'write', 'approve', '--json'])
  const [{ key, entry } = {}] = objects(made.stdout)
  expect(entry).toMatchObject({ name: 'ada', scopes: ['write', 'approve'] })
  expect(JSON.stringify(entry)).not.toContain(String(key))
  writeFileSync(file, JSON.stringify({ keys: [entry] }))
  const server = startHere(['serve', app, '--port', '0', '--keys', file, '--json'])
  await server.says('"type":"listening"')
  server.signal('SIGINT')
  const { code, stdout } = await server.ended
  expect(code).toBe(130)
  expect(stdout).not.toContain(String(key))
})

it('C1, O1: with --log-json all lines of serve are JSON, one for each turn; cards have the public address', async () => {
  const { startHere } = place()
  const args = ['serve', app, '--port', '0', '--no-auth', '--log-json', '--public-url', 'https://example.com/skein/']
  const server = startHere(args)
  await server.says('"type":"listening"')
  const { ask } = asking(urlIn(server.output()))
  await ask('/threads', { body: { agent: 'echo', id: 'one' } })
  await ask('/threads/one/messages?wait=60000', { body: { text: 'hi' } })
  const { body } = await ask('/a2a/echo/.well-known/agent-card.json')
  expect(JSON.stringify(body)).toContain('"https://example.com/skein/a2a/echo"')
  server.signal('SIGINT')
  const { stdout, stderr } = await server.ended
  const lines = [...objects(stdout), ...objects(stderr)]
  expect(lines.filter((line) => JSON.stringify(line).includes('completed'))).toHaveLength(1)
  expect(objects(stdout).map(({ type }) => type)).toEqual(['serving', 'listening', 'closing', 'stopping', 'stopped'])
})

it('C1, O1: run --otlp sends the trace of its turn to a collector; env takes the standard variables', async () => {
  const sink = await startCollector()
  onTestFinished(() => sink.close())
  const { skein } = place()
  const { code } = await skein(['run', app, '--agent', 'echo', '--otlp', sink.url, 'hi'])
  expect([code, treeOf(sink.spans)]).toEqual([0, ['invoke_agent echo', '  chat echo']])
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: sink.url }
  expect((await skein(['run', app, '--agent', 'echo', '--otlp', 'env', 'hi'], { env })).code).toBe(0)
  expect(sink.spans).toHaveLength(4)
  const { code: refused, stderr } = await skein(['run', app, '--agent', 'echo', '--otlp', 'nowhere', 'hi'])
  expect([refused, stderr]).toEqual([4, expect.stringContaining('url')])
})
