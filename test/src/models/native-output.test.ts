/** Structured output by a model's own mode, with models of a script: fallbacks, streams, children, types. */
import { expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt } from '../../../src/agent/define.js'
import type { InferPromptOutput } from '../../../src/agent/infer.js'
import type { Definition } from '../../../src/agent/define.js'
import { scriptedModel } from '../../../src/models/scripted.js'
import { calls } from '../../helpers/app.js'
import { onEveryStore } from '../../helpers/world.js'

const report = definePrompt({
  name: 'report',
  prompt: 'You report.',
  model: 'native',
  outputSchema: z.object({ city: z.string(), degrees: z.number() }),
})
const output = { city: 'Oslo', degrees: -3 }
const reporter = defineAgent({ name: 'reporter', type: 'ai_human', sideA: { prompt: report }, exposeAsTool: true })

onEveryStore('structured output', (world) => {
  it('T12: the form is part of the request, the text is the output, and its type is the schema’s', async () => {
    const model = scriptedModel(async function* () {
      yield '{"city":"Oslo",'
      yield '"degrees":-3}'
    })
    const skein = await world.open([
      report,
      reporter,
      defineModel({ name: 'native', model, structuredOutput: 'native' }),
    ])
    const thread = await skein.threads.create({ agent: 'reporter' })
    const run = thread.send('go')
    const result = await run.result<InferPromptOutput<typeof report>>()
    expectTypeOf(result.output).toEqualTypeOf<{ city: string; degrees: number } | undefined>()
    expect(result).toMatchObject({ stopReason: 'completed', output, text: '' })
    expect(model.requests[0]).toMatchObject({ tools: [], output: { name: 'response', schema: { type: 'object' } } })
    const pieces: string[] = []
    for await (const piece of run.textStream) pieces.push(piece)
    expect(pieces).toEqual([])
    expect(await run.toolCalls()).toMatchObject([{ tool: 'response', args: output }])
  })

  it('T12: a fallback without such a mode is offered the tool', async () => {
    const native = scriptedModel([{ error: 'away' }])
    const other = scriptedModel([calls({ tool: 'response', args: output })])
    const app: readonly Definition[] = [
      report,
      reporter,
      defineModel({ name: 'native', model: native, structuredOutput: 'native', fallback: ['other'], maxRetries: 0 }),
      defineModel({ name: 'other', model: other }),
    ]
    const thread = await (await world.open(app)).threads.create({ agent: 'reporter' })
    expect(await thread.send('go').result()).toMatchObject({ output })
    expect(native.requests[0]?.tools).toEqual([])
    expect(other.requests[0]?.tools.map(({ name }) => name)).toEqual(['response'])
    expect(other.requests[0]?.output).toBeUndefined()
  })

  it('T12, S1: a child hands its parent the value', async () => {
    const main = scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'cold' : calls({ tool: 'reporter', args: { message: 'Oslo?' } }),
    )
    const app: readonly Definition[] = [
      report,
      reporter,
      defineModel({ name: 'native', model: scriptedModel([JSON.stringify(output)]), structuredOutput: 'native' }),
      defineModel({ name: 'main', model: main }),
      definePrompt({ name: 'lead', prompt: 'You lead.', model: 'main', tools: [{ name: 'reporter' }] }),
      defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead' } }),
    ]
    const run = (await (await world.open(app)).threads.create({ agent: 'lead' })).send('go')
    expect(await run.result()).toMatchObject({ text: 'cold' })
    expect((await run.toolCalls())[0]?.outcome).toMatchObject({ ok: true, value: output })
  })
})
