/**
 * An app: the checked set of definitions that a skein runs. Pure: it is given definitions and finds every
 * mistake that can be found without running anything.
 *
 * AP1 Names are unique per kind, none is reserved, and every name that a definition mentions exists.
 * AP2 All mistakes of an app are reported at once, each with the source it came from.
 */
import { z } from 'zod'
import { SkeinError, toFailure } from '../core/failure.js'
import type { Json } from '../core/json.js'
import { isObject } from '../core/json.js'
import type { AgentDefinition, Definition, ModelDefinition, PromptDefinition, ToolDefinition } from './define.js'

export interface App {
  readonly agents: ReadonlyMap<string, AgentDefinition>
  readonly prompts: ReadonlyMap<string, PromptDefinition>
  readonly tools: ReadonlyMap<string, ToolDefinition>
  readonly models: ReadonlyMap<string, ModelDefinition>
  /** JSON Schema of each tool's args. */
  readonly parameters: ReadonlyMap<string, { readonly [key: string]: Json }>
  /** What a worker thread imports to get the same tools; absent for definitions that live in this process alone. */
  readonly module?: string
}

/** Names that Skein gives to tools of its own. */
const reserved: ReadonlySet<string> = new Set([
  'subagent_create',
  'subagent_message',
  'subagent_list',
  'manage_todo_list',
  'get_tool_response',
  'response',
  'ask_user_question',
  'shared',
])

const name = z.string().regex(/^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/, 'a name is a letter, then up to 63 letters, digits, "_" or "-"')
const schema = z.custom<z.ZodType>((value) => isObject(value) && '_zod' in value, 'must be a zod 4 schema')
const body = z.custom<ToolDefinition['execute']>((value) => typeof value === 'function', 'must be a function (state, args) => result')
const choice = z.union([z.enum(['auto', 'none', 'required']), z.strictObject({ tool: z.string() })])

const definitionSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('tool'),
    name,
    description: z.string(),
    args: schema,
    execute: body,
    outputSchema: schema.optional(),
    timeoutMs: z.number().positive().optional(),
    sideEffect: z.boolean().optional(),
    idempotent: z.boolean().optional(),
    probe: body.optional(),
    onUnknown: z.enum(['tell', 'retry']).optional(),
    cpu: z.boolean().optional(),
    where: z.enum(['worker', 'host']).optional(),
  }),
  z.strictObject({
    kind: z.literal('prompt'),
    name,
    prompt: z.string(),
    model: z.string(),
    tools: z.array(z.string()).optional(),
    toolChoice: choice.optional(),
    parallelToolCalls: z.boolean().optional(),
    reasoning: z.enum(['low', 'medium', 'high']).optional(),
  }),
  z.strictObject({
    kind: z.literal('model'),
    name,
    model: z.custom((value) => isObject(value) || typeof value === 'function', 'must be a model or a function that gives one'),
    fallback: z.array(z.string()).optional(),
    maxRetries: z.number().int().min(0).optional(),
    costPerMillion: z.strictObject({ inputUsd: z.number().min(0), outputUsd: z.number().min(0) }).optional(),
  }),
  z.strictObject({
    kind: z.literal('agent'),
    name,
    type: z.literal('ai_human'),
    sideA: z.strictObject({ prompt: z.string(), label: z.string().optional(), maxSteps: z.number().int().positive().optional() }),
  }),
])

const kinds: ReadonlySet<unknown> = new Set(['tool', 'prompt', 'model', 'agent'])

export function isDefinition(value: unknown): value is Definition {
  return isObject(value) && kinds.has(value['kind']) && typeof value['name'] === 'string'
}

/** Checks definitions and gives the app; `source` says in errors where they came from. */
export function createApp(definitions: readonly Definition[], source: string, module?: string): App {
  const app = {
    agents: new Map<string, AgentDefinition>(),
    prompts: new Map<string, PromptDefinition>(),
    tools: new Map<string, ToolDefinition>(),
    models: new Map<string, ModelDefinition>(),
    parameters: new Map<string, { readonly [key: string]: Json }>(),
  }
  const mistakes: Mistake[] = []
  for (const definition of definitions) admit(app, definition, mistakes)
  checkMentions(app, mistakes)
  const [first] = mistakes
  if (first) {
    const lines = mistakes.map(({ text }) => `- ${text}`).join('\n')
    throw new SkeinError(first.code, `${source} has ${mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`}:\n${lines}`, {
      data: { source, mistakes: mistakes.map(({ text }) => text) },
    })
  }
  return { ...app, ...(module !== undefined && { module }) }
}

interface Mistake {
  readonly code: 'BAD_OPTION' | 'DUPLICATE_NAME' | 'RESERVED_NAME' | 'UNKNOWN_PROMPT' | 'UNKNOWN_MODEL' | 'UNKNOWN_TOOL'
  readonly text: string
}

type Shelves = Omit<App, 'module'>
type Filling = { -readonly [Key in keyof Shelves]: Shelves[Key] extends ReadonlyMap<infer K, infer V> ? Map<K, V> : never }

function admit(app: Filling, definition: Definition, mistakes: Mistake[]): void {
  // A list from plain JavaScript may hold anything.
  if (!isObject(definition)) return void mistakes.push({ code: 'BAD_OPTION', text: `${JSON.stringify(definition) ?? typeof definition} is not a definition` })
  const title = `${definition.kind} ${JSON.stringify(definition.name)}`
  const checked = definitionSchema.safeParse(definition)
  if (!checked.success) {
    for (const { path, message } of checked.error.issues) mistakes.push({ code: 'BAD_OPTION', text: `${title}: ${path.join('.') || 'it'}: ${message}` })
    return
  }
  const shelf: Map<string, Definition> = app[`${definition.kind}s`]
  if (shelf.has(definition.name)) mistakes.push({ code: 'DUPLICATE_NAME', text: `there are two definitions of ${title}` })
  if (reserved.has(definition.name)) mistakes.push({ code: 'RESERVED_NAME', text: `${title}: this name belongs to Skein; choose another` })
  shelf.set(definition.name, definition)
  if (definition.kind === 'tool') describeArgs(app, definition, mistakes)
}

function describeArgs(app: Filling, tool: ToolDefinition, mistakes: Mistake[]): void {
  try {
    const { $schema: _, ...parameters } = z.toJSONSchema(tool.args, { io: 'input' }) as { [key: string]: Json }
    if (parameters['type'] !== undefined && parameters['type'] !== 'object') {
      mistakes.push({ code: 'BAD_OPTION', text: `tool "${tool.name}": its args must be an object (z.object({ … })), not ${JSON.stringify(parameters['type'])}` })
    }
    app.parameters.set(tool.name, parameters)
  } catch (thrown) {
    const { message } = toFailure(thrown, 'BAD_OPTION')
    mistakes.push({ code: 'BAD_OPTION', text: `tool "${tool.name}": its args cannot be told to a model as JSON Schema: ${message}` })
  }
}

function checkMentions(app: Shelves, mistakes: Mistake[]): void {
  const known = (shelf: ReadonlyMap<string, unknown>): string => [...shelf.keys()].join(', ') || 'none'
  for (const agent of app.agents.values()) {
    if (!app.prompts.has(agent.sideA.prompt)) {
      mistakes.push({ code: 'UNKNOWN_PROMPT', text: `agent "${agent.name}" names the prompt "${agent.sideA.prompt}"; there are: ${known(app.prompts)}` })
    }
  }
  for (const prompt of app.prompts.values()) {
    if (!app.models.has(prompt.model)) {
      mistakes.push({ code: 'UNKNOWN_MODEL', text: `prompt "${prompt.name}" names the model "${prompt.model}"; there are: ${known(app.models)}` })
    }
    for (const tool of prompt.tools ?? []) {
      if (!app.tools.has(tool)) mistakes.push({ code: 'UNKNOWN_TOOL', text: `prompt "${prompt.name}" names the tool "${tool}"; there are: ${known(app.tools)}` })
    }
  }
  for (const model of app.models.values()) {
    for (const fallback of model.fallback ?? []) {
      if (!app.models.has(fallback)) mistakes.push({ code: 'UNKNOWN_MODEL', text: `model "${model.name}" falls back to "${fallback}"; there are: ${known(app.models)}` })
    }
  }
}
