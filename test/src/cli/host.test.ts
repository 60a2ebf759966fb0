/** `skein host`, on a folder and on NATS, and the other commands as clients of it; `skein doctor`. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { startNats } from '../../helpers/nats-server.js'
import { app, objects, place } from './binary.js'

it('C1: host serves a folder until it is stopped, and says so', async () => {
  const { store, start } = place()
  const host = start(['host', app, '--json'])
  await host.says('"type":"serving"')
  host.child.kill('SIGINT')
  const { code, stdout, stderr } = await host.ended
  expect({ code, stderr }).toEqual({ code: 130, stderr: '' })
  expect(objects(stdout)).toEqual([
    expect.objectContaining({ type: 'serving', store, app: 'skein', held: 1, of: 1 }),
    { type: 'stopping' },
    { type: 'stopped' },
  ])
})

it('C1, N1: host joins a namespace on NATS; run and hosts are its clients, and without it run is a host itself', async () => {
  const server = await startNats({ sync: 'always' })
  const { skein, startHere } = place()
  const env = { SKEIN_NATS: server.url, SKEIN_NAMESPACE: 'cli', SKEIN_NATS_MONITOR: server.monitor }
  // Nobody has used the namespace yet.
  expect(await skein(['run', app, '--agent', 'echo', '--thread', 't1', 'alone'], { env })).toMatchObject({
    code: 0,
    stdout: 'you said: alone\n',
    stderr: expect.not.stringContaining('serves'),
  })
  const host = startHere(['host', app, '--app-version', '7.0.0'], { env })
  await host.says(`serving skein 7.0.0 from namespace cli on ${server.url} as `)
  await host.says('64 of 64 partitions')
  expect(await skein(['run', app, '--thread', 't1', 'two'], { env })).toMatchObject({
    code: 0,
    stdout: 'you said: two\n',
    stderr: expect.stringContaining(`another host serves namespace cli on ${server.url}; the turn runs there`),
  })
  await host.says('✓ t1 (echo) completed')
  expect(objects((await skein(['hosts', '--json'], { env })).stdout)).toEqual([
    {
      partitions: 64,
      hosts: [expect.objectContaining({ app: 'skein', appVersion: '7.0.0', awake: expect.any(Number) })],
    },
  ])
  await server.kill()
  await host.says('the server is lost')
  await server.start()
  await host.says('the server is back')
  host.signal('SIGTERM')
  expect(await host.ended).toMatchObject({ code: 143, stdout: expect.stringMatching(/stopped\n$/), stderr: '' })
  await server.remove()
})

it('C1: with SKEIN_DEBUG=1 host prints where a tool threw, and so does tail', async () => {
  const throwing = fileURLToPath(new URL('../runtime/fixtures/throwing-app.ts', import.meta.url))
  const line =
    readFileSync(throwing, 'utf8')
      .split('\n')
      .findIndex((text) => text.includes('// thrown here')) + 1
  const { skein, start, startHere } = place()
  const host = start(['host', throwing, '--env', 'TOKEN=carrier-token-12345'], { env: { SKEIN_DEBUG: '1' } })
  await host.says('serving')
  await skein(['create', 'shipper', '--thread', 'ships'])
  const tail = startHere(['tail', 'ships'])
  await tail.says('thread.created')
  for (const tool of ['ships', 'ships_here']) {
    expect(await skein(['run', throwing, '--agent', 'shipper', '--thread', tool, tool])).toMatchObject({
      code: 0,
      stdout: `${tool}: done\n`,
    })
  }
  await tail.says('turn.ended')
  tail.signal('SIGINT')
  expect((await tail.ended).stdout).toMatch(
    new RegExp(
      `^· ships: RangeError: parcel refused for \\[redacted\\]\n· {3}at ship \\(.*throwing-app\\.ts:${line}:`,
      'm',
    ),
  )
  host.child.kill('SIGINT')
  const { stderr } = await host.ended
  for (const tool of ['ships', 'ships_here']) {
    expect(stderr).toMatch(
      new RegExp(
        `skein: ${tool} threw in thread ${tool}: RangeError: parcel refused for \\[redacted\\]\n +at ship ` +
          `\\(.*throwing-app\\.ts:${line}:`,
      ),
    )
  }
})

it('C1: doctor gives a line for each finding, or an object, and exits 1 when something fails', async () => {
  const { skein } = place()
  const bad = await skein(['doctor', '--store', app])
  expect(bad).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      /^ok {4}node {7}Node [\d.]+\nfail {2}folder {5}.*app\.ts is a file → name a folder with --store\n/,
    ),
    stderr: '',
  })
  const good = await skein(['doctor', app, '--json'])
  expect(good).toMatchObject({ code: 0, stderr: '' })
  expect(objects(good.stdout).map(({ check }) => check)).toEqual(['node', 'folder', 'space', 'key', 'app', 'workers'])
})

it('C1: doctor gives every mistake of an app a line of its own', async () => {
  const { skein, folder } = place()
  const agents = join(folder, 'app/agents')
  mkdirSync(agents, { recursive: true })
  for (const name of ['one', 'two']) writeFileSync(join(agents, `${name}.md`), 'No front matter.\n')
  const { code, stdout } = await skein(['doctor', join(folder, 'app')])
  expect(code).toBe(1)
  expect(stdout).toMatch(
    /^fail {2}app {8}the folder .* has 2 mistakes:\n {17}- agents\/one\.md:1: .*\n {17}- agents\/two\.md:1: .*\n/m,
  )
})
