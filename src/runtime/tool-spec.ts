/** A tool that Skein offers by itself, as a model is told of it. */
import { z } from 'zod'
import type { Json } from '../core/json.js'
import type { ToolSpec } from '../models/port.js'

export function toolSpec(name: string, description: string, args: z.ZodType): ToolSpec {
  const { $schema: _, ...parameters } = z.toJSONSchema(args, { io: 'input' }) as { [key: string]: Json }
  return { name, description, parameters }
}
