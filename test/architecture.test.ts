/**
 * The tree obeys docs/architecture.md: directions, cycles, sizes, headers, labels, words and habits. Every rule
 * is also shown a sample that it must refuse, because a check that cannot fail is worth nothing.
 */
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { readSources, scan } from '../scripts/source.js'
import {
  cycles,
  directions,
  fileNames,
  habits,
  headers,
  labels,
  median,
  reasonedSkips,
  sizes,
  timerImports,
} from './helpers/architecture.js'
import type { Rule } from './helpers/architecture.js'
import { folderSizes, lineWidths, retiredWords, roomDirections, uniqueExports } from './helpers/layout-rules.js'

type Files = Readonly<Record<string, string>>

interface Case {
  readonly rule: Rule
  /** Each refused, at this place. */
  readonly bad: readonly (readonly [place: string, files: Files])[]
  readonly good: readonly Files[]
}

const lines = (count: number): string => 'x\n'.repeat(count)
const one = (path: string, text: string): readonly [string, Files] => [`${path}:1`, { [path]: text }]
const many = (folder: string, count: number): Files =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${folder}/m${index}.ts`, '']))
const core = (text: string): readonly [string, Files] => one('src/core/a.ts', text)
const test = (text: string): readonly [string, Files] => one('test/a.test.ts', text)
const habit = (name: string): Rule => {
  const rule = habits[name]
  if (!rule) throw new Error(`no habit is called ${name}`)
  return rule
}
const header = (...labelled: readonly string[]): string =>
  `/**\n * A thing.\n *\n${labelled.map((line) => ` * ${line}\n`).join('')} */\n`

const structure: Readonly<Record<string, Case>> = {
  'imports go down the map only': {
    rule: directions,
    bad: [
      one('src/core/a.ts', `import { b } from '../agent/b.js'`),
      one('src/core/a.ts', `import type { b } from '../../actors/b.js'`),
      one('src/core/a.ts', `import { readFile } from 'node:fs/promises'`),
      one('actors/thread/a.ts', `import { b } from '../../src/backend/b.js'`),
      one('actors/thread/a.ts', `import { sep } from 'node:path'`),
      one('actors/thread/a.ts', `import 'piscina'`),
      one('workers/a.ts', `import type { b } from '../actors/thread/b.js'`),
      one('workers/a.ts', `import { b } from '../src/runtime/b.js'`),
      one('workers/a.ts', `import { b } from '../src/backend/b.js'`),
      one('workers/a.ts', `import { b } from '../src/models/b.js'`),
      one('workers/a.ts', `export { b } from '../src/index.js'`),
      one('src/backend/a.ts', `import { b } from '../pool/b.js'`),
      one('src/models/a.ts', `import type { b } from '../observe/port.js'`),
      one('src/observe/a.ts', `const b = await import('../backend/b.js')`),
      one('src/pool/a.ts', `import type { b } from '../../workers/b.js'`),
      one('src/files/a.ts', `import { b } from '../backend/port.js'`),
      one('src/tools/a.ts', `import { spawn } from 'node:child_process'`),
      one('src/agent/a.ts', `import { b } from '../models/port.js'`),
      one('src/agent/a.ts', `import type { b } from '../models/scripted.js'`),
      one('src/runtime/a.ts', `import { b } from '../http/b.js'`),
      one('src/runtime/a.ts', `import { b } from '../index.js'`),
      one('src/runtime/a.ts', `import { b } from '../../workers/b.js'`),
      one('src/cli/a.ts', `import { b } from '../runtime/b.js'`),
      one('src/http/a.ts', `import type { b } from '../core/b.js'`),
      one('src/index.ts', `export { b } from './http/b.js'`),
      one('src/core/a.ts', `import { b } from '../../test/b.js'`),
      one('src/elsewhere/a.ts', ``),
      ['src/core/a.ts:3', { 'src/core/a.ts': `// import 'a'\n\nimport {\n  b,\n  c,\n} from 'skein'` }],
    ],
    good: [
      {
        'actors/thread/a.ts': `import { setup } from 'xstate'\nimport { z } from 'zod'\nimport { b } from '../../src/core/b.js'`,
      },
      { 'src/agent/a.ts': `import type { Model } from '../models/port.js'\nimport { b } from '../tools/b.js'` },
      { 'src/pool/a.ts': `const entry = new URL('../../workers/thread/entry.js', import.meta.url)` },
      {
        'src/runtime/a.ts': `import { b } from '../../actors/thread/b.js'\nimport { c } from '../backend/memory/c.js'`,
      },
      {
        'src/cli/main.ts':
          `import { createSkein } from '../index.js'\nimport { b } from './b.js'\nimport { ` +
          `Command } from 'commander'`,
      },
      { 'workers/a.ts': `import { b } from '../src/tools/b.js'\nimport { parentPort } from 'node:worker_threads'` },
      { 'src/core/a.ts': `const text = "import { b } from '../agent/b.js'"` },
    ],
  },
  'there are no cycles': {
    rule: cycles,
    bad: [
      [
        'src/core/b.ts:1',
        { 'src/core/a.ts': `import { b } from './b.js'`, 'src/core/b.ts': `export { a } from './a.js'` },
      ],
      [
        'src/core/c.ts:2',
        {
          'src/core/a.ts': `import './b.js'`,
          'src/core/b.ts': `import { type C } from './c.js'`,
          'src/core/c.ts': `\nimport * as b from './b.js'`,
        },
      ],
      one('src/core/a.ts', `import { a } from './a.js'`),
    ],
    good: [
      { 'src/core/a.ts': `import { b } from './b.js'`, 'src/core/b.ts': `import type { A } from './a.js'` },
      { 'src/core/a.ts': `import './b.js'\nimport './c.js'`, 'src/core/b.ts': `import './c.js'`, 'src/core/c.ts': `` },
    ],
  },
  'files are short': {
    rule: sizes,
    bad: [
      ['src/core/a.ts:401', { 'src/core/a.ts': lines(401) }],
      ['scripts/a.ts:401', { 'scripts/a.ts': lines(401) }],
      ['test/a.test.ts:601', { 'test/a.test.ts': lines(601) }],
    ],
    good: [{ 'src/core/a.ts': lines(400), 'test/a.test.ts': lines(600) }],
  },
  'the median module is shorter': {
    rule: median,
    bad: [['the median', { 'src/core/a.ts': lines(10), 'src/core/b.ts': lines(151), 'workers/c.ts': lines(152) }]],
    good: [
      { 'src/core/a.ts': lines(10), 'src/core/b.ts': lines(150), 'workers/c.ts': lines(399), 'test/a.ts': lines(500) },
      {},
    ],
  },
  'every module opens with what it is': {
    rule: headers,
    bad: [
      core(`import { z } from 'zod'\n/** Late. */`),
      core(`// A line.\nexport const a = 1`),
      core(`/**\n${' * word\n'.repeat(13)} */`),
      one('scripts/a.ts', ``),
      one('test/helpers/a.ts', `export const a = 1`),
    ],
    good: [
      {
        'src/core/a.ts': `/** What it is. */`,
        'workers/a.ts': `/**\n${' * word\n'.repeat(12)} */`,
        'src/cli/main.ts': `#!/usr/bin/env node\n/** The door. */`,
      },
    ],
  },
  'labels of invariants are unique and not of the contract': {
    rule: labels,
    bad: [
      ['src/core/a.ts:4', { 'src/core/a.ts': header('T3  results are in order.') }],
      ['src/core/a.ts:5', { 'src/core/a.ts': header('QA1 fine.', 'T99 a later item.') }],
      ['src/core/a.ts:4', { 'src/core/a.ts': header('E1  what travels.') }],
      ['src/core/b.ts:4', { 'src/core/a.ts': header('QA1 one.'), 'src/core/b.ts': header('QA1 two.') }],
      ['src/core/b.ts:4', { 'src/core/a.ts': header('QAB1 one.'), 'src/core/b.ts': header('QAB1 two.') }],
      ['workers/b.ts:4', { 'workers/a.ts': header('J1  one.'), 'workers/b.ts': header('J1  two.') }],
    ],
    good: [
      {
        'src/core/a.ts': header('QA1 one', 'QA2 two', 'T3 is why.'),
        'src/core/b.ts': `${header('QB1 one')}/**\n * QA1 cited.\n */`,
      },
    ],
  },
  'files are named after what they hold': {
    rule: fileNames,
    bad: [one('src/core/utils.ts', ''), one('actors/thread/types.ts', ''), one('workers/toolState.ts', '')],
    good: [{ 'src/core/tool-state.ts': '', 'src/index.ts': '' }],
  },
  'a folder can be surveyed': {
    rule: folderSizes,
    bad: [
      ['src/core', many('src/core', 21)],
      ['workers', many('workers', 21)],
    ],
    good: [{ ...many('src/core', 20), ...many('src/core/records', 20) }, many('test/src/core', 30)],
  },
  'rooms of the runtime import in one direction': {
    rule: roomDirections,
    bad: [
      one('src/runtime/effects/a.ts', `import { b } from '../resident/b.js'`),
      one('src/runtime/effects/a.ts', `import type { b } from '../host/b.js'`),
      one('src/runtime/resolve/a.ts', `import { b } from '../effects/b.js'`),
      one('src/runtime/journal/a.ts', `export { b } from '../watch/b.js'`),
      one('src/runtime/handles/a.ts', `import { createSkein } from '../skein.js'`),
      one('src/runtime/effects/a.ts', `import { value } from '../services.js'`),
      one('src/runtime/attic/a.ts', ``),
    ],
    good: [
      { 'src/runtime/host/a.ts': `import { b } from '../resident/b.js'\nimport { c } from './c.js'` },
      { 'src/runtime/resident/a.ts': `import { b } from '../effects/b.js'\nimport type { c } from '../services.js'` },
      { 'src/runtime/skein.ts': `import { b } from './host/b.js'\nimport { c } from './identity.js'` },
    ],
  },
  'lines have one width': {
    rule: lineWidths,
    bad: [
      ['src/core/a.ts:2', { 'src/core/a.ts': `\n// ${'x'.repeat(118)}` }],
      ['workers/a.ts:1', { 'workers/a.ts': `const a = '${'x'.repeat(120)}'` }],
    ],
    good: [{ 'src/core/a.ts': 'x'.repeat(120), 'test/a.test.ts': 'x'.repeat(200) }],
  },
  'an exported name is exported once': {
    rule: uniqueExports,
    bad: [
      ['src/core/b.ts:2', { 'src/core/a.ts': `export interface Head {}`, 'src/core/b.ts': `\nexport type Head = 1` }],
      ['workers/b.ts:1', { 'actors/a.ts': `export const b = 1`, 'workers/b.ts': `export async function b() {}` }],
      [
        'src/runtime/b.ts:1',
        { 'src/cli/commands/a.ts': `export function run() {}`, 'src/runtime/b.ts': `export class run {}` },
      ],
    ],
    good: [
      { 'workers/a.ts': `export function run() {}`, 'workers/b.ts': `export async function run() {}` },
      { 'src/cli/commands/a.ts': `export const register = 1`, 'src/cli/commands/b.ts': `export const register = 2` },
      { 'src/runtime/open.ts': `export async function open() {}`, 'src/runtime/skein.ts': `export function open() {}` },
      {
        'src/core/a.ts': `export function a(b: 1): 1\nexport function a(b: 2): 2`,
        'src/core/b.ts': `export { a } from './a.js'`,
      },
    ],
  },
  'an exported name says what it is': {
    rule: retiredWords,
    bad: [
      core(`export interface EffectMeans {}`),
      core(`export const openPurse = 1`),
      core(`export type Moment = 1`),
      core(`export const wanted_by = 1`),
      core(`export function told() {}`),
      core(`export type Place = 1`),
    ],
    good: [
      {
        'src/core/a.ts': `const means = 1\nexport type Momentary = 1\nexport interface ChildTold {}\nexport const place1 = 1`,
      },
    ],
  },
  'no module imports timers': {
    rule: timerImports,
    bad: [
      core(`import { setTimeout } from 'node:timers/promises'`),
      test(`import { scheduler } from 'timers/promises'`),
    ],
    good: [{ 'src/core/a.ts': `import { z } from 'zod'` }],
  },
  'a skipped test says why': {
    rule: reasonedSkips,
    bad: [
      test(`it.skip('a', run)`),
      ['test/a.test.ts:2', { 'test/a.test.ts': `const a = 1\ndescribe.skipIf(a)('b', run)` }],
      test(`test.todo('a')`),
    ],
    good: [
      { 'test/a.test.ts': `// needs a NATS server\nit.skipIf(!nats)('a', run)\n/* later */\nit.todo('b')\nskip('c')` },
    ],
  },
}

const wording: Readonly<Record<string, Omit<Case, 'rule'>>> = {
  'actors/ is synchronous': {
    bad: [one('actors/a.ts', `const a = async () => 1`), one('actors/a.ts', `for await (const b of c) d()`)],
    good: [{ 'actors/a.ts': `/** await */ const awaiting = 'async'`, 'src/runtime/a.ts': `async () => 1` }],
  },
  'actors/ is silent': { bad: [one('actors/a.ts', `console.log(1)`)], good: [{ 'actors/a.ts': `// console` }] },
  'no legacy': {
    bad: [core(`const legacyFormat = 1`), core(`// the Legacy one`), core(`'legacy'`)],
    good: [{ 'src/core/a.ts': `// older` }],
  },
  'no export *': {
    bad: [core(`export * from './b.js'`), core(`export * as b from './b.js'`)],
    good: [{ 'src/core/a.ts': `export { b } from './b.js'` }],
  },
  'no any': {
    bad: [
      core(`let a: any`),
      core(`b as any`),
      core(`new Map<string, any>()`),
      core(`type A = string | any`),
      core(`f(a: any[])`),
      core(`f(a: any, b)`),
      core(`new Map<any, 1>()`),
      core(`<any>b`),
      core(`type F = () => any`),
      core(`let f: (a: any, b: any) => void`),
    ],
    good: [
      {
        'src/core/a.ts': `AbortSignal.any([a])\n// any\nconst b = { any: 1 }\nif (any(a)) return 'any'\nconst many: Many = 1`,
      },
    ],
  },
  'no silenced compiler': {
    bad: [core(`// @ts-ignore`), core(`/* @ts-expect-error */`)],
    good: [{ 'test/a.test.ts': `// @ts-expect-error refused by the type` }],
  },
  'no enum': {
    bad: [core(`enum A { B }`), core(`export const enum A { B }`)],
    good: [{ 'src/core/a.ts': `z.enum(['a'])\n// enum A` }],
  },
  'no namespace': {
    bad: [core(`namespace A {}`), core(`export declare namespace A.B { }`)],
    good: [{ 'src/core/a.ts': `const namespace = 'a'\nopen(namespace)` }],
  },
  'no default export': {
    bad: [core(`export default {}`), core(`export { a as default }`)],
    good: [{ 'examples/a.ts': `export default {}`, 'src/core/a.ts': `switch (a) { default: b() }` }],
  },
  'no empty catch': {
    bad: [
      core(`try { a() } catch {}`),
      core(`try { a() } catch (error) { /* fine */ }`),
      core(`a().catch(() => {})`),
      test(`try { a() } catch {\n}`),
    ],
    good: [{ 'src/core/a.ts': `try { a() } catch (error) { tell(error) }\na().catch((error) => tell(error))` }],
  },
  'nothing unfinished': {
    bad: [
      core(`// TODO write it`),
      core(`/* todo: write it */`),
      core(`// fixme`),
      core(`// FIXME`),
      core(`// a hack`),
      core(`// stub`),
      core(`// a Placeholder`),
      core(`// enough for now`),
    ],
    good: [{ 'src/core/a.ts': `// the todo list of a thread\nconst stub = 'TODO'\n// hackney, stubborn` }],
  },
  'time and chance through ports': {
    bad: [
      core(`Date.now()`),
      core(`const now = Date.now`),
      core(`new Date()`),
      core(`performance.now()`),
      core(`Math.random()`),
      core(`setTimeout(a, 1)`),
      core(`globalThis.setInterval(a)`),
    ],
    good: [
      { 'src/core/clock.ts': `setTimeout(a, Date.now())` },
      { 'src/core/a.ts': `let a: typeof setTimeout\nnew Date(at)\nsetImmediate(b)\nqueueMicrotask(c)` },
    ],
  },
  'process.exit belongs to the command line': {
    bad: [core(`process.exit(1)`)],
    good: [{ 'src/cli/main.ts': `process.exit(1)` }, { 'src/core/a.ts': `process.exitCode = 1` }],
  },
  'tests do not sleep': {
    bad: [
      test(`await new Promise((r) => setTimeout(r, 5))`),
      test(`setTimeout(resolve, 5)`),
      test(`setTimeout(() => resolve(), 5)`),
      test(`await sleep(5)`),
      test(`await delay(10)`),
    ],
    good: [{ 'test/a.test.ts': `bash('sleep(5)')\nclock.advance(10)`, 'bench/a.ts': `sleep(5)` }],
  },
  'tests do not mock': {
    bad: [test(`vi.mock('../src/backend/port.js')`), test(`vi.useFakeTimers()`)],
    good: [{ 'test/a.test.ts': `vi.fn()` }],
  },
  'no focused test': {
    bad: [test(`it.only('a', run)`), test(`describe.sequential.only('a', run)`)],
    good: [{ 'test/a.test.ts': `only('a')\n// it.only` }],
  },
}

const cases: readonly (readonly [string, Case])[] = [
  ...Object.entries(structure),
  ...Object.entries(wording).map(([name, samples]) => [name, { ...samples, rule: habit(name) }] as const),
]

const asSources = (files: Files) => Object.entries(files).map(([path, text]) => ({ path, text }))

const folders = ['src', 'actors', 'workers', 'scripts', 'test']
const tree = readSources(fileURLToPath(new URL('..', import.meta.url)), folders)

describe('the tree', () => {
  it('is read', () => {
    expect(folders.filter((folder) => !tree.some(({ path }) => path.startsWith(`${folder}/`)))).toEqual([])
  })

  it.each(cases)('%s', (_name, { rule }) => {
    expect(rule(tree)).toEqual([])
  })
})

describe('every rule can fail', () => {
  it('and has samples', () => {
    expect(Object.keys(wording).sort()).toEqual(Object.keys(habits).sort())
    expect(cases.filter(([, { bad, good }]) => bad.length === 0 || good.length === 0)).toEqual([])
  })

  it.each(cases)('%s', (_name, { rule, bad, good }) => {
    for (const [place, files] of bad) {
      const found = rule(asSources(files))
      expect(found.length, `nothing found in ${JSON.stringify(files)}`).toBeGreaterThan(0)
      expect(found[0]).toMatch(new RegExp(`^${place.replaceAll('.', String.raw`\.`)} `))
    }
    for (const files of good) expect(rule(asSources(files))).toEqual([])
  })
})

describe('the scanner under the rules', () => {
  const codeOf = (text: string): string => scan({ path: 'a.ts', text }).code

  it.each([
    ["a('b // c') // d", "a('      ')     "],
    ['a /* ` */ + `b ${c({ d: `e` })} f`', 'a         + `  ${c({ d: ` ` })}  `'],
    ['a.replace(/[\'"/[/]]/g, b) / c / d', 'a.replace(/        /g, b) / c / d'],
    ["const a = 'it\\'s' + b", "const a = '     ' + b"],
    ['#!/usr/bin/env node\na', '                   \na'],
  ])('%s', (text, code) => {
    expect(codeOf(text)).toBe(code)
  })

  it('keeps the length of every file of the tree, and its brackets balance', () => {
    const count = (code: string, bracket: string): number => code.split(bracket).length
    for (const source of tree) {
      const { code } = scan(source)
      expect(code.length, source.path).toBe(source.text.length)
      for (const [open, close] of ['{}', '()', '[]'].map((pair) => pair.split(''))) {
        expect(count(code, open ?? ''), `${source.path} has unequal ${open} and ${close}`).toBe(
          count(code, close ?? ''),
        )
      }
    }
  })
})
