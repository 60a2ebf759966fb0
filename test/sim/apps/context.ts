/** A reader whose model takes 2,000 tokens: results are archived and summarised, and had back in the end. */
import assert from 'node:assert/strict'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../../src/agent/define.js'
import type { Definition } from '../../../src/agent/define.js'
import { scriptedModel } from '../../../src/models/scripted.js'
import type { World } from '../../../src/sim/world.js'
import { simulatedApp } from '../simulated-app.js'

const pages = 8

/** Long enough to be archived where the number is odd. */
const page = (number: number): string => `page ${number} `.padEnd(number % 2 === 1 ? 900 : 480, `${number}`)

function reader(world: World<'library'>): readonly Definition[] {
  const model = scriptedModel(
    ({ messages, step, summary }) => {
      const usage = { inputTokens: 0, outputTokens: 5, costUsd: 0 }
      if (summary) return { text: `read up to ${step}`, usage }
      if (step < pages) {
        const fetched = [step * 2, step * 2 + 1].map((number) => ({ tool: 'fetch', args: { number } }))
        return { calls: fetched, usage }
      }
      // The first page was summarised long ago.
      if (step === pages) return { calls: [{ tool: 'get_tool_response', args: { id: 'call_1_1' } }], usage }
      return { text: messages.at(-1)?.text ?? '', usage }
    },
    { record: false },
  )
  return [
    defineTool({
      name: 'fetch',
      description: 'Fetches a page',
      args: z.object({ number: z.number() }),
      sideEffect: true,
      commutes: true,
      idempotent: true,
      retry: { maxRetries: 8, backoffMs: 20 },
      execute: async (state, { number }) => {
        await world.library({ number }, { key: state.idempotencyKey })
        return page(number)
      },
    }),
    defineModel({ name: 'reader', model, contextTokens: 2_000 }),
    definePrompt({ name: 'reader', prompt: 'You read.', model: 'reader', tools: ['fetch'] }),
    defineAgent({ name: 'reader', type: 'ai_human', sideA: { prompt: 'reader' } }),
  ]
}

export const context = simulatedApp('context', {
  app: reader,
  services: { library: { loses: 0.1, refuses: 0.05 } },
  // A lost lease counts as a death, too: with two crashes and a cut one call may meet three of them.
  skein: { limits: { maxHostDeaths: 10 }, snapshotEvery: 12 },
  scenario: async ({ skein }) => {
    const thread = await skein.threads.create({ agent: 'reader', id: 'reader' })
    const text = await thread.send('read it all', { id: 'm' }).text()
    const { own } = await thread.usage()
    const { messages, leftOut } = await thread.context()
    const timeless = messages.map(({ at: _, ...message }) => message)
    return { text, own, messages: timeless, leftOut, all: (await thread.messages()).length }
  },
  check: ({ result, quiet, world }) => {
    assert.deepEqual(result, quiet)
    assert.equal(result.text, page(1))
    assert.equal(result.all, 2 + pages * 3 + 2)
    assert.ok(result.leftOut.some(({ why }) => why === 'summarised'))
    assert.equal(world.ledger('library').entries.length, pages * 2)
  },
})
