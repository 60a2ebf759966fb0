/**
 * Generator tools (T8): drives a body that yields events until it returns.
 *
 * - Each event is checked and told before the body goes on; one that does not fit ends the body.
 * - A body that was ended goes no further than its next yield, where it is made to return.
 * - A body that yields without ever waiting still lets the event loop turn.
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

/** Yields between two turns of the event loop. */
const breath = 64

/** What the body returned; without a return, the last event. */
export async function drive(
  body: AsyncGenerator<unknown, unknown>,
  { tool, signal, onEvent: heard }: DrivenGenerator,
): Promise<unknown> {
  let last: unknown
  for (let count = 1; ; count++) {
    const { done, value } = await body.next()
    if (done) return value === undefined ? last : value
    try {
      signal.throwIfAborted()
      last = checked(tool, value)
      heard(toJson(last))
    } catch (thrown) {
      await body.return(undefined)
      throw thrown
    }
    if (count % breath === 0) await new Promise((resolve) => setImmediate(resolve))
  }
}

function checked({ name, eventSchema }: ToolDefinition, event: unknown): unknown {
  if (!eventSchema) return event
  const { success, data, error } = parse(eventSchema, event)
  if (success) return data
  const text = error.issues.map(({ path, message }) => `${path.join('.') || '(event)'}: ${message}`).join('; ')
  throw new SkeinError('TOOL_OUTPUT_INVALID', `${name} yielded what its eventSchema does not allow: ${text}`)
}
