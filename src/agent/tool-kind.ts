/**
 * What kind of tool a definition makes, read off its shape (D3).
 */
import type { ToolDefinition } from './define.js'

export type ToolKind = 'function' | 'generator' | 'manual' | 'human'

export function kindOf(tool: ToolDefinition): ToolKind {
  if (tool.execute === false) return 'manual'
  if (typeof tool.execute === 'function')
    return tagOf(tool.execute) === 'AsyncGeneratorFunction' ? 'generator' : 'function'
  return 'human'
}

/** What the language calls a function: `AsyncFunction`, `GeneratorFunction`, … */
export function tagOf(body: unknown): string {
  return Object.prototype.toString.call(body).slice('[object '.length, -1)
}
