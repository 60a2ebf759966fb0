/**
 * Nobody but the body sees a secret: a tree whose tools give theirs away in every way they can, and afterwards a look
 * at everything that was said, recorded, told and stored.
 */
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { expect, it } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Definition, ToolDefinition, ToolState } from '../../../../src/agent/define.js'
import type { Message } from '../../../../src/core/records/message.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Script, ScriptedModel } from '../../../../src/models/scripted.js'
import { calls, looseTool } from '../../../helpers/app.js'
import { results } from '../../../helpers/asking.js'
import { until } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'
import type { World } from '../../../helpers/world.js'

const values = {
  API_KEY: 'sk/live+"0123456789" ü',
  OF_SKEIN: 'instance-secret-1',
  OF_AGENT: 'agent-secret-22',
  TOKEN: 'token-of-ann-1234',
  TOKEN__2: 'token-of-bob-5678',
  GIVEN: 'given-later-99999',
  PEM:
    '-----BEGIN KEY-----\nMIIBVgIBADANBgkqhkiG9w0BAQEFAASCAUAw\nggE8AgEAAkEAq7BFUpkGp3nyxtZ5-----\n-----END ' +
    'KEY-----\n',
}

/** Every way in which a value may stand in a text or in bytes. */
function formsOf(value: string): readonly string[] {
  const bytes = Buffer.from(value)
  const base64 = [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    const sure = text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6))
    return [sure, sure.replaceAll('+', '-').replaceAll('/', '_')]
  })
  const lines = value.includes('\n')
    ? value.split('\n').filter((line) => line.length > 8 && !line.startsWith('-----'))
    : []
  const written = [
    new URLSearchParams({ q: value }).toString().slice(2),
    inspect(bytes)
      .slice(8, 100)
      .replace(/[>.].*$/, ''),
    [...bytes].join(','),
    ...lines,
    ...lines.map((line) => line.slice(0, 12)),
  ]
  return [
    ...written,
    value,
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    ...base64,
  ]
}

/** Of a status (workers/body/state.ts). */
const cutAt = 500

const found = (where: Buffer | string): readonly string[] =>
  Object.entries(values).flatMap(([name, value]) =>
    formsOf(value).flatMap((form, index) =>
      Buffer.from(where as string).includes(form) ? [`${name} in form ${index}`] : [],
    ),
  )

const variables = ['API_KEY', 'OF_SKEIN', 'OF_AGENT', 'PEM'].map((name) => ({ name }))
const all = async (state: ToolState): Promise<string> =>
  (await Promise.all(variables.map(({ name }) => state.env(name)))).join('|')

/** Says what it knows in all forms. */
async function* parts(text: string): AsyncGenerator<Uint8Array> {
  for (const byte of Buffer.from(text)) yield Uint8Array.of(byte)
}

const leaks: readonly ToolDefinition[] = [
  looseTool(
    'writes_oddly',
    async (state) => {
      const text = await all(state)
      const pem = await state.env('PEM')
      await state.kv.set(`key of ${await state.env('API_KEY')}`, 1)
      // eslint-disable-next-line no-console -- a body prints
      console.log(Buffer.from(await state.env('OF_AGENT')), new Uint8Array(Buffer.from(pem)))
      state.log(
        pem.split('\n').join(' , '),
        new URLSearchParams({ q: text }).toString(),
        Buffer.from(text).toString('base64').replaceAll(/.{20}/g, '$&\n'),
      )
      // Long enough that the limit of a status falls into the value.
      state.setStatus?.(`${'s'.repeat(cutAt - 10)}${await state.env('OF_SKEIN')}`)
      return [...Buffer.from(text)]
    },
    { variables },
  ),
  looseTool('parses', async (state) => JSON.parse(await state.env('OF_AGENT')) as unknown, { variables }),
  looseTool(
    'returns',
    async (state) => ({
      [await state.env('API_KEY')]: [
        await all(state),
        Buffer.from(await all(state)).toString('base64'),
        Buffer.from(await all(state)).toString('hex'),
        encodeURIComponent(await all(state)),
      ],
    }),
    { variables },
  ),
  looseTool(
    'throws',
    async (state) => Promise.reject(new Error(`no: ${await all(state)}`, { cause: new Error(await all(state)) })),
    { variables },
  ),
  looseTool(
    'says',
    async (state) => {
      state.log(await all(state))
      state.progress({ all: await all(state) })
      state.setStatus?.(await all(state))
      return 'said'
    },
    { variables },
  ),
  looseTool(
    'writes',
    async (state) => {
      const text = await all(state)
      await state.files.writeFile('/plain.txt', text)
      await state.files.writeFile('/bytes.bin', Buffer.concat([Buffer.from([0, 255]), Buffer.from(text)]))
      await state.files.appendFile('/plain.txt', `more ${text}`)
      await state.files.writeStream('/stream.txt', parts(`${'x'.repeat(5_000)}${text}`))
      await state.files.writeFile(`/${encodeURIComponent(await state.env('OF_SKEIN'))}.txt`, 'named')
      await state.kv.set('kept', text)
      return (await state.files.readFile('/plain.txt', 'utf8')).length
    },
    { variables },
  ),
  looseTool(
    'tells',
    async (state) => {
      state.queueMessage(await all(state))
      state.queueTool('echo', { text: await all(state) })
      return 'told'
    },
    { variables, uses: ['echo'] },
  ),
  looseTool('echo', (_, args) => args),
  looseTool('reads', async (state) => [
    await state.files.readFile('/plain.txt', 'utf8'),
    await state.files.readFile('/stream.txt', 'utf8'),
    await state.kv.get('kept'),
  ]),
  looseTool('token', async (state) => `${await state.env('TOKEN')} ${await state.env('GIVEN')}`, {
    variables: [
      { name: 'TOKEN', scoped: true },
      { name: 'GIVEN', scoped: true },
    ],
  }),
]

interface Tree {
  readonly app: readonly Definition[]
  readonly models: readonly ScriptedModel[]
}

function tree(): Tree {
  const last = (messages: readonly Message[]): string => messages.at(-1)?.text ?? ''
  const names = ['returns', 'throws', 'says', 'writes', 'tells', 'reads']
  const speaks: Script = ({ messages, step }) => {
    if (step === 0) return calls(...names)
    // A model that has found out after all, and one that hands it on.
    if (step === 1)
      return {
        text: `it is ${values.API_KEY}`,
        reasoning: values.OF_AGENT,
        calls: [
          { tool: 'returns', args: {} },
          { tool: 'child', args: { message: `use ${values.API_KEY} and ${last(messages)}` } },
        ],
      }
    return `done with ${results(messages).join()} ${values.OF_SKEIN}`
  }
  const models = [
    scriptedModel(speaks),
    scriptedModel(({ step, messages }) =>
      step === 0
        ? {
            calls: [
              ...['returns', 'reads', 'token', 'writes_oddly', 'parses'].map((tool) => ({ tool, args: {} })),
              { tool: `x_${values.OF_AGENT}`, args: {} },
            ],
          }
        : `child read ${results(messages).join()}`,
    ),
    scriptedModel(({ step, messages }) => (step === 0 ? calls('token') : last(messages))),
  ]
  const [lead, child, twin] = models
  return {
    models,
    app: [
      ...leaks,
      ...[lead, child, twin].flatMap((model, index) => (model ? [defineModel({ name: `m${index}`, model })] : [])),
      definePrompt({
        name: 'lead_p',
        prompt: 'x',
        model: 'm0',
        tools: [
          ...names,
          'echo',
          { name: 'child' },
          { name: 'twin', blocking: false, immediate: { nameEnv: 'NAME', scopedEnv: ['TOKEN'] } },
        ],
      }),
      definePrompt({
        name: 'child_p',
        prompt: 'x',
        model: 'm1',
        tools: ['returns', 'reads', 'token', 'writes_oddly', 'parses'],
      }),
      definePrompt({ name: 'twin_p', prompt: 'x', model: 'm2', tools: ['token'] }),
      defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_p' }, env: { OF_AGENT: values.OF_AGENT } }),
      defineAgent({
        name: 'child',
        type: 'ai_human',
        sideA: { prompt: 'child_p' },
        exposeAsTool: true,
        env: { OF_AGENT: values.OF_AGENT },
      }),
      defineAgent({ name: 'twin', type: 'ai_human', sideA: { prompt: 'twin_p' }, exposeAsTool: true }),
    ],
  }
}

async function run(world: World): Promise<{ readonly events: string; readonly models: readonly ScriptedModel[] }> {
  const { app, models } = tree()
  const skein = await world.open(app, { env: { OF_SKEIN: values.OF_SKEIN } })
  const events: string[] = []
  const stop = new AbortController()
  const hearing = (async () => {
    for await (const event of skein.events({ root: 'lead', signal: stop.signal })) events.push(JSON.stringify(event))
  })()
  const thread = await skein.threads.create({
    agent: 'lead',
    id: 'lead',
    env: {
      API_KEY: values.API_KEY,
      NAME: 'Ann',
      NAME__2: 'Bob',
      TOKEN: values.TOKEN,
      TOKEN__2: values.TOKEN__2,
      PEM: values.PEM,
    },
  })
  await thread.send('go').result()
  const requests = (await skein.inbox.list({ root: 'lead' })).filter(({ request }) => request !== undefined)
  expect(requests.length).toBeGreaterThanOrEqual(2)
  for (const { thread: of, request = '', missing = [] } of requests)
    await skein.variables.provide(
      of,
      request,
      Object.fromEntries(missing.map((name) => [name, name === 'TOKEN' ? values.TOKEN : values.GIVEN])),
    )
  await until('the tree to rest', async () =>
    (await skein.threads.list({ root: 'lead' })).threads.every(({ rest }) => rest),
  )
  events.push(
    JSON.stringify(await thread.messages({ silent: 'show' })),
    JSON.stringify(await skein.threads.list({ root: 'lead' })),
    JSON.stringify(await skein.inbox.list()),
  )
  stop.abort()
  await hearing
  await world.close(skein)
  return { events: events.join('\n'), models }
}

async function bytesIn(dir: string): Promise<readonly (readonly [string, Buffer])[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  return Promise.all(
    entries
      .filter((entry) => entry.isFile())
      .map(
        async (entry) =>
          [join(entry.parentPath, entry.name), await readFile(join(entry.parentPath, entry.name))] as const,
      ),
  )
}

onEveryStore('a tree whose tools give their secrets away', (world) => {
  it('F3, S4: no model request, record, event, warning, head or file on disk has one, in any form', async () => {
    const { events, models } = await run(world)
    expect(events).toContain('[redacted]')
    expect(found(events)).toEqual([])
    const seen = JSON.stringify(
      models.map(({ requests }) => requests.map(({ system, messages, tools }) => ({ system, messages, tools }))),
    )
    expect(seen).toContain('[redacted]')
    expect(found(seen)).toEqual([])
    expect(found(world.warnings.join('\n'))).toEqual([])
    const backend = await world.store.source.open('client')
    const records = JSON.stringify(await backend.journal.readTree('lead'))
    for (const type of ['call.returned', 'child.reported', 'child.booted', 'variables.provided'])
      expect(records).toContain(type)
    expect(found(records)).toEqual([])
    expect(records + events).toMatch(/status[\\":]+sss/)
    for (const text of [records, events]) expect(text).not.toMatch(/sinst|agent-sec|"x_agent|key of sk/)
    await backend.close()
    if (world.store.dir === undefined) return
    const files = await bytesIn(world.store.dir)
    expect(files.length).toBeGreaterThan(1)
    for (const [path, bytes] of files) expect(found(bytes), path).toEqual([])
  })

  it('F1, F2: a child reads neither its sibling’s variables nor its files, by whatever path, name or reference', async () => {
    const seen: string[] = []
    const peek = looseTool(
      'peek',
      async (state) => {
        for (const path of [
          '/mine.txt',
          '/../mine.txt',
          '../mine.txt',
          '/c_other/mine.txt',
          '/proc/self/environ',
          '/attachments/mine.txt',
        ])
          seen.push(String(await state.files.exists(path)))
        seen.push(...(await state.files.find('**')))
        for (const name of ['TOKEN', 'OTHER', 'constructor'])
          seen.push(await state.env(name).catch((thrown: Error) => thrown.message))
        return 'peeked'
      },
      { variables: [{ name: 'TOKEN', scoped: true, required: false }] },
    )
    const keep = looseTool('keep', async (state) => {
      await state.files.writeFile('/mine.txt', 'of the first')
      return 'kept'
    })
    const stays = { receives_messages: 'side_a' as const }
    const script: Script = ({ messages, step }) => {
      const said = messages.findLast(({ role }) => role === 'user')?.text ?? ''
      if (step > 0) return messages.at(-1)?.text ?? ''
      return said === 'reach'
        ? calls('peek', { tool: 'subagent_message', args: { reference: 'child-1', message: 'hello' } })
        : calls('keep')
    }
    const app = [
      peek,
      keep,
      defineModel({
        name: 'lead_m',
        model: scriptedModel(({ step }) =>
          step < 2
            ? calls({
                tool: 'subagent_create',
                args: { agent: 'child', name: 'C', message: step === 0 ? 'keep' : 'reach' },
              })
            : 'done',
        ),
      }),
      defineModel({ name: 'child_m', model: scriptedModel(script) }),
      definePrompt({ name: 'lead_p', prompt: 'x', model: 'lead_m', tools: [{ name: 'child', resumable: stays }] }),
      definePrompt({ name: 'child_p', prompt: 'x', model: 'child_m', tools: ['peek', 'keep'] }),
      defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_p' } }),
      defineAgent({ name: 'child', type: 'ai_human', sideA: { prompt: 'child_p' }, exposeAsTool: true }),
    ]
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead', env: { TOKEN: values.TOKEN } })
    const first = lead.send('go')
    await until('the first child', async () => (await skein.threads.list({ parent: 'lead' })).threads.length > 0)
    const [sibling] = (await skein.threads.list({ parent: 'lead' })).threads
    await (await skein.threads.get(sibling?.thread ?? '')).env.set({ TOKEN: values.TOKEN__2 })
    await first.text()
    expect(seen.slice(0, 6)).toEqual(Array(6).fill('false'))
    expect(seen.slice(6)).toEqual([
      '',
      expect.stringContaining('does not declare'),
      expect.stringContaining('does not declare'),
    ])
    expect(await lead.messages()).toMatchObject([{}, {}, {}, {}, { text: expect.stringContaining('UNKNOWN_TOOL') }, {}])
  })
})
