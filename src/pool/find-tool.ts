/**
 * Finds a tool by name: among the app's tools, then among Skein's own, which are loaded with the first that is used.
 */
import type { ToolDefinition } from '../agent/define.js'

/** Returns a promise only if something has to be loaded first. */
export type FindTool = (name: string) => ToolDefinition | undefined | Promise<ToolDefinition | undefined>

export function createFindTool(tools: ReadonlyMap<string, ToolDefinition>): FindTool {
  return (name) => tools.get(name) ?? builtIn(name)
}

let own: Promise<ReadonlyMap<string, ToolDefinition>> | undefined

async function builtIn(name: string): Promise<ToolDefinition | undefined> {
  own ??= load()
  return (await own).get(name)
}

async function load(): Promise<ReadonlyMap<string, ToolDefinition>> {
  const { ownTools } = await import('../tools/own/all.js')
  return new Map(ownTools.map((tool) => [tool.name, tool]))
}
