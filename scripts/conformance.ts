/**
 * Writes docs/conformance.md: every clause of the contract, the tests that prove it, and what is open. `npm run
 * conformance` writes it; with `-- --check` it exits 1 when the page is stale. Either exits 1 when the contract has a
 * fault.
 *
 * - A clause is tested when each of its proofs is a test that runs. A proof that names no test, a skipped one or
 *   several is a fault.
 * - An item is tested when all of its clauses are. A test that quotes its id proves nothing by that; it is listed,
 *   so that none is lost.
 * - The same tests give the same bytes: no dates, no line numbers.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { contract, hasContractForm, sections } from './contract.js'
import type { Clause, Item, Section } from './contract/clause.js'
import { readSources } from './source.js'
import { namedTests } from './test-names.js'
import type { NamedTest } from './test-names.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const page = 'docs/conformance.md'

/** Quoted ids of the contract's form that the contract does not have, as `file:line says`. */
export function unknownIds(tests: readonly NamedTest[]): readonly string[] {
  return tests.flatMap(({ path, line, labels }) =>
    labels
      .filter((label) => hasContractForm(label) && !(label in contract))
      .map((label) => `${path}:${line} the test quotes ${label}, which the contract does not have`),
  )
}

/** The tests that a proof may mean: one, or there is a fault. */
function meantBy(proof: string, tests: readonly NamedTest[]): readonly NamedTest[] {
  const beginning = proof.endsWith('…') ? proof.slice(0, -1) : undefined
  return tests.filter(({ name }) => (beginning === undefined ? name === proof : name.startsWith(beginning)))
}

/** What is wrong with the contract itself. */
export function faultsIn(section: Section, tests: readonly NamedTest[]): readonly string[] {
  return Object.entries(section).flatMap(([id, { title, clauses }]) => [
    ...(title.trim() === '' ? [`${id} has no title`] : []),
    ...(clauses.length === 0 ? [`${id} has no clauses`] : []),
    ...clauses.flatMap((clause) => faultsOf(clause, tests).map((fault) => `${id}: ${fault}`)),
  ])
}

function faultsOf({ says, proofs, missing }: Clause, tests: readonly NamedTest[]): readonly string[] {
  const faults = proofs.flatMap((proof) => {
    const [test, ...others] = meantBy(proof, tests)
    if (!test) return [`no test is named "${proof}"${renamed(proof, tests)}`]
    if (others.length > 0) {
      const places = [test, ...others].map(({ path }) => path).join(', ')
      return [`"${proof}" is the name of ${others.length + 1} tests (${places}); rename one of them`]
    }
    return test.skipped ? [`"${proof}" is skipped and proves nothing`] : []
  })
  if (says.trim() === '') faults.push('a clause has no text')
  if (new Set(proofs).size < proofs.length) faults.push(`"${says}" names a proof twice`)
  if (missing !== undefined && proofs.length > 0) faults.push(`"${says}" is proved and says what is missing`)
  return faults
}

/** Of a proof that names no test: the one whose name begins most alike, for whoever renamed it. */
function renamed(proof: string, tests: readonly NamedTest[]): string {
  const [nearest] = tests.toSorted((a, b) => alike(b.name, proof) - alike(a.name, proof))
  return nearest && alike(nearest.name, proof) >= 16 ? `; is it "${nearest.name}" (${nearest.path}) now?` : ''
}

/** How many letters two texts begin alike with. */
function alike(one: string, other: string): number {
  let at = 0
  while (at < one.length && one[at] === other[at]) at++
  return at
}

const isTested = ({ proofs }: Clause): boolean => proofs.length > 0

function stateOf({ clauses }: Item): string {
  const tested = clauses.filter(isTested).length
  if (tested === clauses.length) return 'tested'
  return tested === 0 ? 'open' : `partly (${tested} of ${clauses.length})`
}

export function conformancePage(chapters: Readonly<Record<string, Section>>, tests: readonly NamedTest[]): string {
  const items = Object.values(chapters).flatMap((section) => Object.entries(section))
  const clauses = items.flatMap(([, item]) => item.clauses)
  const whole = items.filter(([, item]) => stateOf(item) === 'tested').length
  return [
    '# Conformance',
    '',
    'What Skein must do, item by item, and the tests that prove it. `npm run conformance` writes this page from',
    '`scripts/contract/` and the names of the tests; do not edit it by hand. A clause is *tested* if a test would fail',
    'without it, else *open*; an item is tested when all of its clauses are.',
    '',
    `**${whole} of ${items.length}** items are tested, **${clauses.filter(isTested).length} of ` +
      `${clauses.length}** clauses.`,
    '',
    '| id | item | state |',
    '|---|---|---|',
    ...items.map(([id, item]) => `| [${id}](#${id.toLowerCase()}) | ${item.title} | ${stateOf(item)} |`),
    '',
    ...Object.entries(chapters).flatMap(([title, section]) => [
      `## ${title}`,
      '',
      ...Object.entries(section).flatMap(([id, item]) => itemLines(id, item, tests)),
    ]),
  ].join('\n')
}

function itemLines(id: string, item: Item, tests: readonly NamedTest[]): readonly string[] {
  const proving = new Set(item.clauses.flatMap(({ proofs }) => proofs.flatMap((proof) => meantBy(proof, tests))))
  const others = tests.filter((test) => test.labels.includes(id) && !proving.has(test))
  return [
    `### ${id}`,
    '',
    `**${item.title}**: ${stateOf(item)}.`,
    '',
    ...item.clauses.flatMap((clause) => clauseLines(clause, tests)),
    '',
    ...(others.length > 0
      ? [`<details><summary>other tests of ${id}</summary>`, '', ...testLines(others), '', '</details>', '']
      : []),
  ]
}

function clauseLines(clause: Clause, tests: readonly NamedTest[]): readonly string[] {
  const { says, proofs, missing } = clause
  if (!isTested(clause)) return [`- ☐ ${plain(says)}${missing === undefined ? '' : `: *${plain(missing)}*`}`]
  const proving = proofs.flatMap((proof) => meantBy(proof, tests))
  return [`- ☑ ${plain(says)}`, ...testLines(proving).map((line) => `  ${line}`)]
}

function testLines(tests: readonly NamedTest[]): readonly string[] {
  return tests.map((test) => `- ${linkTo(test)}`).sort()
}

function linkTo({ path, name, skipped, conditional }: NamedTest): string {
  return `[${path.replace(/^test\//, '')}](../${path}) › ${plain(name)}${noteOn({ skipped, conditional })}`
}

function noteOn({ skipped, conditional }: Pick<NamedTest, 'skipped' | 'conditional'>): string {
  if (skipped) return ' *(skipped)*'
  return conditional ? ' *(not on every machine)*' : ''
}

/** Names of tests may hold what Markdown would obey. */
function plain(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
}

interface Conformance {
  readonly faults: readonly string[]
  readonly wanted: string
  readonly written: string
}

export function readConformance(): Conformance {
  const tests = namedTests(readSources(root, ['test']))
  const faults = [...unknownIds(tests), ...faultsIn(contract, tests)]
  return { faults, wanted: conformancePage(sections, tests), written: readPage() }
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
  const { faults, wanted, written } = readConformance()
  for (const line of faults) console.error(line)
  if (faults.length > 0) process.exitCode = 1
  if (wanted === written) return
  if (mode === 'write') writeFileSync(join(root, page), wanted)
  else {
    console.error(`${page} is stale; run: npm run conformance`)
    process.exitCode = 1
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv.includes('--check') ? 'check' : 'write')
