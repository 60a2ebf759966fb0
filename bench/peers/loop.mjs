/** The floor: a hand-written loop, and for W4 a file of JSON lines. Nothing is checked, kept or recoverable. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

export function adapter(work, { file, mode }) {
  const tools = { work: async ({ x }) => work.trivial(x), hash: async (args) => work.hashHere(args) }

  async function loop(model, messages) {
    for (;;) {
      const reply = await model(messages)
      messages.push(reply)
      if (!reply.toolCalls) return messages
      const results = await Promise.all(
        reply.toolCalls.map(async ({ id, name, args }) => ({
          role: 'tool',
          id,
          content: await tools[name](JSON.parse(args)),
        })),
      )
      messages.push(...results)
    }
  }

  const scripted = (steps, before) => async (messages) => {
    const step = (messages.length - before) / 2
    const args = work.callAt(step, steps)
    if (!args) return { role: 'assistant', content: 'done' }
    return {
      role: 'assistant',
      content: work.text,
      toolCalls: [{ id: `c${step}`, name: 'work', args: JSON.stringify(args) }],
    }
  }
  const hashing = (given) => async (messages) => {
    const calls = work.hashesAt(messages.length === 2 ? 0 : 1, given)
    if (!calls) return { role: 'assistant', content: 'done' }
    return {
      role: 'assistant',
      content: work.text,
      toolCalls: calls.map((args, index) => ({ id: `c${index}`, name: 'hash', args: JSON.stringify(args) })),
    }
  }
  const user = (content) => ({ role: 'user', content })
  const lines = (messages) => `${messages.map((message) => JSON.stringify(message)).join('\n')}\n`

  return {
    /** Mode `piscina` has its tool in worker threads, as many as there are cores. */
    async w2() {
      if (mode === 'piscina') this.close = await hashElsewhere(tools)
      return async (given) => {
        const messages = await loop(hashing(given), [{ role: 'system', content: work.system }, user(work.prompt)])
        return () =>
          work.assertHashes(
            messages.filter(({ role }) => role === 'tool').map(({ content }) => content),
            given,
          )
      }
    },
    /** Gives how many answers came back to the parent. */
    async w3(children) {
      const begin = (content) => [{ role: 'system', content: work.system }, user(content)]
      const child = async (messages) => {
        const calls = work.childCallsAt((messages.length - 2) / 3)
        if (calls)
          return {
            role: 'assistant',
            content: work.text,
            toolCalls: calls.map((args, index) => ({ id: `c${index}`, name: 'work', args: JSON.stringify(args) })),
          }
        await work.beforeReport()
        return { role: 'assistant', content: work.report }
      }
      tools.research = async ({ input }) => (await loop(child, begin(input))).at(-1).content
      let reports = 0
      const parent = async (messages) => {
        const items = work.itemsAt(messages.length === 2 ? 0 : 1, children)
        if (items)
          return {
            role: 'assistant',
            content: work.text,
            toolCalls: items.map((input, index) => ({
              id: `p${index}`,
              name: 'research',
              args: JSON.stringify({ input }),
            })),
          }
        reports = messages.filter(({ role, content }) => role === 'tool' && content === work.report).length
        return { role: 'assistant', content: 'done' }
      }
      await loop(parent, begin(work.prompt))
      return reports
    },
    w1: (steps) => loop(scripted(steps, 2), [{ role: 'system', content: work.system }, user(work.prompt)]),
    async w4prep(messages) {
      const kept = await loop(scripted(messages / 2 - 1, 1), [user(work.prompt)])
      writeFileSync(file, lines(kept))
      return { messages: kept.length }
    },
    async w4step() {
      const messages = readFileSync(file, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
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

async function hashElsewhere(tools) {
  const { Piscina } = await import('piscina')
  const count = availableParallelism()
  const pool = new Piscina({
    filename: new URL('../worker.mjs', import.meta.url).href,
    name: 'hash',
    minThreads: count,
    maxThreads: count,
  })
  tools.hash = (args) => pool.run(args)
  return () => pool.destroy()
}
