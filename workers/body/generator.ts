/**
 * Generator tools (T8): drives a body that yields events until it returns.
 *
 * - Each event is checked and emitted before the body continues; one that does not fit ends the body.
 * - An aborted body continues to its next yield at most, where it is made to return.
 * - A body that yields without ever awaiting still lets the event loop turn.
 */
import type { ToolDefinition } from '../../src/agent/define.js'
import { SkeinError } from '../../src/core/failure.js'
import { isObject, toJson } from '../../src/core/json.js'
import type { Json } from '../../src/core/json.js'
import { parse } from '../../src/core/schema.js'

export function isGenerator(value: unknown): value is AsyncGenerator<unknown, unknown> {
  return (
    isObject(value) &&
    typeof value['next'] === 'function' &&
    typeof Reflect.get(value, Symbol.asyncIterator) === 'function'
  )
}

export interface DrivenGenerator {
  readonly tool: ToolDefinition
  readonly signal: AbortSignal
  onEvent(event: Json): void
}

/** Number of events after which the event loop turns. */
const eventsPerTurn = 64

/** Resolves with what the body returned, or else with its last event. */
export async function drive(
  body: AsyncGenerator<unknown, unknown>,
  { tool, signal, onEvent }: DrivenGenerator,
): Promise<unknown> {
  let last: unknown
  for (let count = 1; ; count++) {
    const { done, value } = await body.next()
    if (done) return value === undefined ? last : value
    try {
      signal.throwIfAborted()
      last = validEvent(tool, value)
      onEvent(toJson(last))
    } catch (thrown) {
      await body.return(undefined)
      throw thrown
    }
    if (count % eventsPerTurn === 0) await new Promise((resolve) => setImmediate(resolve))
  }
}

function validEvent({ name, eventSchema }: ToolDefinition, event: unknown): unknown {
  if (!eventSchema) return event
  const { success, data, error } = parse(eventSchema, event)
  if (success) return data
  const text = error.issues.map(({ path, message }) => `${path.join('.') || '(event)'}: ${message}`).join('; ')
  throw new SkeinError('TOOL_OUTPUT_INVALID', `${name} yielded what its eventSchema does not allow: ${text}`)
}
