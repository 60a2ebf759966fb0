/**
 * An app: the checked set of definitions that a skein runs. Pure: finds every mistake that can be found without
 * running anything. Owns the order of the checks; the checks themselves are in `checks/`.
 *
 * - Names are unique per kind, none is reserved, and every name that a definition mentions exists.
 * - All mistakes are reported at once, each with its file where that is known. A mistake that only follows from
 *   another one is not reported.
 * - An app has the built-in tools that it names and does not define itself, and those of the runtime.
 */
import { defined } from '../core/defined.js'
import { SkeinError, toFailure } from '../core/failure.js'
import type { Json } from '../core/json.js'
import { isObject } from '../core/json.js'
import type { Schema } from '../core/schema.js'
import { isSchema, jsonSchemaOf } from '../core/schema.js'
import { envelopeOf, needsEnvelope } from '../tools/envelope.js'
import type { McpDefinition } from '../tools/foreign/server.js'
import { sharedConflicts } from '../tools/context.js'
import { checkAgent, checkSides } from './checks/agents.js'
import type { AgentDefinition, Definition, ModelDefinition, PromptDefinition, ToolDefinition } from './define.js'
import type { HookDefinition } from './define-hook.js'
import type { EndpointDefinition } from './endpoints/define-endpoint.js'
import { endpointMistakes, routeKey, routeOf } from './endpoints/endpoint-path.js'
import { effectOf } from './effect.js'
import { lookalike } from './lookalike.js'
import { agentOfPrompt, toolsNamed } from './callable.js'
import { checkHook } from './checks/hooks.js'
import { contextMistake } from './context-limits.js'
import { checkMentions } from './checks/mentions.js'
import type { Claim, MentionChecks } from './checks/mentions.js'
import { checkShown } from './prompt-parts.js'
import { isReserved } from './checks/reserved.js'
import { checkForm } from './checks/form.js'
import type { Skill, SkillsetDefinition } from './skills.js'
import { checkEffect, checkShape, ignoresKey } from './checks/tools.js'
import { keeperOf, shortSecrets } from './variables.js'

export { isDefinition } from './lookalike.js'
export { lookalike } from './lookalike.js'

type JsonSchema = { readonly [key: string]: Json }

export interface Definitions {
  /** With one for each prompt that may be called (callable.ts). */
  readonly agents: ReadonlyMap<string, AgentDefinition>
  readonly prompts: ReadonlyMap<string, PromptDefinition>
  readonly tools: ReadonlyMap<string, ToolDefinition>
  readonly models: ReadonlyMap<string, ModelDefinition>
  readonly hooks: ReadonlyMap<string, HookDefinition>
  /** By their routes. */
  readonly endpoints: ReadonlyMap<string, EndpointDefinition>
  /** JSON Schema of the args of each tool that the app defines, as a model sends them: see `parametersOf`. */
  readonly parameters: ReadonlyMap<string, JsonSchema>
  /** The same of each prompt with a `requiredSchema`. */
  readonly inputs: ReadonlyMap<string, JsonSchema>
  readonly skills: ReadonlyMap<string, Skill>
}

export interface App extends Definitions {
  /** The module that a worker thread imports to get the same tools; absent for definitions of this process alone. */
  readonly module?: string
  /** Advice for the author of the app; none of it must be followed. */
  readonly warnings: readonly string[]
}

export interface AppOptions {
  readonly module?: string
  /** Tools that may be named without being defined; those with a reserved name are the runtime's, and always there. */
  readonly builtins?: readonly ToolDefinition[]
  /** The file of each definition, where they come from many. */
  readonly files?: ReadonlyMap<Definition, string>
  /** The file and line of a field, for definitions that have lines. */
  readonly lines?: ReadonlyMap<Definition, (field: readonly PropertyKey[]) => string>
  readonly skills?: readonly Skill[]
  /** Warnings and mistakes found while the definitions were collected. */
  readonly warnings?: readonly string[]
  readonly mistakes?: readonly Mistake[]
  readonly claimed?: MentionChecks['claimed']
  readonly lookalikes?: MentionChecks['lookalikes']
}

export interface Mistake {
  readonly code:
    | 'BAD_OPTION'
    | 'DUPLICATE_NAME'
    | 'RESERVED_NAME'
    | 'UNKNOWN_PROMPT'
    | 'UNKNOWN_MODEL'
    | 'UNKNOWN_TOOL'
    | 'UNKNOWN_AGENT'
    | 'UNKNOWN_HOOK'
  readonly definition?: Definition
  readonly text: string
  /** Where in the definition it is: a path, or the field and the name in it. */
  readonly field?: readonly PropertyKey[]
}

/** Checks definitions and makes the app of them; `source` says in errors where they came from. */
export function createApp(given: readonly Definition[], source: string, options: AppOptions = {}): App {
  const { module, builtins = [], files = new Map<Definition, string>(), claimed = [], lookalikes = [] } = options
  const { lines, skills = [] } = options
  const app = emptyRegistry(skills)
  const { definitions, meant, mistakes } = admitAll(app, given)
  const all = [
    ...(options.mistakes ?? []),
    ...mistakes,
    ...[...namedBuiltins(app, builtins)].flatMap((builtin) => registerBuiltin(app, builtin)),
    ...checkMentions({
      definitions,
      builtins,
      claimed: [...claimed, ...meant],
      lookalikes,
      skills: skills.map(({ name }) => name),
    }),
    ...checkTogether(app),
  ]
  if (all.length > 0) throw refusal(all, { source, files, ...defined({ lines }) })
  return {
    ...app,
    warnings: [...(options.warnings ?? []), ...warningsOf(app, { source, files })],
    ...defined({ module }),
  }
}

/** The definitions while an app is put together. */
type Registry = {
  -readonly [Key in keyof Definitions]: Definitions[Key] extends ReadonlyMap<infer K, infer V> ? Map<K, V> : never
} & { readonly mcps: Map<string, McpDefinition>; readonly skillsets: Map<string, SkillsetDefinition> }

function emptyRegistry(skills: readonly Skill[]): Registry {
  return {
    agents: new Map(),
    prompts: new Map(),
    tools: new Map(),
    models: new Map(),
    hooks: new Map(),
    endpoints: new Map(),
    mcps: new Map(),
    parameters: new Map(),
    inputs: new Map(),
    skills: new Map(skills.map((skill) => [skill.name, skill])),
    skillsets: new Map(),
  }
}

interface Admitted {
  readonly definitions: Definition[]
  /** Plain objects that were meant as definitions. */
  readonly meant: Claim[]
  readonly mistakes: Mistake[]
}

/** A list from plain JavaScript may hold anything. */
function admitAll(app: Registry, given: readonly Definition[]): Admitted {
  const definitions: Definition[] = []
  const meant: Claim[] = []
  const mistakes: Mistake[] = []
  const taken = new Set<string>()
  for (const definition of given) {
    const seems = lookalike(definition)
    if (!isObject(definition)) {
      const text = `${JSON.stringify(definition) ?? typeof definition} is not a definition`
      mistakes.push({ code: 'BAD_OPTION', text })
    } else if (seems) {
      const text = `${JSON.stringify(definition.name) ?? 'an object'} ${seems.says}`
      mistakes.push({ code: 'BAD_OPTION', definition, text })
      meant.push({ kind: seems.kind, name: definition.name })
    } else if (!('kind' in definition)) {
      mistakes.push({ code: 'BAD_OPTION', text: withoutKind(definition) })
    } else {
      mistakes.push(...admit(app, definition, taken))
      definitions.push(definition)
    }
  }
  return { definitions, meant, mistakes }
}

function withoutKind({ name }: { readonly name?: unknown }): string {
  const title = JSON.stringify(name) ?? 'an object'
  return `${title} has no kind: wrap it in defineTool, definePrompt, defineAgent or what else it is`
}

/** Mistakes that show only when all definitions are known. */
function checkTogether(app: Definitions): readonly Mistake[] {
  return [
    ...[...app.tools.values()].flatMap((tool) => checkEffect(tool, app).map((text) => mistake(tool, text))),
    ...sharedConflicts(app.tools.values()).map((text): Mistake => ({ code: 'BAD_OPTION', text })),
    ...checkShown(app, (name) => keeperOf(app, name)),
    ...[...app.prompts.values()].flatMap((prompt) => {
      const text = contextMistake(app, prompt)
      return text === undefined
        ? []
        : [{ code: 'BAD_OPTION' as const, definition: prompt, text: `${titleOf(prompt)} ${text}` }]
    }),
    ...sameRoutes(app),
    ...shortSecrets(app).map(({ definition, text }) => mistake(definition, text)),
    ...[...app.agents.values()].flatMap((agent) =>
      checkSides(agent, app).map((text): Mistake => ({
        code: 'UNKNOWN_TOOL',
        definition: agent,
        text: `${titleOf(agent)} ${text}`,
      })),
    ),
  ]
}

/** Which of two files answers a request must not depend on their order. */
function sameRoutes({ endpoints }: Definitions): readonly Mistake[] {
  const known = new Map<string, string>()
  return [...endpoints.values()].flatMap((definition): readonly Mistake[] => {
    const key = routeKey(routeOf(definition))
    const other = known.get(key)
    known.set(key, other ?? definition.name)
    if (other === undefined) return []
    const text = `${titleOf(definition)} and "${other}" are one route: ${key}`
    return [{ code: 'DUPLICATE_NAME', definition, text }]
  })
}

/** Registers a definition that is right by itself; `taken` holds the titles of those before it, right or wrong. */
function admit(app: Registry, definition: Definition, taken: Set<string>): readonly Mistake[] {
  const wrong = checkForm(definition)
  const title = titleOf(definition)
  const mistakes = wrong.map(({ text, field }): Mistake => ({ ...mistake(definition, text), field }))
  if (taken.has(title))
    mistakes.push({ code: 'DUPLICATE_NAME', definition, text: `there are two definitions of ${title}` })
  if (isReserved(definition.name))
    mistakes.push({ code: 'RESERVED_NAME', definition, text: `${title}: this name belongs to Skein; choose another` })
  taken.add(title)
  if (wrong.length === 0) return [...mistakes, ...register(app, definition)]
  // The parameters themselves may be wrong.
  return 'parameters' in definition ? mistakes : [...mistakes, ...describe(app, definition)]
}

function register(app: Registry, definition: Definition): readonly Mistake[] {
  const sameKind: Map<string, Definition> = app[`${definition.kind}s`]
  sameKind.set(definition.name, definition)
  if (definition.kind === 'prompt' && definition.exposeAsTool)
    app.agents.set(agentOfPrompt(definition.name).name, agentOfPrompt(definition.name))
  return [...checkAlone(definition).map((text) => mistake(definition, text)), ...describe(app, definition)]
}

/** Without the schema of its args: an app has all tools of the runtime, and its agents may use few or none. */
function registerBuiltin(app: Registry, tool: ToolDefinition): readonly Mistake[] {
  app.tools.set(tool.name, tool)
  return checkShape(tool).map((text) => mistake(tool, text))
}

const builtinParameters = new WeakMap<ToolDefinition, JsonSchema>()

/** JSON Schema of a tool's args, as a model sends them; of a built-in tool it is made when it is first asked for. */
export function parametersOf(app: Pick<Definitions, 'parameters' | 'tools'>, name: string): JsonSchema {
  const tool = app.tools.get(name)
  const known = app.parameters.get(name) ?? (tool && builtinParameters.get(tool))
  if (known || !tool) return known ?? {}
  const schemas = new Map<string, JsonSchema>()
  const [wrong] = describeArgs(schemas, tool)
  if (wrong) throw new TypeError(wrong.text)
  const made = schemas.get(name) ?? {}
  builtinParameters.set(tool, made)
  return made
}

function checkAlone(definition: Definition): readonly string[] {
  if (definition.kind === 'tool') return checkShape(definition)
  if (definition.kind === 'hook') return checkHook(definition)
  if (definition.kind === 'endpoint') return endpointMistakes(definition)
  return definition.kind === 'agent' ? checkAgent(definition) : []
}

function titleOf({ kind, name }: Definition): string {
  return `${kind} ${JSON.stringify(name)}`
}

function mistake(definition: Definition, text: string): Mistake {
  return { code: 'BAD_OPTION', definition, text: `${titleOf(definition)}: ${text}` }
}

/** Stores the JSON Schemas that a model is shown. A value that is no schema at all was reported by `checkForm`. */
function describe(app: Registry, definition: Definition): readonly Mistake[] {
  if (definition.kind === 'tool') return describeArgs(app.parameters, definition)
  if (definition.kind !== 'prompt') return []
  const { outputSchema, requiredSchema } = definition
  const output = isSchema(outputSchema) ? convert(outputSchema) : undefined
  const mistakes = output && 'why' in output ? [mistake(definition, unconvertible('outputSchema', output.why))] : []
  if (!isSchema(requiredSchema)) return mistakes
  const field = 'requiredSchema'
  return [...mistakes, ...describeInput({ definition, field, converted: convert(requiredSchema) }, app.inputs)]
}

function describeArgs(schemas: Map<string, JsonSchema>, tool: ToolDefinition): readonly Mistake[] {
  if (!tool.parameters && !isSchema(tool.args)) return []
  const converted = tool.parameters ? { schema: tool.parameters } : convert(tool.args)
  return describeInput({ definition: tool, field: 'args', converted }, schemas)
}

interface Input {
  readonly definition: Definition
  readonly field: 'args' | 'requiredSchema'
  readonly converted: Converted
}

/** The JSON Schema of what a model sends with a call; always of an object. */
function describeInput({ definition, field, converted }: Input, schemas: Map<string, JsonSchema>): readonly Mistake[] {
  if ('why' in converted) return [mistake(definition, unconvertible(field, converted.why))]
  const { schema } = converted
  const object = `its ${field} must be an object (z.object({ … }))`
  if (needsEnvelope(schema)) {
    // The input of a prompt stands beside the message, where there is no room for alternatives.
    if (definition.kind !== 'tool')
      return [mistake(definition, `${object}, not one of several; put the alternatives into a field of it`)]
    schemas.set(definition.name, envelopeOf(definition.args, schema))
    return []
  }
  // Providers require `type`.
  schemas.set(definition.name, 'type' in schema ? schema : { type: 'object', ...schema })
  const { type = 'object' } = schema
  return type === 'object' ? [] : [mistake(definition, `${object}, not ${JSON.stringify(type)}`)]
}

function unconvertible(field: string, why: string): string {
  return `its ${field} cannot be told to a model as JSON Schema: ${why}`
}

type Converted = { readonly schema: JsonSchema } | { readonly why: string }

function convert(schema: Schema): Converted {
  try {
    return { schema: jsonSchemaOf(schema) }
  } catch (thrown) {
    return { why: toFailure(thrown, 'BAD_OPTION').message }
  }
}

/** The built-in tools that the app names and does not define itself, with the tools that they use. */
function namedBuiltins(app: Definitions, builtins: readonly ToolDefinition[]): ReadonlySet<ToolDefinition> {
  const taken = new Set<ToolDefinition>()
  const take = (names: Iterable<string>): void => {
    for (const name of names) {
      const builtin = app.tools.has(name) ? undefined : builtins.find((tool) => tool.name === name)
      if (!builtin || taken.has(builtin)) continue
      taken.add(builtin)
      take(builtin.uses ?? [])
    }
  }
  take([...builtins.map(({ name }) => name).filter(isReserved), ...toolsNamed(app)])
  return taken
}

interface Origin {
  readonly source: string
  readonly files: ReadonlyMap<Definition, string>
  readonly lines?: AppOptions['lines']
}

function refusal(mistakes: readonly Mistake[], { source, files, lines }: Origin): SkeinError {
  const texts = mistakes.map(({ definition, text, field = [] }) => {
    const file = definition && (lines?.get(definition)?.(field) ?? files.get(definition))
    return file === undefined ? text : `${file}: ${text}`
  })
  const count = texts.length === 1 ? 'a mistake' : `${texts.length} mistakes`
  const [first] = mistakes
  return new SkeinError(
    first?.code ?? 'BAD_OPTION',
    `${source} has ${count}:\n${texts.map((text) => `- ${text}`).join('\n')}`,
    { data: { source, mistakes: texts } },
  )
}

function warningsOf(app: Definitions, { source, files }: Origin): readonly string[] {
  return [...app.tools.values()].flatMap((tool) => {
    const title = `${files.get(tool) ?? source}: ${titleOf(tool)}`
    const warnings: string[] = []
    if (ignoresKey(tool)) {
      warnings.push(
        `${title} has a side effect and never looks at state.idempotencyKey: after a crash nobody can tell ` +
          `whether it happened. Hand the key to what it acts on and say idempotent: true, or have a probe ask for it`,
      )
    }
    if (tool.sideEffect === false && effectOf(tool, app).sideEffect)
      warnings.push(
        `${title} says sideEffect: false and uses tools that have one (${tool.uses?.join(', ')}): it counts as ` +
          `one that has`,
      )
    return warnings
  })
}
