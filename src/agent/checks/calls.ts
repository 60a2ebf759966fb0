/**
 * Checks the agents and prompts among the tools of a prompt against the definitions that they name (S9, S10).
 *
 * - A wrong name is reported once, with the names that it could mean.
 */
import { z } from 'zod'
import { fieldsOf, isSchema, requiredFieldsOf } from '../../core/schema.js'
import type { Mistake } from '../app.js'
import type { AgentDefinition, Definition, PromptDefinition, ToolDefinition } from '../define.js'
import { nearest } from '../../core/mistakes/nearest.js'

/** An entry `{ name: … }` among a prompt's tools, as far as it can be read. */
export const relationSchema = z.looseObject({
  name: z.string(),
  files: z.string().optional(),
  blocking: z.boolean().optional(),
  resumable: z.unknown().optional(),
  supervision: z.unknown().optional(),
})
type Relation = z.infer<typeof relationSchema>

/** Fields that only an agent can have, and fields that only a prompt can have. */
const ofAgents: readonly string[] = [
  'blocking',
  'files',
  'immediate',
  'optional',
  'resumable',
  'initAgentNameProperty',
  'budget',
  'supervision',
]
const ofPrompts: readonly string[] = ['includeTextResponse', 'includeToolCalls', 'includeErrors']

type Told = Pick<Mistake, 'code' | 'text' | 'field'>

export interface CalledDefinition {
  /** Plain names: tools, agents to hand over to, prompts. */
  readonly named: readonly string[]
  readonly relations: readonly Relation[]
}

export interface KnownDefinitions {
  readonly definitions: readonly Definition[]
  /** Names of tools that may be named. */
  readonly tools: readonly string[]
  /** Definitions that cannot be read because of another mistake. */
  readonly claimed: ReadonlySet<string>
  /** Plain objects that were meant as definitions: what each looks like. */
  readonly meant: ReadonlyMap<string, string>
}

export function checkCalled({ named, relations }: CalledDefinition, known: KnownDefinitions): readonly Told[] {
  const all = [...named, ...relations.map(({ name }) => name)]
  const twice = new Set(all.filter((name, index) => all.indexOf(name) !== index))
  return [
    ...named.flatMap((name) => checkName(name, known).map((told) => at(name, told))),
    ...relations.flatMap((each) => checkRelation(each, known).map((told) => at(each.name, told))),
    ...[...twice].map((name) => at(name, { code: 'BAD_OPTION', text: `names "${name}" twice among its tools` })),
  ]
}

/** The item of this name among the tools. */
function at(name: string, told: Told): Told {
  return { ...told, field: ['tools', name] }
}

type Callable = AgentDefinition | PromptDefinition

const sideB = z.object({ receives_messages: z.literal('side_b') })

function isDual(each: Callable): boolean {
  return each.kind === 'agent' && each.type === 'dual_ai'
}

function callable({ definitions }: KnownDefinitions, name: string): readonly Callable[] {
  return definitions.filter(
    (each): each is Callable => (each.kind === 'agent' || each.kind === 'prompt') && each.name === name,
  )
}

function exposed({ definitions }: KnownDefinitions): readonly string[] {
  return definitions
    .filter((each) => (each.kind === 'agent' || each.kind === 'prompt') && each.exposeAsTool === true)
    .map(({ name }) => name)
}

function checkName(name: string, known: KnownDefinitions): readonly Told[] {
  if (known.tools.includes(name) || known.claimed.has(name)) return []
  const found = callable(known, name)
  if (found.some(isDual))
    return [
      {
        code: 'BAD_OPTION',
        text:
          `names the agent "${name}" alone, which would hand the thread over to it, and two sides cannot take ` +
          `it; call it as { name: '${name}' }`,
      },
    ]
  if (found.some(({ exposeAsTool }) => exposeAsTool)) return []
  const [first] = found
  if (first)
    return [
      {
        code: 'UNKNOWN_TOOL',
        text: `names the ${first.kind} "${name}" among its tools, which does not say exposeAsTool: true`,
      },
    ]
  return [
    {
      code: 'UNKNOWN_TOOL',
      text:
        `names the tool "${name}"; ` +
        `${known.meant.get(name) ?? suggested(name, [...known.tools, ...exposed(known)])}`,
    },
  ]
}

function checkRelation(relation: Relation, known: KnownDefinitions): readonly Told[] {
  const { name } = relation
  if (known.claimed.has(name)) return []
  const found = callable(known, name)
  const target = found.find(({ exposeAsTool }) => exposeAsTool)
  if (!found[0])
    return unknownAgent(`names the agent "${name}"; ${known.meant.get(name) ?? suggested(name, exposed(known))}`)
  if (!target) return unknownAgent(`names the ${found[0].kind} "${name}", which does not say exposeAsTool: true`)
  const [foreign, article] = target.kind === 'prompt' ? [ofAgents, 'a prompt'] : [ofPrompts, 'an agent']
  const strange = foreign.filter((field) => relation[field] !== undefined)
  if (strange.length > 0) return unknownAgent(`gives ${strange.join(', ')} to "${name}", which is ${article}`)
  return target.kind === 'prompt' ? checkInput(relation, target) : checkSubagent(relation, target, known)
}

function unknownAgent(text: string): readonly Told[] {
  return [{ code: 'UNKNOWN_AGENT', text }]
}

function checkSubagent(relation: Relation, agent: AgentDefinition, known: KnownDefinitions): readonly Told[] {
  const { name, files, resumable, blocking, supervision } = relation
  if (!isDual(agent) && sideB.safeParse(resumable).success)
    return unknownAgent(
      `speaks to side B of the agent "${name}" (receives_messages: 'side_b'), and that is a person: it must be of ` +
        `type 'dual_ai'`,
    )
  if (files === 'fork' && (resumable || blocking === false))
    return unknownAgent(
      `gives the agent "${name}" a fork of its files, which is merged when the call ends: it must be blocking and ` +
        `not resumable`,
    )
  if (supervision !== undefined && resumable)
    return unknownAgent(
      `supervises the agent "${name}", which stays and remembers: another try would be one that remembers ` +
        `nothing; leave it out, or let it end with its answer`,
    )
  const prompt = known.definitions.find(
    (each): each is PromptDefinition => each.kind === 'prompt' && each.name === agent.sideA?.prompt,
  )
  return prompt ? [...checkInput(relation, { ...prompt, name }), ...checkImmediate(relation, { ...prompt, name })] : []
}

/** A property that holds the message, or names attachments, must be one of the args. */
function checkInput(relation: Relation, { name, requiredSchema }: PromptDefinition): readonly Told[] {
  const args = argsOf(requiredSchema)
  if (!args) return []
  // Without a schema of its own the name of the child is one more arg.
  const fields = [
    'initUserMessageProperty',
    'initAttachmentsProperty',
    ...(requiredSchema ? ['initAgentNameProperty'] : []),
  ]
  return fields.flatMap((field) => {
    const property = relation[field]
    if (typeof property !== 'string' || args.includes(property)) return []
    return [{ code: 'BAD_OPTION', text: `has the ${field} "${property}" of "${name}", which takes: ${listed(args)}` }]
  })
}

/** Undefined where the schema is not one of an object. */
function argsOf(requiredSchema: PromptDefinition['requiredSchema']): readonly string[] | undefined {
  if (requiredSchema === undefined) return ['message', 'attachments']
  return isSchema(requiredSchema) ? fieldsOf(requiredSchema) : undefined
}

/** S4: an immediate child is started without a call, so a message and a name are all that it can be given. */
function checkImmediate(relation: Relation, { name, requiredSchema }: PromptDefinition): readonly Told[] {
  if (!relation['immediate'] || !isSchema(requiredSchema)) return []
  const known = new Set([relation['initUserMessageProperty'], relation['initAgentNameProperty']])
  const missing = requiredFieldsOf(requiredSchema).filter((field) => !known.has(field))
  if (missing.length === 0) return []
  const what =
    `which requires ${listed(missing)}: there is only a message (initUserMessageProperty) and a name ` +
    `(initAgentNameProperty) to give it`
  return [{ code: 'BAD_OPTION', text: `has the agent "${name}" begin by itself (immediate), ${what}` }]
}

export function checkClashes(
  definitions: readonly Definition[],
  builtins: readonly ToolDefinition[],
): readonly Mistake[] {
  const taken = new Map<string, string>([
    ...builtins.map(({ name }) => [name, 'a built-in tool'] as const),
    ...definitions.filter(({ kind }) => kind === 'tool').map(({ name }) => [name, 'a tool'] as const),
  ])
  return definitions.flatMap((definition) => {
    if ((definition.kind !== 'agent' && definition.kind !== 'prompt') || !definition.exposeAsTool) return []
    const { kind, name } = definition
    const other = taken.get(name)
    taken.set(name, kind === 'agent' ? 'an agent' : 'a prompt')
    return other === undefined
      ? []
      : [
          {
            code: 'DUPLICATE_NAME' as const,
            definition,
            text:
              `${kind} "${name}" says exposeAsTool: true, and ${other} that may be called has this name too; ` +
              `rename one of them`,
          },
        ]
  })
}

/** The names for an error message, after the one that was probably meant. */
export function suggested(name: string, known: Iterable<string>): string {
  const all = [...known]
  const meant = name.length < 3 ? beginsWith(name, all) : nearest(name, all)
  return `${meant === undefined ? '' : `did you mean "${meant}"? `}there are: ${listed(all)}`
}

/** Of one or two letters every short name is near: two that begin a name of three are the beginning of it. */
function beginsWith(name: string, all: readonly string[]): string | undefined {
  return name.length === 2 ? all.find((each) => each.length === 3 && each.startsWith(name)) : undefined
}

/** The names for an error message, each once. */
export function listed(known: Iterable<string>): string {
  return [...new Set(known)].join(', ') || 'none'
}
