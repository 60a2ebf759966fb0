/** H1: clients that leave, that come again, and that send too much. */
import { afterEach, expect, it } from 'vitest'
import { calls, looseTool, tinyApp } from '../../helpers/app.js'
import { deferred, until } from '../../helpers/deferred.js'
import { keys, served } from '../../helpers/served.js'
import type { Served } from '../../helpers/served.js'
import { createSkein, memory } from '../../../src/index.js'
import type { Skein } from '../../../src/index.js'

let opened: { readonly skein: Skein; readonly server: Served } | undefined
afterEach(async () => {
  await opened?.server.close()
  await opened?.skein.close()
  opened = undefined
})

async function open() {
  const [began, gate] = [deferred(), deferred<string>()]
  const look = looseTool('look', () => {
    began.resolve()
    return gate.promise
  })
  const script = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
    messages.at(-1)?.role === 'tool' ? 'seen' : calls('look')
  const skein = await createSkein({ app: tinyApp({ tools: [look], script }).app, backend: memory() })
  const server = await served(skein)
  opened = { skein, server }
  const thread = await skein.threads.create({ agent: 'helper', id: 'one' })
  return { skein, server, thread, began, gate }
}

it('H1: a client that leaves stops nothing, and its request sent again is one message', async () => {
  const { server, thread, began, gate } = await open()
  const leave = new AbortController()
  const ask = (signal?: AbortSignal) =>
    fetch(`${server.url}/threads/one/messages?wait=60000`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keys.writer}`, 'content-type': 'application/json', 'idempotency-key': 'm1' },
      body: JSON.stringify({ text: 'look' }),
      ...(signal && { signal }),
    })
  const first = ask(leave.signal)
  await began.promise
  leave.abort()
  await expect(first).rejects.toThrow('aborted')
  const again = ask()
  gate.resolve('the sea')
  expect(await (await again).json()).toMatchObject({ run: 'm1', result: { text: 'seen', stopReason: 'completed' } })
  expect((await thread.messages()).filter(({ role }) => role === 'user')).toHaveLength(1)
})

it('H1: a stream of a tree that is deleted ends with an error that says so', async () => {
  const { skein, server } = await open()
  const seen: string[] = []
  const leave = new AbortController()
  const reading = (async () => {
    for await (const { event, data } of await server.stream('/trees/one/events', { signal: leave.signal }))
      seen.push(event === 'error' ? `error ${(data as { code: string }).code}` : event)
  })()
  await until('the stream to begin', async () => seen.includes('thread.created'))
  await skein.threads.delete('one')
  await reading
  expect(seen.at(-1)).toBe('error UNKNOWN_THREAD')
})

it('H1: ten megabytes of JSON are refused before they are read, and nothing happened', async () => {
  const { server, thread } = await open()
  const text = 'x'.repeat(10 * 2 ** 20)
  const { status } = await server.ask('/threads/one/messages', { body: { text } })
  expect(status).toBe(413)
  expect(await thread.messages()).toEqual([])
})
