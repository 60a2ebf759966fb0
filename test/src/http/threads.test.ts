/** H1: threads, messages, runs, files and people through real HTTP. */
import { afterEach, expect, it } from 'vitest'
import { calls, looseTool, tinyApp } from '../../helpers/app.js'
import { served } from '../../helpers/served.js'
import type { Served } from '../../helpers/served.js'
import { onEveryStore } from '../../helpers/world.js'

let server: Served | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

const look = looseTool('look', (_, { at }) => `saw ${String(at)}`, { needsApproval: false })
const pay = looseTool('pay', (_, { euros }) => `paid ${String(euros)}`, { needsApproval: true })
const script = ({ messages }: { readonly messages: readonly { readonly role: string; readonly text: string }[] }) => {
  const last = messages.at(-1)
  if (last?.role === 'tool') return `it says: ${last.text}`
  if (last?.text === 'pay') return calls({ tool: 'pay', args: { euros: 5 } })
  return last?.text === 'look' ? calls({ tool: 'look', args: { at: 'sea' } }) : `you said: ${last?.text ?? ''}`
}

onEveryStore('threads over HTTP', (world) => {
  const open = async () => {
    const skein = await world.open(tinyApp({ tools: [look, pay], script }).app)
    server = await served(skein)
    return { skein, ask: server.ask, stream: server.stream }
  }

  it('H1: a thread is created once by its id, listed, read, and deleted', async () => {
    const { ask } = await open()
    const created = await ask('/threads', { body: { agent: 'helper', id: 'one', tags: ['demo'] } })
    expect(created).toMatchObject({ status: 201, body: { thread: 'one', agent: 'helper', tags: ['demo'] } })
    expect(created.headers.get('location')).toBe('threads/one')
    expect((await ask('/threads', { body: { agent: 'helper', id: 'one' } })).status).toBe(201)
    expect(await ask('/threads', { body: { agent: 'nobody' } })).toMatchObject({
      status: 404,
      body: { code: 'UNKNOWN_AGENT' },
    })
    expect((await ask('/threads?agent=helper')).body).toMatchObject({ threads: [{ thread: 'one' }] })
    expect((await ask('/threads?tag=other')).body).toEqual({ threads: [] })
    expect((await ask('/threads/one')).body).toMatchObject({ thread: 'one', root: 'one', rest: true })
    expect((await ask('/threads/one', { method: 'DELETE' })).status).toBe(204)
    expect(await ask('/threads/one')).toMatchObject({ status: 404, body: { code: 'UNKNOWN_THREAD', status: 404 } })
  })

  it('H1: threads are searched, sorted and counted, and messages read from the newest back', async () => {
    const { ask } = await open()
    for (const id of ['one', 'two', 'three']) await ask('/threads', { body: { agent: 'helper', id } })
    world.clock.advance(1_000)
    await ask('/threads/two/messages?wait=60000', { body: { text: 'look' } })
    const found = async (query: string): Promise<unknown> =>
      ((await ask(`/threads?${query}`)).body as { threads: { thread: string }[] }).threads.map(({ thread }) => thread)
    expect(await found('q=LOOK')).toEqual(['two'])
    expect(await found('sort=updated&roots=true&limit=1')).toEqual(['two'])
    expect(await found('sort=newest')).toEqual(['three', 'two', 'one'])
    expect((await ask('/threads?sort=size')).status).toBe(400)
    expect((await ask('/threads/two/counts')).body).toMatchObject({ threads: 1, working: 0, failed: 0 })
    expect((await ask('/threads/nobody/counts')).status).toBe(404)
    const page = async (before: string | number) =>
      (await ask(`/threads/two/messages?before=${before}&limit=2`)).body as { messages: { id: string; seq: number }[] }
    const newest = await page('end')
    expect(newest.messages).toMatchObject([{ role: 'tool' }, { role: 'assistant' }])
    const older = await page(newest.messages[0]?.seq ?? 0)
    expect(older.messages).toMatchObject([{ role: 'user', text: 'look' }, { role: 'assistant' }])
    expect(await page(older.messages[0]?.seq ?? 0)).toEqual({ messages: [] })
    expect((await ask('/threads/two/messages?before=0x&limit=2')).status).toBe(400)
  })

  it('H1: a request that is refused says which parameter is wrong, and which call is none', async () => {
    const { ask } = await open()
    await ask('/threads', { body: { agent: 'helper', id: 'one' } })
    expect(await ask('/threads/one/messages?wait=abc', { body: { text: 'hi' } })).toMatchObject({
      status: 400,
      body: { detail: expect.stringMatching(/^the query, wait: /), data: { issues: [{ path: 'wait' }] } },
    })
    expect(await ask('/threads/one/messages', { body: { text: ' ' } })).toMatchObject({
      body: { detail: 'nothing was sent: the message is empty; give it a text, or attachments' },
    })
    for (const text of ['look', 'hello']) await ask('/threads/one/messages?wait=60000', { body: { text } })
    const approved = async (call: string) => (await ask(`/inbox/one/${call}/approve`, { method: 'POST' })).body
    expect(await approved('call_1_0')).toMatchObject({ detail: expect.stringContaining('it was decided, answered') })
    for (const call of ['call_0_0', 'call_1_7', 'call_2_0', 'call_9_0', 'other'])
      expect(await approved(call)).toMatchObject({ detail: `thread one has no call ${call}` })
  })

  it('H1: a message is accepted with 202, once for one Idempotency-Key, and its run is read', async () => {
    const { ask } = await open()
    await ask('/threads', { body: { agent: 'helper', id: 'one' } })
    const headers = { 'idempotency-key': 'order-66' }
    const first = await ask('/threads/one/messages', { body: { text: 'look' }, headers })
    expect(first).toMatchObject({ status: 202, body: { run: 'order-66' } })
    expect(await ask('/threads/one/messages', { body: { text: 'look' }, headers })).toMatchObject({ status: 202 })
    const run = await ask('/threads/one/runs/order-66?wait=60000')
    expect(run).toMatchObject({
      status: 200,
      body: { result: { text: 'it says: saw sea', stopReason: 'completed', steps: 2 } },
    })
    const waited = await ask('/threads/one/messages?wait=60000', { body: { text: 'hello' } })
    expect(waited).toMatchObject({ status: 200, body: { result: { text: 'you said: hello' } } })
    const { messages } = (await ask('/threads/one/messages?limit=2')).body as { messages: { id: string }[] }
    expect(messages).toMatchObject([
      { role: 'user', text: 'look' },
      { role: 'assistant', calls: [{ tool: 'look' }] },
    ])
    const rest = await ask(`/threads/one/messages?after=${messages[1]?.id ?? ''}`)
    expect((rest.body as { messages: unknown[] }).messages).toHaveLength(4)
    expect(await ask('/threads/one/runs/nothing')).toMatchObject({ status: 404, body: { code: 'UNKNOWN_RUN' } })
    expect((await ask('/threads/one/usage')).body).toMatchObject({ own: {}, subtree: {} })
  })

  it('H1: a thread is created with its first message, and its result comes in one answer; sent again it is one', async () => {
    const { ask } = await open()
    const body = { agent: 'helper', id: 'one', message: { text: 'look' } }
    const whole = { status: 201, body: { thread: 'one', run: 'first', result: { text: 'it says: saw sea', steps: 2 } } }
    expect(await ask('/threads?wait=60000', { body })).toMatchObject(whole)
    expect(await ask('/threads?wait=60000', { body })).toMatchObject(whole)
    const { messages } = (await ask('/threads/one/messages')).body as { messages: { role: string }[] }
    expect(messages.filter(({ role }) => role === 'user')).toHaveLength(1)
    const begun = await ask('/threads', { body: { agent: 'helper', message: { text: 'hello', id: 'm1' } } })
    expect(begun).toMatchObject({ status: 201, body: { run: 'm1' } })
    expect(await ask('/threads?wait=1', { body: { agent: 'helper', id: 'two' } })).toMatchObject({ status: 400 })
    expect((await ask('/threads/two')).status).toBe(404)
    const held = await ask('/threads?wait=60000', { body: { agent: 'helper', message: { text: 'pay' } } })
    expect(held).toMatchObject({ status: 201, body: { waiting: { status: 'awaiting_approval' } } })
  })

  it('H1, A4: what waits for a person is in the inbox; approve needs its scope, and a second decision is refused', async () => {
    const { ask } = await open()
    await ask('/threads', { body: { agent: 'helper', id: 'one' } })
    // It would wait for ten minutes for what only a person can change.
    const { status, body } = await ask('/threads/one/messages?wait=60000', { body: { text: 'pay' } })
    const { run } = body as { run: string }
    expect({ status, body }).toMatchObject({
      status: 202,
      body: { waiting: { status: 'awaiting_approval', pending: [{ tool: 'pay' }] } },
    })
    const pending = async (): Promise<readonly { thread: string; call: string }[]> => {
      for (;;) {
        const { items } = (await ask('/inbox')).body as { items: { thread: string; call: string }[] }
        if (items.length > 0) return items
      }
    }
    const [item] = await pending()
    expect(item).toMatchObject({ thread: 'one', tool: 'pay', args: { euros: 5 } })
    const path = `/inbox/one/${item?.call ?? ''}/approve`
    expect(await ask(path, { body: { args: { euros: 4 } }, key: 'key-writer' })).toMatchObject({
      status: 403,
      body: { code: 'FORBIDDEN' },
    })
    expect(await ask(path, { body: { args: { euros: 4 } }, key: 'key-approver' })).toMatchObject({ status: 200 })
    expect(await ask(path, { body: {}, key: 'key-approver' })).toMatchObject({ status: 409 })
    const result = await ask(`/threads/one/runs/${run}?wait=60000`)
    expect(result.body).toMatchObject({ result: { text: expect.stringContaining('paid 4') } })
  })

  it('H1: files are streamed both ways, listed, read in ranges and removed; a path cannot escape', async () => {
    const { ask } = await open()
    await ask('/threads', { body: { agent: 'helper', id: 'one' } })
    const put = (path: string, body: string) =>
      ask(`/threads/one/files/${path}`, { method: 'PUT', body, headers: { 'content-type': 'text/plain' } })
    expect((await put('notes/a%20b.txt', 'hello world')).status).toBe(200)
    expect((await ask('/threads/one/files/notes/a%20b.txt')).body).toBe('hello world')
    const range = await ask('/threads/one/files/notes/a%20b.txt', { headers: { range: 'bytes=6-' } })
    expect(range).toMatchObject({ status: 206, body: 'world' })
    expect(range.headers.get('content-range')).toBe('bytes 6-10/11')
    expect((await ask('/threads/one/files/notes')).body).toMatchObject({ entries: [{ name: 'a b.txt', kind: 'file' }] })
    expect((await ask('/threads/one/files/notes/%2e%2e/x')).status).toBeGreaterThanOrEqual(400)
    expect((await ask('/threads/one/files/a%2f..%2fb')).status).toBe(400)
    expect((await ask('/threads/one/files/a%00b')).status).toBe(400)
    expect((await ask('/threads/one/files/nothing')).status).toBe(404)
    expect((await ask('/threads/one/files/notes', { method: 'DELETE' })).status).toBe(409)
    expect((await ask('/threads/one/files/notes?recursive=true', { method: 'DELETE' })).status).toBe(204)
  })

  it('H1: values and schedules', async () => {
    const { ask } = await open()
    await ask('/threads', { body: { agent: 'helper', id: 'one' } })
    expect((await ask('/threads/one/kv/seen', { method: 'PUT', body: { value: [1] } })).status).toBe(200)
    expect((await ask('/threads/one/kv/seen')).body).toEqual({ value: [1] })
    expect((await ask('/threads/one/kv')).body).toEqual({ values: [{ key: 'seen', value: [1] }] })
    expect((await ask('/threads/one/kv/seen', { method: 'DELETE' })).status).toBe(204)
    const { body } = await ask('/threads/one/schedules', { body: { tool: 'look', args: { at: 'x' }, delayMs: 1_000 } })
    const { id } = body as { id: string }
    expect((await ask('/threads/one/schedules')).body).toMatchObject({ schedules: [{ id, tool: 'look' }] })
    expect((await ask(`/threads/one/schedules/${id}`, { method: 'DELETE' })).body).toEqual({ changed: true })
    expect((await ask('/threads/one/schedules', { body: { tool: 'look' } })).status).toBe(400)
  })

  it('H1, R2: events of a thread are streamed from a cursor, each once; the stream opens before the first event', async () => {
    const { ask, stream } = await open()
    await ask('/threads', { body: { agent: 'helper', id: 'one' } })
    const ended = new AbortController()
    const events = await stream('/trees/one/events', { signal: ended.signal })
    const sent = ask('/threads/one/messages', { body: { text: 'look', id: 'm1' } })
    const seen: { event: string; id?: string }[] = []
    for await (const event of events) {
      if (event.event !== 'clock') seen.push(event)
      if (event.event === 'turn.ended') break
    }
    await sent
    const durable = seen.filter(({ id }) => id !== undefined)
    expect(durable.map(({ event }) => event)).toEqual([
      'thread.created',
      'message.received',
      'turn.started',
      'model.replied',
      'tool.result',
      'model.replied',
      'turn.ended',
    ])
    const rest = await stream('/threads/one/events', { headers: { 'last-event-id': durable[3]?.id ?? '' } })
    const again: string[] = []
    for await (const { event } of rest) {
      if (event !== 'clock') again.push(event)
      if (event === 'turn.ended') break
    }
    expect(again.filter((event) => !event.endsWith('.delta'))).toEqual(['tool.result', 'model.replied', 'turn.ended'])
    expect((await ask('/threads/one/events?from=zzz')).status).toBe(400)
    const text = await ask('/threads/one/runs/m1/text')
    expect(text.body).toContain('it says: saw sea')
  })

  it('H1: what is wrong is a problem with a stable code, and nothing happened', async () => {
    const { ask } = await open()
    expect((await ask('/threads?limit=0')).body).toMatchObject({
      status: 400,
      detail: expect.not.stringContaining('\n'),
    })
    expect(await ask('/threads', { body: { agnet: 'helper' } })).toMatchObject({
      status: 400,
      body: { code: 'BAD_OPTION', detail: expect.stringContaining('agent') },
    })
    expect((await ask('/threads?colour=red')).body).toMatchObject({ detail: expect.stringContaining('"colour"') })
    expect(await ask('/threads?__proto__=1')).toMatchObject({ status: 400, body: { code: 'BAD_OPTION' } })
    expect((await ask('/threads', { body: '{', method: 'POST' })).status).toBe(400)
    expect(await ask('/threads', { method: 'PUT' })).toMatchObject({
      status: 405,
      body: { detail: 'it takes POST, GET' },
    })
    expect((await ask('/nothing')).status).toBe(404)
    const huge = await ask('/threads', { body: { agent: 'helper', files: { '/a': 'x'.repeat(2 ** 20) } } })
    expect(huge).toMatchObject({ status: 413, body: { code: 'TOO_LARGE' } })
    expect((await ask('/threads')).body).toEqual({ threads: [] })
  })
})
