/**
 * Contexts that a caller sends with a new thread or with a message (T9). The caller need not know the definitions:
 * the host that takes the command checks them. Pure.
 *
 * - A context that does not fit the schema of its tool refuses the whole command.
 * - Each tool may declare a part of the shared context: a field that one requires may be set later.
 * - Fields are merged into those that are set, and count from the moment the command does.
 */
import type { ThreadState } from '../../../actors/thread/state.js'
import type { App } from '../../agent/app.js'
import type { ToolDefinition } from '../../agent/define.js'
import { contextKey, sharedName } from '../../core/records/change.js'
import type { Command } from '../../core/records/command.js'
import { failure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import { isObject } from '../../core/json.js'
import type { Json } from '../../core/json.js'
import { mergeContext } from '../../tools/context.js'

interface Refused {
  readonly refused: Failure
}

type Seeding = Extract<Command, { kind: 'create' | 'message' }>

/** The same command with whole contexts: what is set already, and the fields that it sets. */
export function checkContexts<Checked extends Seeding>(
  { tools }: Pick<App, 'tools'>,
  { values }: ThreadState,
  command: Checked,
): Checked | Refused {
  if (!command.context) return command
  const context: Record<string, Json> = {}
  for (const [name, part] of Object.entries(command.context)) {
    const key = contextKey(name)
    const merged = mergedContext([...tools.values()], {
      name,
      part,
      before: Object.hasOwn(values, key) ? values[key]?.value : undefined,
    })
    if ('wrong' in merged) return { refused: failure('BAD_OPTION', `context: ${merged.wrong}; nothing was changed`) }
    context[name] = merged.value
  }
  return { ...command, context }
}

interface ContextPart {
  readonly name: string
  readonly part: Json
  readonly before: Json | undefined
}

function mergedContext(
  tools: readonly ToolDefinition[],
  { name, part, before }: ContextPart,
): { readonly value: Json } | { readonly wrong: string } {
  if (!isObject(part)) return { wrong: `${name} must be an object with the fields to set` }
  const isShared = name === sharedName
  const readers = isShared
    ? tools.filter(({ sharedSchema }) => sharedSchema)
    : tools.filter((tool) => tool.name === name && tool.contextSchema)
  if (readers.length === 0) return { wrong: isShared ? 'no tool of the app has a sharedSchema' : noReader(tools, name) }
  let value: Json | undefined = before
  for (const tool of readers) {
    const schema = isShared ? tool.sharedSchema : tool.contextSchema
    const merged = schema && mergeContext(schema, { before: value, part, incomplete: isShared })
    const field = isShared ? 'sharedSchema' : 'contextSchema'
    if (merged && 'wrong' in merged)
      return { wrong: `${name} does not fit the ${field} of ${tool.name}: ${merged.wrong}` }
    value = merged?.value
  }
  return { value: value ?? null }
}

function noReader(tools: readonly ToolDefinition[], name: string): string {
  const withContext = tools.flatMap((tool) => (tool.contextSchema ? [tool.name] : []))
  const shared = tools.some(({ sharedSchema }) => sharedSchema) ? [sharedName] : []
  const why = tools.some((tool) => tool.name === name)
    ? `the tool ${name} has no contextSchema`
    : `there is no tool ${JSON.stringify(name)}`
  return `${why}; contexts are for: ${[...withContext, ...shared].join(', ') || 'none'}`
}
