/**
 * Agents for clients of MCP: the official client talks to `/mcp` of a server of Skein. An agent is a tool; what happens
 * in its turn is progress; what it must be allowed to do is put to the person at the client.
 *
 *   npx tsx examples/20-mcp/main.ts
 *
 * A client that starts processes runs `skein mcp examples/20-mcp/app.ts` instead.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createSkein, memory } from 'skein'
import { createKey, serve } from 'skein/server'
import { z } from 'zod'

const skein = await createSkein({ app: new URL('./app.ts', import.meta.url), backend: memory() })
const { key, sha256 } = createKey()
const keys = [{ name: 'desk', sha256, scopes: ['write', 'approve'] as const }]
const server = await serve(skein, { port: 0, auth: { keys } })

const client = new Client(
  { name: 'desk', version: '1' },
  { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: 'auto' } },
)
// The person at the client. With a real one: show the form, and wait.
client.setRequestHandler('elicitation/create', ({ params }) => {
  console.log(`\n? ${params.message.replaceAll('\n', '\n  ')}`)
  return { action: 'accept', content: { decision: 'approve' } }
})
await client.connect(
  new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
  }),
)

const { tools } = await client.listTools()
console.log(`the clerk is a tool: ${tools.find(({ name }) => name === 'ask_clerk')?.description}`)

const answerSchema = z.object({ thread: z.string(), text: z.string() })
const ask = async (message: string, thread?: string) => {
  const result = await client.callTool(
    { name: 'ask_clerk', arguments: { message, ...(thread && { thread }) } },
    { onprogress: ({ message: step }) => console.log(`  … ${step}`) },
  )
  return answerSchema.parse(result.structuredContent)
}
const first = await ask('Where is order 17?')
console.log(first.text)
const second = await ask('Send it again, please.', first.thread)
console.log(second.text)

// Threads are resources.
const { resources } = await client.listResources()
console.log(`\n${resources.length} resources, one of them the messages of the thread`)

await client.close()
await server.close()
await skein.close()
