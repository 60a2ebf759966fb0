/**
 * An app whose agent `pair` has two sides on scripted models, with the tools that a test gives them; `lead` may call
 * it.
 */
import { defineAgent, defineModel, definePrompt } from '../../src/agent/define.js'
import type { Definition, PromptDefinition, Side, SubagentTool, ToolDefinition } from '../../src/agent/define.js'
import { scriptedModel } from '../../src/models/scripted.js'
import type { Script, ScriptedModel, ScriptedReply } from '../../src/models/scripted.js'

export interface Pair {
  /** Default `pair`. */
  readonly name?: string
  readonly a: Script | readonly ScriptedReply[]
  readonly b: Script | readonly ScriptedReply[]
  readonly sideA?: Partial<Side>
  readonly sideB?: Partial<Side>
  readonly promptA?: Partial<PromptDefinition>
  readonly promptB?: Partial<PromptDefinition>
  readonly maxSessionTurns?: number
  readonly tools?: readonly ToolDefinition[]
  /** Calls the pair. */
  readonly lead?: Script
  readonly relation?: Omit<SubagentTool, 'name'>
}

export interface PairApp {
  readonly app: readonly Definition[]
  readonly models: { readonly a: ScriptedModel; readonly b: ScriptedModel }
}

export function pairApp({
  name = 'pair',
  a,
  b,
  sideA,
  sideB,
  promptA,
  promptB,
  maxSessionTurns,
  tools = [],
  lead,
  relation,
}: Pair): PairApp {
  const models = { a: scriptedModel(a), b: scriptedModel(b) }
  const names = tools.map((tool) => tool.name)
  const app: Definition[] = [
    ...tools,
    defineModel({ name: 'model_a', model: models.a }),
    defineModel({ name: 'model_b', model: models.b }),
    definePrompt({ name: 'prompt_a', prompt: 'You write.', model: 'model_a', tools: names, ...promptA }),
    definePrompt({ name: 'prompt_b', prompt: 'You judge.', model: 'model_b', tools: names, ...promptB }),
    defineAgent({
      name,
      type: 'dual_ai',
      sideA: { prompt: 'prompt_a', ...sideA },
      sideB: { prompt: 'prompt_b', ...sideB },
      exposeAsTool: true,
      ...(maxSessionTurns !== undefined && { maxSessionTurns }),
    }),
  ]
  if (lead) {
    app.push(
      defineModel({ name: 'lead_model', model: scriptedModel(lead) }),
      definePrompt({ name: 'lead_prompt', prompt: 'You lead.', model: 'lead_model', tools: [{ name, ...relation }] }),
      defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_prompt' } }),
    )
  }
  return { app, models }
}

/** What the model was shown with each request. */
export const seen = ({ requests }: ScriptedModel): string[][] =>
  requests.map(({ messages }) =>
    messages.map(
      ({ role, text, calls: asked }) => `${role}: ${text}${asked ? `[${asked.map(({ tool }) => tool).join()}]` : ''}`,
    ),
  )
