/**
 * A first thread: create it, say something, watch its turn.
 *
 *   npx tsx examples/01-first-thread/main.ts
 *   npx skein run examples/01-first-thread/app.ts --agent clerk "What are 3 kg of apples and 1 kg of figs, to Lisbon?"
 */
import { createSkein, memory } from 'skein'

const skein = await createSkein({ app: new URL('./app.ts', import.meta.url), backend: memory() })
const thread = await skein.threads.create({ agent: 'clerk' })

const run = thread.send('What are 3 kg of apples and 1 kg of figs, to Lisbon?')
for await (const piece of run.textStream) process.stdout.write(piece)
console.log('\n')

// A run is a handle: it can be read again, in other ways, while it goes on and later. Here its calls and its result.
for (const { tool, outcome } of await run.toolCalls()) {
  if (outcome?.ok) console.log(`✓ ${tool} ${JSON.stringify(outcome.value)}`)
  else console.log(`✗ ${tool} ${outcome?.failure.code}: ${outcome?.failure.message}`)
}
const { stopReason, steps } = await run.result()
console.log(`\n${stopReason} after ${steps} steps; the transcript has ${(await thread.messages()).length} messages`)
await skein.close()
