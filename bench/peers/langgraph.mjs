/**
 * LangChain's createAgent on LangGraph with a scripted chat model. Mode `memory` has no checkpointer, mode `sqlite`
 * its SqliteSaver with the default durability. Traces off.
 */
import { rmSync } from 'node:fs'
import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, HumanMessage, SystemMessage } from '@langchain/core/messages'
import { Annotation, END, START, Send, StateGraph, messagesStateReducer } from '@langchain/langgraph'
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
    const message = await this.reply(messages)
    return { generations: [{ text: message.content, message }], llmOutput: {} }
  }
}

export function adapter(work, { mode, file }) {
  const worker = tool(async ({ x }) => work.trivial(x), {
    name: 'work',
    description: 'work',
    schema: z.object({ x: z.number() }),
  })
  const hash = tool(async (args) => work.hashHere(args), {
    name: 'hash',
    description: 'hash',
    schema: z.object({ seed: z.number(), iterations: z.number() }),
  })
  const agent = (reply, checkpointer, tools = [worker]) =>
    createAgent({ model: new Scripted(reply), tools, systemPrompt: work.system, ...(checkpointer && { checkpointer }) })
  const scripted = (steps) => (messages) => {
    const step = (messages.length - 2) / 2
    const args = work.callAt(step, steps)
    return args
      ? new AIMessage({ content: work.text, tool_calls: [{ id: `c${step}`, name: 'work', args, type: 'tool_call' }] })
      : new AIMessage('done')
  }
  const ask = (to, content, recursionLimit) =>
    to.invoke({ messages: [new HumanMessage(content)] }, { recursionLimit, configurable: { thread_id: 'worker' } })
  let files = 0
  let used = ''

  return {
    async w2() {
      return async (given) => {
        const hashing = (messages) => {
          const calls = work.hashesAt(messages.length === 2 ? 0 : 1, given)
          return calls
            ? new AIMessage({
                content: work.text,
                tool_calls: calls.map((args, index) => ({ id: `c${index}`, name: 'hash', args, type: 'tool_call' })),
              })
            : new AIMessage('done')
        }
        const { messages } = await ask(agent(hashing, undefined, [hash]), work.prompt, 25)
        return () =>
          work.assertHashes(
            messages.filter((message) => message.getType() === 'tool').map(({ content }) => content),
            given,
          )
      }
    },
    /** Its way to many agents at once: a graph that sends every item to a node with the agent. */
    async w3(children) {
      const child = agent(async (messages) => {
        const calls = work.childCallsAt((messages.length - 2) / 3)
        if (calls)
          return new AIMessage({
            content: work.text,
            tool_calls: calls.map((args, index) => ({ id: `c${index}`, name: 'work', args, type: 'tool_call' })),
          })
        await work.beforeReport()
        return new AIMessage(work.report)
      })
      const model = new Scripted((messages) => {
        const items = work.itemsAt(messages.length === 2 ? 0 : 1, children)
        return items
          ? new AIMessage({
              content: work.text,
              tool_calls: items.map((input, index) => ({
                id: `p${index}`,
                name: 'research',
                args: { input },
                type: 'tool_call',
              })),
            })
          : new AIMessage('done')
      })
      const state = Annotation.Root({
        messages: Annotation({ reducer: messagesStateReducer, default: () => [] }),
        results: Annotation({ reducer: (before, more) => before.concat(more), default: () => [] }),
      })
      const say = async (messages) => ({
        messages: [await model.invoke([new SystemMessage(work.system), ...messages])],
      })
      const graph = new StateGraph(state)
        .addNode('plan', ({ messages }) => say(messages))
        .addNode('research', async ({ input }) => ({
          results: [(await child.invoke({ messages: [new HumanMessage(input)] })).messages.at(-1).content],
        }))
        .addNode('final', ({ messages, results }) => say([...messages, new HumanMessage(results.join('\n'))]))
        .addEdge(START, 'plan')
        .addConditionalEdges(
          'plan',
          ({ messages }) => messages.at(-1).tool_calls.map(({ args }) => new Send('research', args)),
          ['research'],
        )
        .addEdge('research', 'final')
        .addEdge('final', END)
        .compile()
      const { results } = await graph.invoke({ messages: [new HumanMessage(work.prompt)] }, { recursionLimit: 50 })
      return results.filter((result) => result === work.report).length
    },
    /** A new database for every thread: an old one would only slow it down. */
    w1(steps) {
      used = `${file}.${files++}`
      return ask(
        agent(scripted(steps), mode === 'sqlite' ? SqliteSaver.fromConnString(used) : undefined),
        work.prompt,
        steps * 2 + 20,
      )
    },
    /** After each measured turn, outside of the clock. */
    tidy() {
      for (const end of ['', '-wal', '-shm']) rmSync(used + end, { force: true })
    },
    async w4prep(messages) {
      const { messages: kept } = await ask(
        agent(scripted(messages / 2 - 1), SqliteSaver.fromConnString(file)),
        work.prompt,
        messages * 2,
      )
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
