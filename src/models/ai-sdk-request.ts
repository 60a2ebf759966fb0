/**
 * A Skein request as the call options of an AI SDK model: prompt, tools, tool choice, and the few settings
 * that have no common name among providers.
 *
 * AQ1 A setting is sent only when the request asks for it, so a provider's default stays its default.
 * AQ2 Settings without a common name go under the provider's own key of `providerOptions`; a provider reads
 *     no key but its own.
 */
import { type PromptMessage, toPrompt } from './ai-sdk-prompt.js'
import type { ModelRequest, ToolSpec } from './port.js'

interface FunctionTool {
  readonly type: 'function'
  readonly name: string
  readonly description: string
  readonly inputSchema: ToolSpec['parameters']
}

type Settings = Record<string, string | boolean>

interface CallOptions {
  readonly prompt: PromptMessage[]
  readonly tools?: FunctionTool[]
  readonly toolChoice?: { readonly type: 'auto' | 'none' | 'required' } | { readonly type: 'tool'; readonly toolName: string }
  readonly reasoning?: 'low' | 'medium' | 'high'
  readonly providerOptions?: Record<string, Settings>
  readonly abortSignal: AbortSignal
}

/** Who will read the request: what decides where a setting goes. */
export interface Reader {
  readonly specificationVersion: string
  readonly provider: string
}

const functionTools = new WeakMap<ToolSpec, FunctionTool>()

export function toCallOptions(request: ModelRequest, reader: Reader, abortSignal: AbortSignal): CallOptions {
  const { tools, toolChoice } = request
  const providerOptions = optionsFor(request, reader)
  return {
    prompt: toPrompt(request.system, request.messages),
    ...(tools.length > 0 && { tools: tools.map(functionTool) }),
    ...(tools.length > 0 && toolChoice && { toolChoice: choiceOf(toolChoice) }),
    ...(request.reasoning && reader.specificationVersion === 'v4' && { reasoning: request.reasoning }),
    ...(providerOptions && { providerOptions }),
    abortSignal,
  }
}

function functionTool(tool: ToolSpec): FunctionTool {
  let known = functionTools.get(tool)
  if (!known) {
    known = { type: 'function', name: tool.name, description: tool.description, inputSchema: tool.parameters }
    functionTools.set(tool, known)
  }
  return known
}

function choiceOf(choice: NonNullable<ModelRequest['toolChoice']>): NonNullable<CallOptions['toolChoice']> {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.tool }
}

function optionsFor(request: ModelRequest, reader: Reader): Record<string, Settings> | undefined {
  const oneCallOnly = request.parallelToolCalls === false && request.tools.length > 0
  // v4 has a common word for it.
  const effort = reader.specificationVersion === 'v4' ? undefined : request.reasoning
  if (!oneCallOnly && !effort) return undefined
  const family = reader.provider.split('.')[0] ?? reader.provider
  if (reader.provider.includes('anthropic')) {
    return { anthropic: { ...(oneCallOnly && { disableParallelToolUse: true }), ...(effort && { effort }) } }
  }
  if (family === 'openai' || family === 'azure') {
    return { openai: { ...(oneCallOnly && { parallelToolCalls: false }), ...(effort && { reasoningEffort: effort }) } }
  }
  // OpenAI-compatible providers send keys they do not know as they are; others drop them.
  return { [family]: { ...(oneCallOnly && { parallel_tool_calls: false }), ...(effort && { reasoningEffort: effort }) } }
}
