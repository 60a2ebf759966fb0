/**
 * A shop whose agent orders from suppliers: each supplier is a child with a key of its own, which no model ever sees. A
 * courier, where there is one, needs a password that nobody has given yet.
 */
import { defineAgent, defineModel, definePrompt, defineTool } from 'skein'
import { scriptedModel } from 'skein/testing'
import { z } from 'zod'

const order = defineTool({
  name: 'order',
  description: 'Orders goods from the supplier',
  args: z.object({ goods: z.string() }),
  // Scoped: a child does not inherit it, it is given its own.
  variables: [
    { name: 'SUPPLIER_KEY', scoped: true },
    { name: 'SHOP', type: 'text' },
  ],
  async execute(state, { goods }) {
    const key = await state.env('SUPPLIER_KEY')
    state.log('signing with', key) // masked, as everything that leaves the body
    return `${goods} for ${await state.env('SHOP')}, signed with ${key} (${key.length} characters)`
  },
})

const deliver = defineTool({
  name: 'deliver',
  description: 'Has goods brought',
  args: z.object({}),
  variables: [
    { name: 'COURIER_PASSWORD', scoped: true },
    { name: 'SHOP', type: 'text' },
  ],
  execute: async (state) => `on its way to ${await state.env('SHOP')}`,
})

type Request = Parameters<Exclude<Parameters<typeof scriptedModel>[0], readonly unknown[]>>[0]
const said = ({ messages }: Request, role: string) =>
  messages.filter((message) => message.role === role).map(({ text }) => text)
const buyer = scriptedModel((request) => {
  const news = said(request, 'user').at(-1) ?? ''
  if (news.startsWith('[courier')) return `The courier says: ${news}`
  return request.step === 1
    ? { calls: [{ tool: 'courier', args: { message: 'Bring it today.' } }] }
    : said(request, 'tool')
        .map((text) => text.split('. ')[0])
        .join('\n')
})
const supplier = scriptedModel((request) =>
  request.step === 0
    ? { calls: [{ tool: 'order', args: { goods: said(request, 'user')[0] } }] }
    : (said(request, 'tool')[0] ?? ''),
)
const courier = scriptedModel((request) =>
  request.step === 0 ? { calls: [{ tool: 'deliver', args: {} }] } : (said(request, 'tool')[0] ?? ''),
)

/** For whoever wants to see what the models were shown. */
export const models = { buyer, supplier, courier }

export const definitions = [
  order,
  deliver,
  ...Object.entries(models).map(([name, model]) => defineModel({ name, model })),
  definePrompt({
    name: 'buys',
    model: 'buyer',
    prompt: 'You keep the shelves full.',
    tools: [
      // One for each SUPPLIER, SUPPLIER__2, …, before the model is first asked.
      { name: 'supplier', immediate: { nameEnv: 'SUPPLIER', descriptionEnv: 'GOODS', scopedEnv: ['SUPPLIER_KEY'] } },
      { name: 'courier', optional: 'WITH_COURIER' },
    ],
  }),
  definePrompt({ name: 'supplies', model: 'supplier', prompt: 'You take orders.', tools: ['order'] }),
  definePrompt({ name: 'delivers', model: 'courier', prompt: 'You bring things.', tools: ['deliver'] }),
  defineAgent({ name: 'shop', type: 'ai_human', sideA: { prompt: 'buys' } }),
  defineAgent({ name: 'supplier', type: 'ai_human', sideA: { prompt: 'supplies' }, exposeAsTool: true }),
  defineAgent({
    name: 'courier',
    type: 'ai_human',
    sideA: { prompt: 'delivers' },
    exposeAsTool: true,
    toolDescription: 'Brings what was ordered',
  }),
]
