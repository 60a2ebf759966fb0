/**
 * An app: the checked set of definitions that a skein runs. Pure: it is given definitions and finds every
 * mistake that can be found without running anything.
 *
 * - Names are unique per kind, none is reserved, and every name that a definition mentions exists.
 * - All mistakes of an app are reported at once, each with the file it came from where that is known; what only
 *   follows from another mistake is not.
 * - Of the built-in tools an app has those that it names and does not define itself, and those of the runtime.
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
import { effectOf } from './effect.js'
import { lookalike } from './lookalike.js'
import { agentOfPrompt, toolsNamed } from './callable.js'
import { checkMentions } from './checks/mentions.js'
import type { Claim, MentionChecks } from './checks/mentions.js'
import { checkShown } from './prompt-parts.js'
import { isReserved } from './checks/reserved.js'
import { checkForm } from './schema.js'
import { checkEffect, checkShape } from './checks/tools.js'
import { ignoresKey } from './checks/tool-key.js'
import { keeperOf, shortSecrets } from './variables.js'

export { isDefinition } from './schema.js'
export { lookalike } from './lookalike.js'

type JsonSchema = { readonly [key: string]: Json }

export interface Definitions {
  /** With one for each prompt that may be called (callable.ts). */
  readonly agents: ReadonlyMap<string, AgentDefinition>
  readonly prompts: ReadonlyMap<string, PromptDefinition>
  readonly tools: ReadonlyMap<string, ToolDefinition>
  readonly models: ReadonlyMap<string, ModelDefinition>
  /** JSON Schema of each tool's args, as a model sends them. */
  readonly parameters: ReadonlyMap<string, JsonSchema>
  /** The same of each prompt with a `requiredSchema`. */
  readonly inputs: ReadonlyMap<string, JsonSchema>
}

export interface App extends Definitions {
  /** What a worker thread imports to get the same tools; absent for definitions that live in this process alone. */
  readonly module?: string
  /** What the author should know and need not change. */
  readonly warnings: readonly string[]
}

export interface AppOptions {
  readonly module?: string
  /** Tools that may be named without being defined; those with a reserved name are the runtime's, and always there. */
  readonly builtins?: readonly ToolDefinition[]
  /** The file of each definition, where they come from many. */
  readonly files?: ReadonlyMap<Definition, string>
  /** Of whoever collected the definitions. */
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
  readonly definition?: Definition
  readonly text: string
}

/** Checks definitions and gives the app; `source` says in errors where they came from. */
export function createApp(given: readonly Definition[], source: string, options: AppOptions = {}): App {
  const { module, builtins = [], files = new Map<Definition, string>(), claimed = [], lookalikes = [] } = options
  const app = createShelves()
  const mistakes: Mistake[] = [...(options.mistakes ?? [])]
  const meant: Claim[] = []
  const definitions: Definition[] = []
  const taken = new Set<string>()
  for (const definition of given) {
    const seems = lookalike(definition)
    // A list from plain JavaScript may hold anything.
    if (!isObject(definition))
      mistakes.push({
        code: 'BAD_OPTION',
        text: `${JSON.stringify(definition) ?? typeof definition} is not a definition`,
      })
    else if (seems) {
      meant.push({ kind: seems.kind, name: definition.name })
      mistakes.push({
        code: 'BAD_OPTION',
        definition,
        text: `${JSON.stringify(definition.name) ?? 'an object'} ${seems.says}`,
      })
    } else {
      mistakes.push(...admit(app, definition, taken))
      definitions.push(definition)
    }
  }
  for (const builtin of namedBuiltins(app, builtins)) mistakes.push(...stand(app, builtin))
  mistakes.push(...checkMentions({ definitions, builtins, claimed: [...claimed, ...meant], lookalikes }))
  for (const tool of app.tools.values()) mistakes.push(...checkEffect(tool, app).map((text) => mistake(tool, text)))
  for (const text of sharedConflicts(app.tools.values())) mistakes.push({ code: 'BAD_OPTION', text })
  mistakes.push(...checkShown(app, (name) => keeperOf(app, name)))
  for (const { definition, text } of shortSecrets(app)) mistakes.push(mistake(definition, text))
  for (const agent of app.agents.values())
    mistakes.push(
      ...checkSides(agent, app).map((text): Mistake => ({
        code: 'UNKNOWN_TOOL',
        definition: agent,
        text: `${titleOf(agent)} ${text}`,
      })),
    )
  if (mistakes.length > 0) throw refusal(mistakes, { source, files })
  return {
    ...app,
    warnings: [...(options.warnings ?? []), ...warningsOf(app, { source, files })],
    ...defined({ module }),
  }
}

type Filling = {
  -readonly [Key in keyof Definitions]: Definitions[Key] extends ReadonlyMap<infer K, infer V> ? Map<K, V> : never
} & { readonly mcps: Map<string, McpDefinition> }

function createShelves(): Filling {
  return {
    agents: new Map(),
    prompts: new Map(),
    tools: new Map(),
    models: new Map(),
    mcps: new Map(),
    parameters: new Map(),
    inputs: new Map(),
  }
}

/** Puts it on its shelf, if it is right by itself; `taken` holds the names of those before it, right or wrong. */
function admit(app: Filling, definition: Definition, taken: Set<string>): readonly Mistake[] {
  const wrong = checkForm(definition)
  const title = titleOf(definition)
  const mistakes = wrong.map((text) => mistake(definition, text))
  if (taken.has(title))
    mistakes.push({ code: 'DUPLICATE_NAME', definition, text: `there are two definitions of ${title}` })
  if (isReserved(definition.name))
    mistakes.push({ code: 'RESERVED_NAME', definition, text: `${title}: this name belongs to Skein; choose another` })
  taken.add(title)
  if (wrong.length === 0) return [...mistakes, ...stand(app, definition)]
  // Its parameters may be what is wrong.
  return 'parameters' in definition ? mistakes : [...mistakes, ...describe(app, definition)]
}

function stand(app: Filling, definition: Definition): readonly Mistake[] {
  const shelf: Map<string, Definition> = app[`${definition.kind}s`]
  shelf.set(definition.name, definition)
  if (definition.kind === 'prompt' && definition.exposeAsTool)
    app.agents.set(agentOfPrompt(definition.name).name, agentOfPrompt(definition.name))
  const shape =
    definition.kind === 'tool' ? checkShape(definition) : definition.kind === 'agent' ? checkAgent(definition) : []
  return [...shape.map((text) => mistake(definition, text)), ...describe(app, definition)]
}

function titleOf({ kind, name }: Definition): string {
  return `${kind} ${JSON.stringify(name)}`
}

function mistake(definition: Definition, text: string): Mistake {
  return { code: 'BAD_OPTION', definition, text: `${titleOf(definition)}: ${text}` }
}

/** What a model is told of it. Where that is no schema at all, its form has said so. */
function describe(app: Filling, definition: Definition): readonly Mistake[] {
  if (definition.kind === 'tool') return describeArgs(app, definition)
  if (definition.kind !== 'prompt') return []
  const { outputSchema, requiredSchema } = definition
  const told = isSchema(outputSchema) ? tell(outputSchema) : {}
  const wrong =
    'why' in told ? [mistake(definition, `its outputSchema cannot be told to a model as JSON Schema: ${told.why}`)] : []
  return isSchema(requiredSchema)
    ? [...wrong, ...asArgs({ of: definition, field: 'requiredSchema', told: tell(requiredSchema) }, app.inputs)]
    : wrong
}

function describeArgs(app: Filling, tool: ToolDefinition): readonly Mistake[] {
  if (!tool.parameters && !isSchema(tool.args)) return []
  return asArgs(
    { of: tool, field: 'args', told: tool.parameters ? { schema: tool.parameters } : tell(tool.args) },
    app.parameters,
  )
}

interface Asked {
  readonly of: Definition
  readonly field: 'args' | 'requiredSchema'
  readonly told: Told
}

/** What a model is to send when it calls it. */
function asArgs({ of, field, told }: Asked, shelf: Map<string, JsonSchema>): readonly Mistake[] {
  if ('why' in told) return [mistake(of, `its ${field} cannot be told to a model as JSON Schema: ${told.why}`)]
  if (needsEnvelope(told.schema)) {
    // What a model sends of a prompt's input stands beside the message; there is no room for alternatives.
    if (of.kind !== 'tool')
      return [
        mistake(
          of,
          `its ${field} must be an object (z.object({ … })), not one of several; put the alternatives into a ` +
            `field of it`,
        ),
      ]
    shelf.set(of.name, envelopeOf(of.args, told.schema))
    return []
  }
  // Providers want to read that it is one.
  shelf.set(of.name, 'type' in told.schema ? told.schema : { type: 'object', ...told.schema })
  const { type = 'object' } = told.schema
  return type === 'object'
    ? []
    : [mistake(of, `its ${field} must be an object (z.object({ … })), not ${JSON.stringify(type)}`)]
}

type Told = { readonly schema: JsonSchema } | { readonly why: string }

function tell(schema: Schema): Told {
  try {
    return { schema: jsonSchemaOf(schema) }
  } catch (thrown) {
    return { why: toFailure(thrown, 'BAD_OPTION').message }
  }
}

/** AP3, with what they use themselves. */
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
}

function refusal(mistakes: readonly Mistake[], { source, files }: Origin): SkeinError {
  const texts = mistakes.map(({ definition, text }) => {
    const file = definition && files.get(definition)
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
