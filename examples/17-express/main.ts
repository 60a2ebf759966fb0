/**
 * Skein inside a service: mounted in Express below /skein, and used with plain HTTP as any language would. The same
 * with `curl` is in docs/http.md.
 *
 *   npx tsx examples/17-express/main.ts
 */
import type { AddressInfo } from 'node:net'
import express from 'express'
import { createSkein, memory } from 'skein'
import { createHandler, createKey } from 'skein/server'

const skein = await createSkein({ app: new URL('./app.ts', import.meta.url), backend: memory() })
const { key, sha256 } = createKey()
const handler = createHandler(skein, { auth: { keys: [{ name: 'shop', sha256, scopes: ['write', 'approve'] }] } })
const service = express()
service.get('/', (_request, response) => void response.send('the shop'))
service.use('/skein', (request, response) => void handler.node(request, response))
const server = service.listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/skein`

const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
const post = async (path: string, body: object): Promise<Response> =>
  fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })

await post('/threads', { agent: 'clerk', id: 'order-17' })

// The same key twice is one message: a request that timed out can be sent again.
const asked = await post('/threads/order-17/messages?wait=30000', { text: 'Where is my parcel?', id: 'm1' })
console.log(`status ${asked.status}: ${((await asked.json()) as { result: { text: string } }).result.text}`)

// What a person must decide is in the inbox.
const resend = await post('/threads/order-17/messages?wait=30000', { text: 'Send it again, please.', id: 'm2' })
console.log(`status ${resend.status}: it waits for someone`)
const { items } = (await (await fetch(`${url}/inbox`, { headers })).json()) as { items: { id: string }[] }
for (const { id } of items) await post(`/inbox/${id}/approve`, { comment: 'the parcel is lost' })

// Watch it: everything that happened to the thread and those below it, then what happens.
const events = await fetch(`${url}/trees/order-17/events`, { headers })
let text = ''
for await (const chunk of events.body ?? []) {
  text += Buffer.from(chunk).toString()
  if (text.split('event: turn.ended').length > 2) break
}
for (const [, type] of text.matchAll(/^event: (turn\.\w+|call\.decided)$/gm)) console.log(type)

handler.close()
server.closeAllConnections()
server.close()
await skein.close()
