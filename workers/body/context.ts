/**
 * Contexts (T9) as a body sees them: `local` of its tool, `shared` of all tools.
 *
 * - A value that was written under another schema is returned as it is. Reading a required field that nobody has set
 *   throws instead of giving `undefined`.
 */
import { sharedName } from '../../src/core/records/change.js'
import { SkeinError } from '../../src/core/failure.js'
import { isObject } from '../../src/core/json.js'
import type { Schema } from '../../src/core/schema.js'
import { parse } from '../../src/core/schema.js'
import { mergeContext } from '../../src/tools/context.js'
import type { Values } from './values.js'

export interface Context {
  readonly tool: string
  readonly key: string
  readonly field: 'contextSchema' | 'sharedSchema'
  readonly schema: Schema | undefined
}

/** The latest value; if there is none, what the schema makes of an empty object. */
export function contextView(values: Values, context: Context): unknown {
  const { schema } = context
  if (!schema) return undefined
  const value = values.readNow(context.key) ?? {}
  const { success, data, error } = parse(schema, value)
  if (success) return data
  for (const { path } of error.issues) throwWhenRead(value, path, context)
  return value
}

/** Only for missing fields: a wrong one was reported when it was written. */
function throwWhenRead(value: unknown, path: readonly PropertyKey[], { tool, field }: Context): void {
  const last = path.at(-1)
  let holder = value
  for (const key of path.slice(0, -1)) holder = isObject(holder) ? holder[String(key)] : undefined
  if (last === undefined || !isObject(holder) || Object.hasOwn(holder, last)) return
  const [member, name] = field === 'contextSchema' ? ['local', tool] : ['shared', sharedName]
  Object.defineProperty(holder, last, {
    configurable: true,
    get() {
      const needed = ['state', member, ...path].join('.')
      const what = `${tool} needs ${needed}, which its ${field} requires and nobody has set`
      const advice =
        `give it with threads.create({ context: { ${name}: { … } } }) or send(text, { context }), or ` +
        `give the field a default`
      throw new SkeinError('CONTEXT_MISSING', `${what}; ${advice}`, { data: { tool, field: path.join('.') } })
    },
  })
}

export function changeContext(values: Values, context: Context, part: object): void {
  const { schema, tool, field, key } = context
  const setter = field === 'contextSchema' ? 'setContext' : 'setShared'
  if (!schema)
    throw new SkeinError('BAD_OPTION', `${tool} calls ${setter}, and its definition has no ${field}; give it one`)
  if (!isObject(part))
    throw new SkeinError(
      'BAD_OPTION',
      `${setter} of ${tool} was given ${part === null ? 'null' : typeof part}; give it an object with the fields ` +
        `to change`,
    )
  const whole = mergeContext(schema, { before: values.readNow(key), part })
  if ('wrong' in whole)
    throw new SkeinError(
      'TOOL_OUTPUT_INVALID',
      `${setter} of ${tool} would make what its ${field} does not allow: ${whole.wrong}`,
    )
  values.write(key, whole.value)
}
