/** Changes of contexts (T9) by a body: `setContext` of its tool, `setShared` of all tools (src/tools/context.ts). */
import { SkeinError } from '../../src/core/failure.js'
import { isObject } from '../../src/core/json.js'
import { mergeContext } from '../../src/tools/context.js'
import type { Context } from '../../src/tools/context.js'
import type { Values } from './values.js'

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
