/**
 * Contexts that a caller gives (T9): with a new thread, or with a message. Whoever sends them need not know the
 * definitions; the host that takes the command does.
 *
 * - What does not fit the schema of its tool is refused with the command, and nothing of it counts.
 * - Of the shared context each tool may know a part: what one requires may be given later.
 * - A field is merged into what is there, and counts from the moment the command does.
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

/** The same command with each context as it will be, whole. */
export function checkContexts<Given extends Seeding>(
  { tools }: Pick<App, 'tools'>,
  { values }: ThreadState,
  command: Given,
): Given | Refused {
  if (!command.context) return command
  const context: Record<string, Json> = {}
  for (const [name, part] of Object.entries(command.context)) {
    const key = contextKey(name)
    const made = wholeOf([...tools.values()], {
      name,
      part,
      before: Object.hasOwn(values, key) ? values[key]?.value : undefined,
    })
    if ('wrong' in made) return { refused: failure('BAD_OPTION', `context: ${made.wrong}; nothing was changed`) }
    context[name] = made.value
  }
  return { ...command, context }
}

interface Seed {
  readonly name: string
  readonly part: Json
  readonly before: Json | undefined
}

function wholeOf(
  tools: readonly ToolDefinition[],
  { name, part, before }: Seed,
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
    const made = schema && mergeContext(schema, { before: value, part, incomplete: isShared })
    const field = isShared ? 'sharedSchema' : 'contextSchema'
    if (made && 'wrong' in made) return { wrong: `${name} does not fit the ${field} of ${tool.name}: ${made.wrong}` }
    value = made?.value
  }
  return { value: value ?? null }
}

function noReader(tools: readonly ToolDefinition[], name: string): string {
  const known = tools.flatMap((tool) => (tool.contextSchema ? [tool.name] : []))
  const why = tools.some((tool) => tool.name === name)
    ? `the tool ${name} has no contextSchema`
    : `there is no tool ${JSON.stringify(name)}`
  return (
    `${why}; contexts are for: ` +
    `${[...known, ...(tools.some(({ sharedSchema }) => sharedSchema) ? [sharedName] : [])].join(', ') || 'none'}`
  )
}
