/**
 * A summary on the wire: it is the request of the thread itself and one message more, so that what a provider has
 * cached of the conversation is found again (L3).
 */
import { afterEach, expect, test } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../src/agent/define.js'
import { memory } from '../../src/backend/memory/memory.js'
import { isObject } from '../../src/core/json.js'
import { createSkein } from '../../src/runtime/skein.js'
import type { Skein } from '../../src/runtime/skein.js'
import { looseTool } from '../helpers/app.js'
import { closeServers, strict } from './providers.js'
import type { Spoken } from './providers.js'
import { items } from './refusals.js'

const opened: Skein[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((skein) => skein.close()))
  await closeServers()
})

/** Says that its request had 200 tokens more than the one before: with the eighth a summary is due. */
const reads: readonly Spoken[] = Array.from({ length: 7 }, (_, step) => ({
  pieces: [
    { think: `I read page ${step}`, mark: `signed-${step}` },
    { call: 'look', args: { step }, id: `toolu_${step}` },
  ],
  usage: { input_tokens: 200 * (step + 1) },
}))

/** Marks move with the end of a request; they are not part of what is cached. */
const withoutMarks = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutMarks)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== 'cache_control')
      .map(([key, each]) => [key, withoutMarks(each)]),
  )
}

test('L3: with @ai-sdk/anthropic a summary request has the one before it as its prefix, byte by byte, and is marked to be cached', async () => {
  const { model, taken, refused } = await strict('anthropic', [
    ...reads,
    { pieces: [{ think: 'I remember', mark: 'signed-s' }, { say: 'the summary' }] },
    { pieces: [{ say: 'done' }] },
  ])
  const app = [
    looseTool('look', () => 'x'.repeat(450)),
    defineModel({ name: 'main', model, maxRetries: 0, contextTokens: 2_000 }),
    definePrompt({ name: 'p', prompt: 'You read.', model: 'main', tools: ['look'] }),
    defineAgent({ name: 'helper', type: 'ai_human', sideA: { prompt: 'p' } }),
  ]
  const skein = await createSkein({ app, backend: memory() })
  opened.push(skein)
  const thread = await skein.threads.create({ agent: 'helper' })
  expect(await thread.send('read').result()).toMatchObject({ text: 'done', stopReason: 'completed' })
  expect(refused).toEqual([])
  const at = taken.findIndex((body) => JSON.stringify(body).includes('Write that summary now'))
  expect(at).toBe(7)
  const [before, summary, after] = [taken[at - 1], taken[at], taken[at + 1]]
  const plain = (body: unknown) => withoutMarks(body) as { readonly [key: string]: unknown }
  for (const field of ['system', 'tools', 'tool_choice', 'model', 'max_tokens'])
    expect(JSON.stringify(plain(summary)[field])).toBe(JSON.stringify(plain(before)[field]))
  const text = JSON.stringify(plain(before)['messages']).slice(0, -1)
  expect(JSON.stringify(plain(summary)['messages']).startsWith(text)).toBe(true)
  // The end of the request before is marked: there the cache is found.
  const marked = items(summary?.['messages']).findLastIndex(
    (message, index, all) => index < all.length - 1 && JSON.stringify(message).includes('"cache_control"'),
  )
  expect(marked).toBe(items(before?.['messages']).length - 1)
  expect(JSON.stringify(items(after?.['messages'])[0])).toContain('<summary>\\nThe request: read\\n\\nthe summary')
})
