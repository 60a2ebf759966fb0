/**
 * The names that definitions use of one another: every one exists, and no tool uses itself by a detour.
 */
import type { Definition, PromptDefinition, ToolDefinition } from './define.js'
import type { Mistake, Shelves } from './app.js'
import { isReserved, runtimeTools } from './reserved.js'

/** Names of tools that the app takes from somewhere: its own, or built in. */
export function toolsNamed({ prompts, tools }: Shelves): ReadonlySet<string> {
  return new Set([...[...prompts.values()].flatMap((prompt) => prompt.tools ?? []), ...[...tools.values()].flatMap((tool) => tool.uses ?? [])])
}

export function checkMentions(app: Shelves, builtins: readonly string[]): readonly Mistake[] {
  const mistakes: Mistake[] = []
  const known = (names: Iterable<string>): string => [...new Set(names)].join(', ') || 'none'
  const nameable = known([...app.tools.keys(), ...builtins, ...runtimeTools].filter((name) => !isReserved(name) || runtimeTools.has(name)))
  const say = (code: Mistake['code'], definition: Definition, text: string): void => void mistakes.push({ code, definition, text: `${definition.kind} "${definition.name}" ${text}` })
  for (const agent of app.agents.values()) {
    const { prompt } = agent.sideA
    if (!app.prompts.has(prompt)) say('UNKNOWN_PROMPT', agent, `names the prompt "${prompt}"; there are: ${known(app.prompts.keys())}`)
  }
  for (const prompt of app.prompts.values()) {
    if (!app.models.has(prompt.model)) say('UNKNOWN_MODEL', prompt, `names the model "${prompt.model}"; there are: ${known(app.models.keys())}`)
    for (const tool of missingTools(app, prompt)) say('UNKNOWN_TOOL', prompt, `names the tool "${tool}"; there are: ${nameable}`)
    const chosen = typeof prompt.toolChoice === 'object' ? prompt.toolChoice.tool : undefined
    if (chosen !== undefined && !prompt.tools?.includes(chosen)) say('UNKNOWN_TOOL', prompt, `has the toolChoice "${chosen}", which is not among its tools: ${known(prompt.tools ?? [])}`)
  }
  for (const model of app.models.values()) {
    for (const fallback of model.fallback ?? []) {
      if (!app.models.has(fallback)) say('UNKNOWN_MODEL', model, `falls back to "${fallback}"; there are: ${known(app.models.keys())}`)
    }
  }
  for (const tool of app.tools.values()) {
    for (const used of tool.uses ?? []) {
      if (!app.tools.has(used)) say('UNKNOWN_TOOL', tool, `uses the tool "${used}"; there are: ${nameable}`)
    }
  }
  for (const cycle of cyclesOf(app.tools)) say('BAD_OPTION', cycle.tool, `uses itself: ${cycle.path.join(' → ')}`)
  return mistakes
}

function missingTools(app: Shelves, { tools = [] }: PromptDefinition): readonly string[] {
  return tools.filter((tool) => (isReserved(tool) ? !runtimeTools.has(tool) : !app.tools.has(tool)))
}

interface Cycle {
  readonly tool: ToolDefinition
  readonly path: readonly string[]
}

/** One for each way back; a tool that merely leads to a cycle is not part of it. */
function cyclesOf(tools: ReadonlyMap<string, ToolDefinition>): readonly Cycle[] {
  const cycles: Cycle[] = []
  const done = new Set<string>()
  const visit = (tool: ToolDefinition, trail: readonly string[]): void => {
    const path = [...trail, tool.name]
    for (const name of tool.uses ?? []) {
      const used = tools.get(name)
      const from = path.indexOf(name)
      if (used && from !== -1) cycles.push({ tool: used, path: [...path.slice(from), name] })
      else if (used && !done.has(name)) visit(used, path)
    }
    done.add(tool.name)
  }
  for (const tool of tools.values()) if (!done.has(tool.name)) visit(tool, [])
  return cycles
}
