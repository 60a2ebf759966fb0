/** E5: a skein as an MCP server, through the official client, over both transports and both revisions. */
import { PassThrough } from 'node:stream'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { CallToolResult, ElicitResult, Progress } from '@modelcontextprotocol/client'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createSkein, memory } from '../../../src/index.js'
import type { RunResult, Skein } from '../../../src/index.js'
import { bridgeMcp, serveMcp } from '../../../src/server.js'
import type { McpConnection, ServeMcpOptions } from '../../../src/server.js'
import { calls, looseTool, tinyApp } from '../../helpers/app.js'
import { deferred } from '../../helpers/deferred.js'
import { keys, served } from '../../helpers/served.js'

type Era = 'modern' | 'legacy'
type Way = 'stdio' | 'http' | 'bridge'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

type Shown = { readonly messages: readonly { readonly role: string; readonly text: string }[] }

/** A model that does what it is told, and tools that look, pay, ask, and wait until the test lets them go on. */
async function open() {
  const go = deferred<void>()
  const begun = deferred<void>()
  const slow = looseTool('slow', async ({ signal, progress }) => {
    progress('half')
    begun.resolve()
    await Promise.race([go.promise, new Promise((resolve) => signal.addEventListener('abort', resolve))])
    return 'slowly'
  })
  const pay = looseTool('pay', (_, { euros }) => `paid ${String(euros)}`, { needsApproval: true })
  const questions = [
    { question: 'Which colour?', header: 'Colour', options: [{ label: 'red' }, { label: 'blue' }] },
    { question: 'Why?', header: 'Reason' },
  ]
  const script = ({ messages }: Shown) => {
    const last = messages.at(-1)
    if (last?.role === 'tool') return `it says: ${last.text}`
    if (last?.text === 'pay') return calls({ tool: 'pay', args: { euros: 5 } })
    if (last?.text === 'ask') return calls({ tool: 'ask_user_question', args: { questions } })
    if (last?.text === 'slow') return calls('slow')
    if (last?.text === 'fail') throw new Error('the model is out of order')
    return `you said ${String(last?.text)}`
  }
  const { app, model } = tinyApp({ tools: [slow, pay], script })
  const withQuestions = app.map((each) =>
    each.kind === 'prompt' ? { ...each, tools: ['slow', 'pay', 'ask_user_question'] } : each,
  )
  const skein = await createSkein({ app: withQuestions, backend: memory() })
  cleanups.push(() => skein.close())
  return { skein, model, go, begun }
}

interface ClientOptions {
  readonly era?: Era
  readonly key?: string
  readonly answer?: (message: string) => ElicitResult
}

async function connected(skein: Skein, way: Way, options: ClientOptions = {}): Promise<Client> {
  const { era = 'modern', answer } = options
  const client = new Client(
    { name: 'test', version: '1' },
    {
      ...(answer && { capabilities: { elicitation: { form: {} } } }),
      ...(era === 'modern' && { versionNegotiation: { mode: 'auto' as const } }),
    },
  )
  if (answer) client.setRequestHandler('elicitation/create', ({ params }) => answer(params.message))
  await client.connect(await { stdio: overStreams, http: overHttp, bridge: overBridge }[way](skein, options))
  cleanups.push(() => client.close())
  return client
}

async function urlOf(skein: Skein): Promise<string> {
  const server = await served(skein)
  cleanups.push(() => server.close())
  return server.url
}

async function overHttp(skein: Skein, { key = keys.admin }: ClientOptions) {
  const url = await urlOf(skein)
  return new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
  })
}

/** The transport of the official package is the same at both ends of a pipe. */
async function overStreams(skein: Skein) {
  return piped((streams) => serveMcp(skein, streams))
}

async function overBridge(skein: Skein, { key = keys.admin }: ClientOptions) {
  const url = await urlOf(skein)
  return piped((streams) => bridgeMcp({ url, key }, streams))
}

async function piped(serve: (streams: ServeMcpOptions) => Promise<McpConnection>) {
  const [there, back] = [new PassThrough(), new PassThrough()]
  const connection = await serve({ stdin: there, stdout: back })
  cleanups.push(() => connection.close())
  return new StdioServerTransport(back, there)
}

const textOf = ({ content }: CallToolResult): string =>
  content.map((item) => (item.type === 'text' ? item.text : item.type)).join('\n')
const ended = z.object({ thread: z.string(), run: z.string(), status: z.string(), stopReason: z.string().optional() })
const ask = (client: Client, args: Record<string, unknown>, options = {}) =>
  client.callTool({ name: 'ask_helper', arguments: args }, options)

/** Of the first turn of the only thread. */
async function firstResult(skein: Skein): Promise<RunResult | undefined> {
  const [info] = (await skein.threads.list()).threads
  const thread = await skein.threads.get(info?.thread ?? '')
  for await (const { result } of thread.view({ from: 'start' })) if (result) return result
  return undefined
}

const everyWay: readonly { readonly way: Way; readonly era: Era }[] = [
  { way: 'stdio', era: 'modern' },
  { way: 'stdio', era: 'legacy' },
  { way: 'http', era: 'modern' },
  { way: 'http', era: 'legacy' },
  { way: 'bridge', era: 'modern' },
  { way: 'bridge', era: 'legacy' },
]

/** What is the same however the messages are carried is seen once for each kind of server. */
const servers = everyWay.filter(({ way }) => way !== 'bridge')

describe.each(everyWay)('over $way, $era', ({ way, era }) => {
  it('E5: agents and routes are tools; an agent answers, and its thread goes on', async () => {
    const { skein } = await open()
    const client = await connected(skein, way, { era })
    expect(client.getServerVersion()).toMatchObject({ name: 'skein' })
    const { tools } = await client.listTools()
    const names = tools.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['ask_helper', 'list_threads', 'send_message', 'approve_call']))
    expect(tools.find(({ name }) => name === 'list_threads')?.annotations).toMatchObject({ readOnlyHint: true })
    const first = await ask(client, { message: 'hello', id: 'm1' })
    expect(textOf(first)).toBe('you said hello')
    const { thread, run } = ended.parse(first.structuredContent)
    // The same call again is the same message.
    expect(ended.parse((await ask(client, { message: 'hello', id: 'm1' })).structuredContent)).toMatchObject({
      thread,
      run,
    })
    expect(textOf(await ask(client, { message: 'more', thread }))).toBe('you said more')
    const listed = await client.callTool({ name: 'list_messages', arguments: { thread, limit: 3 } })
    expect(listed.structuredContent).toMatchObject({ messages: [{ text: 'hello' }, {}, { text: 'more' }] })
  })

  it('E5: what happens in a turn is told as progress', async () => {
    const { skein, go, begun } = await open()
    const client = await connected(skein, way, { era })
    const told: (string | undefined)[] = []
    void begun.promise.then(() => go.resolve())
    const result = await ask(
      client,
      { message: 'slow' },
      { onprogress: ({ message }: { message?: string }) => told.push(message) },
    )
    expect(textOf(result)).toBe('it says: slowly')
    expect(told).toEqual(expect.arrayContaining(['the turn has begun', 'calls slow', 'slow: done']))
  })

  it('E5: a client that cannot ask its person gets what the turn waits for, and decides with tools', async () => {
    const { skein } = await open()
    const client = await connected(skein, way, { era })
    const waiting = await ask(client, { message: 'pay' })
    expect(textOf(waiting)).toMatch(/call_1_0: pay waits for approval \(approve_call, reject_call\)/)
    const { thread, run, status } = ended.parse(waiting.structuredContent)
    expect(status).toBe('awaiting_approval')
    const refused = async (args: Record<string, unknown>): Promise<string> =>
      textOf(await client.callTool({ name: 'approve_call', arguments: args }))
    expect(await refused({ id: 'call_1_0' })).toMatch(/BAD_OPTION: id: .*<thread>\/call_1_0/)
    expect(await refused({ id: `${thread}/call_1_0`, call: 'call_1_0' })).toMatch(/BAD_OPTION: give id, or thread and/)
    expect(await refused({})).toMatch(/BAD_OPTION: give id, or thread and call/)
    // The id as the answer and the inbox have it, or its two parts.
    const [item] = await skein.inbox.list()
    const place = era === 'legacy' ? { thread, call: 'call_1_0' } : { id: item?.id }
    await client.callTool({ name: 'approve_call', arguments: { ...place, args: { euros: 6 } } })
    const result = await client.callTool({ name: 'get_run', arguments: { thread, run, wait: 10_000 } })
    expect(result.structuredContent).toMatchObject({ result: { text: expect.stringContaining('paid 6') } })
  })

  it('E5: a client that leaves ends nothing', async () => {
    const { skein, go, begun } = await open()
    const client = await connected(skein, way, { era })
    const asked = ask(client, { message: 'slow' }).catch((thrown: unknown) => thrown)
    await begun.promise
    await client.close()
    await asked
    go.resolve()
    expect(await firstResult(skein)).toMatchObject({ text: 'it says: slowly', stopReason: 'completed' })
  })
})

describe.each(servers)('over $way, $era', ({ way, era }) => {
  it('E5: what is wrong is told: a tool, an argument, a thread, a turn that fails', async () => {
    const { skein } = await open()
    const client = await connected(skein, way, { era })
    await expect(client.callTool({ name: 'ask_nobody', arguments: {} })).rejects.toThrow(
      /no tool "ask_nobody"; there are: ask_helper/,
    )
    const refused = async (name: string, args: Record<string, unknown>) => {
      const result = await client.callTool({ name, arguments: args })
      expect(result.isError).toBe(true)
      return textOf(result)
    }
    expect(await refused('ask_helper', { mesage: 'x' })).toMatch(/message/)
    expect(await refused('ask_helper', { message: 'x', thread: 'nope' })).toMatch(/UNKNOWN_THREAD.*nope/)
    expect(await refused('get_thread', { thread: '../etc' })).toMatch(/BAD_OPTION.*an id of a thread/)
    expect(await refused('get_thread', { thread: 'x', more: 1 })).toMatch(/no argument "more"; it takes: thread/)
    expect(await refused('list_threads', { limit: 'many' })).toMatch(/BAD_OPTION.*limit/)
    expect(await refused('create_thread', {})).toMatch(/BAD_OPTION.*agent/)
    expect(await refused('ask_helper', { message: 'fail' })).toMatch(/out of order/)
    expect((await skein.threads.list()).threads).toHaveLength(1)
  })

  it('E5: threads are resources, page by page', async () => {
    const { skein } = await open()
    for (let index = 0; index < 101; index += 1) await skein.threads.create({ agent: 'helper', id: `t${index}` })
    const thread = await skein.threads.get('t0')
    await thread.files.writeFile('/notes/a b.txt', 'a note')
    await thread.inject('remember')
    const client = await connected(skein, way, { era })
    const { resources } = await client.listResources()
    expect(new Set(resources.map(({ uri }) => uri)).size).toBe(102)
    expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(3)
    const read = async (uri: string) => {
      const [content] = (await client.readResource({ uri })).contents
      return content && 'text' in content ? content.text : undefined
    }
    expect(JSON.parse((await read('skein://agents')) ?? '')).toMatchObject({ agents: [{ name: 'helper' }] })
    expect(JSON.parse((await read('skein://threads/t0')) ?? '')).toMatchObject({ thread: 't0', agent: 'helper' })
    expect(JSON.parse((await read('skein://threads/t0/messages')) ?? '')).toMatchObject({
      messages: [{ text: 'remember' }],
    })
    expect(await read('skein://threads/t0/files/notes/a%20b.txt')).toBe('a note')
    for (const uri of ['skein://threads/nope', 'skein://threads/t0/files/none', 'file:///etc/passwd'])
      await expect(read(uri)).rejects.toThrow(/nope|none|passwd/)
  })
})

const asking: readonly { readonly way: Way; readonly era: Era }[] = everyWay.filter(
  ({ way, era }) => way === 'stdio' || era === 'modern',
)

describe.each(asking)('a client that can ask its person, over $way, $era', ({ way, era }) => {
  const accept = (content: ElicitResult['content']): ElicitResult => ({ action: 'accept', ...(content && { content }) })

  it('E5: an approval becomes an elicitation, and the call goes on', async () => {
    const { skein } = await open()
    const asked: string[] = []
    const answer = (message: string): ElicitResult => {
      asked.push(message)
      return accept({ decision: 'approve' })
    }
    const client = await connected(skein, way, { era, answer })
    const told: number[] = []
    const onprogress = ({ progress, message = '' }: Progress) =>
      !message.startsWith('Fulfilling') && told.push(progress)
    expect(textOf(await ask(client, { message: 'pay' }, { onprogress }))).toBe('it says: paid 5')
    expect(told).toEqual([...new Set(told)].toSorted((a, b) => a - b))
    expect(asked).toEqual([expect.stringMatching(/^helper asks to call pay\.\n[^]*"euros": 5/)])
    const [info] = (await skein.threads.list()).threads
    const events = []
    for await (const event of skein.events({ root: info?.thread ?? '', until: 'now' })) events.push(event)
    expect(JSON.stringify(events)).toContain(way === 'stdio' ? '"local"' : '"ada"')
  })

  it('E5: a person rejects, declines, or leaves it for later', async () => {
    const { skein } = await open()
    const answers: ElicitResult[] = [
      accept({ decision: 'reject', comment: 'too dear' }),
      { action: 'decline' },
      { action: 'cancel' },
    ]
    const client = await connected(skein, way, { era, answer: () => answers.shift() ?? { action: 'cancel' } })
    expect(textOf(await ask(client, { message: 'pay' }))).toMatch(/too dear/)
    expect(textOf(await ask(client, { message: 'pay' }))).toMatch(/it says/)
    const left = await ask(client, { message: 'pay' })
    expect(left.structuredContent).toMatchObject({ status: 'awaiting_approval' })
    expect(await skein.inbox.list()).toHaveLength(1)
  })

  it('E5: questions become a form; an answer that does not fit is asked for again, and says why', async () => {
    const { skein } = await open()
    const asked: string[] = []
    const answers = [
      { choice_0: 'green', words_1: 'so' },
      { choice_0: 'blue', words_1: 'it is the sea' },
    ]
    const answer = (message: string): ElicitResult => {
      asked.push(message)
      return accept(answers.shift())
    }
    const client = await connected(skein, way, { era, answer })
    const text = textOf(await ask(client, { message: 'ask' }))
    expect(text).toContain('Which colour?\n→ blue')
    expect(text).toContain('Why?\n→ "it is the sea"')
    expect(asked[0]).toBe('Which colour?\nWhy?')
    expect(asked[1]).toMatch(/"Colour" has no option "green"[^]*Which colour\?/)
  })
})

it.each(['modern', 'legacy'] as const)('E5: a call that is cancelled ends its run over stdio (%s)', async (era) => {
  const { skein, begun } = await open()
  const client = await connected(skein, 'stdio', { era })
  const cancel = new AbortController()
  const asked = ask(client, { message: 'slow' }, { signal: cancel.signal })
  await begun.promise
  cancel.abort('enough')
  await expect(asked).rejects.toThrow(/enough|abort/)
  expect(await firstResult(skein)).toMatchObject({ stopReason: 'cancelled', detail: expect.stringContaining('enough') })
})

it('E5, H3: a key sees and calls the tools of its scopes, and its own trees', async () => {
  const { skein } = await open()
  const client = await connected(skein, 'http', { key: keys.reader })
  const names = (await client.listTools()).tools.map(({ name }) => name)
  expect(names).toContain('list_threads')
  for (const name of ['ask_helper', 'send_message', 'approve_call', 'stop_turn']) expect(names).not.toContain(name)
  for (const [name, args] of [
    ['ask_helper', { message: 'x' }],
    ['create_thread', { agent: 'helper' }],
    ['approve_call', { thread: 'x', call: 'call_1_0' }],
  ] as const) {
    const result = await client.callTool({ name, arguments: args })
    expect(result.isError).toBe(true)
    expect(textOf(result)).toMatch(/FORBIDDEN.*rita/)
  }
  await expect(connected(skein, 'http', { key: 'wrong' })).rejects.toThrow(/401|Unauthorized|key/)
  // Who may write and not approve is not asked: the turn waits for someone who may.
  const writer = await connected(skein, 'http', { key: keys.writer, answer: () => ({ action: 'decline' }) })
  expect((await ask(writer, { message: 'pay' })).structuredContent).toMatchObject({ status: 'awaiting_approval' })
})

it('E5: a state that the server did not give is refused', async () => {
  const { skein } = await open()
  const server = await served(skein)
  cleanups.push(() => server.close())
  const asked = (requestState: string) =>
    server.ask('/mcp', {
      headers: {
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'ask_helper',
      },
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name: 'ask_helper',
          arguments: { message: 'x' },
          requestState,
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      },
    })
  for (const state of ['', '{', '{"thread":"../x","run":"r","seen":0}', '{"thread":"nope","run":"r","seen":0}']) {
    const { body } = await asked(state)
    expect(JSON.stringify(body)).toMatch(/BAD_OPTION|UNKNOWN_THREAD/)
  }
  expect((await skein.threads.list()).threads).toHaveLength(0)
})
