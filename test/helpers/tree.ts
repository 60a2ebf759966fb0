/**
 * A small family for tests of whole trees: a lead, a boss with two writers, a writer beside them, and a keeper that
 * stays.
 */
import { defineAgent, defineModel, definePrompt } from '../../src/agent/define.js'
import type { Definition, ToolDefinition } from '../../src/agent/define.js'
import { scriptedModel } from '../../src/models/scripted.js'
import type { Script } from '../../src/models/scripted.js'
import { calls } from './app.js'

const ask = (tool: string, message: string) => ({ tool, args: { message } })

export function createFamilyApp({
  writer = () => 'written',
  tools = [],
}: { readonly writer?: Script; readonly tools?: readonly ToolDefinition[] } = {}): readonly Definition[] {
  const lead: Script = ({ step }) =>
    step === 0
      ? calls(ask('boss', 'go'), ask('writer', 'aside'), {
          tool: 'subagent_create',
          args: { agent: 'keeper', name: 'K', message: 'keep' },
        })
      : 'all done'
  const boss: Script = ({ step }) => (step === 0 ? calls(ask('writer', 'one'), ask('writer', 'two')) : 'boss done')
  const models: Readonly<Record<string, Script>> = { lead, boss, writer, keeper: () => 'kept' }
  return [
    ...tools,
    ...Object.entries(models).map(([name, script]) => defineModel({ name: `${name}_m`, model: scriptedModel(script) })),
    definePrompt({
      name: 'lead_p',
      prompt: 'x',
      model: 'lead_m',
      tools: [
        { name: 'boss' },
        { name: 'writer', blocking: false },
        { name: 'keeper', resumable: { receives_messages: 'side_a' } },
      ],
    }),
    definePrompt({ name: 'boss_p', prompt: 'x', model: 'boss_m', tools: [{ name: 'writer' }] }),
    definePrompt({ name: 'writer_p', prompt: 'x', model: 'writer_m', tools: tools.map(({ name }) => name) }),
    definePrompt({ name: 'keeper_p', prompt: 'x', model: 'keeper_m' }),
    defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_p' } }),
    ...['boss', 'writer', 'keeper'].map((name) =>
      defineAgent({ name, type: 'ai_human', sideA: { prompt: `${name}_p` }, exposeAsTool: true }),
    ),
  ]
}
