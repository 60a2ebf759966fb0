/**
 * A turn that is longer than the context of its model.
 *
 *   npx tsx examples/13-long-context/main.ts
 */
import { createSkein, memory } from 'skein'

const skein = await createSkein({ app: new URL('./app.ts', import.meta.url), backend: memory() })
const thread = await skein.threads.create({ agent: 'reader', id: 'log' })

const run = thread.send('Read the log and tell me what is odd.')
console.log(await run.text())

for await (const event of thread.events({ until: 'now' }))
  if (event.type === 'context.reduced')
    console.log(`before step ${event.step}: ${event.summary ? 'summarised' : 'archived'}, ${event.size} tokens left`)

const { messages, leftOut, limit } = await thread.context()
const count = (why: string) => leftOut.filter((message) => message.why === why).length
console.log(`\nthe model reads ${messages.length} messages, about ${limit?.tokens} tokens`)
console.log(`${count('summarised')} are summarised, ${count('archived')} results are archived`)
console.log(messages[0]?.text)
console.log(`the transcript is whole: ${(await thread.messages()).length} messages`)
await skein.close()
