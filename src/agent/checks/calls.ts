/**
 * What prompts say of agents and prompts among their tools, looked at with the definitions that they name (S9, S10).
 *
 * - A name that is wrong is told once, with what it could mean.
 */
import { z } from 'zod'
import { fieldsOf, isSchema, requiredFieldsOf } from '../../core/schema.js'
import type { Mistake } from '../app.js'
import type { AgentDefinition, Definition, PromptDefinition, ToolDefinition } from '../define.js'

/** As far as it can be read. */
export const relation = z.looseObject({
  name: z.string(),
  files: z.string().optional(),
  blocking: z.boolean().optional(),
  resumable: z.unknown().optional(),
})
type Relation = z.infer<typeof relation>

/** Fields that speak of a child that lives on, and of an answer that is put together. */
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

type Told = Pick<Mistake, 'code' | 'text'>

export interface CalledDefinition {
  /** Names alone: tools, agents that take over, prompts. */
  readonly named: readonly string[]
  readonly relations: readonly Relation[]
}

export interface KnownDefinitions {
  readonly definitions: readonly Definition[]
  /** Names of tools that may be named. */
  readonly tools: readonly string[]
  /** What cannot be looked at because of another mistake. */
  readonly claimed: ReadonlySet<string>
  /** Of what was meant as a definition: what it looks like. */
  readonly meant: ReadonlyMap<string, string>
}

export function checkCalled({ named, relations }: CalledDefinition, known: KnownDefinitions): readonly Told[] {
  const all = [...named, ...relations.map(({ name }) => name)]
  const twice = new Set(all.filter((name, index) => all.indexOf(name) !== index))
  return [
    ...named.flatMap((name) => checkName(name, known)),
    ...relations.flatMap((each) => checkRelation(each, known)),
    ...[...twice].map((name): Told => ({ code: 'BAD_OPTION', text: `names "${name}" twice among its tools` })),
  ]
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
        `${known.meant.get(name) ?? `there are: ${listed([...known.tools, ...exposed(known)])}`}`,
    },
  ]
}

function checkRelation(given: Relation, known: KnownDefinitions): readonly Told[] {
  const { name, files, resumable, blocking } = given
  if (known.claimed.has(name)) return []
  const found = callable(known, name)
  const meant = found.find(({ exposeAsTool }) => exposeAsTool)
  const say = (text: string): readonly Told[] => [{ code: 'UNKNOWN_AGENT', text }]
  if (!found[0])
    return say(`names the agent "${name}"; ${known.meant.get(name) ?? `there are: ${listed(exposed(known))}`}`)
  if (!meant) return say(`names the ${found[0].kind} "${name}", which does not say exposeAsTool: true`)
  const strange = (meant.kind === 'prompt' ? ofAgents : ofPrompts).filter((field) => given[field] !== undefined)
  if (strange.length > 0)
    return say(
      `gives ${strange.join(', ')} to "${name}", which is ${meant.kind === 'prompt' ? 'a prompt' : 'an agent'}`,
    )
  if (meant.kind === 'prompt') return checkInput(given, meant)
  if (!isDual(meant) && sideB.safeParse(resumable).success)
    return say(
      `speaks to side B of the agent "${name}" (receives_messages: 'side_b'), and that is a person: it must be of ` +
        `type 'dual_ai'`,
    )
  if (files === 'fork' && (resumable || blocking === false))
    return say(
      `gives the agent "${name}" a fork of its files, which is merged when the call ends: it must be blocking and ` +
        `not resumable`,
    )
  if (given['supervision'] !== undefined && resumable)
    return say(
      `supervises the agent "${name}", which stays and remembers: another try would be one that remembers ` +
        `nothing; leave it out, or let it end with its answer`,
    )
  const prompt = known.definitions.find(
    (each): each is PromptDefinition => each.kind === 'prompt' && each.name === meant.sideA?.prompt,
  )
  return prompt ? [...checkInput(given, { ...prompt, name }), ...checkImmediate(given, { ...prompt, name })] : []
}

/** A property that is to be the message, or to name attachments, is one of the args. */
function checkInput(given: Relation, { name, requiredSchema }: PromptDefinition): readonly Told[] {
  const args =
    requiredSchema === undefined ? ['message', 'attachments'] : isSchema(requiredSchema) && fieldsOf(requiredSchema)
  if (!args) return []
  // Without a schema of its own a name is one more arg.
  const fields = [
    'initUserMessageProperty',
    'initAttachmentsProperty',
    ...(requiredSchema ? ['initAgentNameProperty'] : []),
  ]
  return fields.flatMap((field) => {
    const property = given[field]
    if (typeof property !== 'string' || args.includes(property)) return []
    return [{ code: 'BAD_OPTION', text: `has the ${field} "${property}" of "${name}", which takes: ${listed(args)}` }]
  })
}

/** Nobody is asked for the args of a child that begins by itself (S4): there are a message and a name. */
function checkImmediate(given: Relation, { name, requiredSchema }: PromptDefinition): readonly Told[] {
  if (!given['immediate'] || !isSchema(requiredSchema)) return []
  const known = new Set([given['initUserMessageProperty'], given['initAgentNameProperty']])
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

function listed(known: Iterable<string>): string {
  return [...new Set(known)].join(', ') || 'none'
}
