/**
 * Contexts (T9) as a body has them: `local` of its tool, `shared` of all.
 *
 * - A value that was written under another schema is shown as it is; a field that the schema requires and nobody has
 *   set is an error when it is read, not `undefined`.
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

/** The latest value; before the first, what the schema makes of nothing. */
export function contextView(values: Values, context: Context): unknown {
  const { schema } = context
  if (!schema) return undefined
  const value = values.readNow(context.key) ?? {}
  const { success, data, error } = parse(schema, value)
  if (success) return data
  for (const { path } of error.issues) guard(value, path, context)
  return value
}

/** Where the field is missing. What is wrong with one that is there was said when it was written. */
function guard(value: unknown, path: readonly PropertyKey[], { tool, field }: Context): void {
  const last = path.at(-1)
  let holder = value
  for (const key of path.slice(0, -1)) holder = isObject(holder) ? holder[String(key)] : undefined
  if (last === undefined || !isObject(holder) || Object.hasOwn(holder, last)) return
  const [member, name] = field === 'contextSchema' ? ['local', tool] : ['shared', sharedName]
  Object.defineProperty(holder, last, {
    configurable: true,
    get() {
      const what = `${tool} needs ${['state', member, ...path].join('.')}, which its ${field} requires and nobody has set`
      const advice =
        `give it with threads.create({ context: { ${name}: { … } } }) or send(text, { context }), or ` +
        `give the field a default`
      throw new SkeinError('CONTEXT_MISSING', `${what}; ${advice}`, { data: { tool, field: path.join('.') } })
    },
  })
}

export function mergedContext(values: Values, context: Context, part: object): void {
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
