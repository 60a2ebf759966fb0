/** A lead that may call writers: the smallest app in which a thread has children. */
import { defineAgent, defineModel, definePrompt } from '../../src/agent/define.js'
import type { AgentDefinition, Definition, SubagentTool, ToolDefinition } from '../../src/agent/define.js'
import type { Message } from '../../src/core/records/message.js'
import type { RequestedCall } from '../../src/models/port.js'
import { scriptedModel } from '../../src/models/scripted.js'
import type { Script } from '../../src/models/scripted.js'

export const last = (messages: readonly Message[]): string => messages.at(-1)?.text ?? ''

type Bounds = Pick<AgentDefinition, 'budget' | 'supervision'>

export interface Family {
  readonly lead: Script
  readonly writer: Script
  readonly relation?: Omit<SubagentTool, 'name'>
  readonly tools?: readonly ToolDefinition[]
  /** Tools that need no definition. */
  readonly more?: readonly string[]
  readonly ofLead?: Bounds
  readonly ofWriter?: Bounds
}

export function family({
  lead,
  writer,
  relation = {},
  tools = [],
  more = [],
  ofLead = {},
  ofWriter = {},
}: Family): readonly Definition[] {
  const names = tools.map(({ name }) => name)
  return [
    ...tools,
    defineModel({ name: 'lead_model', model: scriptedModel(lead), maxRetries: 0 }),
    defineModel({ name: 'writer_model', model: scriptedModel(writer), maxRetries: 0 }),
    definePrompt({
      name: 'lead_prompt',
      prompt: 'You lead.',
      model: 'lead_model',
      tools: [...names, ...more, { name: 'writer', ...relation }],
    }),
    definePrompt({ name: 'writer_prompt', prompt: 'You write.', model: 'writer_model', tools: names }),
    defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_prompt' }, ...ofLead }),
    defineAgent({
      name: 'writer',
      type: 'ai_human',
      sideA: { prompt: 'writer_prompt' },
      exposeAsTool: true,
      toolDescription: 'Writes a section',
      ...ofWriter,
    }),
  ]
}

export const write = (message: string): RequestedCall => ({ tool: 'writer', args: { message } })
