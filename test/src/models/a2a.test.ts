/** E4: a remote agent, on the official server of A2A, as a subagent. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it, onTestFinished } from 'vitest'
import { createSkein, defineAgent, defineModel, definePrompt, fromA2A, local, memory } from '../../../src/index.js'
import type { A2aAgent, Skein, Store } from '../../../src/index.js'
import { scriptedModel } from '../../../src/models/scripted.js'
import { serve } from '../../../src/server.js'
import { startA2aAgent } from '../../helpers/a2a-agent.js'
import type { RemoteOptions } from '../../helpers/a2a-agent.js'
import { calls, looseTool, tinyApp } from '../../helpers/app.js'
import { deferred } from '../../helpers/deferred.js'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

async function remote(options: RemoteOptions = {}) {
  const agent = await startA2aAgent(options)
  cleanups.push(() => agent.close())
  return agent
}

/** A lead that has its child told what it was told itself, and says what the child said. */
async function leading(of: Partial<A2aAgent> & { readonly url: string }, backend: Store = memory()): Promise<Skein> {
  const script = scriptedModel(({ messages }) => {
    const last = messages.at(-1)
    if (last?.role === 'tool') return `it says: ${last.text}`
    const [first = '', reference, ...words] = (last?.text ?? '').split(' ')
    if (first === 'create')
      return { calls: [{ tool: 'subagent_create', args: { agent: 'guide', name: 'G', message: reference } }] }
    if (first === 'on') return { calls: [{ tool: 'subagent_message', args: { reference, message: words.join(' ') } }] }
    return { calls: [{ tool: 'weather', args: { message: last?.text } }] }
  })
  const options = { description: 'Knows the weather', pollMs: 20, maxRetries: 0, ...of }
  const skein = await createSkein({
    backend,
    app: [
      ...fromA2A({ name: 'weather', ...options }),
      ...fromA2A({ name: 'guide', ...options }),
      defineModel({ name: 'script', model: script }),
      definePrompt({
        name: 'lead_prompt',
        prompt: 'You lead.',
        model: 'script',
        tools: [{ name: 'weather' }, { name: 'guide', resumable: { receives_messages: 'side_a' } }],
      }),
      defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_prompt' } }),
    ],
  })
  cleanups.push(() => skein.close())
  return skein
}

const told = async (skein: Skein, text: string): Promise<string> =>
  (await skein.threads.create({ agent: 'lead' })).send(text).text()

it.each([{ streaming: true }, { streaming: false }])('E4: a remote agent answers as a child: %o', async (options) => {
  const { url, heard } = await remote(options)
  const skein = await leading({ url })
  const [one, two] = await Promise.all([told(skein, 'sun'), told(skein, 'moon')])
  expect([one, two]).toEqual(['it says: you said sun', 'it says: you said moon'])
  expect(heard.toSorted()).toEqual(['moon', 'sun'])
  const { threads } = await skein.threads.list({ agent: 'weather' })
  expect(threads.map(({ status }) => status)).toEqual(['done', 'done'])
})

it('E4: a task that asks back is an answer, and the next message goes to that task', async () => {
  const { url, heard } = await remote()
  const skein = await leading({ url })
  const thread = await skein.threads.create({ agent: 'lead' })
  expect(await thread.send('create ask').text()).toContain('Which town?')
  const [child] = await thread.children()
  expect(await thread.send(`on ${child?.reference} Porto`).text()).toContain('in Porto it rains')
  expect(heard).toEqual(['ask', 'Porto'])
})

it('E4: a host that goes leaves the task alone, and the next one goes on with it: nothing is sent twice', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skein-a2a-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const { url, heard, canceled, begun, go } = await remote()
  const first = await leading({ url }, local(folder))
  const thread = await first.threads.create({ agent: 'lead', id: 'trip' })
  const run = thread.send('slow')
  await run.accepted()
  await begun.promise
  await first.close()
  const second = await leading({ url }, local(folder))
  const again = (await second.threads.get('trip')).run(run.id)
  go.resolve()
  expect(await again.text()).toBe('it says: you said slow')
  expect(heard).toEqual(['slow'])
  expect(canceled).toEqual([])
})

it('E4: a server that goes away in a turn is found again, and its task goes on', async () => {
  const [begun, go] = [deferred(), deferred()]
  const wait = looseTool('wait', async () => {
    begun.resolve()
    await go.promise
    return 'waited'
  })
  const { app, model } = tinyApp({ tools: [wait], script: [calls('wait'), 'here I am'] })
  const there = await createSkein({ app, backend: memory() })
  cleanups.push(() => there.close())
  const first = await serve(there, { port: 0, auth: 'none' })
  const skein = await leading({ url: `${first.url}/a2a/helper`, maxRetries: 4 })
  const answer = told(skein, 'come')
  await begun.promise
  await first.close()
  const second = await serve(there, { port: Number(new URL(first.url).port), auth: 'none' })
  cleanups.push(() => second.close())
  go.resolve()
  expect(await answer).toBe('it says: here I am')
  expect(model.requests).toHaveLength(2)
  expect((await there.threads.list()).threads).toHaveLength(1)
})

it('E4: a turn that is cancelled cancels the task', async () => {
  const { url, stopped, begun, go } = await remote()
  const skein = await leading({ url })
  const thread = await skein.threads.create({ agent: 'lead' })
  const run = thread.send('slow')
  await begun.promise
  await thread.cancel({ reason: 'enough' })
  await stopped.promise
  expect((await run.result()).stopReason).toBe('cancelled')
  go.resolve()
})

it('E4: what goes wrong at the remote agent is an error result of the call, with the reason', async () => {
  const { url } = await remote({ key: 'secret' })
  const key = { authorization: 'Bearer secret' }
  const skein = await leading({ url, headers: async () => key })
  expect(await told(skein, 'fail')).toMatch(/CHILD_FAILED.*has failed: the sky fell/)
  expect(await told(await leading({ url }), 'sun')).toMatch(/answered 401; check the headers of fromA2A/)
  const elsewhere = await remote({ cardUrl: 'http://198.51.100.7/rpc' })
  expect(await told(await leading({ url: elsewhere.url, headers: key }), 'sun')).toMatch(
    /its card names http:\/\/198\.51\.100\.7, and fromA2A was given http:\/\/127\.0\.0\.1/,
  )
  await elsewhere.close()
  // A connection that was kept open says itself that it was closed.
  expect(await told(await leading({ url: elsewhere.url }), 'sun')).toMatch(
    /weather could not be reached.*(?:ECONNREFUSED|other side closed)/,
  )
  expect(() => fromA2A({ name: 'x', url: 'ftp://x', description: 'x' })).toThrow(/BAD_OPTION|fromA2A "x"/)
})
