/**
 * Records a golden journal of the present format: `npx tsx test/history/record.ts > test/history/<version>.json`.
 * Run it once per record version, before the version after it is begun; the files are kept for ever.
 */
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../src/agent/define.js'
import { memory } from '../../src/backend/memory/memory.js'
import { recordVersion } from '../../src/core/records/record.js'
import { manualClock } from '../../src/core/manual-clock.js'
import { scriptedModel } from '../../src/models/scripted.js'
import { createSkein } from '../../src/runtime/skein.js'

const look = (x: unknown) => ({ tool: 'look', args: { x } })
const model = scriptedModel([
  {
    text: 'Looking.',
    reasoning: 'I should look.',
    calls: [look(1), look('two'), { tool: 'nowhere', args: '{' }],
    usage: { inputTokens: 10, outputTokens: 5 },
  },
  { text: 'Found it.' },
  { error: 'the provider refused' },
  { text: 'Better now.' },
  { text: '', calls: [look(3)] },
  { text: '' },
  {
    text: '',
    calls: [
      { tool: 'append', args: { text: 'a' } },
      { tool: 'append', args: { text: 'b' } },
      { tool: 'cached', args: {} },
      { tool: 'cached', args: {} },
      { tool: 'charge', args: {} },
    ],
  },
  {
    text: '',
    calls: [
      { tool: 'risky', args: { n: 1 } },
      { tool: 'risky', args: { n: 2 } },
      { tool: 'ask', args: {} },
      { tool: 'queue', args: {} },
      { tool: 'long', args: {} },
    ],
  },
  { text: 'All done.' },
  {
    text: '',
    calls: [
      { tool: 'helper', args: { message: 'help' } },
      { tool: 'subagent_create', args: { agent: 'friend', name: 'Fay', message: 'hello' } },
    ],
  },
  {
    text: '',
    calls: [
      { tool: 'subagent_message', args: { reference: 'friend-1', message: 'still there?' } },
      { tool: 'subagent_list', args: {} },
    ],
  },
  { text: 'They all helped.' },
])
const helping = scriptedModel(({ messages }) => ({
  text: `heard ${messages.length}`,
  usage: { inputTokens: 3, outputTokens: 2 },
}))
const app = [
  defineModel({ name: 'm', model, maxRetries: 0 }),
  defineModel({ name: 'h', model: helping, maxRetries: 0 }),
  definePrompt({ name: 'hp', prompt: 'You help.', model: 'h' }),
  defineAgent({
    name: 'helper',
    type: 'ai_human',
    sideA: { prompt: 'hp' },
    exposeAsTool: true,
    toolDescription: 'Helps once',
  }),
  defineAgent({
    name: 'friend',
    type: 'ai_human',
    sideA: { prompt: 'hp' },
    exposeAsTool: true,
    toolDescription: 'Stays',
  }),
  definePrompt({
    name: 'p',
    prompt: 'You look.',
    model: 'm',
    tools: [
      'look',
      'append',
      'cached',
      'charge',
      'risky',
      'ask',
      'queue',
      'long',
      { name: 'helper' },
      { name: 'friend', resumable: { receives_messages: 'side_a' } },
    ],
  }),
  defineAgent({ name: 'looker', type: 'ai_human', sideA: { prompt: 'p' } }),
  defineTool({
    name: 'look',
    description: 'looks',
    args: z.object({ x: z.union([z.number(), z.string()]) }),
    execute: (_, { x }) => {
      if (x === 3) throw new Error('it is dark')
      return { seen: x }
    },
  }),
  defineTool({
    name: 'append',
    description: 'appends',
    args: z.object({ text: z.string() }),
    sideEffect: false,
    sharedSchema: z.object({ count: z.number().default(0) }),
    async execute(state, { text }) {
      await state.files.appendFile('/log', text)
      state.setShared({ count: state.shared.count + 1 })
      return state.files.readFile('/log', 'utf8')
    },
  }),
  defineTool({
    name: 'cached',
    description: 'caches',
    args: z.object({}),
    cache: true,
    maxExecutionsPerRun: 5,
    execute: () => 'once',
  }),
  defineTool({
    name: 'charge',
    description: 'charges',
    args: z.object({}),
    sideEffect: true,
    execute: ({ idempotencyKey }) => idempotencyKey.length,
  }),
  defineTool({
    name: 'risky',
    description: 'risks',
    args: z.object({ n: z.number() }),
    needsApproval: true,
    approvalPrompt: 'Really?',
    execute: (_, { n }) => n,
  }),
  defineTool({
    name: 'ask',
    description: 'asks',
    args: z.object({}),
    outputSchema: z.string(),
    onToolCalled: () => null,
  }),
  defineTool({
    name: 'queue',
    description: 'queues',
    args: z.object({}),
    uses: ['look'],
    execute: (state) => (state.queueTool('look', { x: 4 }), state.queueMessage('by the way'), 'queued'),
  }),
  defineTool({ name: 'long', description: 'speaks for long', args: z.object({}), execute: () => 'x'.repeat(70_000) }),
]

const source = memory()
const skein = await createSkein({
  app,
  backend: source,
  clock: manualClock(1_700_000_000_000),
  limits: { maxWallClockMs: 60_000 },
})
const thread = await skein.threads.create({ agent: 'looker', id: 'golden', tags: ['kept'] })
await thread.inject('Remember: it is late.', { id: 'note', role: 'system', silent: true })
await thread.send('Look around.', { id: 'first' }).result()
await thread.send('Again.', { id: 'second' }).result()
await thread.resume()
await thread.settled()
await thread.pause({ reason: 'lunch' })
await thread.resume()
await thread.send('Once more.', { id: 'third' }).result()
await thread.files.writeFile('/outside', 'from outside')
const working = thread.send('Work.', { id: 'fourth' }).result()
while ((await skein.inbox.list()).length < 3) await new Promise((resolve) => setImmediate(resolve))
const [first, second, third] = (await skein.inbox.list()).map(({ id }) => id)
await skein.inbox.approve(first ?? '', { by: 'ann', args: { n: 10 } })
await skein.inbox.reject(second ?? '', { by: 'ann', comment: 'no' })
await skein.inbox.answer(third ?? '', 'fine')
await working
await thread.send('Ask for help.', { id: 'fifth' }).result()
await thread.terminate({ reason: 'enough' })
const messages = await thread.messages({ silent: 'show' })
const { status } = await thread.info()
const backend = await source.open('client')
const entries = await backend.journal.read('golden')
process.stdout.write(
  `${JSON.stringify({ version: recordVersion, thread: 'golden', status, messages, entries }, undefined, 1)}\n`,
)
await skein.close()
