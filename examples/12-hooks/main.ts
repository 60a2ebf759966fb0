/**
 * Hooks: a guard that changes and refuses calls, a redaction of results, and a last look before the turn ends.
 *
 *   npx tsx examples/12-hooks/main.ts
 */
import { createSkein, memory } from 'skein'
import * as app from './app.js'

const skein = await createSkein({ app, backend: memory() })
const thread = await skein.threads.create({ agent: 'clerk' })
const run = thread.send('Ada wants 500 euros back.')

console.log(`answer: ${await run.text()}\n`)
for (const { tool, args, outcome } of await run.toolCalls())
  console.log(
    `${tool} ${JSON.stringify(args)} → ${JSON.stringify(outcome?.ok ? outcome.value : outcome?.failure.code)}`,
  )

console.log('\nwhat hooks decided is in the journal:')
for await (const event of thread.events()) {
  if (event.type === 'model.replied' && event.hooks)
    console.log(`step ${event.step}: ${event.hooks.map(({ hook }) => hook).join(', ')}`)
  if (event.type === 'hook.decided')
    console.log(
      `${event.point}: ${event.asked.map(({ hook }) => hook).join(', ')}${event.goOn ? ` → ${event.goOn}` : ''}`,
    )
  if (event.type === 'turn.ended') break
}
await skein.close()
