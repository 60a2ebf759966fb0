/**
 * The AI SDK's ToolLoopAgent with a scripted model of its own kind; W2 and W3. It is a dev dependency of the project.
 */
import { ToolLoopAgent, stepCountIs, tool } from 'ai'
import { z } from 'zod'

globalThis.AI_SDK_LOG_WARNINGS = false

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
}

export function adapter(work) {
  const hash = tool({
    description: 'hash',
    inputSchema: z.object({ seed: z.number(), iterations: z.number() }),
    execute: async (args) => work.hashHere(args),
  })
  const trivial = tool({
    description: 'work',
    inputSchema: z.object({ x: z.number() }),
    execute: async ({ x }) => work.trivial(x),
  })
  // Not their mock of a model: that one keeps every prompt.
  const scripted = (reply, toolName = 'hash', end = 'done') => ({
    specificationVersion: 'v3',
    provider: 'scripted',
    modelId: 'scripted',
    supportedUrls: {},
    async doGenerate({ prompt }) {
      const calls = await reply(prompt)
      const content = calls
        ? [
            { type: 'text', text: work.text },
            ...calls.map((args, index) => ({
              type: 'tool-call',
              toolCallId: `c${index}`,
              toolName,
              input: JSON.stringify(args),
            })),
          ]
        : [{ type: 'text', text: end }]
      return { content, finishReason: { unified: calls ? 'tool-calls' : 'stop', raw: undefined }, usage, warnings: [] }
    },
    doStream() {
      throw new Error('nothing is streamed here')
    },
  })

  return {
    /** A child is an agent in a tool. */
    async w3(children) {
      const stepOf = (messages) => (messages.length - 2) / 2
      const child = async (messages) => work.childCallsAt(stepOf(messages)) ?? void (await work.beforeReport())
      const worker = new ToolLoopAgent({
        model: scripted(child, 'work', work.report),
        instructions: work.system,
        tools: { work: trivial },
      })
      const research = tool({
        description: 'delegate',
        inputSchema: z.object({ input: z.string() }),
        execute: async ({ input }, { abortSignal }) => (await worker.generate({ prompt: input, abortSignal })).text,
      })
      let reports = 0
      const parent = (messages) => {
        const items = work.itemsAt(stepOf(messages), children)
        if (!items) reports = messages.at(-1).content.filter(({ output }) => output.value === work.report).length
        return items?.map((input) => ({ input }))
      }
      await new ToolLoopAgent({
        model: scripted(parent, 'research'),
        instructions: work.system,
        tools: { research },
      }).generate({ prompt: work.prompt })
      return reports
    },
    async w2() {
      return async (given) => {
        // Their prompt: system, user, and after the step an assistant and a tool message.
        const model = scripted((messages) => work.hashesAt(messages.length === 2 ? 0 : 1, given))
        const agent = new ToolLoopAgent({ model, instructions: work.system, tools: { hash }, stopWhen: stepCountIs(5) })
        const { text, steps } = await agent.generate({ prompt: work.prompt })
        work.assertEqual('text', text, 'done')
        return () =>
          work.assertHashes(
            steps[0].toolResults.map(({ output }) => output),
            given,
          )
      }
    },
  }
}
