/**
 * How Skein's own tools are defined. Every process knows all of them and uses few, so their schemas are made when they
 * are first read. Owns nothing.
 */
import type { ToolDefinition } from '../../agent/define.js'
import type { NoSchema, Schema } from '../../core/schema.js'

type OwnTool<Args extends Schema, Output extends Schema> = Omit<
  ToolDefinition<Args, unknown, NoSchema, NoSchema, NoSchema, Output>,
  'kind' | 'args' | 'outputSchema'
> & {
  readonly args: () => Args
  readonly outputSchema?: () => Output
}

export function defineOwnTool<Args extends Schema, Output extends Schema = Schema>({
  args,
  outputSchema,
  ...rest
}: OwnTool<Args, Output>): ToolDefinition {
  const definition: ToolDefinition = {
    kind: 'tool',
    ...rest,
    get args() {
      return args()
    },
  }
  if (outputSchema) Object.defineProperty(definition, 'outputSchema', { get: outputSchema, enumerable: true })
  return definition
}
