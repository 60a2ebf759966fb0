/** Tools that the provider runs, on the wire: what it did is kept with the reply, and goes back as it came. */
import { afterEach, expect, test } from 'vitest'
import { defineAgent, defineModel, definePrompt, defineProviderTool } from '../../src/agent/define.js'
import type { Definition, ModelSource } from '../../src/agent/define.js'
import { memory } from '../../src/backend/memory/memory.js'
import { createSkein } from '../../src/runtime/skein.js'
import type { Skein } from '../../src/runtime/skein.js'
import { looseTool } from '../helpers/app.js'
import { closeServers, strict } from './providers.js'

const opened: Skein[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((skein) => skein.close()))
  await closeServers()
})

const look = looseTool('look', () => 'a window')

async function start(model: ModelSource, id: string, args?: { readonly maxUses: number }) {
  const web = defineProviderTool({ name: 'web', provider: { id, ...(args && { args }) } })
  const app: readonly Definition[] = [
    look,
    web,
    defineModel({ name: 'main', model, maxRetries: 0 }),
    definePrompt({ name: 'p', prompt: 'You search.', model: 'main', tools: [web, look] }),
    defineAgent({ name: 'helper', type: 'ai_human', sideA: { prompt: 'p' } }),
  ]
  const skein = await createSkein({ app, backend: memory() })
  opened.push(skein)
  return skein.threads.create({ agent: 'helper' })
}

const searched = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'skein' } }
const found = {
  type: 'web_search_tool_result',
  tool_use_id: 'srvtoolu_1',
  content: [
    { type: 'web_search_result', url: 'http://loopback/a', title: 'A', page_age: null, encrypted_content: 'c2VjcmV0' },
  ],
}

test('D3: a search of Anthropic is part of the reply, runs nothing here, and goes back whole', async () => {
  const { model, taken, refused } = await strict('anthropic', [
    { pieces: [{ say: 'I search.' }, { block: searched }, { block: found }, { say: 'There is one.' }] },
    { pieces: [{ call: 'look', args: {}, id: 'c1' }] },
    { pieces: [{ say: 'Fine.' }] },
  ])
  const thread = await start(model, 'anthropic.web_search_20250305', { maxUses: 3 })
  const run = thread.send('Find it.')
  expect(await run.result()).toMatchObject({ stopReason: 'completed', text: 'I search.There is one.', steps: 1 })
  expect(await run.toolCalls()).toMatchObject([
    {
      id: 'srvtoolu_1',
      tool: 'web',
      args: { query: 'skein' },
      byProvider: true,
      outcome: { ok: true, value: [{ url: 'http://loopback/a', encryptedContent: 'c2VjcmV0' }] },
    },
  ])
  expect(taken[0]?.['tools']).toMatchObject([
    { type: 'web_search_20250305', name: 'web_search', max_uses: 3 },
    { name: 'look', input_schema: { type: 'object' } },
  ])
  expect(await thread.send('And here?').result()).toMatchObject({ text: 'Fine.', steps: 2 })
  expect(refused).toEqual([])
  for (const body of taken.slice(1))
    expect(body['messages']).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ text: 'I search.' }, searched, found, { text: 'There is one.' }] },
      ...(body['messages'] as readonly object[]).slice(2),
    ])
})

test('D3: what the provider paused in the middle of its search goes on from there', async () => {
  const { model, taken } = await strict('anthropic', [
    { pieces: [{ block: searched }, { block: found }], finish: 'pause' },
    { pieces: [{ say: 'There is one.' }] },
  ])
  const thread = await start(model, 'anthropic.web_search_20250305')
  expect(await thread.send('Find it.').result()).toMatchObject({ stopReason: 'reply_paused' })
  await thread.resume()
  await thread.settled()
  expect((await thread.messages()).at(-1)).toMatchObject({ text: 'There is one.' })
  expect(taken[1]?.['messages']).toMatchObject([{ role: 'user' }, { role: 'assistant', content: [searched, found] }])
})

test('D3: the tool is sent in the words of each provider, and a call of it that was not run there is refused', async () => {
  const { model, taken } = await strict('openai responses', [
    { pieces: [{ call: 'web', args: { query: 'x' }, id: 'c1' }] },
    { pieces: [{ say: 'Fine.' }] },
  ])
  const thread = await start(model, 'openai.web_search')
  const run = thread.send('Find it.')
  expect(await run.result()).toMatchObject({ text: 'Fine.' })
  expect(taken[0]?.['tools']).toMatchObject([{ type: 'web_search' }, { type: 'function', name: 'look' }])
  expect((await run.toolCalls())[0]?.outcome).toMatchObject({ ok: false, failure: { code: 'UNKNOWN_TOOL' } })
  await expect(thread.callTool('web', {})).rejects.toThrow(/web/)
})
