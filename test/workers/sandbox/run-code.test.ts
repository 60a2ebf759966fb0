import { runInThisContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toJson } from '../../../src/core/json.js'
import type { Json } from '../../../src/core/json.js'
import { mostCharacters } from '../../../workers/sandbox/guest.js'
import { createRunCode } from '../../../workers/sandbox/run-code.js'
import { mostLogCharacters, mostLogs, mostReports } from '../../../workers/sandbox/guest-output.js'
import type { CodeOptions } from '../../../src/tools/code.js'

const runCode = createRunCode()

async function valueOf(source: string, options?: CodeOptions): Promise<unknown> {
  const { status, error, result } = await runCode(source, options)
  return status === 'success' ? result : { status, ...error }
}

describe('what the code comes to', () => {
  it.each<[string, CodeOptions, Json]>([
    ['export default 6 * 7', {}, 42],
    ['export default Promise.resolve([1])', {}, [1]],
    ['const six = await Promise.resolve(6); export default six * 7', {}, 42],
    ['export const other = 1', {}, null],
    ['export default function later() {}', {}, '[function later]'],
    ['export function add(a, b) { return a + b }', { execute: { name: 'add', args: [1, 2] } }, 3],
    ['export async function run() { await null; return [...arguments] }', { execute: 'run' }, []],
    ['export default async (name) => `hello ${name}`', { execute: { name: 'default', args: ['you'] } }, 'hello you'],
    ['export function then() { return 1 }', { execute: 'then' }, 1],
    [
      'export default [size, Map.of, typeof Date]',
      { globals: { size: 2, Map: { of: 'my own' }, Date: 'x', NaN_: null } },
      [2, 'my own', 'string'],
    ],
    [
      'import { six } from "./six.js"; export default six * 7',
      { modules: { './six.js': 'export const six = 2 * (await import("three")).default', three: 'export default 3' } },
      42,
    ],
  ])('X1: %s has its value', async (source, options, value) => {
    expect(await valueOf(source, options)).toEqual(value)
  })

  it('any JSON goes in by a global, through a host function and out unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 4 }), async (value) => {
        const given = toJson(value)
        const options = { globals: { given }, imports: { same: (one: Json) => one, later: async (one: Json) => one } }
        expect(
          await valueOf(
            'import { same, later } from "host"; report(given); export default [given, same(given), await ' +
              'later(given)]',
            options,
          ),
        ).toEqual([given, given, given])
      }),
      { numRuns: 40 },
    )
  })

  it.each([
    '[() => 1]',
    '[function named() {}, class A {}, 10n ** 30n, Symbol("s"), undefined, , NaN, -Infinity, -0]',
    '{ f() {}, u: undefined, m: new Map([[1, { a: 2n }]]), s: new Set([[1]]), d: new Date(0), bad: new Date(NaN) }',
    '(() => { const a = { b: [] }; a.b.push(a, a.b); return a })()',
    '[new TypeError("no"), new Uint8Array(3), new ArrayBuffer(2), /x/]',
    '{ get a() { throw new Error("shy") }, toString: null, ["__proto__"]: 1 }',
    '[{ toJSON() { return [1n] } }, { toJSON() { throw new Error("mute") } }, Object.create(null)]',
    '["\\u0000", "\\ud800", "é😀", "\\u2028"]',
    '(() => { let a = []; for (let i = 0; i < 2000; i++) a = [a]; return a })()',
  ])('%s reads as toJson has it', async (expression) => {
    expect(await valueOf(`export default (${expression})`)).toEqual(toJson(runInThisContext(`(${expression})`)))
  })

  it('a value that is too long is refused where it would cross', async () => {
    const source = (use: string) => `import { take } from 'host'; const long = 'x'.repeat(${mostCharacters}); ${use}`
    const options = { imports: { take: () => null } }
    for (const use of ['export default long', 'report(long)', 'take(long)']) {
      expect(await valueOf(source(use), options)).toMatchObject({
        name: 'RangeError',
        message: expect.stringContaining(`${mostCharacters} is the limit`),
      })
    }
  })
})

describe('what the code throws', () => {
  it.each([
    ['throw new TypeError("no")', { name: 'TypeError', message: 'no', stack: expect.stringContaining('code:1:') }],
    ['\n\nlet a = ;', { name: 'SyntaxError', message: expect.stringMatching(/\(code:3:\d+\)$/) }],
    ['throw "text"', { name: 'Error', message: 'thrown value: text' }],
    ['await Promise.reject({ a: 1 })', { message: 'thrown value: {"a":1}' }],
    ['const f = () => { throw new Error("deep") }; export default { toJSON: f, then: f }', { message: 'deep' }],
    ['import "other"', { message: 'in there', stack: expect.stringContaining('other:2:') }],
  ])('X1: %s is told', async (source, error) => {
    const result = await runCode(source, { modules: { other: '\nthrow new Error("in there")' } })
    expect(result).toMatchObject({ status: 'error', error })
    expect(result.error?.stack ?? '').not.toContain('skein:')
  })
})

describe('TypeScript', () => {
  it('X1: types are stripped, in modules too', async () => {
    const source = `import { size, type Shape } from './shape.ts'
      enum Side { Left, Right }
      export function run<T extends Shape>(shape: T): number { return size(shape satisfies Shape)! + Side.Right }`
    const modules = {
      './shape.ts':
        'export interface Shape { a: number }; export const size = (shape: Shape): number | undefined => shape.a',
    }
    expect(await valueOf(source, { language: 'ts', modules, execute: { name: 'run', args: [{ a: 41 }] } })).toBe(42)
  })

  it('X1: a syntax error tells its line and module', async () => {
    expect(await valueOf('const a: number = 1\nconst b: = 2', { language: 'ts' })).toMatchObject({
      status: 'error',
      name: 'SyntaxError',
      message: expect.stringContaining('(code:2:10)'),
    })
    expect(await valueOf('import "m"', { language: 'ts', modules: { m: '\n\nlet x: = 1' } })).toMatchObject({
      message: expect.stringContaining('(m:3:8)'),
    })
  })

  it('a stack has the lines that were written', async () => {
    const source =
      'interface A {\n  a: number\n}\n\nfunction fail(a: A): never {\n  throw new Error(`${a.a}`)\n}\nfail({ a: 1 })'
    const { error } = await runCode(source, { language: 'ts' })
    expect(error?.stack?.match(/code:\d+/g)).toEqual(['code:6', 'code:8'])
  })

  it('a long source is stripped apart, with the same outcome', async () => {
    const long = `const list: number[] = [${'1,'.repeat(5_000)}]\n`
    expect(await valueOf(`${long}export default list.length`, { language: 'ts' })).toBe(5_000)
    expect(await valueOf(`${long}let b: = 2`, { language: 'ts' })).toMatchObject({
      message: expect.stringContaining('(code:2:8)'),
    })
    const { error } = await runCode(`${long}interface A { a: 1 }\nthrow new Error('here')`, { language: 'ts' })
    expect(error?.stack).toContain('code:3:')
  })
})

describe('link errors', () => {
  const bad = (options: unknown): CodeOptions => options as CodeOptions
  it.each<[string, CodeOptions, string]>([
    ['1', bad({ speed: 1 }), 'Unrecognized key: "speed"'],
    ['1', bad({ language: 'py' }), 'language: '],
    ['1', bad({ imports: { f: 1 } }), 'imports.f: must be a function'],
    ['1', bad({ imports: { 'a-b': () => 1 } }), 'a name that JavaScript can import'],
    ['1', bad({ globals: { f: () => 1 } }), 'pass functions by `imports`'],
    ['1', bad({ globals: { undefined: 1 } }), 'cannot be a global'],
    ['1', bad({ modules: { host: '' } }), 'not free'],
    ['1', bad({ modules: { m: 1 } }), 'modules.m: '],
    ['1', { memoryLimitBytes: 1 }, 'memoryLimitBytes: '],
    ['1', { timeoutMs: 0 }, 'timeoutMs: '],
    ['1', bad('fast'), 'options of runCode: '],
    ['export const a = 1', { execute: 'run' }, "Could not find export 'run'"],
    ['export const run = 1', { execute: 'run' }, 'the export run is no function'],
    ['1', { execute: '' }, 'execute'],
    ['import "nowhere"', { modules: { m: '' } }, '"nowhere", which is not there; there is host, m'],
    ['await import("nowhere")', {}, '"nowhere"'],
    ['import { f } from "host"', { imports: { g: () => 1 } }, "Could not find export 'f'"],
    ['import { f } from "m"', { modules: { m: 'export const g = 1' } }, "Could not find export 'f'"],
  ])('X1: %s with %o', async (source, options, message) => {
    expect(await runCode(source, options)).toMatchObject({
      status: 'link_error',
      error: { name: 'LinkError', message: expect.stringContaining(message) },
    })
  })

  it('X1: the code itself must be a text', async () => {
    expect(await runCode(bad(null) as string)).toMatchObject({ status: 'link_error', logs: [], reports: [] })
  })

  it('a missing export is found before any code runs', async () => {
    const { status, logs } = await runCode('console.log("ran")', { execute: 'run' })
    expect({ status, logs }).toEqual({ status: 'link_error', logs: [] })
  })

  it('code that expects a missing module goes on', async () => {
    expect(await valueOf('export default await import("nowhere").catch(() => "without")')).toBe('without')
  })
})

describe('host functions', () => {
  it('X1: what one throws is an Error inside', async () => {
    const imports = {
      now: () => {
        throw new TypeError('not now')
      },
      later: async () => Promise.reject(new RangeError('not later')),
      odd: async () => Promise.reject('odd'),
    }
    const source = `import * as host from 'host'
      const caught = async (f) => { try { await f() } catch (e) { return [e instanceof Error, e.name, e.message] } }
      export default [await caught(host.now), await caught(host.later), await caught(host.odd)]`
    expect(await valueOf(source, { imports })).toEqual([
      [true, 'TypeError', 'not now'],
      [true, 'RangeError', 'not later'],
      [true, 'Error', 'odd'],
    ])
    expect(await valueOf('import { now } from "host"; now()', { imports })).toMatchObject({
      status: 'error',
      name: 'TypeError',
      message: 'not now',
    })
  })

  it('many overlap, and each call gets its own answer', async () => {
    const waiting: (() => void)[] = []
    const imports = {
      // Answers only when all twenty have been asked, the last one first.
      square: (n: Json) =>
        new Promise((resolve) => {
          waiting.unshift(() => resolve(Number(n) ** 2))
          if (waiting.length === 20) for (const answer of waiting) answer()
        }),
    }
    const source =
      'import { square } from "host"; export default await Promise.all(Array.from({ length: 20 }, (_, n) => square(n)))'
    expect(await valueOf(source, { imports })).toEqual(Array.from({ length: 20 }, (_, n) => n ** 2))
  })

  it.each([
    ['calls', 'for (;;) slow(1)', 1_000],
    ['args', 'const long = "x".repeat(8e6); for (;;) slow(long)', 4],
  ])('a flood of %s that nobody awaits is refused inside', async (_name, flood, most) => {
    let calls = 0
    const imports = {
      slow: async () => {
        calls++
      },
    }
    expect(await valueOf(`import { slow } from 'host'; ${flood}`, { imports })).toMatchObject({
      status: 'error',
      name: 'RangeError',
      message: `${most} calls of host functions are unanswered; await some of them first`,
    })
    expect(calls).toBe(most)
  })

  it('a run may start another', async () => {
    const imports = { again: (n: Json) => valueOf('export default n + 1', { globals: { n } }) }
    expect(await valueOf('import { again } from "host"; export default await again(await again(1))', { imports })).toBe(
      3,
    )
  })
})

describe('what is not there', () => {
  const absent = [
    'process',
    'require',
    'module',
    'Buffer',
    'fetch',
    'XMLHttpRequest',
    'WebSocket',
    'Worker',
    'WebAssembly',
    'performance',
    'setTimeout',
    'setInterval',
    'setImmediate',
    'queueMicrotask',
    'navigator',
    'Deno',
    'std',
    'os',
    'skein:host',
  ]

  it('X1: no host globals, no network, no timers, no process', async () => {
    const globals = { absent }
    expect(await valueOf('export default absent.filter((name) => name in globalThis)', { globals })).toEqual([])
  })

  it.each([
    'new Function("return typeof process")()',
    '(0, eval)("typeof process")',
    'give.constructor("return typeof process")()',
    'give().constructor.constructor("return typeof process")()',
    '(() => { try { fail() } catch (e) { return e.constructor.constructor("return typeof process")() } })()',
    'console.log.constructor("return typeof process")()',
    '(await later()).constructor.constructor("return typeof process")()',
  ])('X1: %s leads nowhere', async (expression) => {
    const imports = {
      give: () => ({}),
      later: async () => ({}),
      fail: () => {
        throw new Error('x')
      },
    }
    expect(await valueOf(`import { give, later, fail } from 'host'; export default ${expression}`, { imports })).toBe(
      'undefined',
    )
  })

  it('X1: nothing is left for the next run', async () => {
    await runCode('globalThis.left = 1; Object.prototype.left = 2; Array.prototype.push = null')
    expect(await valueOf('export default [typeof left, {}.left, typeof [].push]')).toEqual([
      'undefined',
      null,
      'function',
    ])
  })

  it.each([
    'node:fs',
    'fs',
    './x.js',
    '/etc/passwd',
    'data:text/javascript,1',
    'file:///etc/passwd',
    'https://example.com/x.js',
  ])('X1: %s cannot be imported', async (specifier) => {
    expect(await runCode(`import ${JSON.stringify(specifier)}`)).toMatchObject({ status: 'link_error' })
  })
})

describe('what the code says', () => {
  it('X1: logs and reports are kept in order, whatever becomes of the code', async () => {
    const source =
      'console.log("a", 1, { b: [2n] }); console.warn(new TypeError("w")); console.table([1]); report({ n: 1 }); ' +
      'console.error("\\u0000x"); report(null); throw new Error("x")'
    const { logs, reports, status } = await runCode(source)
    expect(status).toBe('error')
    expect(reports).toEqual([{ n: 1 }, null])
    expect(logs).toEqual([
      { level: 'log', text: 'a 1 {"b":["2"]}' },
      { level: 'warn', text: 'TypeError: w' },
      { level: 'log', text: '[1]' },
      { level: 'error', text: '\u0000x' },
    ])
  })

  it('logs past the cap are dropped, and the last one says so', async () => {
    const many = await runCode('for (let i = 0; i < 5000; i++) console.log(i); export default 1')
    expect(many.logs).toHaveLength(mostLogs + 1)
    expect(many.logs.at(-1)?.text).toContain('further logs dropped')
    const source = 'for (let i = 0; i < 100; i++) console.log("x".repeat(1e6)); export default 1'
    const long = await runCode(source, { timeoutMs: 60_000 })
    expect(long.logs.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThan(mostLogCharacters + 200)
    expect(long.status).toBe('success')
  })

  it('a report past the cap throws', async () => {
    const { reports, error } = await runCode('for (let i = 0; ; i++) report(i)')
    expect(reports).toHaveLength(mostReports)
    expect(error).toMatchObject({ name: 'RangeError', message: expect.stringContaining('only 1000 reports') })
  })
})
