/**
 * Checks the names by which definitions mention one another: every one exists, and neither the tools that tools use
 * nor the prompts that prompts include form a cycle.
 *
 * - A definition is read as far as possible: a mistake elsewhere in it hides no name, and an unreadable field
 *   mentions nothing.
 */
import { z } from 'zod'
import type { Mistake } from '../app.js'
import { checkCalled, checkClashes, listed, relationSchema, suggested } from './calls.js'
import type { KnownDefinitions } from './calls.js'
import type { Definition, ToolDefinition } from '../define.js'
import { lookalike } from '../lookalike.js'
import { isReserved, runtimeTools } from './reserved.js'

const nameList = z
  .array(z.unknown())
  .transform((list) => list.filter((item): item is string => typeof item === 'string' && item !== ''))
  .optional()
  .catch(undefined)

const relations = z
  .array(z.unknown())
  .transform((list) => list.flatMap((item) => (lookalike(item) ? [] : (relationSchema.safeParse(item).data ?? []))))
  .optional()
  .catch(undefined)

const include = z.object({ type: z.literal('include'), prompt: z.string() })
const included = z
  .array(z.unknown())
  .transform((list) => list.flatMap((item) => include.safeParse(item).data?.prompt ?? []))
  .optional()
  .catch(undefined)

const toolCalled = z.object({ if: z.literal('tool'), is: z.string() })
/** One condition or a list; others are no mentions. */
const stops = z
  .unknown()
  .transform((given) => [given].flat().flatMap((each) => toolCalled.safeParse(each).data?.is ?? []))
  .optional()

const readable = z.object({
  stopWhen: stops,
  sideA: z
    .object({ prompt: z.string().min(1) })
    .optional()
    .catch(undefined),
  sideB: z
    .object({ prompt: z.string().min(1) })
    .optional()
    .catch(undefined),
  model: z.string().min(1).optional().catch(undefined),
  context: z
    .object({ summary: z.object({ model: z.string().min(1) }) })
    .optional()
    .catch(undefined),
  tools: nameList,
  agents: relations,
  toolChoice: z.object({ tool: z.string() }).optional().catch(undefined),
  fallback: nameList,
  hooks: nameList,
  uses: nameList,
  includes: included,
  skills: nameList,
})

/** The names that one definition mentions. */
type Mentions = z.infer<typeof readable> & { readonly definition: Definition }

/** A name whose definition is known to exist. */
export interface Claim {
  readonly kind: Definition['kind'] | 'skill'
  readonly name: string
  /** In place of a name that was reported: no name to suggest. */
  readonly standsIn?: true
}

export interface MentionChecks {
  /** All definitions of the app, right or wrong. */
  readonly definitions: readonly Definition[]
  readonly builtins: readonly ToolDefinition[]
  /** Definitions that cannot be read because of another mistake: mentioning one is no mistake. */
  readonly claimed: readonly Claim[]
  /** Plain objects that were meant as definitions, with what they look like. */
  readonly lookalikes: readonly (Claim & { readonly says: string })[]
  /** Names of the app's skills. */
  readonly skills: readonly string[]
}

type Kind = Definition['kind']
type Told = Pick<Mistake, 'code' | 'text' | 'field'>

/** Every name that a definition may mention. */
interface Names {
  readonly prompts: ReadonlySet<string>
  readonly models: ReadonlySet<string>
  readonly hooks: ReadonlySet<string>
  readonly skills: ReadonlySet<string>
  /** What a prompt may name as a tool. */
  readonly nameable: readonly string[]
  readonly called: KnownDefinitions
  /** `"name"; there are: …`, or what the definition of that name looks like instead. */
  missing(kind: Kind, name: string, others: Iterable<string>): string
}

export function checkMentions(given: MentionChecks): readonly Mistake[] {
  const { definitions, builtins } = given
  const names = namesIn(given)
  const all = definitions.map(read)
  const tools = all.filter(({ definition }) => definition.kind === 'tool')
  const prompts = all.filter(({ definition }) => definition.kind === 'prompt')
  return [
    ...kinds.flatMap(([kind, check]) =>
      all
        .filter(({ definition }) => definition.kind === kind)
        .flatMap((mentions) => check(mentions, names).map((told) => toMistake(told, mentions.definition))),
    ),
    // The app's own tools last: they replace built-in ones of the same name, which are right and need no reading.
    ...cyclesOf([
      ...builtins.map((definition) => ({ definition, to: definition.uses ?? [] })),
      ...tools.map(({ definition, uses = [] }) => ({ definition, to: uses })),
    ]).map(({ definition, path }) => toMistake({ code: 'BAD_OPTION', text: `uses itself: ${path}` }, definition)),
    ...cyclesOf(prompts.map(({ definition, includes = [] }) => ({ definition, to: includes }))).map(
      ({ definition, path }) => toMistake({ code: 'BAD_OPTION', text: `includes itself: ${path}` }, definition),
    ),
    ...checkClashes(definitions, builtins),
    ...checkAliases(definitions),
  ]
}

function toMistake({ text, ...told }: Told, definition: Definition): Mistake {
  return { ...told, definition, text: `${definition.kind} "${definition.name}" ${text}` }
}

function read(definition: Definition): Mentions {
  const fields =
    definition.kind === 'prompt' ? { ...definition, agents: definition.tools, includes: definition.prompt } : definition
  // Once for each definition: a form that is compiled first takes longer.
  return { ...readable.parse(fields, { jitless: true }), definition }
}

function namesIn({ definitions, builtins, claimed, lookalikes, skills }: MentionChecks): Names {
  const namesOf = (kind: Claim['kind']): readonly string[] =>
    [...definitions, ...claimed].filter((each) => each.kind === kind).map(({ name }) => name)
  const tools = new Set([...namesOf('tool'), ...builtins.map(({ name }) => name)])
  const nameable = [...tools, ...runtimeTools].filter((name) => !isReserved(name) || runtimeTools.has(name))
  return {
    prompts: new Set(namesOf('prompt')),
    models: new Set(namesOf('model')),
    hooks: new Set(namesOf('hook')),
    skills: new Set([...skills, ...namesOf('skill')]),
    nameable,
    called: {
      definitions,
      tools: nameable,
      claimed: new Set(claimed.filter(({ kind }) => kind === 'agent' || kind === 'prompt').map(({ name }) => name)),
      meant: new Map(lookalikes.map(({ name, says }) => [name, says])),
    },
    missing(kind, name, others) {
      const meant = lookalikes.find((each) => each.kind === kind && each.name === name)
      const standsIn = (other: string): boolean =>
        claimed.some((each) => each.standsIn && each.kind === kind && each.name === other)
      return `"${name}"; ${
        meant?.says ??
        suggested(
          name,
          [...others].filter((other) => !standsIn(other)),
        )
      }`
    },
  }
}

/** In the order in which their mistakes are reported. */
const kinds: readonly (readonly [Kind, (mentions: Mentions, names: Names) => readonly Told[]])[] = [
  ['agent', ofAgent],
  ['prompt', ofPrompt],
  ['model', ofModel],
  ['tool', ofTool],
  ['hook', ofHook],
]

function ofAgent(mentions: Mentions, names: Names): readonly Told[] {
  const { sideA, sideB } = mentions
  const { prompts, missing } = names
  const unknown = [sideA, sideB]
    .flatMap((side) => (side && !prompts.has(side.prompt) ? [side.prompt] : []))
    .map((name): Told => ({ code: 'UNKNOWN_PROMPT', text: `names the prompt ${missing('prompt', name, prompts)}` }))
  return [...unknown, ...unknownHooks(mentions, names)]
}

function unknownHooks({ hooks: named = [] }: Mentions, { hooks, missing }: Names): readonly Told[] {
  return named
    .filter((name) => !hooks.has(name))
    .map((name) => ({ code: 'UNKNOWN_HOOK', text: `names the hook ${missing('hook', name, hooks)}` }))
}

/** A hook that is asked about calls of nothing would never be asked. */
function ofHook({ tools = [] }: Mentions, { prompts, called, nameable }: Names): readonly Told[] {
  const agents = called.definitions.flatMap(({ kind, name }) => (kind === 'agent' ? [name] : []))
  const known = new Set([...nameable, ...agents, ...prompts, ...called.claimed, ...runtimeCalls])
  return tools
    .filter((name) => !known.has(name))
    .map((name) => ({ code: 'UNKNOWN_TOOL', text: `names the tool "${name}"; there are: ${listed(nameable)}` }))
}

const runtimeCalls = ['subagent_create', 'subagent_message', 'subagent_list', 'get_tool_response']

function ofPrompt(mentions: Mentions, names: Names): readonly Told[] {
  const { prompts, models, skills, called, missing } = names
  const { model, tools = [], agents = [], toolChoice, includes = [], stopWhen = [], skills: used = [] } = mentions
  const told: Told[] = includes
    .filter((name) => !prompts.has(name))
    .map((name) => ({ code: 'UNKNOWN_PROMPT', text: `includes the prompt ${missing('prompt', name, prompts)}` }))
  if (model !== undefined && !models.has(model))
    told.push({ code: 'UNKNOWN_MODEL', text: `names the model ${missing('model', model, models)}`, field: ['model'] })
  const summary = mentions.context?.summary.model
  if (summary !== undefined && !models.has(summary))
    told.push({
      code: 'UNKNOWN_MODEL',
      text: `has summaries of the model ${missing('model', summary, models)}`,
      field: ['context', 'summary', 'model'],
    })
  told.push(...checkCalled({ named: tools, relations: agents }, called), ...ofSkills(used, skills))
  told.push(...unknownHooks(mentions, names))
  const callable = [...tools, ...agents.map(({ name }) => name)]
  if (toolChoice && !callable.includes(toolChoice.tool)) {
    const text = `has the toolChoice "${toolChoice.tool}", which is not among its tools: ${listed(callable)}`
    told.push({ code: 'UNKNOWN_TOOL', text, field: ['toolChoice'] })
  }
  for (const name of stopWhen.filter((tool) => !callable.includes(tool))) {
    const text = `stops when "${name}" is called, which is not among its tools: ${listed(callable)}`
    told.push({ code: 'UNKNOWN_TOOL', text })
  }
  return told
}

function ofSkills(used: readonly string[], skills: ReadonlySet<string>): readonly Told[] {
  return used
    .filter((name) => !skills.has(name))
    .map((name) => ({
      code: 'BAD_OPTION',
      text: `names the skill "${name}"; ${suggested(name, skills)}`,
      field: ['skills', name],
    }))
}

function ofModel({ fallback = [] }: Mentions, { models, missing }: Names): readonly Told[] {
  return fallback
    .filter((name) => !models.has(name))
    .map((name) => ({ code: 'UNKNOWN_MODEL', text: `falls back to ${missing('model', name, models)}` }))
}

function ofTool({ uses = [] }: Mentions, { nameable, missing }: Names): readonly Told[] {
  return uses
    .filter((name) => !nameable.includes(name))
    .map((name) => ({ code: 'UNKNOWN_TOOL', text: `uses the tool ${missing('tool', name, nameable)}` }))
}

/** A name or alias means one model. */
function checkAliases(definitions: readonly Definition[]): readonly Mistake[] {
  const models = definitions.filter((definition) => definition.kind === 'model')
  const taken = new Map(models.map(({ name }) => [name, name]))
  return models.flatMap((definition) => {
    const names = nameList.parse(definition.aliases) ?? []
    return names.flatMap((alias) => {
      const other = taken.get(alias)
      taken.set(alias, definition.name)
      if (other === undefined) return []
      const told: Told = { code: 'DUPLICATE_NAME', text: `has the alias "${alias}", which is the model "${other}"` }
      return [toMistake(told, definition)]
    })
  })
}

// ── cycles ──

interface Link {
  readonly definition: Definition
  /** Names of the definitions that it leads to. */
  readonly to: readonly string[]
}

interface Cycle {
  readonly definition: Definition
  /** `a → b → a` */
  readonly path: string
}

/** One for each way back. A definition that only leads to a cycle is not part of it. */
function cyclesOf(links: readonly Link[]): readonly Cycle[] {
  const nodes = new Map(links.map((link) => [link.definition.name, link]))
  const cycles: Cycle[] = []
  const done = new Set<string>()
  const visit = ({ definition, to }: Link, trail: readonly string[]): void => {
    const path = [...trail, definition.name]
    for (const name of to) {
      const next = nodes.get(name)
      const from = path.indexOf(name)
      if (next && from !== -1)
        cycles.push({ definition: next.definition, path: [...path.slice(from), name].join(' → ') })
      else if (next && !done.has(name)) visit(next, path)
    }
    done.add(definition.name)
  }
  for (const node of nodes.values()) if (!done.has(node.definition.name)) visit(node, [])
  return cycles
}
