/**
 * A Skein request as the call options of an AI SDK model: prompt, tools, tool choice, and the settings, of which few
 * have a common name among providers.
 *
 * - A setting is sent only if the request has it, so that a provider's default stays.
 * - Settings without a common name go under the provider's key of `providerOptions`; a provider reads only its own
 *   key. Settings that the app writes there take precedence.
 * - Nothing depends on data stored by a provider: OpenAI's Responses are sent with `store: false`, so that reasoning
 *   comes with the reply and a thread can be resumed at any time.
 * - Anthropic is told to cache tools, system prompt and conversation; not for a single question, which would only pay
 *   for writing the cache.
 */
import { defined } from '../../core/defined.js'
import { isObject } from '../../core/json.js'
import { type PromptMessage, toPrompt } from './prompt.js'
import type { Thoughts } from './prompt.js'
import type { Pictures } from './pictures.js'
import type { ModelRequest, ToolSpec } from '../port.js'

interface FunctionTool {
  readonly type: 'function'
  readonly name: string
  readonly description: string
  readonly inputSchema: ToolSpec['parameters']
}

interface ProviderTool {
  readonly type: 'provider' | 'provider-defined'
  readonly id: string
  readonly name: string
  readonly args: NonNullable<NonNullable<ToolSpec['provider']>['args']>
}

type Settings = Record<string, unknown>

interface CallOptions {
  readonly prompt: PromptMessage[]
  readonly tools?: (FunctionTool | ProviderTool)[]
  readonly toolChoice?:
    | { readonly type: 'auto' | 'none' | 'required' }
    | { readonly type: 'tool'; readonly toolName: string }
  readonly responseFormat?: { readonly type: 'json' } & NonNullable<ModelRequest['output']>
  readonly reasoning?: 'low' | 'medium' | 'high'
  readonly temperature?: number
  readonly maxOutputTokens?: number
  readonly providerOptions?: Record<string, Settings>
  readonly abortSignal: AbortSignal
}

/** The model that will read the request: it decides where a setting goes. */
export interface SettingsReader {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
}

/** The request and how it is sent: after a refusal it may be sent in another way. */
export interface ProviderSettings {
  readonly request: ModelRequest
  readonly thoughts: Thoughts
  readonly pictures?: Pictures
}

/** Converted once: specs never change. */
const functionTools = new WeakMap<ToolSpec, FunctionTool>()

function functionTool(tool: ToolSpec): FunctionTool {
  let known = functionTools.get(tool)
  if (!known) {
    known = { type: 'function', name: tool.name, description: tool.description, inputSchema: tool.parameters }
    functionTools.set(tool, known)
  }
  return known
}

function toolFor(tool: ToolSpec, { specificationVersion }: SettingsReader): FunctionTool | ProviderTool {
  const { provider, name } = tool
  if (!provider) return functionTool(tool)
  const type = specificationVersion === 'v2' ? 'provider-defined' : 'provider'
  return { type, id: provider.id, name, args: provider.args ?? {} }
}

export function toCallOptions(
  { request, thoughts, pictures }: ProviderSettings,
  reader: SettingsReader,
  abortSignal: AbortSignal,
): CallOptions {
  const { system, messages, tools, toolChoice, output, temperature, maxOutputTokens } = request
  const providerOptions = optionsFor({ request, thoughts }, reader)
  return {
    prompt: cached(
      toPrompt({ system, messages, origin: originOf(reader), thoughts, ...defined({ pictures }) }),
      request,
      reader,
    ),
    ...(tools.length > 0 && { tools: tools.map((tool) => toolFor(tool, reader)) }),
    ...(tools.length > 0 && toolChoice && { toolChoice: choiceOf(toolChoice) }),
    ...(output && { responseFormat: { type: 'json' as const, ...output } }),
    ...(request.reasoning &&
      thoughts !== 'bare' &&
      reader.specificationVersion === 'v4' && { reasoning: request.reasoning }),
    ...defined({ temperature }),
    ...defined({ maxOutputTokens }),
    ...defined({ providerOptions }),
    abortSignal,
  }
}

const breakpoint = { anthropic: { cacheControl: { type: 'ephemeral' } } } as const

/** Marks the system prompt, the last message, and the last message of the request before. */
function cached(
  prompt: PromptMessage[],
  { tools, messages, promptCache = true }: ModelRequest,
  { provider }: SettingsReader,
): PromptMessage[] {
  if (!promptCache || !provider.includes('anthropic') || (tools.length === 0 && messages.length < 2)) return prompt
  const last = prompt.length - 1
  const before = prompt.findLastIndex(({ role }, at) => at < last && role === 'assistant') - 1
  const marks = new Set([0, before, last].filter((at) => at >= 0 && (at > 0 || prompt[at]?.role === 'system')))
  return prompt.map((message, at) => (marks.has(at) ? { ...message, providerOptions: breakpoint } : message))
}

/** The name under which provider data of a reply is stored (KP1: it goes back to the same model only). */
export function originOf({ provider, modelId }: SettingsReader): string {
  return `${provider}/${modelId}`
}

function choiceOf(choice: NonNullable<ModelRequest['toolChoice']>): NonNullable<CallOptions['toolChoice']> {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.tool }
}

const geminiBudgets = { low: 1_024, medium: 8_192, high: 24_576 } as const

function optionsFor(
  { request, thoughts }: ProviderSettings,
  reader: SettingsReader,
): Record<string, Settings> | undefined {
  const own = ownOptions({ request, thoughts }, reader)
  const given = request.providerOptions ?? {}
  const all: Record<string, Settings> = {}
  for (const [provider, settings] of [...Object.entries(own), ...Object.entries(given)]) {
    if (isObject(settings) && Object.keys(settings).length > 0) all[provider] = { ...all[provider], ...settings }
  }
  // Replies without their reasoning are accepted only while thinking is disabled.
  if (thoughts === 'bare' && isObject(all['anthropic']?.['thinking']))
    all['anthropic'] = { ...all['anthropic'], thinking: { type: 'disabled' } }
  return Object.keys(all).length === 0 ? undefined : all
}

/** Skein's settings in the names that the provider's package uses. */
function ownOptions(settings: ProviderSettings, reader: SettingsReader): Record<string, Settings> {
  const { provider, modelId } = reader
  const effort = effortFor(settings, reader)
  const { parallelToolCalls, tools } = settings.request
  // Undefined leaves the provider's default.
  const parallel = parallelToolCalls === false && tools.length > 0 ? false : undefined
  const family = provider.split('.')[0] ?? provider
  if (provider.includes('anthropic'))
    return { anthropic: defined({ disableParallelToolUse: parallel === false || undefined, effort }) }
  if (family === 'openai' || family.startsWith('azure')) {
    const store = provider.endsWith('.responses') ? false : undefined
    return { openai: defined({ store, parallelToolCalls: parallel, reasoningEffort: effort }) }
  }
  if (family === 'google' || family === 'vertex')
    return { google: defined({ thinkingConfig: effort && geminiThinking(modelId, effort) }) }
  // OpenAI-compatible providers send keys they do not know as they are; others drop them.
  return { [family]: defined({ parallel_tool_calls: parallel, reasoningEffort: effort }) }
}

type Effort = NonNullable<ModelRequest['reasoning']>

/** Undefined where v4 has its own option for it, and where the model must not think. */
function effortFor({ request, thoughts }: ProviderSettings, { specificationVersion }: SettingsReader) {
  return specificationVersion === 'v4' || thoughts === 'bare' ? undefined : request.reasoning
}

/** Gemini before 3 takes a number of tokens for each effort; newer ones take the word. */
function geminiThinking(modelId: string, effort: Effort): Settings {
  return /gemini-[12]\b/.test(modelId) ? { thinkingBudget: geminiBudgets[effort] } : { thinkingLevel: effort }
}
