/** The spec of a tool that Skein offers by itself. Pure. */
import { jsonSchemaOf } from '../core/schema.js'
import type { Schema } from '../core/schema.js'
import type { ToolSpec } from '../models/port.js'

export function toolSpec(name: string, description: string, args: Schema): ToolSpec {
  return { name, description, parameters: jsonSchemaOf(args) }
}
