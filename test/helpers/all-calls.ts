/**
 * All that calls can be, in three steps: files that several write and read, stale reads, a cache, a cap, a breaker,
 * effects that commute or not, an approval, a question to a person, a call that queues another.
 */
import { z } from 'zod'
import { defineTool } from '../../src/agent/define.js'
import type { ToolDefinition } from '../../src/agent/define.js'
import { calls, looseTool, tinyApp } from './app.js'

/** An app whose agent makes all kinds of calls; `ran`: the bodies, `keys`: of those that act on the world. */
export function createScenario() {
  const ran: string[] = []
  const keys: string[] = []
  const tool = (name: string, body: ToolDefinition['execute'], more: Partial<ToolDefinition> = {}): ToolDefinition =>
    looseTool(
      name,
      (state, args) => {
        ran.push(`${name} ${JSON.stringify(args)}`)
        if (more.sideEffect) keys.push(state.idempotencyKey)
        return typeof body === 'function' ? body(state, args) : undefined
      },
      more,
    )
  const tools: ToolDefinition[] = [
    tool(
      'append',
      async ({ files }, args) => {
        await files.appendFile('/log', (args as { text: string }).text)
        return files.readFile('/log', 'utf8')
      },
      { sideEffect: false },
    ),
    tool('plain', async ({ files }) => ((await files.exists('/log')) ? files.readFile('/log', 'utf8') : 'no log')),
    tool('look', () => 'found', { cache: true }),
    tool('twice', (_, args) => (args as { n: number }).n, { maxExecutionsPerRun: 2 }),
    tool(
      'shaky',
      () => {
        throw new Error('never')
      },
      { retry: { maxRetries: 0, circuitBreakerThreshold: 2 } },
    ),
    tool('charge', ({ idempotencyKey }) => `charged ${idempotencyKey.length}`, { sideEffect: true, idempotent: true }),
    tool('mail', () => 'sent', { sideEffect: true, idempotent: true, commutes: true }),
    tool('risky', () => 'done', { needsApproval: true }),
    tool(
      'more',
      (state) => {
        state.queueTool('look', { q: 9 })
        return 'queued'
      },
      { uses: ['look'] },
    ),
    {
      ...defineTool({
        name: 'count',
        description: 'x',
        args: z.looseObject({}),
        sideEffect: false,
        sharedSchema: z.object({ n: z.number().default(0) }),
        execute: (state) => {
          state.setShared({ n: state.shared.n + 1 })
          return state.shared.n
        },
      }),
    },
    {
      ...defineTool({
        name: 'ask',
        description: 'x',
        args: z.looseObject({}),
        outputSchema: z.string(),
        onToolCalled: () => null,
        onResponseReceived: (_, answer) => `they said ${String(answer)}`,
      }),
    },
  ]
  const steps = [
    calls(
      { tool: 'append', args: { text: 'a' } },
      { tool: 'append', args: { text: 'b' } },
      'plain',
      { tool: 'look', args: { q: 1 } },
      { tool: 'look', args: { q: 1 } },
      'mail',
      'count',
      'count',
    ),
    calls(
      'risky',
      { tool: 'append', args: { text: 'c' } },
      'ask',
      'charge',
      'plain',
      'more',
      { tool: 'twice', args: { n: 1 } },
      { tool: 'twice', args: { n: 2 } },
      { tool: 'twice', args: { n: 3 } },
    ),
    calls('shaky', 'shaky', 'shaky', { tool: 'look', args: { q: 1 } }, 'count'),
  ]
  // By the transcript alone: a step of queued calls is no reply of the model's.
  const { app } = tinyApp({
    tools,
    script: ({ messages }) =>
      steps[
        messages.filter(({ role, text }) => role === 'assistant' && text === '').length -
          messages.filter(({ calls: asked }) => asked?.[0]?.tool === 'look').length
      ] ?? 'the end',
  })
  return { app, ran, keys }
}
