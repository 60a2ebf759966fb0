/**
 * One customer, one thread, three agents: each takes over from the one before, with all that was said.
 *
 *   npx tsx examples/10-front-desk/main.ts
 */
import { createSkein, memory } from 'skein'
import type { Run } from 'skein'

const skein = await createSkein({ app: new URL('./app.ts', import.meta.url), backend: memory() })
const thread = await skein.threads.create({ agent: 'desk', id: 'customer-1' })

/** What happens in this turn, and who has the thread. */
async function show(run: Run): Promise<void> {
  for await (const { role, text, calls = [], tool } of run.messagesStream) {
    const who = { tool: `  ${tool}`, user: 'customer', assistant: 'agent', system: 'system' }[role]
    const asked = calls.map((call) => `→ ${call.tool} ${JSON.stringify(call.args)}`)
    console.log(`${who}: ${[text, ...asked].filter((part) => part !== '').join(' ')}`)
  }
  console.log(`(the thread is with ${(await thread.info()).agent})\n`)
}

await show(thread.send('The lamp of order 17 is broken.'))
await show(thread.send('Do you have another one?'))

// The prompt that was called is a child like any other.
for (const { agent, status, thread: id } of (await skein.threads.list({ parent: thread.id })).threads) {
  const [letter] = await (await skein.threads.get(id)).messages()
  console.log(`${agent} is ${status}; it read "${letter?.text}"`)
}
await skein.close()
