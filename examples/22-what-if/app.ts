/** A clerk who answers complaints. `generous` and `strict` differ in the prompt alone; a script stands for the model. */
import { defineAgent, defineModel, definePrompt, defineTool } from 'skein'
import type { Definition } from 'skein'
import { scriptedModel } from 'skein/testing'
import { z } from 'zod'

/** The world: what was really paid. */
export const bank: string[] = []

const lookUp = defineTool({
  name: 'look_up',
  description: 'Finds an order',
  args: z.object({ order: z.number() }),
  async execute({ files }, { order }) {
    await files.writeFile('/order.txt', `order ${order}: a kettle, 50 euros, broken\n`)
    return 'a kettle, 50 euros, broken'
  },
})

const pay = defineTool({
  name: 'pay',
  description: 'Pays money back',
  args: z.object({ euros: z.number() }),
  sideEffect: true,
  idempotent: true,
  execute({ idempotencyKey }, { euros }) {
    if (!bank.some((line) => line.endsWith(idempotencyKey))) bank.push(`paid ${euros} ${idempotencyKey}`)
    return `paid ${euros} euros`
  },
  /** How it is undone; it is told the key of the call that it undoes. */
  revert({ idempotencyKey }, { euros }) {
    bank.push(`took back ${euros} ${idempotencyKey}`)
    return 'taken back'
  },
})

const model = scriptedModel(({ system, messages }) => {
  const last = messages.at(-1)
  if (last?.role === 'user') return { calls: [{ tool: 'look_up', args: { order: 7 } }] }
  if (last?.tool === 'look_up' && system.includes('generous')) return { calls: [{ tool: 'pay', args: { euros: 50 } }] }
  return last?.tool === 'pay' ? 'We are sorry. You have your 50 euros back.' : 'We are sorry. We send another kettle.'
})

export function createApp(tone: 'generous' | 'strict'): Definition[] {
  return [
    lookUp,
    pay,
    defineModel({ name: 'script', model }),
    definePrompt({ name: 'desk', model: 'script', prompt: `You are ${tone}.`, tools: ['look_up', 'pay'] }),
    defineAgent({ name: 'clerk', type: 'ai_human', sideA: { prompt: 'desk' } }),
  ]
}
