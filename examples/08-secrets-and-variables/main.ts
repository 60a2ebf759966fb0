/**
 * Variables of a thread and of its children: sealed at rest, masked everywhere, and waited for where they are missing.
 *
 *   npx tsx examples/08-secrets-and-variables/main.ts
 */
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSkein, local } from 'skein'
import { definitions, models } from './app.js'

const folder = mkdtempSync(join(tmpdir(), 'skein-secrets-'))
const secrets = { SUPPLIER_KEY: 'mill-key-0123456789', SUPPLIER_KEY__2: 'farm-key-abcdefghij' }
const skein = await createSkein({ app: definitions, backend: local(folder) })
const suppliers = { SUPPLIER: 'The mill', GOODS: '20 kg of flour', SUPPLIER__2: 'The farm', GOODS__2: '90 eggs' }
const shop = await skein.threads.create({
  agent: 'shop',
  id: 'shop',
  env: { ...suppliers, ...secrets, WITH_COURIER: 'yes' },
})

// Both suppliers begin by themselves, and both wait: nobody has said which shop this is.
const run = shop.send('Fill the shelves.')
await run.accepted()
for await (const waiting of skein.inbox.watch({ root: 'shop' })) {
  if (waiting.length < 2) continue
  for (const { tool, missing } of waiting) console.log(`${tool} waits for ${missing?.join()}`)
  break
}

// Set on the root, it flows down to all who do not scope the name.
await shop.env.set({ SHOP: 'Corner 7' })
console.log(`\n${await run.text()}\n`)

// The courier was not started: its password is its own, and only a person has it.
for (const { thread, request = '' } of await skein.inbox.list({ root: 'shop' })) {
  const { agent, missing, endpoint } = await skein.variables.get(thread, request)
  console.log(`${agent} needs ${missing.join()}: ${endpoint}`)
  await skein.variables.provide(thread, request, { COURIER_PASSWORD: 'open-sesame-please' })
}
await shop.settled({ tree: true })
console.log((await shop.messages()).at(-1)?.text)

// Where are the secrets? Not in what any model saw, and not in any file.
await skein.close()
const seen = JSON.stringify(Object.values(models).map(({ requests }) => requests.map(({ messages }) => messages)))
const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'))
const found = Object.values(secrets).filter((value) => [seen, ...files].some((text) => text.includes(value)))
console.log(`\nsecrets in ${files.length} files of the store and in all requests of models: ${found.length}`)
rmSync(folder, { recursive: true })
