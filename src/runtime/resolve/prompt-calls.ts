/**
 * Prompts as tools (S10): a call is answered by a child that makes one request with the prompt. The child is a thread
 * like any other; which part of what it did is the result is recorded with the call (`gives`). Pure.
 */
import type { App } from '../../agent/app.js'
import { agentOfPrompt } from '../../agent/callable.js'
import type { SubpromptTool } from '../../agent/define.js'
import { defined } from '../../core/defined.js'
import type { Gives, RecordedCall } from '../../core/records/record.js'
import type { Schema } from '../../core/schema.js'
import type { ToolSpec } from '../../models/port.js'
import { newChild } from './child-calls.js'
import type { IndexedCall, ReplyContext } from './child-calls.js'
import { childMessage, messageArgs } from './child-message.js'
import { toolSpec } from '../../agent/tool-spec.js'

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
    tools.push(toolSpec(config.name, toolDescription ?? `The prompt ${config.name}.`, requiredSchema ?? messageArgs()))
  }
  return { byName, tools }
}

function givesOf(
  { includeTextResponse = true, includeToolCalls, includeErrors }: SubpromptTool,
  hasOutput: boolean,
): Gives {
  return defined({
    text: includeTextResponse || undefined,
    calls: includeToolCalls || undefined,
    errors: includeErrors || undefined,
    output: hasOutput || undefined,
  })
}

/** The args of a prompt; undefined: the name is of none. */
export function promptSchema({ byName }: PromptTools, tool: string): Schema | undefined {
  const promptTool = byName.get(tool)
  return promptTool && (promptTool.required ?? messageArgs())
}

/** Undefined: the call names no prompt. */
export function recordPromptCall(
  { byName }: PromptTools,
  context: ReplyContext,
  call: IndexedCall,
): RecordedCall | undefined {
  const { tool, index } = call
  const promptTool = byName.get(tool)
  if (!promptTool) return undefined
  const { args, ...message } = childMessage(call, promptTool.required, promptTool.config)
  if ('refused' in message) return { tool, args, refused: message.refused }
  const child = newChild(context, index, agentOfPrompt(tool).name)
  if ('code' in child) return { tool, args, refused: child }
  const { state, limits } = context
  return {
    tool,
    args,
    child: {
      ...child,
      ...message,
      gives: promptTool.gives,
      caller: state.child?.caller ?? state.agent,
      blocking: true,
      lasting: false,
      reports: 'implicit',
      maxParallel: limits.maxParallelChildren,
    },
  }
}
