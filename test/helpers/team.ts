/**
 * A lead and a writer that it may call, for tests of trees: the calls, a tool that needs a secret of the writer's own,
 * and a check that a snapshot after any record gives the same state.
 */
import { expect } from 'vitest'
import { fold } from '../../actors/thread/fold.js'
import { createState } from '../../actors/thread/state.js'
import { defineAgent, defineModel, definePrompt } from '../../src/agent/define.js'
import type { Definition, SubagentTool, ToolDefinition } from '../../src/agent/define.js'
import type { Backend } from '../../src/backend/port.js'
import type { Message } from '../../src/core/records/message.js'
import { scriptedModel } from '../../src/models/scripted.js'
import type { Script, ScriptedModel } from '../../src/models/scripted.js'
import { decode } from '../../src/runtime/journal/journal.js'
import { freeze, thaw } from '../../src/runtime/journal/snapshot.js'
import { looseTool } from './app.js'

export const last = (messages: readonly Message[]): string => messages.at(-1)?.text ?? ''
export const write = (message: string) => ({ tool: 'writer', args: { message } })
export const create = (name: string, message: string) => ({
  tool: 'subagent_create',
  args: { agent: 'writer', name, message },
})
export const tell = (reference: string, message: string, more: { readonly steer?: boolean } = {}) => ({
  tool: 'subagent_message',
  args: { reference, message, ...more },
})
export const tokens = (inputTokens: number) => ({ inputTokens, outputTokens: 0, costUsd: 0 })
export const stays = { receives_messages: 'side_a' as const }

interface Team {
  readonly lead: Script
  readonly writer: Script
  readonly relation?: Omit<SubagentTool, 'name'>
  /** Of the writer. */
  readonly tools?: readonly ToolDefinition[]
  readonly leadTools?: readonly ToolDefinition[]
}

export function team({ lead, writer, relation = {}, tools = [], leadTools = [] }: Team): {
  readonly app: readonly Definition[]
  readonly models: readonly ScriptedModel[]
} {
  const models = [scriptedModel(lead), scriptedModel(writer)] as const
  return {
    models,
    app: [
      ...new Set([...tools, ...leadTools]),
      defineModel({ name: 'lead_m', model: models[0], maxRetries: 0 }),
      defineModel({ name: 'writer_m', model: models[1], maxRetries: 0 }),
      definePrompt({
        name: 'lead_p',
        prompt: 'You lead.',
        model: 'lead_m',
        tools: [...leadTools.map(({ name }) => name), { name: 'writer', ...relation }],
      }),
      definePrompt({ name: 'writer_p', prompt: 'You write.', model: 'writer_m', tools: tools.map(({ name }) => name) }),
      defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_p' } }),
      defineAgent({ name: 'writer', type: 'ai_human', sideA: { prompt: 'writer_p' }, exposeAsTool: true }),
    ],
  }
}

export const secret = 'token-of-ann-1234'
export const variables = [{ name: 'TOKEN', scoped: true }]
export const token = looseTool('token', async (state) => ((await state.env('TOKEN')) === secret ? 'right' : 'wrong'), {
  variables,
})

/** Frozen after each of its records in turn, every thread of the tree comes to the same state. */
export async function cutBySnapshots(backend: Backend, root: string): Promise<number> {
  let cuts = 0
  for (const { thread } of (await backend.heads.list({ root })).heads) {
    const records = (await backend.journal.read(thread)).flatMap((entry) => [...decode(thread, entry)])
    const whole = createState(thread)
    let state = createState(thread)
    for (const record of records) {
      fold(whole, record)
      fold(state, record)
      const woken = thaw(thread, freeze({ state, chain: '' }))
      if (!woken) throw new Error('a snapshot was not understood')
      state = woken.state
      expect({
        ...state,
        transcript: undefined,
        place: { gate: state.position.gate, work: state.position.work },
      }).toEqual({
        ...whole,
        transcript: undefined,
        place: { gate: whole.position.gate, work: whole.position.work },
      })
      cuts++
    }
    expect(state.transcript.skipped).toBe(whole.transcript.items.length)
  }
  return cuts
}
