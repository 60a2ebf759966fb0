/** H1: agents through the real client of OpenAI. */
import OpenAI, { APIError } from 'openai'
import { afterEach, expect, it } from 'vitest'
import { calls, looseTool, tinyApp } from '../../helpers/app.js'
import { keys, served } from '../../helpers/served.js'
import type { Served } from '../../helpers/served.js'
import { onEveryStore } from '../../helpers/world.js'

let server: Served | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

type Shown = { readonly messages: readonly { readonly role: string; readonly text: string }[] }

const look = looseTool('look', () => 'the sea', { needsApproval: false })
const pay = looseTool('pay', (_, { euros }) => `paid ${String(euros)}`, { needsApproval: true })
const script = ({ messages }: Shown) => {
  const last = messages.at(-1)
  if (last?.role === 'tool') return `it says: ${last.text}`
  if (last?.text === 'fail') throw new Error('the model is out of order')
  if (last?.text === 'pay') return calls({ tool: 'pay', args: { euros: 5 } })
  if (last?.text === 'look') return { text: 'Let me look.', calls: [{ tool: 'look', args: {} }] }
  return messages.map(({ role, text }) => `${role}: ${text}`).join(' | ')
}
const say = (content: string) => ({ role: 'user' as const, content })

/** Fields that OpenAI's types do not have. */
const extensionOf = (value: object): unknown => ('x_skein' in value ? value.x_skein : undefined)

onEveryStore('agents for clients of OpenAI', (world) => {
  const open = async () => {
    const { app, model } = tinyApp({ tools: [look, pay], script })
    const skein = await world.open(app)
    server = await served(skein)
    const client = (apiKey: string = keys.writer) =>
      new OpenAI({ baseURL: `${server?.url ?? ''}/v1`, apiKey, maxRetries: 0 })
    return { skein, client, openai: client(), model }
  }
  const on = (thread: string) => ({ headers: { 'x-skein-thread': thread } })

  it('H1: agents are models', async () => {
    const { client } = await open()
    const { data } = await client(keys.reader).models.list()
    expect(data).toEqual([{ id: 'helper', object: 'model', created: 0, owned_by: 'skein' }])
  })

  it('H1: without a thread there is a new one that knows what was said before', async () => {
    const { openai, skein } = await open()
    const { data, response } = await openai.chat.completions
      .create({
        model: 'helper',
        temperature: 0.5,
        messages: [
          { role: 'developer', content: 'Be brief.' },
          say('one'),
          { role: 'assistant', content: 'first' },
          { role: 'user', content: [{ type: 'text', text: 'two' }] },
        ],
      })
      .withResponse()
    const [choice] = data.choices
    expect(choice).toMatchObject({ index: 0, finish_reason: 'stop', message: { role: 'assistant' } })
    expect(choice?.message.content).toContain('system: Be brief. | user: one | assistant: first | user: two')
    expect(data).toMatchObject({ object: 'chat.completion', model: 'helper' })
    expect(data.usage?.total_tokens).toBe((data.usage?.prompt_tokens ?? 0) + (data.usage?.completion_tokens ?? 0))
    const { threads } = await skein.threads.list({ tag: 'openai' })
    expect(threads).toHaveLength(1)
    expect(response.headers.get('x-skein-thread')).toBe(threads[0]?.thread)
    expect(extensionOf(data)).toMatchObject({ thread: threads[0]?.thread, stop_reason: 'completed' })
  })

  it('H1: a thread goes on with the last message alone; a request that is sent again is one message', async () => {
    const { openai, skein, model } = await open()
    const thread = await skein.threads.create({ agent: 'helper', id: 'one' })
    const first = { model: 'helper', messages: [say('hello')] }
    const { choices } = await openai.chat.completions.create(first, on('one'))
    const answer = choices[0]?.message.content ?? ''
    const second = {
      model: 'helper',
      messages: [...first.messages, { role: 'assistant' as const, content: answer }, say('hello')],
    }
    const asked = await Promise.all([
      openai.chat.completions.create({ ...second, metadata: { thread: 'one' } }),
      openai.chat.completions.create(second, on('one')),
    ])
    const again = await openai.chat.completions.create(second, on('one'))
    for (const { id } of asked) expect(id).toBe(again.id)
    expect((await thread.messages()).map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
    expect(model.requests).toHaveLength(2)
  })

  it('H1: an Idempotency-Key makes a request without a thread one thread', async () => {
    const { openai, skein } = await open()
    const body = { model: 'helper', messages: [say('before'), say('now')] }
    const options = { headers: { 'idempotency-key': 'order 66' } }
    const first = await openai.chat.completions.create(body, options)
    const second = await openai.chat.completions.create(body, options)
    expect(second.id).toBe(first.id)
    expect((await skein.threads.list()).threads).toHaveLength(1)
  })

  it('H1: chunks are what the agent says, step by step, then the reason and the usage', async () => {
    const { openai } = await open()
    const stream = await openai.chat.completions.create({
      model: 'helper',
      messages: [say('look')],
      stream: true,
      stream_options: { include_usage: true },
    })
    let text = ''
    const reasons: unknown[] = []
    let total: number | undefined
    for await (const { choices, usage } of stream) {
      text += choices[0]?.delta.content ?? ''
      if (choices[0]?.finish_reason) reasons.push(choices[0].finish_reason)
      total = usage?.total_tokens ?? total
    }
    expect(text).toBe('Let me look.\n\nit says: the sea')
    expect(reasons).toEqual(['stop'])
    expect(total).toBeGreaterThanOrEqual(0)
    const helper = openai.chat.completions.stream({ model: 'helper', messages: [say('look')] })
    expect(await helper.finalContent()).toBe(text)
    const whole = await openai.chat.completions.create({ model: 'helper', messages: [say('look')] })
    expect(whole.choices[0]?.message.content).toBe('it says: the sea')
  })

  it.each([true, false])(
    'H1, A4: a turn that waits for a person ends the answer with the ids of the inbox; stream: %s',
    async (stream) => {
      const { openai, skein } = await open()
      await skein.threads.create({ agent: 'helper', id: 'one' })
      const body = { model: 'helper', messages: [say('pay')] }
      const ask = async (): Promise<{ text: string; more: unknown }> => {
        if (!stream) {
          const data = await openai.chat.completions.create(body, on('one'))
          return { text: data.choices[0]?.message.content ?? '', more: extensionOf(data) }
        }
        const answer = { text: '', more: undefined as unknown }
        for await (const chunk of await openai.chat.completions.create({ ...body, stream: true }, on('one'))) {
          answer.text += chunk.choices[0]?.delta.content ?? ''
          answer.more = extensionOf(chunk) ?? answer.more
        }
        return answer
      }
      const { text, more } = await ask()
      expect(text).toBe('')
      expect(more).toMatchObject({ thread: 'one', status: 'awaiting_approval', waits_for: ['one/call_1_0'] })
      // Another message waits for that too.
      const other = await openai.chat.completions.create({ model: 'helper', messages: [say('other')] }, on('one'))
      expect(extensionOf(other)).toMatchObject({ waits_for: ['one/call_1_0'] })
      await skein.inbox.approve('one/call_1_0')
      // The same request again is the same turn.
      expect(await ask()).toMatchObject({ text: 'it says: paid 5', more: { stop_reason: 'completed' } })
    },
  )

  it('H1, H3: what cannot be done as asked is refused in words, and starts nothing', async () => {
    const { openai, client, skein } = await open()
    const base = { model: 'helper', messages: [say('hello')] }
    const refused = async (body: object, options: { key?: string; headers?: Record<string, string> } = {}) => {
      const { key = keys.writer, headers = {} } = options
      const thrown = await client(key)
        .post('/chat/completions', { body: { ...base, ...body }, headers })
        .catch((error: unknown) => error)
      if (!(thrown instanceof APIError)) throw new Error(`it was not refused: ${JSON.stringify(thrown)}`)
      return `${thrown.message} (${String(thrown.code)})`
    }
    const tool = { type: 'function', function: { name: 'x', parameters: {} } }
    expect(await refused({ tools: [tool] })).toMatch(/^400 tools: an agent has the tools of its prompt.*\(BAD_OPTION\)/)
    expect(await refused({ n: 2 })).toMatch(/^400 n: /)
    expect(await refused({ response_format: { type: 'json_object' } })).toMatch(/^400 response_format: /)
    expect(await refused({ messages: [{ role: 'assistant', content: 'x' }] })).toMatch(/^400 messages: the last one/)
    expect(await refused({ messages: [{ role: 'tool', content: 'x' }, say('x')] })).toMatch(
      /^400 messages.0: role tool/,
    )
    const image = { type: 'image_url', image_url: { url: 'data:,' } }
    expect(await refused({ messages: [{ role: 'user', content: [image] }] })).toMatch(/^400 messages.0: .*only text/)
    expect(await refused({ model: 'nobody' })).toMatch(/^404 .*UNKNOWN_AGENT/)
    expect(await refused({}, { headers: { 'x-skein-thread': 'none' } })).toMatch(/^404 .*UNKNOWN_THREAD/)
    expect(await refused({}, { headers: { 'x-skein-thread': '../x' } })).toMatch(/^400 .*x-skein-thread/)
    expect(await refused({}, { key: keys.reader })).toMatch(/^403 .*FORBIDDEN/)
    expect(await refused({}, { key: 'wrong' })).toMatch(/^401 .*UNAUTHENTICATED/)
    expect((await skein.threads.list()).threads).toEqual([])
    await expect(openai.chat.completions.create({ model: 'helper', messages: [say('fail')] })).rejects.toThrow(
      /^502 .*out of order/,
    )
    const stream = await openai.chat.completions.create({ model: 'helper', messages: [say('fail')], stream: true })
    await expect(
      (async () => {
        for await (const _ of stream);
      })(),
    ).rejects.toThrow('out of order')
  })

  it('H1: a client that goes away stops nothing', async () => {
    const { openai, skein } = await open()
    const thread = await skein.threads.create({ agent: 'helper', id: 'one' })
    const stream = await openai.chat.completions.create(
      { model: 'helper', messages: [say('look')], stream: true },
      on('one'),
    )
    stream.controller.abort()
    const { rest } = await thread.settled()
    expect(rest).toBe(true)
    expect((await thread.messages()).at(-1)?.text).toBe('it says: the sea')
  })
})
