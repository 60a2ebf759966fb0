/**
 * Every cut of turns that rules stop: by a condition of the message, by rounds of calls, by repetition, each with its
 * last answer. Wherever the journal ends, the turn stops for the same reason, and the model is asked for its last
 * answer once.
 */
import { expect, test } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../src/agent/define.js'
import { stepCountIs } from '../../src/agent/stop.js'
import { memory } from '../../src/backend/memory/memory.js'
import type { Store } from '../../src/backend/port.js'
import { modelKey } from '../../src/core/effect.js'
import { scriptedModel } from '../../src/models/scripted.js'
import { createSkein } from '../../src/runtime/skein.js'
import { looseTool } from '../helpers/app.js'
import { plant, recordsOf } from '../helpers/cut.js'

const thread = 'cut'
const messages = [
  { id: 'm1', text: 'by steps', stopWhen: [stepCountIs(2)] },
  { id: 'm2', text: 'by rounds', maxToolRounds: 1 },
  { id: 'm3', text: 'by repetition' },
] as const

const sent = messages.map(({ id, text, ...rules }) => ({
  id,
  command: {
    kind: 'message',
    role: 'user',
    text,
    delivery: 'new_turn',
    ...('stopWhen' in rules && { rules: { stopWhen: [...rules.stopWhen] } }),
    ...('maxToolRounds' in rules && { rules }),
  } as const,
}))

function createScenario() {
  const asked: string[] = []
  const look = looseTool('look', () => 'seen')
  const model = scriptedModel(({ messages: said, toolChoice }) => {
    const step = said.filter(({ role }) => role === 'assistant').length + 1
    asked.push(`${modelKey(step)} ${String(toolChoice ?? 'any')}`)
    return { text: toolChoice === 'none' ? `last ${step}` : `step ${step}`, calls: [{ tool: 'look', args: {} }] }
  })
  const app = [
    look,
    defineModel({ name: 'm', model }),
    definePrompt({ name: 'p', prompt: 'You look.', model: 'm', tools: [look], lastAnswer: true }),
    defineAgent({ name: 'looker', type: 'ai_human', sideA: { prompt: 'p' } }),
  ]
  return { app, asked }
}

async function finish(source: Store, { app }: ReturnType<typeof createScenario>) {
  const skein = await createSkein({ app, backend: source, limits: { repetition: { same: 3 } } })
  const handle = await skein.threads.create({ agent: 'looker', id: thread })
  for (const { text, ...options } of messages) await handle.send(text, { ...options, delivery: 'new_turn' }).accepted()
  await handle.settled()
  const ends = []
  for (const { id } of messages) {
    const { stopReason, detail, text } = await handle.run(id).result()
    ends.push({ stopReason, detail, text })
  }
  const transcript = (await handle.messages({ silent: 'show' })).map(({ at: _, ...rest }) => rest)
  await skein.close()
  return { ends, transcript }
}

test('R3, P1: a journal cut before any record stops for the same reasons, and asks for no answer twice', async () => {
  const source = memory()
  const whole = createScenario()
  const ended = await finish(source, whole)
  expect(ended.ends).toMatchObject([
    { stopReason: 'stop_when', detail: '2 steps of 2', text: 'last 3' },
    { stopReason: 'max_tool_rounds', detail: '1 round of calls is allowed', text: 'last 6' },
    { stopReason: 'repetition', text: 'last 10' },
  ])
  const records = await recordsOf(source, thread)
  for (let cut = 0; cut < records.length; cut++) {
    const kept = records.slice(0, cut)
    const again = createScenario()
    const planted = memory()
    await plant(planted, { thread, agent: 'looker', kept, sent })
    expect(await finish(planted, again), `cut before record ${cut + 1} (${records[cut]?.type})`).toEqual(ended)
    const answered = kept.filter(({ type }) => type === 'model.replied').length
    expect(again.asked, `cut before record ${cut + 1}`).toEqual(whole.asked.slice(answered))
  }
})
