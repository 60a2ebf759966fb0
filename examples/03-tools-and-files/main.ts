/**
 * Tools on worker threads, working on the files of their thread: calls run in parallel and mean what they would mean
 * one after another.
 *
 *   npx tsx examples/03-tools-and-files/main.ts
 */
import { createSkein, memory } from 'skein'

const skein = await createSkein({ app: new URL('./app.ts', import.meta.url), backend: memory() })
const thread = await skein.threads.create({ agent: 'baker', files: { '/recipes/rye.md': 'flour, water, salt' } })
const run = thread.send('Take the orders and bake.')

for await (const event of run.fullStream) {
  switch (event.type) {
    case 'model.replied':
      console.log(
        event.text || `the model asks for ${event.calls.map(({ tool }, index) => `${index}:${tool}`).join(' and ')}`,
      )
      break
    case 'tool.preliminary':
      console.log(`  · ${event.tool} ${JSON.stringify(event.event)}`)
      break
    case 'tool.result': {
      const { index, tool, outcome } = event
      console.log(
        `  ${index}:${tool} has ${event.again ? 'run again' : 'run'}: ` +
          `${JSON.stringify(outcome.ok ? outcome.value : outcome.failure.message)}`,
      )
      break
    }
    case 'call.settled':
      // Calls are settled in call order; what they gave and changed counts from then on.
      if (event.verdict === 'stale')
        console.log(`    ${event.index} saw what a call before it has changed since: it runs again`)
      else console.log(`    ${event.index} counts`)
      break
    default:
  }
}

// The same files from outside, in any process that can open the store.
const { files } = thread
console.log(`\nfiles: ${(await files.find('/**/*.*')).join(' ')}`)
process.stdout.write(await files.readFile('/notes.md', 'utf8'))
await files.appendFile('/notes.md', 'closed at noon\n') // a record of the journal, as everything
console.log(await files.grep('closed'))
await skein.close()
