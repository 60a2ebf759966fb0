/** H1, S6: steering, trees, variables, state, records and effects through real HTTP. */
import { afterEach, expect, it } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../../src/agent/define.js'
import { createSkein, machineOutline, memory } from '../../../src/index.js'
import type { Script } from '../../../src/models/scripted.js'
import { calls, looseTool, tinyApp } from '../../helpers/app.js'
import { deferred, until } from '../../helpers/deferred.js'
import { family, last, write } from '../../helpers/family.js'
import { keys, served } from '../../helpers/served.js'
import type { Served } from '../../helpers/served.js'
import { onEveryStore } from '../../helpers/world.js'

let server: Served | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

onEveryStore('looking at threads over HTTP', (world) => {
  const open = async () => {
    const [began, gate] = [deferred(), deferred<string>()]
    const mail = looseTool(
      'mail',
      () => {
        began.resolve()
        return gate.promise
      },
      { sideEffect: true },
    )
    const script: Script = ({ messages }) =>
      messages.at(-1)?.text === 'mail' ? calls({ tool: 'mail', args: { to: 'bob' } }) : 'fine'
    const skein = await world.open(tinyApp({ tools: [mail], script }).app)
    server = await served(skein)
    const { ask } = server
    await ask('/threads', { body: { agent: 'helper', id: 'one' } })
    return { skein, ask, began, gate }
  }

  it('H1: a turn is stopped, a thread paused, resumed and terminated; each says whether it changed anything', async () => {
    const { ask, began } = await open()
    const post = async (what: string, body?: object) =>
      (await ask(`/threads/one/${what}`, body ? { body } : { method: 'POST' })).body
    expect(await post('stop')).toEqual({ changed: false })
    await ask('/threads/one/messages', { body: { text: 'mail', id: 'm1' } })
    await began.promise
    expect((await ask('/threads/one')).body).toMatchObject({ status: 'acting' })
    expect(await post('stop', { reason: 'enough' })).toEqual({ changed: true })
    expect((await ask('/threads/one/runs/m1?wait=60000')).body).toMatchObject({
      result: { stopReason: 'cancelled', detail: 'enough' },
    })
    expect(await post('pause', { reason: 'tea' })).toEqual({ changed: true })
    expect((await ask('/threads/one')).body).toMatchObject({ status: 'paused', reason: 'tea' })
    await ask('/threads/one/messages', { body: { text: 'hello', id: 'm2' } })
    expect((await ask('/threads/one/runs/m2')).status).toBe(202)
    expect(await post('resume')).toEqual({ changed: true })
    expect(await post('resume')).toEqual({ changed: false })
    expect((await ask('/threads/one/runs/m2?wait=60000')).body).toMatchObject({ result: { text: 'fine' } })
    expect(await post('terminate', { reason: 'over' })).toEqual({ changed: true })
    expect(await post('terminate')).toEqual({ changed: false })
    expect((await ask('/threads/one')).body).toMatchObject({ status: 'terminated', reason: 'over' })
    expect(await ask('/threads/one/messages', { body: { text: 'more' } })).toMatchObject({
      status: 409,
      body: { code: 'COMMAND_REFUSED' },
    })
  })

  it('H1, B2: effects are listed, unknown ones first; who may approve resolves one, once, under the name of its key', async () => {
    const { ask, began } = await open()
    await ask('/threads/one/messages', { body: { text: 'mail', id: 'm1' } })
    await began.promise
    expect((await ask('/threads/one/state')).body).toMatchObject({
      status: 'acting',
      value: { gate: 'open', work: 'acting' },
      outstanding: [{ kind: 'call', key: 'step/1/call/0' }],
    })
    expect((await ask('/threads/one/effects')).body).toMatchObject({ effects: [{ state: 'running', tool: 'mail' }] })
    await ask('/threads/one/stop', { method: 'POST' })
    const unknown = { effects: [{ id: 'one/call_1_0', state: 'unknown', path: ['one'] }] }
    expect((await ask('/effects')).body).toMatchObject(unknown)
    expect((await ask('/effects?root=one')).body).toMatchObject(unknown)
    expect((await ask('/effects?root=other')).body).toEqual({ effects: [] })
    const body = { happened: false, comment: 'asked them' }
    const resolve = (key: string) => ask('/effects/one/call_1_0/resolve', { body, key })
    expect(await resolve(keys.writer)).toMatchObject({ status: 403 })
    expect(await ask('/effects/one/call_1_0/resolve', { body: { happened: 'no' } })).toMatchObject({ status: 400 })
    const both = await Promise.all([resolve(keys.approver), resolve(keys.approver)])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
    expect((await ask('/threads/one/effects')).body).toMatchObject({
      effects: [{ state: 'failed', resolution: { happened: false, by: 'april', comment: 'asked them' } }],
    })
    const { records } = (await ask('/threads/one/records?before=1000000&limit=1')).body as { records: unknown[] }
    expect(records).toMatchObject([{ type: 'effect.resolved', resolvedBy: 'april' }])
    expect(await ask('/threads/one/records?after=1&before=2')).toMatchObject({ status: 400 })
  })

  it('H1, A3: the output of a call that waits for a person is given once, and its turn goes on', async () => {
    const person = defineTool({
      name: 'ask_person',
      description: 'Asks a person',
      args: z.looseObject({}),
      outputSchema: z.string(),
      onToolCalled: () => null,
    })
    const script: Script = ({ messages }) =>
      messages.at(-1)?.text === 'ask' ? calls('ask_person') : `they say ${last(messages)}`
    const skein = await world.open(tinyApp({ tools: [person], script }).app)
    server = await served(skein)
    const { ask } = server
    await ask('/threads', { body: { agent: 'helper', id: 'one' } })
    const asked = await ask('/threads/one/messages?wait=600000', { body: { text: 'ask', id: 'm1' } })
    expect(asked).toMatchObject({ status: 202, body: { waiting: { status: 'awaiting_human' } } })
    expect((await ask('/threads/one/runs/m1/calls')).body).toMatchObject({ calls: [{ id: 'call_1_0' }] })
    const give = () => ask('/threads/one/calls/call_1_0/result', { body: { output: 'yes' } })
    expect(await give()).toMatchObject({ status: 200 })
    expect((await ask('/threads/one/runs/m1?wait=60000')).body).toMatchObject({ result: { text: 'they say yes' } })
    expect(await give()).toMatchObject({ status: 409, body: { code: 'COMMAND_REFUSED' } })
  })

  it('H1: agents, tools and models of the app, and what a model would read', async () => {
    const { ask } = await open()
    expect((await ask('/agents')).body).toMatchObject({ agents: [{ name: 'helper' }] })
    expect((await ask('/agents/helper')).body).toMatchObject({ name: 'helper', sides: [{ calls: ['mail'] }] })
    expect(await ask('/agents/nobody')).toMatchObject({ status: 404, body: { code: 'UNKNOWN_AGENT' } })
    const { tools } = (await ask('/tools')).body as { tools: { name: string }[] }
    expect(tools.map(({ name }) => name)).toContain('mail')
    expect((await ask('/models')).body).toEqual({ models: [{ name: 'scripted', fallback: [] }] })
    await ask('/threads/one/messages?wait=60000', { body: { text: 'hello' } })
    expect((await ask('/threads/one/context')).body).toMatchObject({
      messages: [{ text: 'hello' }, { text: 'fine' }],
      leftOut: [],
    })
    expect((await ask('/threads/one/export')).body).toMatchObject({ format: 'skein-thread', thread: 'one' })
  })

  it('H1, S6: the tree, and a request for variables: two POSTs at once start one child, incomplete ones none', async () => {
    const token = looseTool('token', async (state) => ((await state.env('TOKEN')) ? 'has it' : 'has none'), {
      variables: [{ name: 'TOKEN', scoped: true }],
    })
    const lead: Script = ({ messages, step }) => {
      if (last(messages).startsWith('[')) return `heard ${last(messages)}`
      return step === 0 ? calls(write('hello')) : 'told'
    }
    const writer: Script = ({ step, messages }) => (step === 0 ? calls('token') : last(messages))
    const skein = await world.open(family({ lead, writer, tools: [token] }))
    server = await served(skein)
    const { ask } = server
    await ask('/threads', { body: { agent: 'lead', id: 'lead' } })
    await ask('/threads/lead/messages?wait=60000', { body: { text: 'go' } })
    const path = '/threads/lead/variables/env_1_0'
    expect((await ask(path)).body).toMatchObject({ endpoint: path, required: ['TOKEN'], missing: ['TOKEN'] })
    expect((await ask('/inbox?root=lead')).body).toMatchObject({ items: [{ id: 'lead/env_1_0', why: 'variables' }] })
    expect(await ask(path, { body: {} })).toMatchObject({ status: 400, body: { code: 'VARIABLES_REQUIRED' } })
    expect((await ask(path)).body).toMatchObject({ missing: ['TOKEN'] })
    expect(await ask('/threads/lead/variables/env_9_9')).toMatchObject({ status: 404 })
    const both = await Promise.all(['one', 'two'].map((name) => ask(path, { body: { TOKEN: `the token ${name}` } })))
    expect(both.map(({ status }) => status).sort()).toEqual([200, 404])
    expect(await ask(path)).toMatchObject({ status: 404, body: { code: 'UNKNOWN_REQUEST' } })
    const messages = async () =>
      ((await ask('/threads/lead/messages')).body as { messages: { text: string }[] }).messages.at(-1)?.text ?? ''
    await until('the report to be heard', async () => (await messages()).startsWith('heard [writer-1]'))
    const { children } = (await ask('/threads/lead/tree')).body as { children: { thread: string; agent: string }[] }
    expect(children).toMatchObject([{ agent: 'writer', parent: 'lead', children: [] }])
    expect((await ask('/threads/lead/children')).body).toMatchObject({ children: [{ reference: 'writer-1' }] })
    expect((await ask(`/threads/lead/variables`)).body).toEqual({ variables: [] })
    expect((await ask('/inbox')).body).toEqual({ items: [] })
  })
})

it('H1: the statechart of threads is data, the same as the one that moves them', async () => {
  const { app } = tinyApp({ script: () => 'fine' })
  const skein = await createSkein({ app, backend: memory() })
  server = await served(skein)
  const { status, body } = await server.ask('/machine', { key: keys.reader })
  expect([status, body]).toEqual([200, await machineOutline()])
  const { initial, states, edges } = await machineOutline()
  expect(states).toContain(initial)
  expect(edges.every(({ from, to }) => states.includes(from) && states.includes(to))).toBe(true)
  expect(edges).toContainEqual({ from: 'open.idle', on: 'turn.started', to: 'open.thinking' })
  expect(edges).toContainEqual({ from: 'open.thinking', on: 'turn.ended', guard: 'failed', to: 'open.failed' })
  await server.close()
  server = undefined
  await skein.close()
})
