/**
 * Agents that call agents of others, over A2A 1.0. One skein serves a guide; another one has it as a subagent of its
 * planner. Either may be anything else that speaks A2A.
 *
 *   npx tsx examples/21-a2a/main.ts
 */
import { createSkein, defineAgent, defineModel, definePrompt, fromA2A, memory } from 'skein'
import { createKey, serve } from 'skein/server'
import { scriptedModel } from 'skein/testing'

// There: an agent is served as /a2a/<name>, with its card.
const theirs = await createSkein({ app: new URL('./app.ts', import.meta.url), backend: memory() })
const { key, sha256 } = createKey()
const server = await serve(theirs, { port: 0, auth: { keys: [{ name: 'planner', sha256, scopes: ['write'] }] } })
const url = `${server.url}/a2a/guide`
const headers = { authorization: `Bearer ${key}` }
const card = await (await fetch(`${url}/.well-known/agent-card.json`, { headers })).text()
console.log(`the card: ${card.slice(0, 63)}…`)

// Here: the remote agent is an agent like any other. It stays, so that its questions can be answered.
const script = scriptedModel(({ messages }) => {
  const last = messages.at(-1)
  const results = messages.filter(({ role }) => role === 'tool')
  if (last?.role !== 'tool')
    return {
      calls: [{ tool: 'subagent_create', args: { agent: 'guide', name: 'Gil', message: 'What shall we see?' } }],
    }
  if (results.length > 1) return `The plan. ${last.text}`
  return { calls: [{ tool: 'subagent_message', args: { reference: 'guide-1', message: 'We are in Porto.' } }] }
})
const ours = await createSkein({
  backend: memory(),
  app: [
    ...fromA2A({ name: 'guide', url, headers, description: 'Says what to see in a town' }),
    defineModel({ name: 'script', model: script }),
    definePrompt({
      name: 'plans',
      prompt: 'You plan a day.',
      model: 'script',
      tools: [{ name: 'guide', resumable: { receives_messages: 'side_a' } }],
    }),
    defineAgent({ name: 'planner', type: 'ai_human', sideA: { prompt: 'plans' } }),
  ],
})
const thread = await ours.threads.create({ agent: 'planner' })
const run = thread.send('Plan our day.')
for (const { tool, outcome } of await run.toolCalls())
  console.log(`${tool} → ${outcome?.ok ? JSON.stringify(outcome.value) : outcome?.failure.message}`)
console.log(await run.text())

// The conversation is one task there, with all that was said.
const [task] = (await theirs.threads.list({ tag: 'a2a' })).threads
const there = await theirs.threads.get(task?.thread ?? '')
console.log(`there: ${(await there.messages()).map(({ role }) => role).join(', ')}`)

await ours.close()
await server.close()
await theirs.close()
