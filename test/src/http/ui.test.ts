/** H1: a thread as a chat of the AI SDK, with the real classes of its pages. */
import { Chat } from '@ai-sdk/react'
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  readUIMessageStream,
} from 'ai'
import type { UIMessage, UIMessageChunk } from 'ai'
import { afterEach, expect, it } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../../src/index.js'
import { calls, looseTool, tinyApp } from '../../helpers/app.js'
import { deferred, until } from '../../helpers/deferred.js'
import { keys, served } from '../../helpers/served.js'
import type { Served } from '../../helpers/served.js'
import { onEveryStore } from '../../helpers/world.js'

let server: Served | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

type Shown = { readonly messages: readonly { readonly role: string; readonly text: string }[] }

const pay = looseTool('pay', (_, { euros }) => ({ paid: euros }), { needsApproval: true })
const burn = looseTool('burn', () => {
  throw new Error('it is wet')
})
let gate = deferred()
const wait = looseTool('wait', async () => {
  await gate.promise
  return 'waited'
})
const question = defineTool({ name: 'ask', description: 'Asks', args: z.looseObject({}), execute: false })
const script = ({ messages }: Shown) => {
  const last = messages.at(-1)
  const asked = messages.findLast(({ role }) => role === 'user')?.text ?? ''
  const results = messages.filter(({ role }) => role === 'tool').length
  if (asked === 'twice' && results < 2)
    return { text: `round ${results}`, calls: [{ tool: 'pay', args: { euros: results } }] }
  if (last?.role === 'tool') return `${asked}: ${last.text}`
  if (asked === 'fail') throw new Error('the model is out of order')
  if (asked === 'pay')
    return {
      text: 'I will.',
      calls: [
        { tool: 'pay', args: { euros: 5 } },
        { tool: 'pay', args: { euros: 6 } },
      ],
    }
  if (asked === 'burn' || asked === 'wait' || asked === 'ask') return calls(asked)
  return { text: `you said: ${asked}`, reasoning: 'hm' }
}

onEveryStore('a chat of the AI SDK', (world) => {
  const open = async () => {
    const skein = await world.open(tinyApp({ tools: [pay, burn, wait, question], script }).app)
    server = await served(skein)
    const { url } = server
    const thread = await skein.threads.create({ agent: 'helper', id: 'one' })
    const transport = (key: string = keys.admin) =>
      new DefaultChatTransport<UIMessage>({
        api: `${url}/threads/one/ui`,
        headers: { authorization: `Bearer ${key}` },
        prepareReconnectToStreamRequest: () => ({ api: `${url}/threads/one/ui` }),
      })
    const chat = (key?: string, messages: UIMessage[] = []) =>
      new Chat<UIMessage>({
        id: 'one',
        messages,
        transport: transport(key),
        sendAutomaticallyWhen: (state) =>
          lastAssistantMessageIsCompleteWithApprovalResponses(state) ||
          lastAssistantMessageIsCompleteWithToolCalls(state),
      })
    return { skein, thread, chat, transport }
  }
  const partsOf = (message: UIMessage | undefined) => message?.parts.map((part) => ({ ...part })) ?? []

  it('H1: what is said comes as parts of a message, once for the id that the page gave', async () => {
    const { chat, thread, transport } = await open()
    const page = chat()
    await page.sendMessage({ text: 'hello' })
    expect(page.status).toBe('ready')
    expect(page.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect(partsOf(page.lastMessage)).toMatchObject([
      { type: 'step-start' },
      { type: 'reasoning', text: 'hm', state: 'done' },
      { type: 'text', text: 'you said: hello', state: 'done' },
    ])
    expect(page.lastMessage?.metadata).toMatchObject({ thread: 'one', stopReason: 'completed' })
    // The same request again gives the same run.
    const stream = await transport().sendMessages({
      chatId: 'one',
      messages: page.messages.slice(0, 1),
      trigger: 'submit-message',
      messageId: undefined,
      abortSignal: undefined,
    })
    let again: UIMessage | undefined
    for await (const message of readUIMessageStream({ stream })) again = message
    expect(again?.id).toBe(page.lastMessage?.id)
    expect(partsOf(again)).toEqual(partsOf(page.lastMessage))
    expect(await thread.messages()).toHaveLength(2)
    await page.sendMessage({ text: 'more' })
    expect(page.messages).toHaveLength(4)
  })

  it('H1, A4: a page approves one call and rejects another; the message goes on', async () => {
    const { chat, thread } = await open()
    const page = chat()
    await page.sendMessage({ text: 'pay' })
    expect(partsOf(page.lastMessage)).toMatchObject([
      { type: 'step-start' },
      { type: 'text', text: 'I will.' },
      { type: 'tool-pay', state: 'approval-requested', input: { euros: 5 }, approval: { id: 'one/call_1_0' } },
      { type: 'tool-pay', state: 'approval-requested', input: { euros: 6 }, approval: { id: 'one/call_1_1' } },
    ])
    expect(page.lastMessage?.metadata).toMatchObject({ status: 'awaiting_approval' })
    await page.addToolApprovalResponse({ id: 'one/call_1_0', approved: true })
    await page.addToolApprovalResponse({ id: 'one/call_1_1', approved: false, reason: 'too much' })
    await thread.settled()
    await untilReady(page)
    expect(page.messages).toHaveLength(2)
    expect(partsOf(page.lastMessage)).toMatchObject([
      { type: 'step-start' },
      { type: 'text', text: 'I will.' },
      { type: 'tool-pay', state: 'output-available', output: { paid: 5 } },
      { type: 'tool-pay', state: 'output-denied' },
      { type: 'step-start' },
      { type: 'text', text: expect.stringContaining('pay: ') },
    ])
    const { messages } = page
    expect(messages.map(({ id }) => id)).toEqual([...new Set(messages.map(({ id }) => id))])
  })

  it('H1, A4: a message that is decided twice has everything once', async () => {
    const { chat } = await open()
    const page = chat()
    await page.sendMessage({ text: 'twice' })
    for (const id of ['one/call_1_0', 'one/call_2_0']) {
      await page.addToolApprovalResponse({ id, approved: true })
      await untilReady(page)
    }
    expect(partsOf(page.lastMessage)).toMatchObject([
      { type: 'step-start' },
      { type: 'text', text: 'round 0' },
      { type: 'tool-pay', state: 'output-available', output: { paid: 0 } },
      { type: 'step-start' },
      { type: 'text', text: 'round 1' },
      { type: 'tool-pay', state: 'output-available', output: { paid: 1 } },
      { type: 'step-start' },
      { type: 'text', text: 'twice: {"paid":1}' },
    ])
  })

  it('H1, A4: an output that a page gives answers a call that waits for a person', async () => {
    const { chat } = await open()
    const page = chat()
    await page.sendMessage({ text: 'ask' })
    expect(partsOf(page.lastMessage)).toMatchObject([{ type: 'step-start' }, { state: 'input-available' }])
    await page.addToolOutput({ tool: 'ask', toolCallId: 'call_1_0', output: 'Friday' })
    await untilReady(page)
    expect(partsOf(page.lastMessage)).toMatchObject([
      { type: 'step-start' },
      { type: 'tool-ask', state: 'output-available', output: 'Friday' },
      { type: 'step-start' },
      { type: 'text', text: 'ask: Friday' },
    ])
  })

  it('A4, H3: a decision needs the scope; one that was taken is passed over', async () => {
    const { chat, skein } = await open()
    const page = chat(keys.writer)
    await page.sendMessage({ text: 'pay' })
    await page.addToolApprovalResponse({ id: 'one/call_1_0', approved: true })
    await page.addToolApprovalResponse({ id: 'one/call_1_1', approved: true })
    await untilReady(page)
    expect(page.error?.message).toContain('FORBIDDEN')
    expect(await skein.inbox.list()).toHaveLength(2)
    await skein.inbox.approve('one/call_1_0', { by: 'Ada' })
    const other = chat(keys.admin, page.messages)
    await other.sendMessage()
    expect(other.error).toBeUndefined()
    expect(await skein.inbox.list()).toEqual([])
    expect(partsOf(other.lastMessage).slice(2)).toMatchObject([
      { type: 'tool-pay', state: 'output-available' },
      { type: 'tool-pay', state: 'output-available' },
      { type: 'step-start' },
      { type: 'text' },
    ])
  })

  it('H1: a page that comes back gets the run that goes on from its beginning, and 204 where none does', async () => {
    const { chat, transport } = await open()
    expect(await transport().reconnectToStream({ chatId: 'one' })).toBeNull()
    gate = deferred()
    const page = chat()
    const sent = page.sendMessage({ text: 'wait' })
    await until('the run goes on', async () => {
      const stream = await transport().reconnectToStream({ chatId: 'one' })
      await stream?.cancel()
      return stream !== null
    })
    const back = chat()
    const resumed = back.resumeStream()
    await until('the page has the call', () => (back.lastMessage?.parts.length ?? 0) > 1)
    gate.resolve()
    await Promise.all([sent, resumed])
    expect(partsOf(back.lastMessage)).toMatchObject([
      { type: 'step-start' },
      { type: 'tool-wait', state: 'output-available', output: 'waited' },
      { type: 'step-start' },
      { type: 'text', text: 'wait: waited' },
    ])
    expect(back.lastMessage?.id).toBe(page.lastMessage?.id)
    expect(await transport().reconnectToStream({ chatId: 'one' })).toBeNull()
  })

  it('H1: a call that failed is an error of its part; a turn that failed is one of the chat', async () => {
    const { chat } = await open()
    const page = chat()
    await page.sendMessage({ text: 'burn' })
    expect(partsOf(page.lastMessage)).toMatchObject([
      { type: 'step-start' },
      { type: 'tool-burn', state: 'output-error', errorText: expect.stringContaining('it is wet') },
      { type: 'step-start' },
      { type: 'text' },
    ])
    await page.sendMessage({ text: 'fail' })
    expect(page.error?.message).toContain('out of order')
  })

  it('H1: the stream says what it is; what is no message is refused in words', async () => {
    await open()
    const { ask } = server ?? { ask: () => Promise.reject(new Error('no server')) }
    const post = (body: object) => ask('/threads/one/ui', { body })
    const parts = [{ type: 'text', text: 'hello' }]
    const answer = await post({ message: { id: 'step_1 and more', role: 'user', parts } })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1')
    const lines = String(answer.body)
      .split('\n\n')
      .filter((line) => line.startsWith('data: '))
    expect(lines.at(-1)).toBe('data: [DONE]')
    const chunks = lines.slice(0, -1).map((line): UIMessageChunk => JSON.parse(line.slice(6)))
    expect(chunks[0]).toMatchObject({ type: 'start' })
    expect(chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop' })
    const refused = async (body: object) => (await post(body)).body
    expect(await refused({})).toMatchObject({ status: 400, detail: expect.stringContaining('no message') })
    expect(await refused({ message: { id: 'a', role: 'assistant', parts } })).toMatchObject({ status: 400 })
    expect(
      await refused({ message: { id: 'a', role: 'user', parts: [{ type: 'file', url: 'data:,' }] } }),
    ).toMatchObject({
      detail: expect.stringContaining('only text'),
    })
    expect(await refused({ message: { id: 'a', role: 'user', parts }, trigger: 'regenerate-message' })).toMatchObject({
      detail: expect.stringContaining('says nothing anew'),
    })
  })
})

/** The chat sends by itself, and gives nothing to wait for. */
async function untilReady(page: Chat<UIMessage>): Promise<void> {
  await until('the chat is ready', () => page.status === 'ready' || page.status === 'error')
}
