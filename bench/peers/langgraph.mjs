/**
 * LangChain's createAgent on LangGraph with a scripted chat model. Mode `memory` has no checkpointer, mode `sqlite`
 * its SqliteSaver with the default durability. Traces off.
 */
import { rmSync } from 'node:fs'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'

process.env.LANGSMITH_TRACING = 'false'
process.env.LANGCHAIN_TRACING_V2 = 'false'
process.env.LANGCHAIN_CALLBACKS_BACKGROUND = 'true'

class Scripted extends BaseChatModel {
  constructor(reply) {
    super({})
    this.reply = reply
  }

  _llmType() {
    return 'scripted'
  }

  bindTools() {
    return this
  }

  async _generate(messages) {
    const message = this.reply(messages)
    return { generations: [{ text: message.content, message }], llmOutput: {} }
  }
}

export function adapter(work, { mode, file }) {
  const worker = tool(async ({ x }) => work.trivial(x), { name: 'work', description: 'work', schema: z.object({ x: z.number() }) })
  const hash = tool(async (args) => work.hashHere(args), { name: 'hash', description: 'hash', schema: z.object({ seed: z.number(), iterations: z.number() }) })
  const agent = (reply, checkpointer, tools = [worker]) => createAgent({ model: new Scripted(reply), tools, systemPrompt: work.system, ...(checkpointer && { checkpointer }) })
  const scripted = (steps) => (messages) => {
    const step = (messages.length - 2) / 2
    const args = work.callAt(step, steps)
    return args ? new AIMessage({ content: work.text, tool_calls: [{ id: `c${step}`, name: 'work', args, type: 'tool_call' }] }) : new AIMessage('done')
  }
  const ask = (to, content, recursionLimit) => to.invoke({ messages: [new HumanMessage(content)] }, { recursionLimit, configurable: { thread_id: 'worker' } })
  let files = 0
  let used = ''

  return {
    async w2() {
      return async (given) => {
        const hashing = (messages) => {
          const calls = work.hashesAt(messages.length === 2 ? 0 : 1, given)
          return calls ? new AIMessage({ content: work.text, tool_calls: calls.map((args, index) => ({ id: `c${index}`, name: 'hash', args, type: 'tool_call' })) }) : new AIMessage('done')
        }
        const { messages } = await ask(agent(hashing, undefined, [hash]), work.prompt, 25)
        return () => work.assertHashes(messages.filter((message) => message.getType() === 'tool').map(({ content }) => content), given)
      }
    },
    /** A new database for every thread: an old one would only slow it down. */
    w1(steps) {
      used = `${file}.${files++}`
      return ask(agent(scripted(steps), mode === 'sqlite' ? SqliteSaver.fromConnString(used) : undefined), work.prompt, steps * 2 + 20)
    },
    /** After each measured turn, outside of the clock. */
    tidy() {
      for (const end of ['', '-wal', '-shm']) rmSync(used + end, { force: true })
    },
    async w4prep(messages) {
      const { messages: kept } = await ask(agent(scripted(messages / 2 - 1), SqliteSaver.fromConnString(file)), work.prompt, messages * 2)
      return { messages: kept.length }
    },
    async w4step() {
      let seen = 0
      const reply = (messages) => {
        work.counts.model++
        seen = messages.length - 1
        return new AIMessage('resumed')
      }
      await ask(agent(reply, SqliteSaver.fromConnString(file)), 'continue', 25)
      return { seen }
    },
  }
}
