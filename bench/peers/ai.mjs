/** The AI SDK's ToolLoopAgent with a scripted model of its own kind; W2 alone. It is a dev dependency of the project. */
import { ToolLoopAgent, stepCountIs, tool } from 'ai'
import { z } from 'zod'

globalThis.AI_SDK_LOG_WARNINGS = false

const usage = { inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 5, text: 5, reasoning: 0 } }

export function adapter(work) {
  const hash = tool({ description: 'hash', inputSchema: z.object({ seed: z.number(), iterations: z.number() }), execute: async (args) => work.hashHere(args) })
  const scripted = (reply) => ({
    specificationVersion: 'v3',
    provider: 'scripted',
    modelId: 'scripted',
    supportedUrls: {},
    async doGenerate({ prompt }) {
      const calls = reply(prompt)
      const content = calls
        ? [{ type: 'text', text: work.text }, ...calls.map((args, index) => ({ type: 'tool-call', toolCallId: `c${index}`, toolName: 'hash', input: JSON.stringify(args) }))]
        : [{ type: 'text', text: 'done' }]
      return { content, finishReason: { unified: calls ? 'tool-calls' : 'stop', raw: undefined }, usage, warnings: [] }
    },
    doStream() {
      throw new Error('nothing is streamed here')
    },
  })

  return {
    async w2() {
      return async (given) => {
        // Their prompt: system, user, and after the step an assistant and a tool message.
        const model = scripted((messages) => work.hashesAt(messages.length === 2 ? 0 : 1, given))
        const agent = new ToolLoopAgent({ model, instructions: work.system, tools: { hash }, stopWhen: stepCountIs(5) })
        const { text, steps } = await agent.generate({ prompt: work.prompt })
        work.assertEqual('text', text, 'done')
        return () => work.assertHashes(steps[0].toolResults.map(({ output }) => output), given)
      }
    },
  }
}
