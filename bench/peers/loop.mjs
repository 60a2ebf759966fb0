/** The floor: a hand-written loop, and for W4 a file of JSON lines. Nothing is checked, kept or recoverable. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'

export function adapter(work, { file }) {
  const tools = { work: async ({ x }) => work.trivial(x) }

  async function loop(model, messages) {
    for (;;) {
      const reply = await model(messages)
      messages.push(reply)
      if (!reply.toolCalls) return messages
      const results = await Promise.all(
        reply.toolCalls.map(async ({ id, name, args }) => ({ role: 'tool', id, content: await tools[name](JSON.parse(args)) })),
      )
      messages.push(...results)
    }
  }

  const scripted = (steps, before) => async (messages) => {
    const step = (messages.length - before) / 2
    const args = work.callAt(step, steps)
    if (!args) return { role: 'assistant', content: 'done' }
    return { role: 'assistant', content: work.text, toolCalls: [{ id: `c${step}`, name: 'work', args: JSON.stringify(args) }] }
  }
  const user = (content) => ({ role: 'user', content })
  const lines = (messages) => `${messages.map((message) => JSON.stringify(message)).join('\n')}\n`

  return {
    w1: (steps) => loop(scripted(steps, 2), [{ role: 'system', content: work.system }, user(work.prompt)]),
    async w4prep(messages) {
      const kept = await loop(scripted(messages / 2 - 1, 1), [user(work.prompt)])
      writeFileSync(file, lines(kept))
      return { messages: kept.length }
    },
    async w4step() {
      const messages = readFileSync(file, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line))
      const before = messages.push(user('continue')) - 1
      let seen = 0
      const resumed = async (given) => {
        work.counts.model++
        seen = given.length
        return { role: 'assistant', content: 'resumed' }
      }
      await loop(resumed, messages)
      appendFileSync(file, lines(messages.slice(before)))
      return { seen }
    },
  }
}
