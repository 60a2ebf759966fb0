/**
 * Prompts as tools (S10): a call is answered by a child that makes one request with the prompt. The child is a thread
 * like any other; what is special about it is recorded with the call: which part of what it did is the result.
 */
import type { App } from '../../agent/app.js'
import { agentOfPrompt } from '../../agent/callable.js'
import type { SubpromptTool } from '../../agent/define.js'
import { defined } from '../../core/defined.js'
import type { Gives, RecordedCall } from '../../core/records/record.js'
import type { Schema } from '../../core/schema.js'
import type { RequestedCall, ToolSpec } from '../../models/port.js'
import { newChild } from './child-call.js'
import type { ReplyContext } from './child-call.js'
import { messageArgs, childMessage } from './child-message.js'
import { toolSpec } from './tool-spec.js'

interface PromptTool {
  readonly config: SubpromptTool
  readonly required?: Schema
  readonly gives: Gives
}

export interface PromptTools {
  readonly byName: ReadonlyMap<string, PromptTool>
  readonly tools: readonly ToolSpec[]
}

export function promptToolsOf(app: App, configs: readonly SubpromptTool[]): PromptTools {
  const byName = new Map<string, PromptTool>()
  const tools: ToolSpec[] = []
  for (const config of configs) {
    const { requiredSchema, outputSchema, toolDescription } = app.prompts.get(config.name) ?? {}
    byName.set(config.name, {
      config,
      gives: givesOf(config, outputSchema !== undefined),
      ...defined({ required: requiredSchema }),
    })
    tools.push(toolSpec(config.name, toolDescription ?? `The prompt ${config.name}.`, requiredSchema ?? messageArgs))
  }
  return { byName, tools }
}

function givesOf(
  { includeTextResponse = true, includeToolCalls, includeErrors }: SubpromptTool,
  output: boolean,
): Gives {
  return {
    ...(includeTextResponse && { text: true }),
    ...(includeToolCalls && { calls: true }),
    ...(includeErrors && { errors: true }),
    ...(output && { output: true }),
  }
}

/** Undefined: the tool is none of these. */
export function recordPromptCall(
  { byName }: PromptTools,
  family: ReplyContext,
  call: RequestedCall & { readonly index: number },
): RecordedCall | undefined {
  const tool = byName.get(call.tool)
  if (!tool) return undefined
  const { args, ...opening } = childMessage(call, tool.required, tool.config)
  if ('refused' in opening) return { tool: call.tool, args, refused: opening.refused }
  const child = newChild(family, call.index, agentOfPrompt(call.tool).name)
  if ('code' in child) return { tool: call.tool, args, refused: child }
  const caller = family.state.child?.caller ?? family.state.agent
  return {
    tool: call.tool,
    args,
    child: {
      ...child,
      ...opening,
      gives: tool.gives,
      caller,
      blocking: true,
      lasting: false,
      reports: 'implicit',
      maxParallel: family.limits.maxParallelChildren,
    },
  }
}
