/**
 * Writes docs/conformance.md: contract id → tests → state, read from the names of the tests and from nothing
 * else. `npm run conformance` writes it, `npm run conformance -- --check` exits 1 when it is stale.
 *
 * CF1 A test proves an item by beginning its name with the id: `T3: …`, or `T3, T4: …` for several.
 * CF2 A skipped or intended test proves nothing: it is listed as such and leaves the item open.
 * CF3 The same tests give the same bytes: no dates, no line numbers.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { contract, hasContractForm } from './contract.js'
import { lineAt, readSources, scan } from './source.js'
import type { Source } from './source.js'

export interface NamedTest {
  readonly path: string
  readonly line: number
  readonly name: string
  /** Labels at the start of the name: contract ids, or invariants of modules. */
  readonly labels: readonly string[]
  readonly skipped: boolean
}

const root = fileURLToPath(new URL('..', import.meta.url))
const page = 'docs/conformance.md'

/** `it(`, `it.skip(`, `it.each(…)(`, `test.prop([…])(`: the last of these parentheses opens on the name. */
const testCall = /(?<![\w$.])(?:it|test|describe)(?=[.(])/g
const labelled = /^([A-Z]{1,2}\d+(?:, ?[A-Z]{1,2}\d+)*): /

export function namedTests(sources: readonly Source[]): readonly NamedTest[] {
  return sources.flatMap((source) => {
    const { code, literals } = scan(source)
    const calls = [...code.matchAll(testCall)].flatMap((match) => callAt(code, match.index, match[0].length))
    const skips = calls.filter(({ modifiers }) => modifiers.includes('skip') || modifiers.includes('todo'))
    return calls.map(({ start, quote }) => {
      const name = literals.get(quote) ?? ''
      const labels = labelled.exec(name)?.[1]?.split(/, ?/) ?? []
      const skipped = skips.some((skip) => skip.start <= start && start < skip.end)
      return { path: source.path, line: lineAt(source.text, start), name, labels, skipped }
    })
  })
}

interface TestCall {
  readonly start: number
  readonly end: number
  readonly quote: number
  readonly modifiers: readonly string[]
}

/** Walks over `.modifier`, `(args)` and the table of `each` to the parenthesis that opens on a literal. */
function callAt(code: string, start: number, wordLength: number): readonly TestCall[] {
  const modifiers: string[] = []
  let at = start + wordLength
  while (at < code.length) {
    const modifier = /^\s*\.(\w+)/.exec(code.slice(at, at + 80))
    if (modifier?.[1]) {
      modifiers.push(modifier[1])
      at += modifier[0].length
      continue
    }
    const open = /^\s*\(\s*/.exec(code.slice(at, at + 400))
    if (!open) return []
    const quote = at + open[0].length
    const end = closingOf(code, at + open[0].indexOf('(')) + 1
    if (/['"`]/.test(code[quote] ?? '')) return [{ start, end, quote, modifiers }]
    at = end
  }
  return []
}

function closingOf(code: string, open: number): number {
  let depth = 0
  for (let at = open; at < code.length; at++) {
    if (code[at] === '(') depth++
    else if (code[at] === ')' && --depth === 0) return at
  }
  return code.length
}

/** Quoted ids of the contract's form that the contract does not have, as `file:line says`. */
export function unknownIds(tests: readonly NamedTest[]): readonly string[] {
  return tests.flatMap(({ path, line, labels }) =>
    labels
      .filter((label) => hasContractForm(label) && !(label in contract))
      .map((label) => `${path}:${line} the test quotes ${label}, which the contract does not have`),
  )
}

export function conformancePage(tests: readonly NamedTest[]): string {
  const ids = Object.keys(contract)
  const rows = ids.map((id) => {
    const proofs = tests.filter(({ labels }) => labels.includes(id))
    const count = proofs.filter(({ skipped }) => !skipped).length
    const cell = proofs.map(cellOf).sort().join('<br>')
    return { count, text: `| ${id} | ${contract[id]} | ${cell} | ${count > 0 ? `tested (${count})` : 'open'} |` }
  })
  const tested = rows.filter(({ count }) => count > 0).length
  return [
    '# Conformance',
    '',
    'What Skein must do, and the tests that prove it. Written by `npm run conformance` from the names of the',
    'tests; do not edit it by hand.',
    '',
    `**${tested} of ${ids.length}** items have a test.`,
    '',
    '| id | title | tests | state |',
    '|---|---|---|---|',
    ...rows.map(({ text }) => text),
    '',
  ].join('\n')
}

function cellOf({ path, name, skipped }: NamedTest): string {
  const shown = name.replace(/\\(['"`])/g, '$1').replaceAll('|', '\\|').replaceAll('<', '&lt;').replace(/\s+/g, ' ')
  return `[${path.replace(/^test\//, '')}](../${path}) › ${shown}${skipped ? ' *(skipped)*' : ''}`
}

export function readConformance(): { readonly tests: readonly NamedTest[]; readonly wanted: string; readonly written: string } {
  const tests = namedTests(readSources(root, ['test']))
  return { tests, wanted: conformancePage(tests), written: readPage() }
}

function readPage(): string {
  try {
    return readFileSync(join(root, page), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

function main(mode: 'check' | 'write'): void {
  const { tests, wanted, written } = readConformance()
  const unknown = unknownIds(tests)
  for (const line of unknown) console.error(line)
  if (unknown.length > 0) process.exitCode = 1
  if (wanted === written) return
  if (mode === 'write') writeFileSync(join(root, page), wanted)
  else {
    console.error(`${page} is stale; run: npm run conformance`)
    process.exitCode = 1
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv.includes('--check') ? 'check' : 'write')
