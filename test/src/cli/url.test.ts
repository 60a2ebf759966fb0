/** C1, H1: commands as clients of a server: `--url` and `--key-env`. */
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

it('C1, H1: through a server commands print what they print on the store', async () => {
  const { skein, remote, host } = await opened()
  await (await host.threads.get('t1')).files.writeFile('/a.txt', 'A')
  const commands = [
    ['ps'],
    ['inbox'],
    ['inbox', '--thread', 't1'],
    ['dead'],
    ['env', 't1'],
    ['tail', 't1', '--no-follow'],
    ['files', 'cat', 't1', '/a.txt'],
    ['cancel', 'nothing'],
  ]
  for (const args of commands) {
    const there = await remote(...args)
    const here = await skein([...args, '--json'])
    expect([args, there.code, there.stdout]).toEqual([args, here.code, here.stdout])
  }
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
  expect(await error(['show', 't1', ...on])).toContain(`it does not work through the server at ${url}`)
  expect(await error(['tail', 't1', ...on])).toContain('needs the store itself')
  expect(await error(['send', 't1', 'hi', '--wait', ...on])).toContain('needs the store itself')
  expect(await error(['approve', 't1/call_1_0', '--by', 'eve', ...on])).toContain('has no option "by"')
  expect(await error(['ps', '--key-env', 'ADA'])).toContain('--key-env is for a server of Skein')
  expect(await error(['ps', '--url', url, '--key-env', 'NONE'])).toContain('--key-env NONE')
  expect(await error(['ps', '--url', url, '--store', 'x'])).toContain('give one of them')
  expect(await error(['ps', '--url', url])).toContain('this needs a key that the server knows')
  expect(await error(['ps'], { SKEIN_URL: url, SKEIN_URL_KEY: 'wrong' })).toContain('this needs a key')
  expect(await error(['cancel', 't1', '--url', url, '--key-env', 'RITA'])).toContain('this needs the scope write')
  expect((await remote('inbox')).code).toBe(0)
})
