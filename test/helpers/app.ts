/** The smallest app there is: one agent `helper` on a scripted model, with the tools that a test gives it. */
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../src/agent/define.js'
import type { Definition, ModelSource, Side, ToolDefinition, ToolState } from '../../src/agent/define.js'
import type { RequestedCall } from '../../src/models/port.js'
import { scriptedModel } from '../../src/models/scripted.js'
import type { Script, ScriptedModel, ScriptedReply } from '../../src/models/scripted.js'

export interface TinyApp {
  readonly script: Script | readonly ScriptedReply[]
  readonly tools?: readonly ToolDefinition[]
  readonly maxSteps?: number
  readonly agent?: string
}

/** Definitions, and the model that hears them. */
export function tinyApp({ script, ...rest }: TinyApp): {
  readonly app: readonly Definition[]
  readonly model: ScriptedModel
} {
  const model = scriptedModel(script)
  return { model, app: appOn(model, rest) }
}

export function appOn(
  model: ModelSource,
  { tools = [], maxSteps, agent = 'helper' }: Omit<TinyApp, 'script'> = {},
): readonly Definition[] {
  const sideA: Side = { prompt: `${agent}_prompt`, ...(maxSteps !== undefined && { maxSteps }) }
  return [
    ...tools,
    defineModel({ name: 'scripted', model }),
    definePrompt({
      name: `${agent}_prompt`,
      prompt: 'You help.',
      model: 'scripted',
      tools: tools.map(({ name }) => name),
    }),
    defineAgent({ name: agent, type: 'ai_human', sideA }),
  ]
}

const anyArgs = z.looseObject({})

/** A tool that takes any object. */
export function looseTool(
  name: string,
  execute: (state: ToolState, args: Record<string, unknown>) => unknown,
  more: Partial<ToolDefinition> = {},
): ToolDefinition {
  return { ...defineTool({ name, description: `The tool ${name}`, args: anyArgs, execute }), ...more }
}

export function calls(...tools: readonly (string | RequestedCall)[]): ScriptedReply {
  return { calls: tools.map((tool) => (typeof tool === 'string' ? { tool, args: {} } : tool)) }
}
