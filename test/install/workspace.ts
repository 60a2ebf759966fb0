/**
 * An app as it stands in a workspace: names by tsconfig `paths`, a package of the workspace whose sources are
 * TypeScript, a file beside the app's own, a package that is imported only when it is needed and is not installed,
 * and a tool that throws.
 */

/** Below the project's folder. `skein` and `zod` are found from there. */
export const workspaceFiles: Readonly<Record<string, string>> = {
  'tsconfig.json': JSON.stringify({
    compilerOptions: { target: 'es2022', module: 'nodenext', strict: true, paths: { '@/*': ['./src/*'] } },
  }),
  'packages/units/package.json': JSON.stringify({
    name: '@acme/units',
    version: '1.0.0',
    type: 'module',
    exports: './src/index.ts',
  }),
  'packages/units/src/index.ts': `import { grams } from './grams.js'
export const unit: string = grams`,
  'packages/units/src/grams.ts': `export const grams: string = 'grams'`,
  'src/greeting.txt': 'Good day',
  'src/lib/words.ts': `import { readFileSync } from 'node:fs'
/** Beside the app's own file, one folder up. */
export const greeting = (): string => readFileSync(new URL('../greeting.txt', import.meta.url), 'utf8')`,
  'src/app.ts': `import { unit } from '@acme/units'
import { defineAgent, defineModel, definePrompt, defineTool } from 'skein'
import { scriptedModel } from 'skein/testing'
import { z } from 'zod'
import { greeting } from '@/lib/words.js'

export const model = defineModel({
  name: 'fast',
  model: scriptedModel(({ messages }) => {
    const last = messages.at(-1)
    if (last?.role === 'tool') return last.text
    return { calls: [{ tool: last?.role === 'user' && last.text === 'fail' ? 'fail' : 'greet', args: {} }] }
  }),
})
export const greet = defineTool({
  name: 'greet',
  description: 'Greets',
  args: z.object({}),
  execute: () => [greeting(), unit, new URL(import.meta.url).pathname, import.meta.dirname, import.meta.filename].join(' '),
})
export const fail = defineTool({
  name: 'fail',
  description: 'Fails',
  args: z.object({}),
  execute: async () => {
    try {
      // A package that is not installed is missed when it is asked for, not before.
      await import('not-installed-anywhere' as string)
      await import('not-installed-either')
    } catch (thrown) {
      return String(thrown) + new Error('here').stack
    }
  },
})
export const prompt = definePrompt({ name: 'greeter', prompt: 'You greet.', model: 'fast', tools: ['greet', 'fail'] })
export const agent = defineAgent({ name: 'hello', type: 'ai_human', sideA: { prompt: 'greeter' } })
`,
}
