/** C1, H1: commands as clients of a server: `--url` and `--key-env`. */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { keys, served } from '../../helpers/served.js'
import { fixture, objects, place } from './binary.js'

const env = { ADA: keys.admin, RITA: keys.reader }

async function opened() {
  const own = place()
  const host = await own.host(fixture('people'))
  const server = await served(host)
  onTestFinished(async () => {
    await server.close()
    await host.close()
  })
  const remote = (...args: readonly string[]) =>
    own.skein([...args, '--url', server.url, '--key-env', 'ADA', '--json'], { env })
  const waiting = await host.threads.create({ agent: 'clerk', id: 't1' })
  await waiting.send('go', { id: 'm1' }).accepted()
  await waiting.settled()
  return { ...own, host, url: server.url, remote }
}

/** Each with what it is called with; all but its times is the same through a server and on the store. */
const reading: Readonly<Record<string, readonly (readonly string[])[]>> = {
  ps: [[], ['--json']],
  tree: [['t1'], ['t1', '--json']],
  show: [['t1'], ['t1', '--json'], ['t1', '--context']],
  tail: [
    ['t1', '--no-follow'],
    ['t1', '--no-follow', '--json'],
  ],
  inbox: [['--thread', 't1']],
  dead: [[]],
  effects: [[], ['--json']],
  env: [['t1']],
  files: [
    ['ls', '-l', '-R', 't1', '/'],
    ['cat', 't1', '/d/a.txt'],
    ['cat', 't1', '/none'],
  ],
  export: [['t1']],
  timeline: [['t1'], ['t1', '--json']],
  diff: [
    ['t1@turn:m1', 't1'],
    ['t1@turn:m1', 't1', '--json'],
    ['t1@9', 't1'],
  ],
}
/** Commands that change a thread or serve others: other tests call them. */
const changing =
  'run chat create send approve deny answer cancel pause resume grant terminate delete hosts doctor mcp fork rewind'
/** What is about files of this machine, or is a server itself. */
const here = 'init host dev serve ui keys replay sim types backup experiment bench'

it('C1: every command works through a server, or is about this machine', async () => {
  const { skein } = place()
  const help = (await skein(['--help'])).stdout
  const names = [...help.slice(help.indexOf('Commands:')).matchAll(/^ {2}([a-z]+)\b/gm)].map(([, name = '']) => name)
  const known = [...Object.keys(reading), ...changing.split(' '), ...here.split(' ')]
  expect(names.filter((name) => name !== 'help').toSorted()).toEqual(known.toSorted())
})

it('C1, H1: through a server commands print what they print on the store, for people and for programs', async () => {
  const { skein, url, host } = await opened()
  const { files } = await host.threads.get('t1')
  await files.writeFile('/d/a.txt', 'A')
  await files.symlink('a.txt', '/d/link')
  const plain = (text: string) => text.replaceAll(/"exportedAt":\d+/g, '').replaceAll(/ --(url|store|key-env) \S+/g, '')
  for (const [name, all] of Object.entries(reading))
    for (const args of all) {
      const there = await skein([name, ...args, '--url', url, '--key-env', 'ADA'], { env })
      const near = await skein([name, ...args])
      expect([name, args, there.code, plain(there.stdout)]).toEqual([name, args, near.code, plain(near.stdout)])
    }
})

it('C1, H1: through a server a turn is begun and watched, files are copied both ways, and the server is examined', async () => {
  const { remote, skein, url, folder, host } = await opened()
  const on = ['--url', url, '--key-env', 'ADA']
  const ran = await skein(['run', 'hello', '--agent', 'writer', '--thread', 't2', ...on], { env })
  expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('5 & hello') })
  const sent = await skein(['send', 't2', 'again', '--wait', ...on], { env })
  expect(sent).toMatchObject({ code: 0, stdout: expect.stringContaining('5 & hello') })
  const waits = await skein(['run', 'go', '--agent', 'clerk', '--thread', 't3', ...on], { env })
  expect(waits.code).toBe(3)
  const [item] = await host.inbox.list({ thread: 't3' })
  expect(await skein(['approve', item?.id ?? '', '--wait', ...on], { env })).toMatchObject({ code: 0 })
  const chat = await skein(['chat', '--thread', 't2', ...on], { env, input: 'more\n' })
  expect(chat).toMatchObject({ code: 0, stdout: expect.stringContaining('5 & hello') })
  const file = join(folder, 'b.bin')
  writeFileSync(file, Buffer.from([0, 255, 1]), { mode: 0o640 })
  expect(
    (await remote('create', 'writer', '--thread', 't4', '--file', `/b.bin=${file}`, '--budget', 'tokens=9')).code,
  ).toBe(0)
  expect((await remote('files', 'push', 't4', file, '/x/c.bin')).code).toBe(0)
  expect((await remote('files', 'pull', 't4', '/', join(folder, 'out'))).code).toBe(0)
  expect([...readFileSync(join(folder, 'out', 'b.bin'))]).toEqual([0, 255, 1])
  expect(statSync(join(folder, 'out', 'x', 'c.bin')).mode & 0o777).toBe(0o640)
  expect((await remote('grant', 't4', '--tokens', '5')).code).toBe(0)
  expect(objects((await remote('doctor')).stdout)).toMatchObject([
    { check: 'server', level: 'ok' },
    { check: 'key', level: 'ok' },
  ])
  expect(objects((await remote('hosts')).stdout)).toMatchObject([{ partitions: 1, hosts: [{}] }])
})

it('C1, H1: through a server messages are sent, calls decided, threads steered; by whom is the key', async () => {
  const { remote, host } = await opened()
  const first = async (...args: readonly string[]) => objects((await remote(...args)).stdout)[0]
  const [item] = await host.inbox.list()
  expect(await first('approve', item?.id ?? '')).toMatchObject({ id: item?.id, thread: 't1', state: 'accepted' })
  expect(await remote('approve', item?.id ?? '')).toMatchObject({ code: 4, stdout: '' })
  const thread = await host.threads.get('t1')
  await thread.settled()
  const decided: unknown[] = []
  for await (const event of thread.events({ until: 'now' }))
    if (event.type === 'call.decided') decided.push(event.decidedBy)
  expect(decided).toEqual(['ada'])
  expect(await first('send', 't1', 'again', '--id', 'm2')).toEqual({ thread: 't1', run: 'm2', state: 'accepted' })
  await thread.settled()
  expect(await first('pause', 't1', '--reason', 'tea')).toMatchObject({ state: 'accepted', changed: true })
  expect(await first('resume', 't1')).toMatchObject({ state: 'accepted', changed: true })
  expect(await first('env', 't1', 'TOKEN=x')).toMatchObject({ names: ['TOKEN'], state: 'accepted' })
  expect(await first('terminate', 't1')).toMatchObject({ state: 'accepted', changed: true, status: 'terminated' })
  expect(await first('delete', 't1')).toMatchObject({ state: 'accepted' })
})

it('C1, H3: what a server cannot do, a wrong key and wrong options are told, and nothing happens', async () => {
  const { skein, remote, url } = await opened()
  const error = async (args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<string> => {
    const { code, stdout, stderr } = await skein(args, { env: { ...env, ...more } })
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    return stderr
  }
  const on = ['--url', url, '--key-env', 'ADA']
  expect(await error(['backup', 'x', ...on])).toContain(`it does not work through the server at ${url}`)
  expect(await error(['run', 'app.ts', 'hi', ...on])).toContain('has its own app; leave out')
  expect(await error(['run', 'hi', '--limit', 'maxSteps=1', ...on])).toContain('leave out limit')
  expect(await error(['approve', 't1/call_1_0', '--by', 'eve', ...on])).toContain('has no option "by"')
  expect(await error(['ps', '--key-env', 'ADA'])).toContain('--key-env is for a server of Skein')
  expect(await error(['ps', '--url', url, '--key-env', 'NONE'])).toContain('--key-env NONE')
  expect(await error(['ps', '--url', url, '--store', 'x'])).toContain('give one of them')
  expect(await error(['ps', '--url', url])).toContain('set SKEIN_URL_KEY to it, or name another variable')
  expect(await error(['ps'], { SKEIN_URL: url, SKEIN_URL_KEY: 'wrong' })).toContain('wants a key that it knows')
  for (const bad of ['http://127.0.0.1:99999', '127.0.0.1:4100', 'ftp://127.0.0.1', 'http://'])
    expect(await error(['ps', '--url', bad])).toContain(`--url ${bad} is no address of a server; one looks like`)
  expect(await error(['cancel', 't1', '--url', url, '--key-env', 'RITA'])).toContain('this needs the scope write')
  expect((await remote('inbox')).code).toBe(0)
})
