/**
 * Which values of a call's environment are secrets, and their redactor (F3). Asked only for tools that declare variables.
 */
import type { ToolDefinition, Variable } from '../src/agent/define.js'
import { createRedactor } from '../src/core/redact.js'
import type { Redactor } from '../src/core/redact.js'

/** A value that is declared as text is none; a default that stands in the definition is as secret as what replaces it. */
export function redactorOf(tool: ToolDefinition, env: Readonly<Record<string, string>>): Redactor | undefined {
  const declared = tool.variables ?? []
  const text = new Set(declared.filter(({ type }) => type === 'text').map(({ name }) => name))
  const values = [...Object.entries(env), ...declared.flatMap(({ name, default: value }): [string, string][] => (value === undefined ? [] : [[name, value]]))]
  return createRedactor(values.filter(([name]) => !text.has(name)).map(([, value]) => value))
}

export function variableOf(tool: ToolDefinition, name: string): Variable | undefined {
  return tool.variables?.find((variable) => variable.name === name)
}
