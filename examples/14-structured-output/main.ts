/**
 * Structured output: an agent whose answer is a value of a schema. The first answer does not fit, the model reads
 * what is wrong and corrects it. Then the rules that end a turn: raw calls, and a last answer after a stop.
 *
 *   npx tsx examples/14-structured-output/main.ts
 */
import { createSkein, defineAgent, defineModel, definePrompt, defineTool, memory, stepCountIs } from 'skein'
import type { InferPromptOutput } from 'skein'
import { scriptedModel } from 'skein/testing'
import { z } from 'zod'

/** In place of a model with a mode of its own for JSON; with a real one: `model: openai('gpt-5')`. */
const writer = scriptedModel(['{"title":"Harbour","pages":"three"}', '{"title":"Harbour","pages":3}'])

const outline = definePrompt({
  name: 'outline',
  prompt: 'You outline stories.',
  model: 'writer',
  outputSchema: z.object({ title: z.string(), pages: z.number().int() }),
})

const read = defineTool({
  name: 'read',
  description: 'Reads a page',
  args: z.object({ page: z.number() }),
  execute: (_state, { page }) => `the text of page ${page}`,
})

/** Reads page after page, until it may not. */
const reader = scriptedModel(({ toolChoice, step }) =>
  toolChoice === 'none' ? `I have read ${step} pages.` : { calls: [{ tool: 'read', args: { page: step + 1 } }] },
)

const skein = await createSkein({
  backend: memory(),
  app: [
    read,
    outline,
    definePrompt({ name: 'reads', prompt: 'You read.', model: 'reader', tools: [read], lastAnswer: true }),
    defineModel({ name: 'writer', model: writer, structuredOutput: 'native' }),
    defineModel({ name: 'reader', model: reader }),
    defineAgent({ name: 'outliner', type: 'ai_human', sideA: { prompt: outline } }),
    defineAgent({ name: 'reader', type: 'ai_human', sideA: { prompt: 'reads' } }),
  ],
})

const outliner = await skein.threads.create({ agent: 'outliner' })
const { output, steps } = await outliner.send('A story at the sea, please').result<InferPromptOutput<typeof outline>>()
console.log(`outline: ${output?.title}, ${output?.pages} pages, after ${steps} replies`)

const thread = await skein.threads.create({ agent: 'reader' })
const stopped = await thread.send('Read it all', { stopWhen: stepCountIs(3) }).result()
console.log(`${stopped.stopReason} (${stopped.detail}): ${stopped.text}`)

const raw = thread.send('And again', { maxToolRounds: 0 })
await raw.result()
const [call] = await raw.toolCalls()
console.log(`asked for, and not run: ${call?.tool} ${JSON.stringify(call?.args)}`)

await skein.close()
