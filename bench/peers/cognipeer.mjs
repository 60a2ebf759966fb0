/**
 * @cognipeer/agent-sdk: createSmartAgent with a scripted model; planning, summaries and traces off, limits raised.
 * W4 is its own snapshot()/resume(), as JSON in one file.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { createSmartAgent, createTool } from '@cognipeer/agent-sdk'
import { z } from 'zod'

export function adapter(work, { file }) {
  const tool = createTool({
    name: 'work',
    description: 'work',
    schema: z.object({ x: z.number() }),
    func: async ({ x }) => work.trivial(x),
    maxExecutionsPerRun: null,
  })

  const seeded = z.object({ seed: z.number(), iterations: z.number() })
  const hash = createTool({
    name: 'hash',
    description: 'hash',
    schema: seeded,
    func: async (args) => work.hashHere(args),
    maxExecutionsPerRun: null,
  })

  function agent(reply, maxToolCalls, { tools = [tool], ...options } = {}) {
    const model = { modelName: 'scripted', bindTools: () => model, invoke: async (messages) => reply(messages) }
    return createSmartAgent({
      name: 'worker',
      systemPrompt: work.system,
      model,
      tools,
      runtimeProfile: 'balanced',
      planning: { mode: 'off' },
      summarization: false,
      tracing: { enabled: false },
      limits: { maxToolCalls, maxParallelTools: 16, maxContextTokens: 1e9 },
      ...options,
    })
  }

  /** Replies since the last user message. */
  function stepOf(messages) {
    let step = 0
    for (let index = messages.length - 1; index >= 0 && messages[index].role !== 'user'; index--) {
      if (messages[index].role === 'assistant') step++
    }
    return step
  }

  const scripted = (steps) => (messages) => {
    const step = stepOf(messages)
    const args = work.callAt(step, steps)
    if (!args) return { role: 'assistant', content: 'done' }
    return {
      role: 'assistant',
      content: work.text,
      tool_calls: [{ id: `c${step}`, type: 'function', function: { name: 'work', arguments: JSON.stringify(args) } }],
    }
  }
  const says = (name, argsList) =>
    argsList.map((args, index) => ({
      id: `c${index}`,
      type: 'function',
      function: { name, arguments: JSON.stringify(args) },
    }))

  /** The system prompt is no message of the thread, though it is in their list. */
  const countOf = (messages) => messages.filter(({ role }) => role !== 'system').length
  const start = () => ({ messages: [{ role: 'user', content: work.prompt }], toolHistory: [] })

  return {
    async w2() {
      return async (given) => {
        const hashing = (messages) => {
          const calls = work.hashesAt(stepOf(messages), given)
          if (!calls) return { role: 'assistant', content: 'done' }
          return { role: 'assistant', content: work.text, tool_calls: says('hash', calls) }
        }
        const { messages } = await agent(hashing, given.calls + 5, { tools: [hash] }).invoke(start())
        return () =>
          work.assertHashes(
            messages.filter(({ role }) => role === 'tool').map(({ content }) => content),
            given,
          )
      }
    },
    /** A child is an agent as a tool; all of them at once, as many as are asked for. */
    async w3(children) {
      const child = async (messages) => {
        const calls = work.childCallsAt(stepOf(messages))
        if (calls) return { role: 'assistant', content: work.text, tool_calls: says('work', calls) }
        await work.beforeReport()
        return { role: 'assistant', content: work.report }
      }
      const research = agent(child, 20).asTool({ toolName: 'research', description: 'delegate' })
      research.maxExecutionsPerRun = null
      let reports = 0
      const parent = (messages) => {
        const items = work.itemsAt(stepOf(messages), children)
        if (items)
          return {
            role: 'assistant',
            content: work.text,
            tool_calls: says(
              'research',
              items.map((input) => ({ input })),
            ),
          }
        reports = messages.filter(({ role, content }) => role === 'tool' && content.includes(work.report)).length
        return { role: 'assistant', content: 'done' }
      }
      await agent(parent, children + 10, {
        name: 'parent',
        tools: [research],
        limits: { maxToolCalls: children + 10, maxParallelTools: children, maxContextTokens: 1e9 },
        delegation: {
          mode: 'role_based',
          maxDelegationDepth: 3,
          maxChildCalls: children + 10,
          maxParallelChild: children,
        },
      }).invoke(start())
      return reports
    },
    w1: (steps) => agent(scripted(steps), steps + 5).invoke(start()),
    async w4prep(messages) {
      const steps = messages / 2 - 1
      const worker = agent(scripted(steps), steps + 5)
      const { state, messages: kept } = await worker.invoke(start())
      writeFileSync(file, JSON.stringify(worker.snapshot(state)))
      return { messages: countOf(kept) }
    },
    async w4step() {
      let seen = 0
      const worker = agent((messages) => {
        work.counts.model++
        seen = countOf(messages)
        return { role: 'assistant', content: 'resumed' }
      }, 2000)
      const snapshot = JSON.parse(readFileSync(file, 'utf8'))
      snapshot.state.messages.push({ role: 'user', content: 'continue' })
      await worker.resume(snapshot)
      return { seen }
    },
  }
}
