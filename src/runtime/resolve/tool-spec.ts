/** A tool that Skein offers by itself, as a model is told of it. */
import { jsonSchemaOf } from '../../core/schema.js'
import type { Schema } from '../../core/schema.js'
import type { ToolSpec } from '../../models/port.js'

export function toolSpec(name: string, description: string, args: Schema): ToolSpec {
  return { name, description, parameters: jsonSchemaOf(args) }
}
