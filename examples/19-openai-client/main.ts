/**
 * Agents for programs that speak to OpenAI: the `openai` package talks to a server of Skein. An agent is a model, and a
 * thread keeps the conversation, so that a client sends it once and a person can decide meanwhile.
 *
 *   npx tsx examples/19-openai-client/main.ts
 */
import OpenAI from 'openai'
import { createSkein, memory } from 'skein'
import { createKey, serve } from 'skein/server'
import { z } from 'zod'

const skein = await createSkein({ app: new URL('./app.ts', import.meta.url), backend: memory() })
const { key, sha256 } = createKey()
const server = await serve(skein, { port: 0, auth: { keys: [{ name: 'shop', sha256, scopes: ['write'] }] } })

const openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: key })
for await (const { id } of openai.models.list()) console.log(`model: ${id}`)

// As with any other model, in chunks.
const stream = await openai.chat.completions.create({
  model: 'clerk',
  messages: [{ role: 'user', content: 'Where is order 17?' }],
  stream: true,
})
for await (const { choices } of stream) process.stdout.write(choices[0]?.delta.content ?? '')

// A thread goes on: the header names it, and its messages need not be sent again.
await skein.threads.create({ agent: 'clerk', id: 'order-17' })
const inThread = { headers: { 'x-skein-thread': 'order-17' } }
const request = { model: 'clerk', messages: [{ role: 'user' as const, content: 'Send it again, please.' }] }
const extension = z.object({ x_skein: z.object({ status: z.string(), waits_for: z.array(z.string()) }) })
const waiting = extension.parse(await openai.chat.completions.create(request, inThread)).x_skein
console.log(`\n\n${waiting.status}: ${waiting.waits_for.join()}`)

// A person decides, perhaps days later. The same request is the same turn: it is answered now, and nothing is sent twice.
for (const id of waiting.waits_for) await skein.inbox.approve(id, { by: 'Ada' })
for (const attempt of [1, 2]) {
  const { choices } = await openai.chat.completions.create(request, inThread)
  console.log(`attempt ${attempt}: ${choices[0]?.message.content}`)
}
const thread = await skein.threads.get('order-17')
console.log(`the thread has ${(await thread.messages()).length} messages`)

await server.close()
await skein.close()
