/**
 * An app is a module that exports definitions: a model, tools, a prompt and an agent. The model here follows a
 * script, so the example needs no key and no network; any AI SDK model can stand in its place (docs/models.md).
 */
import { defineAgent, defineModel, definePrompt, defineTool } from 'skein'
import { scriptedModel } from 'skein/testing'
import { z } from 'zod'

const pricePerKg: Readonly<Record<string, number>> = { apples: 2.4, pears: 3.1 }

export const price = defineTool({
  name: 'price',
  description: 'The price of some fruit in euros',
  args: z.object({ fruit: z.string(), kg: z.number().positive() }),
  execute(_state, { fruit, kg }) {
    const each = pricePerKg[fruit]
    // A throw is no crash: the model reads it as the result of its call.
    if (each === undefined) throw new Error(`no ${fruit} today; there are: ${Object.keys(pricePerKg).join(', ')}`)
    return { euros: Number((each * kg).toFixed(2)) }
  },
})

export const delivery = defineTool({
  name: 'delivery',
  description: 'When a parcel to a city arrives',
  args: z.object({ city: z.string() }),
  execute: (_state, { city }) => ({ city, day: 'Thursday' }),
})

/** First it asks for three calls at once; when their results are there it answers, word by word. */
const script = scriptedModel(async function* ({ messages }) {
  const results = messages.filter(({ role }) => role === 'tool').map(({ text }) => text)
  if (results.length === 0) {
    const calls = [
      { tool: 'price', args: { fruit: 'apples', kg: 3 } },
      { tool: 'price', args: { fruit: 'figs', kg: 1 } },
      { tool: 'delivery', args: { city: 'Lisbon' } },
    ]
    return { text: 'Let me look that up.\n', calls }
  }
  const { euros } = JSON.parse(results[0] ?? '{}')
  for (const word of `3 kg of apples are ${euros} euros and arrive on Thursday; there are no figs.`.split(/(?<= )/)) {
    await new Promise((resolve) => setTimeout(resolve, 30))
    yield word
  }
})

export const model = defineModel({ name: 'script', model: script })
export const prompt = definePrompt({
  name: 'clerk_prompt',
  model: 'script',
  prompt: 'You sell fruit.',
  tools: ['price', 'delivery'],
})
export const clerk = defineAgent({ name: 'clerk', type: 'ai_human', sideA: { prompt: 'clerk_prompt' } })
