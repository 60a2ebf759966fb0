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

/** Deltas are told while the model speaks. Whoever comes late gets the text so far, or at the end the whole. */
let said = ''
function say(whole: string): void {
  process.stdout.write(whole.slice(said.length))
  said = whole
}

for await (const event of run.fullStream) {
  switch (event.type) {
    case 'message.received':
      console.log(`> ${event.text}\n`)
      break
    case 'text.delta':
      say(said + event.text)
      break
    case 'stream.reset':
      say(event.text)
      break
    case 'model.replied':
      say(`${event.text}\n`)
      said = ''
      break
    case 'tool.result': {
      const { tool, outcome } = event
      console.log(
        outcome.ok
          ? `  ✓ ${tool} ${JSON.stringify(outcome.value)}`
          : `  ✗ ${tool} ${outcome.failure.code}: ${outcome.failure.message}`,
      )
      break
    }
    default: // turn.started, turn.ended: nothing to show
  }
}

const { stopReason, steps } = await run.result()
console.log(`\n${stopReason} after ${steps} steps; the transcript has ${(await thread.messages()).length} messages`)
await skein.close()
