/**
 * Measures of the house, beside those of the first survey: `npm run measures`. Sizes, widths, density and coupling of
 * src, actors and workers; of the tests only their width. It judges nothing: limits are rules of
 * test/architecture.test.ts.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cycles, invariantsOf } from '../test/helpers/architecture.js'
import { uniqueExports } from '../test/helpers/layout-rules.js'
import { countLines, importsOf, readSources, scan } from './source.js'
import type { Source } from './source.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const product = ['src', 'actors', 'workers']
const sources = readSources(root, product)
const tests = readSources(root, ['test'])

/** A row: what is measured, now, and in the first survey where that has it. */
type Row = readonly [measure: string, now: string | number, survey?: string | number]

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)
const perThousand = (count: number): string => ((count * 1_000) / lines).toFixed(1)

function quantile(numbers: readonly number[], part: number): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor((numbers.length - 1) * part)] ?? 0
}

function countsOf(keys: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  return counts
}

const lengths = sources.map(({ text }) => countLines(text))
const lines = sum(lengths)

function sizes(): readonly Row[] {
  const folders = countsOf(sources.map(({ path }) => path.slice(0, path.lastIndexOf('/'))))
  const [biggest, modules] = [...folders].toSorted(([, a], [, b]) => b - a)[0] ?? ['', 0]
  return [
    ['files', sources.length, 399],
    ['lines', lines, 37_092],
    ['lines of a file: median', quantile(lengths, 0.5), 79],
    ['lines of a file: p90', quantile(lengths, 0.9), 195],
    ['lines of a file: max', quantile(lengths, 1), 396],
    ['folders', folders.size, 20],
    [`modules of the biggest folder (${biggest})`, modules, 81],
  ]
}

// ── width and density ──

function wide(all: readonly Source[]): string {
  const widths = all.flatMap(({ text }) => text.split('\n').map((line) => line.length))
  const count = widths.filter((width) => width > 120).length
  return `${count} (${((count * 100) / widths.length).toFixed(1)} %)`
}

const matchesOf = (pattern: RegExp): number =>
  sum(sources.map((source) => [...scan(source).code.matchAll(pattern)].length))

/** How many findings oxlint has of each of its rules. */
function lintFindings(): ReadonlyMap<string, number> {
  const oxlint = join(root, 'node_modules/.bin/oxlint')
  const { stdout } = spawnSync(oxlint, ['-f', 'json', ...product], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  const { diagnostics } = JSON.parse(stdout) as { readonly diagnostics: readonly { readonly code: string }[] }
  return countsOf(diagnostics.map(({ code }) => code))
}

function density(): readonly Row[] {
  const findings = lintFindings()
  const spreads = matchesOf(/\.\.\.\((?:[^(){}]|\([^()]*\))*&&\s*\{/g)
  return [
    ['lines over 120 columns', wide(sources), '1813 (5.4 %)'],
    ['lines over 120 columns in tests', wide(tests), '2358 (8.5 %)'],
    ['functions over complexity 15', findings.get('eslint(complexity)') ?? 0, 42],
    ['nested ternaries', findings.get('eslint(no-nested-ternary)') ?? 0, 82],
    ['comma expressions', findings.get('eslint(no-sequences)') ?? 0, 45],
    ['conditional spreads', spreads, 488],
    ['conditional spreads per 1,000 lines', perThousand(spreads), 13],
  ]
}

// ── names and labels ──

const bareLabel = /^(?:\/\/|\/\*\*?)\s*(?:[A-Z]{1,3}\d{1,2}[,.:]?\s*)+(?:\*\/)?$/

function names(): readonly Row[] {
  const comments = sources.flatMap((source) => scan(source).comments)
  return [
    ['labels of invariants', sum(sources.map((source) => invariantsOf(source).length)), 590],
    ['comments that are a bare label', comments.filter(({ text }) => bareLabel.test(text.trim())).length, 78],
    ['exported names that two modules share', uniqueExports(sources).length],
    ['share of comments', `${commentShare(comments)} %`, '15 %'],
  ]
}

function commentShare(comments: readonly { readonly text: string }[]): number {
  return Math.round((sum(comments.map(({ text }) => text.split('\n').length)) * 100) / lines)
}

// ── coupling ──

function coupling(): readonly Row[] {
  // The doors only list what is public.
  const fanOut = sources
    .filter(({ path }) => path !== 'src/index.ts' && path !== 'src/testing.ts')
    .map((source): readonly [string, number] => {
      const targets = importsOf(source).flatMap(({ target }) => target ?? [])
      return [source.path, new Set(targets).size]
    })
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 10)
  return [
    ['value cycles', cycles(sources).length, 0],
    ...fanOut.map(([path, count], index): Row => [`fan-out of ${path}`, count, surveyedFanOut[index] ?? '']),
  ]
}

/** The ten highest of the survey, in their order: resident, request, skein, effects, commands, fold, … */
const surveyedFanOut = [32, 25, 24, 23, 21, 21, 20, 20, 20]

function table(rows: readonly Row[]): string {
  const cells = rows.map(([measure, now, survey = '–']) => [measure, String(now), String(survey)])
  const all = [['measure', 'now', 'survey'], ...cells]
  const [width = 0, ...others] = [0, 1, 2].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  return all
    .map(([measure = '', ...values]) => {
      const right = values.map((value, index) => value.padStart(others[index] ?? 0))
      return `${measure.padEnd(width)}  ${right.join('  ')}`
    })
    .join('\n')
}

console.log(table([...sizes(), ...density(), ...names(), ...coupling()]))
