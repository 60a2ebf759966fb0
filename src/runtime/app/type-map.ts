/**
 * The names of an app as a TypeScript declaration, which the compiler merges with `AppNames` (src/agent/naming.ts).
 *
 * - It has every name that a definition of the app may mention: Skein's own tools too.
 * - The same app gives the same text.
 */
import type { App } from '../../agent/app.js'
import { agentNames } from '../../agent/callable.js'
import { isReserved, runtimeTools } from '../../agent/checks/reserved.js'
import { ownTools } from '../../tools/own/all.js'
import { loadAppWithTools } from './load.js'
import type { AppSource } from './load.js'

export async function appTypes(source: AppSource): Promise<string> {
  const { app, disconnect } = await loadAppWithTools(source)
  try {
    return declarationOf(app)
  } finally {
    await disconnect()
  }
}

function declarationOf(app: App): string {
  const names = {
    agent: agentNames(app),
    model: [...app.models.keys()],
    prompt: [...app.prompts.keys()],
    skill: [...app.skills.keys()],
    tool: [...app.tools.keys(), ...ownTools.map(({ name }) => name)].filter(
      (name) => !isReserved(name) || runtimeTools.has(name),
    ),
  }
  const keys = Object.entries(names).flatMap(([kind, all]) =>
    [...new Set(all)].sort().map((name) => `    ${JSON.stringify(`${kind} ${name}`)}: true\n`),
  )
  return `// The names of this app, for the compiler. Written by \`skein types\`: write it again when names change.
import 'skein'

declare module 'skein' {
  interface AppNames {
${keys.join('')}  }
}
`
}
