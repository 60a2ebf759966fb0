/**
 * The names that definitions use of one another: every one exists, and no tool uses itself by a detour, nor does a
 * prompt include itself.
 *
 * - A definition is read as far as it can be: a mistake elsewhere in it hides no name, and what cannot be read names
 *   nothing.
 */
import { z } from 'zod'
import type { Mistake } from '../app.js'
import { checkCalled, checkClashes, relation } from './calls.js'
import type { KnownDefinitions } from './calls.js'
import { cyclesOf } from './cycles.js'
import type { Link } from './cycles.js'
import type { Definition, ToolDefinition } from '../define.js'
import { lookalike } from '../lookalike.js'
import { isReserved, runtimeTools } from './reserved.js'

const names = z
  .array(z.unknown())
  .transform((list) => list.filter((item): item is string => typeof item === 'string' && item !== ''))
  .optional()
  .catch(undefined)

const relations = z
  .array(z.unknown())
  .transform((list) => list.flatMap((item) => (lookalike(item) ? [] : (relation.safeParse(item).data ?? []))))
  .optional()
  .catch(undefined)

const include = z.object({ type: z.literal('include'), prompt: z.string() })
const included = z
  .array(z.unknown())
  .transform((list) => list.flatMap((item) => include.safeParse(item).data?.prompt ?? []))
  .optional()
  .catch(undefined)

const readable = z.object({
  sideA: z
    .object({ prompt: z.string().min(1) })
    .optional()
    .catch(undefined),
  sideB: z
    .object({ prompt: z.string().min(1) })
    .optional()
    .catch(undefined),
  model: z.string().min(1).optional().catch(undefined),
  tools: names,
  agents: relations,
  toolChoice: z.object({ tool: z.string() }).optional().catch(undefined),
  fallback: names,
  uses: names,
  includes: included,
})

type Named = z.infer<typeof readable> & { readonly definition: Definition }

/** A name that is spoken for. */
export interface Claim {
  readonly kind: Definition['kind']
  readonly name: string
}

export interface MentionChecks {
  /** All that the app was given, right or wrong. */
  readonly definitions: readonly Definition[]
  readonly builtins: readonly ToolDefinition[]
  /** Of what cannot be looked at because of another mistake: naming it is none. */
  readonly claimed: readonly Claim[]
  /** Of what was meant as a definition, with what it looks like. */
  readonly lookalikes: readonly (Claim & { readonly says: string })[]
}

export function checkMentions({ definitions, builtins, claimed, lookalikes }: MentionChecks): readonly Mistake[] {
  const mistakes: Mistake[] = []
  const say = (code: Mistake['code'], definition: Definition, text: string): void =>
    void mistakes.push({ code, definition, text: `${definition.kind} "${definition.name}" ${text}` })
  const read = (given: readonly Definition[]): readonly Named[] =>
    given.map((definition) => ({
      ...readable.parse(
        definition.kind === 'prompt'
          ? { ...definition, agents: definition.tools, includes: definition.prompt }
          : definition,
      ),
      definition,
    }))
  const all = read(definitions)
  const of = (kind: Definition['kind']): readonly Named[] => all.filter(({ definition }) => definition.kind === kind)
  const there = (kind: Definition['kind']): ReadonlySet<string> =>
    new Set([...definitions, ...claimed].filter((each) => each.kind === kind).map(({ name }) => name))
  const [prompts, models, tools] = [there('prompt'), there('model'), there('tool')]
  const builtin = new Set(builtins.map(({ name }) => name))
  const nameable = [...tools, ...builtin, ...runtimeTools].filter((name) => !isReserved(name) || runtimeTools.has(name))
  const missing = (kind: Definition['kind'], name: string, others: Iterable<string>): string => {
    const meant = lookalikes.find((each) => each.kind === kind && each.name === name)
    return `"${name}"; ${meant?.says ?? `there are: ${listed(others)}`}`
  }
  const known: KnownDefinitions = {
    definitions,
    tools: nameable,
    claimed: new Set(claimed.filter(({ kind }) => kind === 'agent' || kind === 'prompt').map(({ name }) => name)),
    meant: new Map(lookalikes.map(({ name, says }) => [name, says])),
  }
  for (const { definition, sideA, sideB } of of('agent')) {
    for (const side of [sideA, sideB])
      if (side && !prompts.has(side.prompt))
        say('UNKNOWN_PROMPT', definition, `names the prompt ${missing('prompt', side.prompt, prompts)}`)
  }
  for (const { definition, model, tools: named = [], agents = [], toolChoice, includes = [] } of of('prompt')) {
    for (const name of includes)
      if (!prompts.has(name))
        say('UNKNOWN_PROMPT', definition, `includes the prompt ${missing('prompt', name, prompts)}`)
    if (model !== undefined && !models.has(model))
      say('UNKNOWN_MODEL', definition, `names the model ${missing('model', model, models)}`)
    for (const { code, text } of checkCalled({ named, relations: agents }, known)) say(code, definition, text)
    const callable = [...named, ...agents.map(({ name }) => name)]
    if (toolChoice && !callable.includes(toolChoice.tool))
      say(
        'UNKNOWN_TOOL',
        definition,
        `has the toolChoice "${toolChoice.tool}", which is not among its tools: ${listed(callable)}`,
      )
  }
  for (const { definition, fallback = [] } of of('model')) {
    for (const name of fallback)
      if (!models.has(name)) say('UNKNOWN_MODEL', definition, `falls back to ${missing('model', name, models)}`)
  }
  for (const { definition, uses = [] } of of('tool')) {
    for (const name of uses)
      if (!tools.has(name) && !builtin.has(name))
        say('UNKNOWN_TOOL', definition, `uses the tool ${missing('tool', name, nameable)}`)
  }
  // The app's own last: they stand in the place of built-in ones.
  const usable = [...read(builtins), ...of('tool')].map(({ definition, uses = [] }) => ({ definition, to: uses }))
  for (const { definition, path } of cyclesOf(byName(usable)))
    say('BAD_OPTION', definition, `uses itself: ${path.join(' → ')}`)
  const including = of('prompt').map(({ definition, includes = [] }) => ({ definition, to: includes }))
  for (const { definition, path } of cyclesOf(byName(including)))
    say('BAD_OPTION', definition, `includes itself: ${path.join(' → ')}`)
  return [...mistakes, ...checkClashes(definitions, builtins)]
}

function byName(nodes: readonly Link[]): ReadonlyMap<string, Link> {
  return new Map(nodes.map((node) => [node.definition.name, node]))
}

function listed(known: Iterable<string>): string {
  return [...new Set(known)].join(', ') || 'none'
}
