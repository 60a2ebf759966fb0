/** H1, E1: `skein/client` through a real server: as the local API, over connections that break. */
import { fileURLToPath } from 'node:url'
import { afterEach, expect, it } from 'vitest'
import { connect } from '../../../src/client.js'
import type { RemoteSkein } from '../../../src/client.js'
import type { SkeinEvent } from '../../../src/index.js'
import { routes } from '../../../src/http/table.js'
import { importsOf, readSources } from '../../../scripts/source.js'
import { calls, looseTool, tinyApp } from '../../helpers/app.js'
import { deferred } from '../../helpers/deferred.js'
import { keys, served } from '../../helpers/served.js'
import type { Served } from '../../helpers/served.js'
import { createTcpProxy } from '../../helpers/tcp-proxy.js'
import { onEveryStore } from '../../helpers/world.js'

let closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.reverse()) await close()
  closing = []
})

type Either = Omit<RemoteSkein, 'api' | 'definitions' | 'stream'>

const script = ({ messages }: { readonly messages: readonly { readonly role: string; readonly text: string }[] }) => {
  const last = messages.at(-1)
  if (last?.role === 'tool') return `it says: ${last.text}`
  if (last?.text === 'pay') return calls({ tool: 'pay', args: { euros: 5 } })
  return last?.text === 'look' ? calls({ tool: 'look', args: { at: 'sea' } }) : `you said: ${last?.text ?? ''}`
}

const codeOf = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => 'done',
    (thrown: { readonly code?: unknown }) => thrown.code,
  )

async function collect<Item>(from: AsyncIterable<Item>): Promise<readonly Item[]> {
  const all: Item[] = []
  for await (const item of from) all.push(item)
  return all
}

/** Everything that a caller sees, without times and chance. */
async function scenario(skein: Either): Promise<object> {
  const thread = await skein.threads.create({ agent: 'helper', id: 'one', tags: ['demo'], files: { '/a.txt': 'A' } })
  const { thread: id, status, root, tags } = await thread.info()
  const run = thread.send('look', { id: 'm1' })
  await run.accepted()
  const { text, stopReason, steps } = await run.result()
  const full = (await collect(run.fullStream)).map(({ type }) => type)
  const spoken = await collect(run.textStream)
  await thread.inject('note', { id: 'n1', role: 'user' })
  await thread.edit('n1', 'a note')
  await thread.files.writeFile('/d/ü b.txt', 'B')
  await thread.kv.set('k/1', { n: 1 })
  await thread.kv.set('nothing', null)
  const plan = await thread.schedule('look', { at: 'later' }, { delayMs: 3_600_000 })
  const schedules = (await thread.schedules()).map(({ tool, args }) => ({ tool, args }))
  const paying = thread.send({ text: 'pay', id: 'm2' })
  const item = await firstItem(skein)
  const waiting = (await paying.pendingToolCalls()).map(({ tool }) => tool)
  const listed = (await skein.inbox.list({ thread: 'one' })).map((each) => each.id === item)
  await skein.inbox.approve(item, { comment: 'fine' })
  const paid = await paying.text()
  const second = await codeOf(skein.inbox.approve(item))
  const messages = (await thread.messages()).map((message) => [message.role, message.text])
  const page = (await thread.messages({ after: 'm1', limit: 2 })).map(({ role }) => role)
  await thread.remove('n1')
  const left = (await thread.messages({ silent: 'show' })).length
  const paused = [await thread.pause({ reason: 'tea' }), await thread.pause(), await thread.status()]
  const resumed = [await thread.resume(), await thread.resume(), await thread.cancel()]
  const called = await (await thread.callTool('look', { at: 'hill' })).result()
  await thread.env.set({ TOKEN: 'secret' })
  return {
    info: { id, status, root, tags, agent: thread.agent },
    result: { text, stopReason, steps },
    full: full.filter((type) => !type.endsWith('.delta')),
    spoken: spoken.join(''),
    files: {
      text: await thread.files.readFile('/d/ü b.txt', 'utf8'),
      bytes: [...(await thread.files.readFile('/a.txt'))],
      stream: Buffer.concat(await collect(thread.files.readStream('/a.txt'))).toString(),
      names: [await thread.files.readdir('/'), await thread.files.readdir('/d/../d')],
      stat: (await thread.files.stat('/a.txt')).size,
      link: [(await thread.files.lstat('/a.txt')).kind, await thread.files.realpath('/d/../a.txt')],
      usage: (await thread.files.usage()).files,
      exists: [await thread.files.exists('/a.txt'), await thread.files.exists('/none')],
      codes: [
        await codeOf(thread.files.readFile('/none')),
        await codeOf(thread.files.readFile('/d')),
        await codeOf(thread.files.rm('/d')),
        await codeOf(thread.files.rm('/none', { force: true })),
        await codeOf(thread.files.rm('/d', { recursive: true })),
      ],
    },
    kv: [
      await thread.kv.get('k/1'),
      await thread.kv.get('nothing'),
      await thread.kv.get('none'),
      await thread.kv.list('k'),
    ],
    removed: [await thread.kv.delete('k/1'), await thread.kv.list()],
    schedules,
    unscheduled: [await thread.unschedule(plan), await thread.unschedule(plan)],
    decisions: { waiting, listed, paid, second },
    messages,
    page,
    left,
    paused,
    resumed,
    called: called.stopReason,
    env: await thread.env.names(),
    usage: Object.keys(await thread.usage()).sort(),
    tree: (await thread.tree()).children,
    children: await thread.children(),
    letters: await skein.deadLetters.list(),
    state: (await thread.state()).outstanding,
    effects: [await thread.effects(), await skein.effects.list(), await skein.effects.list({ root: 'one' })],
    records: [(await thread.records()).length, (await thread.records({ before: 4, limit: 2 })).map(({ seq }) => seq)],
    context: (await thread.context()).messages.length,
    view: [(await thread.view().now()).status, (await thread.view().now()).result?.stopReason],
    changes: (await collect(thread.view({ from: 'start', until: 'now' }))).map(({ event, calls: changed, value }) => [
      event?.type,
      changed.length,
      value.status,
      value.calls.length,
    ]),
    ofRun: (await collect(run.view({ tree: true }))).at(-1)?.result?.text,
    current: await thread.current(),
    settled: (await thread.settled({ tree: true })).status,
    exported: (await thread.export({ tree: true })).threads.length,
    hosted: await skein.hosted(),
    partitions: typeof (await skein.hosts()).partitions,
    list: (await skein.threads.list({ tag: 'demo' })).threads.map((each) => each.thread),
    events: (await collect(thread.events({ until: 'now' }))).map(({ type }) => type),
    ofTree: (await collect(skein.events({ root: 'one', until: 'now' }))).length,
    codes: [
      await codeOf(skein.threads.get('none')),
      await codeOf(skein.threads.create({ agent: 'nobody' })),
      await codeOf(thread.run('none').accepted()),
      await codeOf(thread.send('again', { id: 'not an id' }).accepted()),
      await codeOf(skein.variables.get('one', 'none')),
      await codeOf(skein.inbox.answer('one/call_9_9', 1)),
      await codeOf(skein.deadLetters.drop('one/none')),
      await codeOf(skein.effects.resolve('one/call_9_9', { happened: true })),
      await codeOf(thread.grant({ tokens: 5 })),
    ],
    ended: [await thread.terminate(), await thread.terminate()],
    deleted: [await codeOf(skein.threads.delete('one')), await codeOf(thread.info())],
  }
}

async function firstItem(skein: Either): Promise<string> {
  for await (const items of skein.inbox.watch({ root: 'one' })) if (items[0]) return items[0].id
  throw new Error('the inbox has ended')
}

/** The routes that clients of programs have no use for, or have another one for. */
const unused = [
  'GET /diff',
  'GET /threads/{thread}/timeline',
  'POST /threads/{thread}/fork',
  'POST /threads/{thread}/rewind',
  'GET /health',
  'GET /agents',
  'GET /threads/{thread}/counts',
  'GET /agents/{name}',
  'GET /models',
  'GET /tools',
  'GET /machine',
  'GET /metrics',
  'GET /trees/{root}/snapshot',
  'GET /view',
  'GET /view/session',
  'GET /models/waits',
  'GET /threads/{thread}/runs/{run}/text',
  'GET /stream',
  'GET /threads/{thread}/ui',
  'GET /v1/models',
  'POST /dead-letters/{thread}/{reference}/requeue',
  'POST /inbox/{thread}/{call}/reject',
  'DELETE /threads/{thread}/api/{path*}',
  'PATCH /threads/{thread}/api/{path*}',
  'POST /threads/{thread}/api/{path*}',
  'PUT /threads/{thread}/api/{path*}',
  'POST /threads/{thread}/calls/{call}/result',
  'POST /threads/{thread}/tokens',
  'POST /threads/{thread}/ui',
  'POST /threads/{thread}/variables/{request}',
  'POST /v1/chat/completions',
  'POST /mcp',
  'POST /a2a/{agent}',
  'GET /a2a/{agent}/.well-known/agent-card.json',
]

onEveryStore('skein/client', (world) => {
  const pay = looseTool('pay', (_, { euros }) => `paid ${String(euros)}`, { needsApproval: true })
  const open = async (look = looseTool('look', (_, { at }) => `saw ${String(at)}`, { needsApproval: false })) => {
    const skein = await world.open(tinyApp({ tools: [look, pay], script }).app)
    const server: Served = await served(skein, { heartbeatMs: 200 })
    closing.push(() => server.close())
    return { skein, url: server.url }
  }

  it('E1, H1: one scenario by the local API and by the client gives the same, by routes of the table', async () => {
    const { skein, url } = await open()
    const asked = new Set<string>()
    const client = connect(url, {
      key: keys.admin,
      fetch(input, init) {
        asked.add(`${init?.method ?? 'GET'} ${new URL(String(input)).pathname}`)
        return fetch(input, init)
      },
    })
    const remote = await scenario(client)
    expect(remote).toEqual(await scenario(skein))
    expect(await client.definitions()).toEqual(skein.definitions())
    expect(await codeOf(client.api('one', 'notes'))).toBe('BAD_OPTION')
    const patterns = routes.map(({ method, path }) => ({
      name: `${method.toUpperCase()} ${path}`,
      form: new RegExp(`^${method.toUpperCase()} ${path.replace('{path*}', '.*').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    }))
    expect([...asked].filter((each) => !patterns.some(({ form }) => form.test(each)))).toEqual([])
    const never = patterns.filter(({ form }) => ![...asked].some((each) => form.test(each)))
    expect(never.map(({ name }) => name).sort()).toEqual([...unused].sort())
    await client.close()
    expect(await codeOf(client.threads.list())).toBe('STORE_CLOSED')
  })

  it('H1, R2: streams go on after connections were cut, with every event once', async () => {
    const gate = deferred<string>()
    const { skein, url } = await open(looseTool('look', () => gate.promise, { needsApproval: false }))
    const proxy = await createTcpProxy(Number(new URL(url).port))
    closing.push(() => proxy.close())
    const client = connect(`http://127.0.0.1:${proxy.port}`, { key: keys.admin })
    const thread = await client.threads.create({ agent: 'helper', id: 'one' })
    const near = await skein.threads.get('one')
    const breakOnce = (): void => {
      proxy.cut()
      proxy.mend()
    }
    const run = thread.send('look', { id: 'm1' })
    const ofRun: SkeinEvent[] = []
    for await (const event of run.fullStream) {
      ofRun.push(event)
      if (event.type === 'turn.started' || event.type === 'model.replied') breakOnce()
      if (event.type === 'model.replied') gate.resolve('the sea')
    }
    const durable = (all: readonly SkeinEvent[]) => all.flatMap((event) => ('cursor' in event ? [event.cursor] : []))
    expect(durable(ofRun)).toEqual(durable(await collect(near.run('m1').fullStream)))

    const seen: string[] = []
    for await (const event of client.events({ root: 'one' })) {
      if ('cursor' in event) seen.push(event.cursor)
      if (seen.length % 3 === 0) breakOnce()
      if (event.type === 'turn.ended' && event.run === 'm1') near.send('more', { id: 'm2' })
      if (event.type === 'turn.ended' && event.run === 'm2') break
    }
    const all = durable(await collect(skein.events({ root: 'one', until: 'now' })))
    expect(seen).toEqual(all.slice(0, seen.length))
    expect(new Set(seen).size).toBe(seen.length)
    await client.close()
  })

  it('H1: a message whose answer was lost is sent again with its id, and received once; a wrong key is told', async () => {
    const { skein, url } = await open()
    let lost = 0
    const client = connect(url, {
      key: keys.writer,
      async fetch(input, init) {
        const response = await fetch(input, init)
        const isLost = init?.method === 'POST' && lost++ % 2 === 0
        if (!isLost) return response
        throw new TypeError('the answer was lost')
      },
    })
    const thread = await client.threads.create({ agent: 'helper' })
    expect(await thread.send('hello').text()).toBe('you said: hello')
    const local = await skein.threads.get(thread.id)
    expect((await local.messages()).map(({ text }) => text)).toEqual(['hello', 'you said: hello'])
    const stranger = connect(url, { key: 'wrong' })
    await expect(stranger.threads.list()).rejects.toMatchObject({
      code: 'BAD_OPTION',
      data: { problem: 'UNAUTHENTICATED', status: 401 },
    })
    expect(await codeOf(connect('http://127.0.0.1:1').threads.list())).toBe('STORE_FAILED')
    expect(() => connect('127.0.0.1:4100')).toThrow('is no address')
    expect(await codeOf(client.threads.get('..'))).toBe('BAD_OPTION')
  })
})

it('E1: skein/client loads no package, nothing of Node, and of Skein its own folder and words alone', () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const sources = new Map(readSources(root, ['src']).map((source) => [source.path, source]))
  const reached = new Set<string>()
  const outside: string[] = []
  const visit = (path: string): void => {
    const source = sources.get(path)
    if (!source || reached.has(path)) return
    reached.add(path)
    for (const { specifier, target, typeOnly } of importsOf(source)) {
      if (typeOnly) continue
      if (target === undefined) outside.push(`${path}: ${specifier}`)
      else visit(target)
    }
  }
  visit('src/client.ts')
  expect(outside).toEqual([])
  expect([...reached].filter((path) => !/^src\/(client|core)[/.]/.test(path))).toEqual([])
  expect(reached.size).toBeGreaterThan(6)
})
