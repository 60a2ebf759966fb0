/**
 * No type that Skein exports holds `any`, however deep. The compiler looks at every name of the public doors; which
 * they are is read off the doors themselves, so that a new name is looked at too.
 */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { exportsOf } from '../helpers/exports.js'

const root = fileURLToPath(new URL('../../', import.meta.url))

/**
 * True where `any` is found in fields, parameters, returns, items or promises. Schemas, volumes and what Node made
 * are not ours.
 */
const walker = `
import type { IFs } from 'memfs'
import type { z } from 'zod'
type Foreign = z.ZodType | IFs | AbortSignal | Uint8Array | URL | RegExp | Date | Request | Response
type IsAny<T> = 0 extends 1 & T ? true : false
type Fields<T, Depth extends 0[]> = { [Key in keyof T]-?: HasAny<T[Key], Depth> }[keyof T]
type HasAny<T, Depth extends 0[] = []> =
  IsAny<T> extends true ? true
  : Depth['length'] extends 7 ? false
  : T extends Foreign ? false
  : T extends (...given: infer Given) => infer Result ? HasAny<Given, [...Depth, 0]> | HasAny<Result, [...Depth, 0]>
  : T extends abstract new (...given: infer Given) => infer Made ? HasAny<Given, [...Depth, 0]> | HasAny<Made, [...Depth, 0]>
  : T extends AsyncGenerator<infer Item, infer Result, infer Next> ? HasAny<Item, [...Depth, 0]> | IsAny<Result> | IsAny<Next>
  : T extends AsyncIterable<infer Item> ? HasAny<Item, [...Depth, 0]>
  : T extends PromiseLike<infer Value> ? HasAny<Value, [...Depth, 0]>
  : T extends readonly unknown[] ? HasAny<T[number], [...Depth, 0]>
  : T extends ReadonlyMap<infer Key, infer Value> ? HasAny<Key, [...Depth, 0]> | HasAny<Value, [...Depth, 0]>
  : T extends object ? Fields<T, [...Depth, 0]>
  : false
type Clean<T> = true extends HasAny<T> ? 'holds any' : 'clean'
`

const clean = (name: string, type: string): string => `const ${name}: Clean<${type}> = 'clean'; void ${name}`

/** Names that are not clean. */
async function compile(lines: readonly string[]): Promise<readonly string[]> {
  const cache = join(root, '.cache')
  await mkdir(cache, { recursive: true })
  const dir = await mkdtemp(join(cache, 'skein-types-'))
  try {
    await writeFile(join(dir, 'surface.ts'), `${walker}${lines.join('\n')}\n`)
    await writeFile(
      join(dir, 'tsconfig.json'),
      JSON.stringify({
        extends: join(root, 'tsconfig.json'),
        compilerOptions: { rootDir: root },
        include: ['surface.ts'],
      }),
    )
    const tsc = fileURLToPath(import.meta.resolve('typescript/package.json'))
    const { stdout } = await promisify(execFile)(process.execPath, [join(tsc, '..', 'bin', 'tsc'), '-p', dir], {
      cwd: dir,
    }).catch((thrown: { stdout: string }) => thrown)
    const own = stdout.split('\n').filter((line) => line.startsWith('surface.ts'))
    const first = walker.split('\n').length
    return own.map((line) => /const (\w+): /.exec(lines[Number(/\((\d+),/.exec(line)?.[1]) - first] ?? '')?.[1] ?? line)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

/** What those who install Skein see of a module: its declarations. The sources have their own check. */
const built = (path: string): string => JSON.stringify(join(root, 'dist', path.replace(/\.ts$/, '.js')))

/** Types that are nothing without one of these. */
const given: Readonly<Record<string, (from: string) => string>> = {
  HookInput: () => `<'before_call'>`,
  HookResult: () => `<'before_call'>`,
  InferPromptInput: (from) => `<import(${from}).PromptDefinition>`,
  InferPromptOutput: (from) => `<import(${from}).PromptDefinition>`,
  InferToolContext: (from) => `<import(${from}).ToolDefinition>`,
  InferToolEvent: (from) => `<import(${from}).ToolDefinition>`,
  InferToolInput: (from) => `<import(${from}).ToolDefinition>`,
  InferToolOutput: (from) => `<import(${from}).ToolDefinition>`,
  ToolCallOf: (from) => `<readonly import(${from}).ToolDefinition[]>`,
}

async function linesOf(path: string): Promise<readonly string[]> {
  const { values, types } = exportsOf({ path, text: await readFile(join(root, path), 'utf8') })
  const from = built(path)
  return [
    ...values.map((name) => clean(name, `typeof import(${from}).${name}`)),
    ...types.map((name) => clean(name, `import(${from}).${name}${given[name]?.(from) ?? ''}`)),
  ]
}

it('D8: no any in the public types', async () => {
  const lines = [
    ...(await linesOf('src/index.ts')),
    ...(await linesOf('src/testing.ts')).map((line) => line.replaceAll(/(const|void) /g, '$1 testing_')),
  ]
  expect(lines.length).toBeGreaterThan(40)
  expect(await compile(lines)).toEqual([])
})

it('D8: no any in what a precise definition is and gives', async () => {
  const lines = [
    `import { z as zod } from 'zod'; import { defineTool } from ${built('src/agent/define.ts')}; import type * as ` +
      `Infer from ${built('src/agent/infer.ts')}`,
    `const made = defineTool({ name: 'made', description: '', args: zod.object({ a: zod.string() }), eventSchema: ` +
      `zod.number(), contextSchema: zod.object({ b: zod.number() }), async *execute(state, { a }) { yield 1; ` +
      `return [a, state.local] } })`,
    clean('tool', 'typeof made'),
    clean('body', 'Exclude<typeof made.execute, false | undefined>'),
    ...['Input', 'Output', 'Event', 'Context'].map((part) =>
      clean(`part${part}`, `Infer.InferTool${part}<typeof made>`),
    ),
    clean('call', 'Infer.ToolCallOf<[typeof made]>'),
  ]
  expect(await compile(lines)).toEqual([])
})

it('D8: an any is found wherever it is', async () => {
  const bad = [
    '{ a: { readonly b?: any } }',
    '(given: any) => void',
    '() => Promise<{ a: any[] }>',
    'AsyncIterable<{ a(): any }>',
    'AsyncGenerator<string, void>',
    '{ kind: 1 } | { kind: 2; a: any }',
    'new () => { a: any }',
    'ReadonlyMap<string, any>',
  ]
  const good = [
    '{ a: unknown }',
    '(given: never) => Promise<z.ZodType>',
    'AsyncGenerator<string, void, undefined>',
    '{ kind: 1 } | { kind: 2 }',
  ]
  const names = bad.map((_, index) => `bad${index}`)
  expect(
    await compile([
      ...bad.map((type, index) => clean(`bad${index}`, type)),
      ...good.map((type, index) => clean(`good${index}`, type)),
    ]),
  ).toEqual(names)
})
