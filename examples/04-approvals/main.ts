/**
 * Calls that wait for a person. They hold no process: the skein is closed, opened again, and everything still waits.
 *
 *   npx tsx examples/04-approvals/main.ts
 *
 * The same by hand; `inbox` shows the ids, and decisions without a host are kept for the next one:
 *
 *   npx skein run examples/04-approvals/app.ts --agent bookkeeper --thread books "Pay the bills."
 *   npx skein inbox
 *   npx skein approve books/call_1_0 --args '{ "to": "printer", "euros": 200 }'
 *   npx skein deny books/call_1_1 --comment "we do not gamble"
 *   npx skein answer books/call_1_2 Friday
 *   npx skein run examples/04-approvals/app.ts --thread books
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SkeinError, createSkein, local } from 'skein'

const folder = mkdtempSync(join(tmpdir(), 'skein-approvals-'))
const open = () => createSkein({ app: new URL('./app.ts', import.meta.url), backend: local(folder) })

// Monday: the agent works until it can go on with nothing.
const monday = await open()
const books = await monday.threads.create({ agent: 'bookkeeper', id: 'books' })
await books.send('Pay the bills.', { id: 'bills' }).accepted()
console.log(`the thread is ${(await books.settled()).status}`)
await monday.close()

// Tuesday, perhaps another process, perhaps another machine.
const tuesday = await open()
const { inbox } = tuesday
for (const { id, why, tool, args, prompt = '' } of await inbox.list())
  console.log(`${id} waits for ${why}: ${tool} ${JSON.stringify(args)} ${prompt}`)

const wrong = await inbox
  .approve('books/call_1_0', { args: { to: 'printer', euros: -1 } })
  .catch((thrown: unknown) => thrown)
console.log(`other args are checked like the model's: ${SkeinError.is(wrong) ? wrong.code : 'no error'}`)

// In any order. A second decision about the same call is refused.
await inbox.answer('books/call_1_2', 'Friday', { by: 'Ada' })
await inbox.reject('books/call_1_1', { by: 'Ada', comment: 'we do not gamble' })
await inbox.approve('books/call_1_0', { by: 'Ada', args: { to: 'printer', euros: 200 } })

const thread = await tuesday.threads.get('books')
console.log(`\n${await thread.run('bills').text()}\n`)
console.log(`the inbox has ${(await inbox.list()).length} entries, the thread is ${await thread.status()}`)
await tuesday.close()
rmSync(folder, { recursive: true, force: true })
