/**
 * An app as a folder: an agent in Markdown, and two skills. The model knows them by name and description, loads the one
 * that fits, and copies its script to its own files, where `bash` may run it.
 *
 *   npx tsx examples/15-skills/main.ts
 */
import { createSkein, memory } from 'skein'

const skein = await createSkein({ app: new URL('./app', import.meta.url), backend: memory() })
const thread = await skein.threads.create({ agent: 'clerk', id: 'desk', files: { '/hours.csv': 'mon,3\ntue,4.5\n' } })

const short = (text: string): string => text.replaceAll(/\s+/g, ' ').slice(0, 96)
for await (const { role, text, calls = [], tool } of thread.send('Make an invoice of /hours.csv.').messagesStream) {
  for (const call of calls) console.log(`→ ${call.tool} ${short(JSON.stringify(call.args))}`)
  if (text !== '') console.log(role === 'tool' ? `  ${tool}: ${short(text)}` : `${role}: ${text}`)
}
await skein.close()
