/**
 * Foreign tools as definitions: tools of LangChain, of the AI SDK, and any object with a method that does it.
 *
 * - They close over live objects, so they run on the host. A caller whose module exports them may say `where:
 *   'worker'`: every worker then makes its own.
 * - In a list a tool has its own name; in a record its key is its name.
 */
import type { ToolDefinition } from '../../agent/define.js'
import { SkeinError, toFailure } from '../../core/failure.js'
import { isObject } from '../../core/json.js'
import { checkOptions } from '../../core/options.js'
import { adapt, expected, looksLikeTool } from './kinds.js'
import { checkNames, foreignSchema, resolveOptions } from './options.js'
import type { ForeignOptions } from './options.js'

export { fromMcp } from './server.js'
export type { McpDefinition, McpEndpoint, McpOptions, McpProcess } from './server.js'
export type { ForeignOptions }

export type ForeignTools = readonly unknown[] | { readonly [name: string]: unknown }

export function fromTools(tools: ForeignTools, options: ForeignOptions = {}): ToolDefinition[] {
  checkOptions(foreignSchema, options, 'fromTools')
  const named = entriesOf(tools)
  const origins = new Map<string, string>()
  for (const { name, place } of named) {
    const other = origins.get(name)
    if (other !== undefined)
      throw new SkeinError(
        'BAD_OPTION',
        `${other} and ${place} are both named ${JSON.stringify(name)}; give one another name (a record of tools ` +
          `names them by its keys)`,
      )
    origins.set(name, place)
  }
  checkNames(Object.keys(options.byName ?? {}), [...origins.keys()], 'fromTools')
  return named.map((entry) => define(entry, options))
}

interface Entry {
  readonly name: string
  readonly place: string
  readonly thing: unknown
}

function entriesOf(tools: unknown): readonly Entry[] {
  if (Array.isArray(tools)) return tools.map((thing: unknown, index) => entryOf(thing, `tools[${index}]`))
  if (!isObject(tools) || looksLikeTool(tools))
    throw new SkeinError(
      'BAD_OPTION',
      `fromTools expects a list or a record of tools, not ` +
        `${isObject(tools) ? 'a single one: write [tool]' : typeof tools}`,
    )
  return Object.entries(tools).map(([name, thing]) => ({ name, place: `tools.${name}`, thing }))
}

function entryOf(thing: unknown, place: string): Entry {
  const name = isObject(thing) ? thing['name'] : undefined
  if (typeof name === 'string' && name !== '') return { name, place, thing }
  if (!isObject(thing))
    throw new SkeinError(
      'BAD_OPTION',
      `${place} is not a tool: expected ${expected}, got ${thing === null ? 'null' : typeof thing}`,
    )
  throw new SkeinError(
    'BAD_OPTION',
    `${place} has no name; tools of the AI SDK are named by the key they have: fromTools({ my_tool: … })`,
  )
}

function define({ name, place, thing }: Entry, options: ForeignOptions): ToolDefinition {
  try {
    const { description = '', args, execute, ...own } = adapt(thing)
    return { kind: 'tool', name, description, args, execute, where: 'host', ...resolveOptions(own, options, name) }
  } catch (thrown) {
    const { message } = toFailure(thrown, 'BAD_OPTION')
    throw new SkeinError(
      'BAD_OPTION',
      `${place} (${JSON.stringify(name)}) is not a tool: ${message.replace(/^TypeError: /, '')}`,
      { data: { place, name }, cause: thrown },
    )
  }
}
