/**
 * Time travel: the fork of a long thread, a hundred forks of it, and the fork of a tree with many living children
 * beside what making that tree took. `node bench/travel.mjs [children]` after `npm run emit`.
 */
import { z } from 'zod'
import { createSkein, defineAgent, defineModel, definePrompt, defineTool, memory } from '../dist/src/index.js'
import { scriptedModel } from '../dist/src/testing.js'

const children = Number(process.argv[2] ?? 1_000)
const turns = 750

const quick = scriptedModel(
  ({ messages }) => (messages.at(-1)?.role === 'user' ? { calls: [{ tool: 'look', args: {} }] } : { text: 'so it is' }),
  { record: false },
)
const lead = scriptedModel(
  ({ messages }) =>
    messages.some(({ role }) => role === 'tool')
      ? { text: 'all there' }
      : {
          calls: Array.from({ length: children }, (_, n) => ({
            tool: 'subagent_create',
            args: { agent: 'worker', name: `w${n}`, message: `${n}` },
          })),
        },
  { record: false },
)
const app = [
  defineTool({ name: 'look', description: 'x', args: z.object({}), execute: () => 'x'.repeat(300) }),
  defineModel({ name: 'quick', model: quick }),
  defineModel({ name: 'lead_m', model: lead }),
  definePrompt({ name: 'p', prompt: 'x', model: 'quick', tools: ['look'] }),
  definePrompt({
    name: 'lead_p',
    prompt: 'x',
    model: 'lead_m',
    tools: [{ name: 'worker', resumable: { receives_messages: 'side_a' } }],
  }),
  defineAgent({ name: 'solo', type: 'ai_human', sideA: { prompt: 'p' } }),
  defineAgent({ name: 'worker', type: 'ai_human', sideA: { prompt: 'p' }, exposeAsTool: true }),
  defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_p' } }),
]

const store = memory()
const skein = await createSkein({
  app,
  backend: store,
  limits: { maxChildren: children, maxParallelChildren: children, maxToolCalls: children + 10 },
})
const timed = async (what) => {
  const [since, cpu] = [performance.now(), process.cpuUsage()]
  const value = await what()
  const { user, system } = process.cpuUsage(cpu)
  return { value, ms: Math.round(performance.now() - since), cpuMs: Math.round((user + system) / 1_000) }
}

const long = await skein.threads.create({ agent: 'solo', id: 'long' })
for (let turn = 0; turn < turns; turn++) await long.send(`turn ${turn}`).result()
const { seq } = await long.info()
const forks = []
for (let round = 0; round < 5; round++) forks.push(await timed(() => long.fork()))
console.log(
  `fork of a thread of ${seq} records:`,
  forks.map(({ ms, cpuMs }) => `${ms} ms (${cpuMs} ms processor)`).join(', '),
)

const parts = new Set()
for (let fork = 0; fork < 100; fork++) {
  const thread = await long.fork()
  const [based] = await thread.records({ limit: 1 })
  for (const { hash } of based.past.parts) parts.add(hash)
}
console.log(`100 forks of it store ${parts.size} parts`)

const root = await skein.threads.create({ agent: 'lead', id: 'lead' })
const made = await timed(async () => {
  await root.send('go').result()
  await root.settled({ tree: true })
})
const forked = await timed(async () => {
  const fork = await root.fork({ tree: true, go: true })
  await fork.settled({ tree: true })
  return (await skein.threads.list({ root: fork.id, limit: 2 * children })).threads.length
})
console.log(
  `${children} children: made in ${made.ms} ms (${made.cpuMs} ms processor), forked in ${forked.ms} ms ` +
    `(${forked.cpuMs} ms processor), ${forked.value} threads, ${(forked.ms / made.ms).toFixed(2)} times`,
)
await skein.close()
