/**
 * The files of a new project. It runs offline as it is; with a key in the environment it asks a real model.
 *
 * - Versions are those that Skein itself is tested with, with a caret.
 */
import { managerCommands } from './package-manager.js'
import type { PackageManager } from './package-manager.js'

export interface ProjectOptions {
  /** Of the package. */
  readonly name: string
  readonly manager: PackageManager
  /** The project is a package of a workspace, which has the lockfile and the settings. */
  readonly isMember: boolean
  /** Version of Skein. */
  readonly version: string
}

/** Contents by path, in the order in which they are named. */
export function projectFiles(options: ProjectOptions): Readonly<Record<string, string>> {
  return {
    'package.json': manifest(options),
    'tsconfig.json': tsconfig,
    '.gitignore': 'node_modules\n.skein\n.env\n',
    'README.md': readme(options),
    'app/agents/assistant.ts': agent,
    'app/prompts/assistant.ts': prompt,
    'app/tools/add.ts': tool,
    'app/models/main.ts': model,
    'app/offline.ts': offline,
    'test/app.test.ts': test,
    // Since version 11 pnpm wants a word on every install script. Skein needs none.
    ...(options.manager === 'pnpm' && !options.isMember && { 'pnpm-workspace.yaml': ignoredBuilds }),
  }
}

const question = 'What is 19.5 plus 22.5?'

/** Packages that the project depends on; none of them may have its name. */
export const dependencies = {
  '@ai-sdk/openai-compatible': '^2.0.87',
  zod: '^4.3.0',
}
export const devDependencies = {
  '@types/node': '^20.19.0',
  typescript: '^7.0.2',
  vitest: '^4.1.12',
}

function manifest({ name, version }: ProjectOptions): string {
  const scripts = {
    start: `skein run app --agent assistant "${question}"`,
    chat: 'skein chat app --agent assistant',
    dev: 'skein dev app',
    test: 'vitest run',
    types: 'tsc',
  }
  const content = {
    name,
    version: '0.1.0',
    private: true,
    type: 'module',
    engines: { node: '>=20.19' },
    scripts,
    dependencies: { ...dependencies, skein: `^${version}` },
    devDependencies,
  }
  return `${JSON.stringify(content, undefined, 2)}\n`
}

const tsconfig = `{
  "compilerOptions": {
    "target": "es2023",
    "module": "nodenext",
    "strict": true,
    "noEmit": true,
    "skipLibCheck": true,
    "allowImportingTsExtensions": true,
    "types": ["node"]
  },
  "include": ["app", "test"]
}
`

const ignoredBuilds = 'ignoredBuiltDependencies:\n  - esbuild\n'

function readme({ name, manager }: ProjectOptions): string {
  const { install, run } = managerCommands(manager)
  return `# ${name}

An agent on Skein. Each file below \`app/\` is one definition, which is named after it.

\`\`\`sh
${install}
${run('start')}          # one question, offline: a script stands in for the model
${run('test')}           # the agent while its hosts die and its models fail
${run('dev')}        # serves it, and every edit at once; talk to it from another terminal:
${run('chat')}
\`\`\`

With a real model: set \`OPENAI_API_KEY\` (and \`OPENAI_MODEL\`), or \`OPENAI_BASE_URL\` of a server that speaks alike.
`
}

const agent = `import { defineAgent } from 'skein'

export const assistant = defineAgent({ type: 'ai_human', sideA: { prompt: 'assistant' } })
`

const prompt = `import { definePrompt } from 'skein'

export const assistant = definePrompt({
  prompt: 'You answer in one sentence. Let the tool add numbers, and never do it yourself.',
  model: 'main',
  tools: ['add'],
})
`

const tool = `import { defineTool } from 'skein'
import { z } from 'zod'

export const add = defineTool({
  description: 'Adds numbers',
  args: z.object({ numbers: z.array(z.number()) }),
  execute: (_state, { numbers }) => numbers.reduce((sum, each) => sum + each, 0),
})
`

const model = `import { defineModel } from 'skein'
import { offline } from '../offline.ts'

const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL, OPENAI_MODEL = 'gpt-5-mini' } = process.env
const baseURL = OPENAI_BASE_URL ?? 'https://api.openai.com/v1'

/** OpenAI, or any server that speaks as it does, when a key or such a server is named; else a script. */
export const main = defineModel({
  model: async () => {
    if (!apiKey && !OPENAI_BASE_URL) return offline
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
    return createOpenAICompatible({ name: 'openai', baseURL, ...(apiKey && { apiKey }) })(OPENAI_MODEL)
  },
})
`

const offline = `import { scriptedModel } from 'skein/testing'

const hint = '(A script says this. Set OPENAI_API_KEY, or OPENAI_BASE_URL, for a real model.)'

/** Stands in for a model, without a network: for tests and first steps. */
export const offline = scriptedModel(
  ({ messages }) => {
    const last = messages.at(-1)
    if (last?.role === 'tool') return \`It is \${last.text}. \${hint}\`
    const numbers = (last?.text.match(/-?\\d+(?:\\.\\d+)?/g) ?? []).map(Number)
    return numbers.length > 0 ? { calls: [{ tool: 'add', args: { numbers } }] } : \`Give me numbers to add. \${hint}\`
  },
  { record: false },
)
`

const test = `import { fileURLToPath } from 'node:url'
import { simulate } from 'skein/testing'
import { expect, it } from 'vitest'
import { offline } from '../app/offline.ts'

const app = fileURLToPath(new URL('../app', import.meta.url))

// Each seed is another course of events: hosts die, models fail, messages come twice.
it('answers the same, whatever fails', { timeout: 60_000 }, async () => {
  await simulate({
    app,
    models: { main: offline },
    seeds: 20,
    scenario: async ({ skein }) => {
      const thread = await skein.threads.create({ agent: 'assistant', id: 'sum' })
      return thread.send('${question}', { id: 'question' }).text()
    },
    check: ({ result, quiet }) => {
      expect(quiet).toContain('It is 42.')
      expect(result).toBe(quiet)
    },
  })
})
`
