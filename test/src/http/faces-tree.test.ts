/** H1, H3: other faces of a tree: what children wait for, what pages hear of them, and keys that are bound. */
import OpenAI from 'openai'
import { Chat } from '@ai-sdk/react'
import { DefaultChatTransport } from 'ai'
import type { UIMessage } from 'ai'
import { afterEach, expect, it } from 'vitest'
import { hashKey } from '../../../src/server.js'
import { looseTool } from '../../helpers/app.js'
import { keyAuth, keys, served } from '../../helpers/served.js'
import type { Served } from '../../helpers/served.js'
import { last, team, write } from '../../helpers/team.js'
import { onEveryStore } from '../../helpers/world.js'

let server: Served | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

const pay = looseTool('pay', () => 'paid', { needsApproval: true })
onEveryStore('other faces of a tree', (world) => {
  const open = async () => {
    const { app } = team({
      tools: [pay],
      lead: ({ messages }) =>
        messages.at(-1)?.role === 'tool' ? `lead: ${last(messages)}` : { calls: [write('pay')] },
      writer: ({ messages }) =>
        messages.at(-1)?.role === 'tool' ? `writer: ${last(messages)}` : { calls: [{ tool: 'pay', args: {} }] },
    })
    const skein = await world.open(app)
    const bound = [
      { name: 'tenant', sha256: hashKey('key-tenant'), scopes: ['write'], tags: ['acme'] },
      { name: 'tree', sha256: hashKey('key-tree'), scopes: ['write'], roots: ['one'] },
    ] as const
    const auth = typeof keyAuth === 'object' ? { ...keyAuth, keys: [...keyAuth.keys, ...bound] } : keyAuth
    server = await served(skein, { auth })
    const { url } = server
    const ask = (content: string, { key = keys.writer as string, thread = '' } = {}) =>
      new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 }).chat.completions
        .create(
          { model: 'lead', messages: [{ role: 'user', content }] },
          { headers: thread === '' ? {} : { 'x-skein-thread': thread } },
        )
        .then((data): { text: unknown; more: unknown } => ({
          text: data.choices[0]?.message.content,
          more: 'x_skein' in data ? data.x_skein : undefined,
        }))
    return { skein, url, ask }
  }

  it('H1, A4: an answer ends with what a child waits for, and goes on when that is decided', async () => {
    const { skein, ask } = await open()
    await skein.threads.create({ agent: 'lead', id: 'one' })
    const { more } = await ask('go', { thread: 'one' })
    const [item] = await skein.inbox.list()
    expect(more).toMatchObject({ thread: 'one', waits_for: [item?.id] })
    expect(item?.thread).not.toBe('one')
    await skein.inbox.approve(item?.id ?? '')
    expect(await ask('go', { thread: 'one' })).toMatchObject({ text: 'lead: writer: paid' })
  })

  it('H1: a page hears of the threads below', async () => {
    const { skein, url } = await open()
    await skein.threads.create({ agent: 'lead', id: 'one' })
    const heard: unknown[] = []
    const page = new Chat<UIMessage>({
      transport: new DefaultChatTransport({
        api: `${url}/threads/one/ui`,
        headers: { authorization: `Bearer ${keys.admin}` },
      }),
      onData: ({ type, data }) => void heard.push({ type, data }),
    })
    await page.sendMessage({ text: 'go' })
    const [item] = await skein.inbox.list()
    expect(page.lastMessage?.parts).toMatchObject([
      { type: 'step-start' },
      { type: 'tool-writer', state: 'input-available', input: { message: 'pay' } },
    ])
    expect(page.lastMessage?.metadata).toMatchObject({ waitsFor: [item?.id] })
    expect(heard).toContainEqual({
      type: 'data-thread',
      data: expect.objectContaining({ thread: item?.thread, event: expect.objectContaining({ type: 'turn.started' }) }),
    })
  })

  it('H3: a key that is bound sees and makes its own trees alone', async () => {
    const { skein, ask } = await open()
    await skein.threads.create({ agent: 'lead', id: 'one' })
    await skein.threads.create({ agent: 'lead', id: 'two' })
    const key = 'key-tree'
    await expect(ask('go', { key })).rejects.toThrow(/^403 /)
    await expect(ask('go', { key, thread: 'two' })).rejects.toThrow(/^404 /)
    await expect(ask('go', { key: 'key-tenant', thread: 'one' })).rejects.toThrow(/^404 /)
    expect((await skein.threads.list()).threads.map(({ seq }) => seq)).toEqual([1, 1])
    await ask('go', { key, thread: 'one' })
    await ask('go', { key: 'key-tenant' })
    const { threads } = await skein.threads.list({ tag: 'acme' })
    expect(threads.map(({ tags }) => [...tags].sort())).toEqual([['acme', 'openai']])
  })
})
