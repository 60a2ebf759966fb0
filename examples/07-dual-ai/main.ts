/**
 * A writer and a critic: first alone, then as a subagent of an editor.
 *
 *   npx tsx examples/07-dual-ai/main.ts
 *   npx skein run examples/07-dual-ai/app.ts --agent poets 'A poem about the Elbe.'
 */
import { createSkein, memory } from 'skein'

const skein = await createSkein({ app: new URL('./app.ts', import.meta.url), backend: memory() })

const thread = await skein.threads.create({ agent: 'poets' })
const run = thread.send('A poem about the Elbe.')
for await (const { role, text, label } of run.messagesStream)
  if (role !== 'tool' && text !== '') console.log(`${label ?? 'You'}: ${text}\n`)
const { stopReason, attachments, steps } = await run.result()
console.log(`${stopReason} after ${steps} steps, with ${attachments?.join(', ')}\n`)

// The session is over, the thread is not: the next message begins another, with the same history.
const again = await thread.send('Now one about nothing.').result()
console.log(`${again.stopReason}: ${again.failure?.message}\n`)

const journal = await skein.threads.create({ agent: 'journal' })
console.log(await journal.send('The next issue, please.').text())
await skein.close()
