/** The code in the documents compiles, and the picture in docs/tools.md is what a thread does. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { createSkein, defineAgent, defineModel, definePrompt, defineTool, memory } from '../../src/index.js'
import { scriptedModel } from '../../src/testing.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(join(root, 'docs/tools.md'), 'utf8')

const blocksOf = (path: string): readonly string[] =>
  [...readFileSync(join(root, path), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block = '']) => block)

/** What the fragments of the documents take for granted. */
const prelude = `
import {
  SkeinError, connectSkein, createSkein, defineAgent, defineHook, defineModel, definePrompt, defineTool, fromA2A, fromMcp, fromSkills,
  fromTools, hasToolCall, hostTools, local, maxCost, memory, nats, stepCountIs,
} from 'skein'
import type { Definition, ModelReply, ModelRequest, Run, Skein, Thread, ToolState } from 'skein'
import { serveMcp } from 'skein/server'
import { scriptedModel } from 'skein/testing'
import { z } from 'zod'
declare const skein: Skein, client: Skein, thread: Thread, run: Run, state: ToolState, app: Definition[]
declare const day: number, signal: AbortSignal, source: string, token: string, pages: Map<unknown, string>
declare const tools: Parameters<typeof fromTools>[0], isDone: (build: string) => Promise<boolean>
;`

/** A fragment in a scope of its own, without its imports and exports. */
function asScope(block: string): string {
  const code = block
    .replace(/^import .*\n/gm, '')
    .replace(/^export (default )?/gm, (_, isDefault) => (isDefault ? 'void ' : ''))
  return `${prelude}{\n${code}\n}\n`
}

const wholeFiles = ['tools.md', 'simulation.md', 'http.md', 'observability.md']

test.each(wholeFiles)('the code in docs/%s compiles, read as one file', async (name) => {
  const code = blocksOf(join('docs', name)).join('\n')
  expect(code).toMatch(/defineTool\(|createHandler\(|createSkein\(/)
  expect(await typeErrors([code])).toBe('')
})

test('the code in the other documents compiles, but for fragments with "…"', async () => {
  const names = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md') && !wholeFiles.includes(name))
  const blocks = names.flatMap((name) => blocksOf(join('docs', name))).filter((block) => !block.includes('…'))
  expect(blocks.length).toBeGreaterThan(15)
  expect(await typeErrors(blocks.map(asScope))).toBe('')
})

test('the quick start in README.md compiles', async () => {
  const [code = ''] = blocksOf('README.md')
  expect(code).toContain("from '@ai-sdk/openai'")
  expect(await typeErrors([code])).toBe('')
})

async function typeErrors(sources: readonly string[]): Promise<string> {
  // Inside the project, so that `skein` is this package.
  mkdirSync(join(root, '.cache'), { recursive: true })
  const folder = mkdtempSync(join(root, '.cache/samples-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [index, source] of sources.entries()) writeFileSync(join(folder, `sample-${index}.ts`), source)
  const compilerOptions = { rootDir: '.', noUnusedLocals: false, noUnusedParameters: false }
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ extends: '../../tsconfig.json', compilerOptions, include: ['*.ts'] }),
  )
  const { stdout } = await promisify(execFile)(join(root, 'node_modules/.bin/tsc'), ['-p', folder]).catch(
    (failed: { stdout: string }) => failed,
  )
  return stdout
}

test('the picture in docs/tools.md: call 0 lands last, all are settled in order, and the one that saw too little runs again', async () => {
  let release = (): void => undefined
  const othersLanded = new Promise<void>((resolve) => (release = resolve))
  const args = z.object({ text: z.string().default('') })
  const tools = [
    defineTool({
      name: 'append',
      description: 'Appends to /log',
      args,
      sideEffect: false,
      async execute({ files }, { text }) {
        await files.appendFile('/log', text)
        if (text === 'a') await othersLanded
      },
    }),
    defineTool({
      name: 'look',
      description: 'Reads /menu',
      args,
      sideEffect: false,
      execute: ({ files }) => files.readFile('/menu', 'utf8'),
    }),
  ]
  const model = scriptedModel([
    {
      calls: [
        { tool: 'append', args: { text: 'a' } },
        { tool: 'append', args: { text: 'b' } },
        { tool: 'look', args: {} },
      ],
    },
    'done',
  ])
  const app = [
    ...tools,
    defineModel({ name: 'm', model }),
    definePrompt({ name: 'p', prompt: '', model: 'm', tools: ['append', 'look'] }),
    defineAgent({ name: 'a', type: 'ai_human', sideA: { prompt: 'p' } }),
  ]
  const skein = await createSkein({ app, backend: memory() })
  onTestFinished(() => skein.close())
  const thread = await skein.threads.create({ agent: 'a', files: { '/menu': 'soup' } })
  const journal: string[] = []
  for await (const event of thread.send('go').fullStream) {
    if (event.type === 'tool.result') journal.push(`returned ${event.index}${event.again ? ' again' : ''}`)
    if (event.type === 'call.settled') journal.push(`settled ${event.index} ${event.verdict}`)
    if (journal.length === 2) release()
  }
  const [, drawn] = /^The journal: `(.*)`$/m.exec(page) ?? []
  // Which of the two quick ones is first is open; the picture shows one of both.
  const [first = '', second = ''] = journal.splice(0, 2).toSorted()
  expect([first, second, ...journal].join(' · ')).toBe(drawn)
  expect(await thread.files.readFile('/log', 'utf8')).toBe('ab')
})
