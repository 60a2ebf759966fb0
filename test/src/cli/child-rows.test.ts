/** Which line of a child stands where, while it works for a turn. */
import { expect, it } from 'vitest'
import { createChildRows } from '../../../src/cli/child-rows.js'
import { createSkein, defineAgent, defineModel, definePrompt, defineTool, memory } from '../../../src/index.js'
import { scriptedModel } from '../../../src/testing.js'
import { z } from 'zod'

const never = new Promise<never>(() => undefined)
const ask = (tool: string, ...messages: readonly string[]) => messages.map((message) => ({ tool, args: { message } }))

const models = {
  top: scriptedModel(() => ({ calls: [...ask('slow', 'a', 'b'), ...ask('boss', 'c')] })),
  boss: scriptedModel(() => ({ calls: [...ask('slow', 'd'), ...ask('asker', 'e')] })),
  asker: scriptedModel(() => ({ calls: [{ tool: 'publish', args: {} }] })),
  slow: scriptedModel(() => never),
}
const may = { top: [{ name: 'slow' }, { name: 'boss' }], boss: [{ name: 'slow' }, { name: 'asker' }], asker: ['publish'], slow: [] }
const app = [
  defineTool({ name: 'publish', description: 'Publishes', args: z.object({}), sideEffect: true, idempotent: true, needsApproval: true, execute: () => 'published' }),
  ...Object.entries(models).map(([name, model]) => defineModel({ name, model })),
  ...Object.entries(may).map(([name, tools]) => definePrompt({ name, model: name, prompt: `You are ${name}.`, tools })),
  ...Object.keys(may).map((name) => defineAgent({ name, type: 'ai_human', sideA: { prompt: name }, exposeAsTool: true })),
]

it('CR2: whoever waits for a person stands before those that work, with all above, so that it is not cut off', async () => {
  const skein = await createSkein({ app, backend: memory(), closeGraceMs: 0 })
  const thread = await skein.threads.create({ agent: 'top', id: 't1' })
  await thread.send('go').accepted()
  const rows = createChildRows((_, text) => text, 't1')
  let begun = 0
  let held = false
  for await (const event of skein.events({ root: 't1' })) {
    rows.take(event)
    if (event.type === 'turn.started') begun++
    held ||= event.type === 'model.replied' && event.calls.some(({ hold }) => hold !== undefined)
    if (begun === 6 && held) break
  }
  expect(rows.lines('◐')).toEqual(['◐ boss-1 waits for 2 children', '‖   asker-1 publish waits for approval', '◐   slow-1 thinking', '◐ slow-1 thinking', '◐ slow-2 thinking'])
  await skein.close()
})
