/** Agents of a simulated app, each with a script and tools. */
import { defineAgent, defineModel, definePrompt } from '../../src/agent/define.js'
import type { Definition, SubagentTool, ToolDefinition } from '../../src/agent/define.js'
import type { Message } from '../../src/core/records/message.js'
import { scriptedModel } from '../../src/models/scripted.js'
import type { Script } from '../../src/models/scripted.js'

interface Member {
  readonly script: Script
  readonly tools?: readonly (string | SubagentTool)[]
}

export function team(members: Readonly<Record<string, Member>>, tools: readonly ToolDefinition[] = []): Definition[] {
  return [
    ...tools,
    ...Object.entries(members).flatMap(([name, { script, tools: used = [] }]) => [
      defineModel({ name, model: scriptedModel(script, { record: false }) }),
      definePrompt({ name, prompt: `You are ${name}.`, model: name, tools: [...used] }),
      defineAgent({ name, type: 'ai_human', exposeAsTool: true, toolDescription: name, sideA: { prompt: name } }),
    ]),
  ]
}

/** What calls gave since the last message from outside. */
export function resultsOf(messages: readonly Message[]): readonly string[] {
  const from = messages.findLastIndex(({ role, silent }) => role === 'user' && !silent)
  return messages.slice(from + 1).flatMap(({ role, text }) => (role === 'tool' ? [text] : []))
}

export function lastSaid(messages: readonly Message[]): string {
  return messages.findLast(({ role, silent }) => role === 'user' && !silent)?.text ?? ''
}
