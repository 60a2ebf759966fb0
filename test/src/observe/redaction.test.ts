/** Secrets in no byte that leaves the host by traces, metrics or logs, whatever bodies and models do with them. */
import { z } from 'zod'
import { expect, it, onTestFinished } from 'vitest'
import { defineTool } from '../../../src/agent/define.js'
import { memory } from '../../../src/backend/memory/memory.js'
import { log, metrics, otlp } from '../../../src/observe.js'
import { scriptedModel } from '../../../src/models/scripted.js'
import { createSkein } from '../../../src/runtime/skein.js'
import { appOn } from '../../helpers/app.js'
import { startCollector } from '../../helpers/collector.js'
import { served } from '../../helpers/served.js'

const secret = 'sk-live-4242-very-secret-value'

const leaky = defineTool({
  name: 'leaky',
  description: 'Tells its key',
  args: z.looseObject({}),
  variables: [{ name: 'API_KEY' }],
  async execute(state) {
    return { key: await state.env('API_KEY'), encoded: Buffer.from(secret).toString('base64') }
  },
})
const thrower = defineTool({
  name: 'thrower',
  description: 'Throws its key',
  args: z.looseObject({}),
  variables: [{ name: 'API_KEY' }],
  async execute(state) {
    throw new Error(`refused for ${await state.env('API_KEY')}`)
  },
})

it('O1: a secret that bodies return and throw, and models say, is in no byte of traces, metrics, logs and answers', async () => {
  const sink = await startCollector()
  onTestFinished(() => sink.close())
  const lines: string[] = []
  const model = scriptedModel(({ messages, step }) => {
    if (step === 0)
      return {
        text: `I use ${secret}`,
        calls: [
          { tool: 'leaky', args: { with: secret } },
          { tool: 'thrower', args: {} },
          { tool: secret, args: { x: secret } },
        ],
      }
    return messages.some(({ text }) => text.includes('fail')) ? { error: `no: ${secret}` } : `it is ${secret}`
  })
  const skein = await createSkein({
    app: appOn(model, { tools: [leaky, thrower] }),
    backend: memory(),
    env: { API_KEY: secret },
    observe: [otlp({ url: sink.url, content: true }), metrics(), log({ to: (line) => void lines.push(line) })],
  })
  const server = await served(skein)
  const thread = await skein.threads.create({ agent: 'helper', id: 't' })
  expect((await thread.send(`use ${secret}`).result()).stopReason).toBe('completed')
  expect((await thread.send('fail').result()).stopReason).toBe('failed')
  const { body } = await server.ask('/metrics')
  await server.close()
  await skein.close()
  const bytes = [sink.bytes, String(body), lines.join('\n'), skein.metrics() ?? ''].join('\n')
  expect(sink.spans.map(({ name }) => name)).toContain('execute_tool leaky')
  // What was said is there, masked.
  expect(sink.bytes).toContain('gen_ai.tool.call.result')
  expect(sink.bytes).toContain('refused for')
  const turns = lines.map((line) => JSON.parse(line) as object).filter((line) => 'thread' in line)
  expect(turns).toMatchObject([
    { level: 'info', msg: 'turn of helper: completed', thread: 't', reason: 'completed' },
    { level: 'error', reason: 'failed', error: 'MODEL_REJECTED', trace_id: expect.stringMatching(/^[0-9a-f]{32}$/) },
  ])
  for (const form of [secret, Buffer.from(secret).toString('base64'), encodeURIComponent(secret), 'very-secret'])
    expect(bytes).not.toContain(form)
})
