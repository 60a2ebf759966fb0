/**
 * One life of a cashier who charges, marks and notifies, bill by bill. It does not know how often it has been killed.
 * Its tools differ in what they can say about an effect that was cut off; Skein does the rest.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { createSkein, defineAgent, defineModel, definePrompt, defineTool, local } from 'skein'
import { scriptedModel } from 'skein/testing'
import { z } from 'zod'

const [store = '', world = ''] = process.argv.slice(2)
/** The world: a file with a line for every effect that really happened. */
const happened = (line: string): boolean => existsSync(world) && readFileSync(world, 'utf8').split('\n').includes(line)

/** At `before` and `after` main.ts lets us go on, or kills us. */
async function act(line: string): Promise<void> {
  for (const when of ['before', 'after']) {
    if (when === 'after') appendFileSync(world, `${line}\n`)
    process.send?.(`${when} ${line}`)
    await new Promise((resolve) => process.once('message', resolve))
  }
}

const args = z.object({ bill: z.string() })

/** The bank honours keys: the same key again is the same charge. So it may simply run again. */
const charge = defineTool({
  name: 'charge',
  description: 'Charges a bill',
  args,
  sideEffect: true,
  idempotent: true,
  async execute({ idempotencyKey }, { bill }) {
    const line = `charge ${bill} ${idempotencyKey}`
    if (!happened(line)) await act(line)
    return 'charged'
  },
})

/** The archive takes everything it gets, but it can be asked. So it is asked, and the body runs only if it must. */
const mark = defineTool({
  name: 'mark',
  description: 'Marks a bill as paid',
  args,
  sideEffect: true,
  probe: ({ idempotencyKey }, { bill }) => (happened(`mark ${bill} ${idempotencyKey}`) ? 'marked' : null),
  execute: async ({ idempotencyKey }, { bill }) => act(`mark ${bill} ${idempotencyKey}`).then(() => 'marked'),
})

/** A postcard has no key and cannot be asked. So it is never sent a second time, and the model is told. */
const notify = defineTool({
  name: 'notify',
  description: 'Sends a postcard',
  args,
  sideEffect: true,
  execute: async (_state, { bill }) => act(`notify ${bill}`).then(() => 'sent'),
})

const work = ['A', 'B', 'C'].flatMap((bill) => ['charge', 'mark', 'notify'].map((tool) => ({ tool, args: { bill } })))
const script = scriptedModel(({ step }) =>
  step < work.length ? { calls: work.slice(step, step + 1) } : 'All bills are done.',
)
const app = [
  charge,
  mark,
  notify,
  defineModel({ name: 'script', model: script }),
  definePrompt({ name: 'till', model: 'script', prompt: 'You are a cashier.', tools: ['charge', 'mark', 'notify'] }),
  defineAgent({ name: 'cashier', type: 'ai_human', sideA: { prompt: 'till' } }),
]
// Skein warns of notify when it loads it: after a crash nobody can tell whether it happened. Here that is the point.
const skein = await createSkein({ app, backend: local(store), warn: () => undefined })
const thread = await skein.threads.create({ agent: 'cashier', id: 'till' })
await thread.send('Do the bills.', { id: 'bills' }).result()
await skein.close()
