/** E4: agents through the official client of A2A 1.0. */
import { Role, TaskState } from '@a2a-js/sdk'
import type { Message, SendMessageRequest, StreamResponse, Task } from '@a2a-js/sdk'
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client'
import type { Client } from '@a2a-js/sdk/client'
import { afterEach, expect, it } from 'vitest'
import { createSkein, memory } from '../../../src/index.js'
import { calls, looseTool, tinyApp } from '../../helpers/app.js'
import { deferred } from '../../helpers/deferred.js'
import { keys, served } from '../../helpers/served.js'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

type Shown = { readonly messages: readonly { readonly role: string; readonly text: string }[] }

async function open(options: { readonly key?: string } = {}) {
  const go = deferred()
  const begun = deferred()
  const slow = looseTool('slow', async ({ signal }) => {
    begun.resolve()
    await Promise.race([go.promise, new Promise((resolve) => signal.addEventListener('abort', resolve))])
    return 'slowly'
  })
  const pay = looseTool('pay', (_, { euros }) => `paid ${String(euros)}`, { needsApproval: true })
  const script = ({ messages }: Shown) => {
    const last = messages.at(-1)
    if (last?.role === 'tool') return `it says: ${last.text}`
    if (last?.text === 'pay') return calls({ tool: 'pay', args: { euros: 5 } })
    if (last?.text === 'ask')
      return calls({ tool: 'ask_user_question', args: { questions: [{ question: 'Which?', header: 'Colour' }] } })
    if (last?.text === 'slow') return calls('slow')
    if (last?.text === 'fail') throw new Error('the model is out of order')
    return `${messages.filter(({ role }) => role === 'user').length}: ${String(last?.text)}`
  }
  const { app, model } = tinyApp({ tools: [slow, pay], script })
  const withQuestions = app.map((each) =>
    each.kind === 'prompt' ? { ...each, tools: ['slow', 'pay', 'ask_user_question'] } : each,
  )
  const skein = await createSkein({ app: withQuestions, backend: memory() })
  cleanups.push(() => skein.close())
  const server = await served(skein)
  cleanups.push(() => server.close())
  const as = (key: string): Promise<Client> => clientOf(`${server.url}/a2a/helper/`, key)
  return { skein, model, server, go, begun, as, client: await as(options.key ?? keys.admin) }
}

function clientOf(url: string, key: string): Promise<Client> {
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers)
    headers.set('authorization', `Bearer ${key}`)
    return fetch(input, { ...init, headers })
  }
  return new ClientFactory({
    transports: [new JsonRpcTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  }).createFromUrl(url)
}

let given = 0
function say(text: string, more: Partial<Message> = {}, configuration = {}): SendMessageRequest {
  const part = { content: { $case: 'text' as const, value: text }, metadata: undefined, filename: '', mediaType: '' }
  return {
    tenant: '',
    message: {
      messageId: `m-${++given}`,
      contextId: '',
      taskId: '',
      role: Role.ROLE_USER,
      parts: [part],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      ...more,
    },
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately: false,
      ...configuration,
    },
    metadata: undefined,
  }
}
const dataPart = (value: unknown) => ({
  content: { $case: 'data' as const, value },
  metadata: undefined,
  filename: '',
  mediaType: '',
})

function taskIn(result: Message | Task): Task {
  if ('status' in result) return result
  throw new Error('it is a message')
}
const textIn = (parts: Message['parts'] = []): string =>
  parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('')
const answerIn = ({ artifacts }: Task): string => textIn(artifacts.at(-1)?.parts)
const of = (id: string) => ({ tenant: '', id })

it('E4: an agent has a card, and answers; the conversation goes on; a message that is sent again is one', async () => {
  const { client, model, skein } = await open()
  const card = await client.getAgentCard()
  expect(card).toMatchObject({ name: 'helper', capabilities: { streaming: true, pushNotifications: false } })
  const first = say('hello')
  const task = taskIn(await client.sendMessage(first))
  expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
  expect(answerIn(task)).toBe('1: hello')
  expect(task.history.map(({ role, parts }) => [role, textIn(parts)])).toEqual([
    [Role.ROLE_USER, 'hello'],
    [Role.ROLE_AGENT, '1: hello'],
  ])
  expect(taskIn(await client.sendMessage(first)).id).toBe(task.id)
  expect(model.requests).toHaveLength(1)
  const second = taskIn(await client.sendMessage(say('more', { contextId: task.contextId })))
  expect(second.id).toBe(task.id)
  expect(answerIn(second)).toBe('2: more')
  // A name of the client's own for the conversation.
  const named = taskIn(await client.sendMessage(say('one', { contextId: 'urn:uuid:17 of 4' })))
  expect(named.contextId).toBe('urn:uuid:17 of 4')
  expect(taskIn(await client.sendMessage(say('two', { contextId: 'urn:uuid:17 of 4' }))).id).toBe(named.id)
  expect((await skein.threads.list()).threads).toHaveLength(2)
})

it('E4: tasks are got and listed, page by page', async () => {
  const { client } = await open()
  const ids: string[] = []
  for (const text of ['a', 'b', 'c'])
    ids.push(taskIn(await client.sendMessage(say(text, { contextId: `of ${text}` }))).id)
  const query = { tenant: '', contextId: '', status: 0, pageToken: '', statusTimestampAfter: undefined }
  const page = await client.listTasks({ ...query, pageSize: 2 })
  expect(page.tasks).toHaveLength(2)
  const rest = await client.listTasks({ ...query, pageSize: 2, pageToken: page.nextPageToken })
  expect([...page.tasks, ...rest.tasks].map(({ id }) => id)).toEqual(ids)
  expect(rest.nextPageToken).toBe('')
  const one = await client.listTasks({ ...query, contextId: 'of b', historyLength: 5, includeArtifacts: true })
  expect(one.tasks.map((task) => [task.id, answerIn(task), task.history.length])).toEqual([[ids[1], '1: b', 2]])
  expect((await client.getTask({ ...of(ids[0] ?? ''), historyLength: 1 })).history).toHaveLength(1)
  await expect(client.getTask(of('nope'))).rejects.toThrow(/no task "nope"/)
})

it('E4: a stream has the task, its words, and how it ends; another one joins', async () => {
  const { client, go, begun } = await open()
  const seen: StreamResponse['payload'][] = []
  let id = ''
  for await (const { payload } of client.sendMessageStream(say('slow'))) {
    seen.push(payload)
    if (payload?.$case !== 'task') continue
    id = payload.value.id
    await begun.promise
    const joined = client.resubscribeTask(of(id))
    expect((await joined.next()).value?.payload).toMatchObject({ $case: 'task', value: { id } })
    go.resolve()
    const states = []
    for await (const { payload: part } of joined)
      if (part?.$case === 'statusUpdate') states.push(part.value.status?.state)
    expect(states).toEqual([TaskState.TASK_STATE_COMPLETED])
  }
  expect(seen.at(0)).toMatchObject({ $case: 'task', value: { status: { state: TaskState.TASK_STATE_WORKING } } })
  expect(seen.at(-2)).toMatchObject({ $case: 'artifactUpdate', value: { lastChunk: true } })
  expect(seen.at(-1)).toMatchObject({
    $case: 'statusUpdate',
    value: { status: { state: TaskState.TASK_STATE_COMPLETED } },
  })
  expect(answerIn(await client.getTask(of(id)))).toBe('it says: slowly')
  await expect(client.resubscribeTask(of(id)).next()).rejects.toThrow(/has ended/)
})

it('E4: what waits in the inbox is input-required, and the next message decides', async () => {
  const { client, as, skein } = await open()
  const waiting = taskIn(await client.sendMessage(say('pay')))
  expect(waiting.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED)
  const { id: taskId, contextId } = waiting
  expect(textIn(waiting.status?.message?.parts)).toContain(`${taskId}/call_1_0: pay waits (approve or reject it)`)
  expect(waiting.status?.message?.parts[1]?.content).toMatchObject({
    value: { inbox: [{ tool: 'pay', args: { euros: 5 } }] },
  })
  const on = { taskId, contextId }
  await expect(client.sendMessage(say('perhaps', on))).rejects.toThrow(/send "approve" or "reject"/)
  const writer = await as(keys.writer)
  await expect(writer.sendMessage(say('approve', on))).rejects.toThrow(/FORBIDDEN.*approve/)
  const decision = { decision: 'approve', args: { euros: 6 } }
  const approval = say('', { ...on, parts: [dataPart(decision)] })
  const paid = taskIn(await client.sendMessage(approval))
  expect(answerIn(paid)).toContain('paid 6')
  // Sent again it decides nothing more, and is no message to the agent.
  expect(taskIn(await client.sendMessage(approval)).history).toEqual(paid.history)
  const asked = taskIn(await client.sendMessage(say('ask', { contextId })))
  expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED)
  expect(answerIn(taskIn(await client.sendMessage(say('blue', on))))).toContain('"blue"')
  expect(await skein.inbox.list()).toEqual([])
})

it('E4: a task is cancelled once; one that fails says why; a client that leaves ends nothing', async () => {
  const { client, begun, go } = await open()
  const task = taskIn(await client.sendMessage(say('slow', {}, { returnImmediately: true })))
  expect(task.status?.state).toBe(TaskState.TASK_STATE_WORKING)
  await begun.promise
  const gone = new AbortController()
  const stream = client.resubscribeTask(of(task.id), { signal: gone.signal })
  await stream.next()
  gone.abort()
  await stream.next().catch(() => undefined)
  const canceled = await client.cancelTask({ ...of(task.id), metadata: undefined })
  expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED)
  await expect(client.cancelTask({ ...of(task.id), metadata: undefined })).rejects.toThrow(/no turn that goes on/)
  go.resolve()
  const failed = taskIn(await client.sendMessage(say('fail')))
  expect(failed.status?.state).toBe(TaskState.TASK_STATE_FAILED)
  expect(textIn(failed.status?.message?.parts)).toContain('out of order')
})

it('E4, H3: scopes hold, push notifications are off, and what is wrong is an error of the protocol', async () => {
  const { as, server } = await open()
  const reader = await as(keys.reader)
  await expect(reader.sendMessage(say('hello'))).rejects.toThrow(/FORBIDDEN/)
  await expect(as('wrong')).rejects.toThrow(/401/)
  await expect(clientOf(`${server.url}/a2a/nobody/`, keys.admin)).rejects.toThrow(/404/)
  const asked = async (body: unknown, headers: Record<string, string> = {}) =>
    (await server.ask('/a2a/helper', { body, headers })).body
  const rpc = { jsonrpc: '2.0', id: 1 }
  expect(await asked({ hello: 1 })).toMatchObject({ error: { code: -32_600 } })
  expect(await asked({ ...rpc, method: 'Dance' })).toMatchObject({ id: 1, error: { code: -32_601 } })
  expect(await asked({ ...rpc, method: 'CreateTaskPushNotificationConfig' })).toMatchObject({
    error: { code: -32_003 },
  })
  expect(await asked({ ...rpc, method: 'SendMessage', params: {} })).toMatchObject({ error: { code: -32_602 } })
  expect(await asked({ ...rpc, method: 'GetTask', params: { id: '../x' } })).toMatchObject({ error: { code: -32_001 } })
  expect(await asked({ ...rpc, method: 'GetTask' }, { 'a2a-version': '0.3' })).toMatchObject({
    error: { code: -32_009 },
  })
})
