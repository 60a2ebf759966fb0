/** docs/conformance.md says which clauses of the contract have tests, and cannot say more than the tests do. */
import { describe, expect, it } from 'vitest'
import { conformancePage, faultsIn, readConformance, unknownIds } from '../scripts/conformance.js'
import { sections } from '../scripts/contract.js'
import { item, open, proved } from '../scripts/contract/clause.js'
import type { Clause, Section } from '../scripts/contract/clause.js'
import { namedTests } from '../scripts/test-names.js'

function testsIn(text: string) {
  return namedTests([{ path: 'test/sample.test.ts', text }])
}

describe('docs/conformance.md', () => {
  it('is what `npm run conformance` writes', () => {
    const { wanted, written } = readConformance()
    expect(written === wanted, 'docs/conformance.md is stale; run: npm run conformance').toBe(true)
  })

  it('every proof is a test that runs, and no test quotes an id that the contract does not have', () => {
    expect(readConformance().faults).toEqual([])
  })
})

it('each section has its letter, and its items are numbered without a gap', () => {
  for (const [title, section] of Object.entries(sections)) {
    expect(Object.keys(section)).toEqual(Object.keys(section).map((_, index) => `${title[0]}${index + 1}`))
  }
})

describe('reading test names', () => {
  it('finds labels in plain, template, tabled, typed and multi-line names', () => {
    const found = testsIn(`
      it('T3: a', run)
      test("T3, LNK4: b", run)
      describe(\`P1: \${name()} recovers\`, run)
      it.each([['x', f(1)]])('F4: with %s', run)
      it.skipIf(!nats)(
        'N1: wrapped', run)
      it(name, run)
      unit('T9: not a test', run)
      const text = "it('T8: in a string')" // it('T7: in a comment')
      it('says T6: in the middle', run)
      it.each<[string, readonly (() => void)[], Partial<Tool>]>([['x', [], {}]])('D4: %s', run)
    `)
    expect(found.map(({ line, labels }) => [line, ...labels])).toEqual([
      [2, 'T3'],
      [3, 'T3', 'LNK4'],
      [4, 'P1'],
      [5, 'F4'],
      [6, 'N1'],
      [11],
      [12, 'D4'],
    ])
  })

  it('a test that is skipped, or may be, is known as such, and so are those within it', () => {
    const found = testsIn(
      `it.skip('a', run)\nit.skipIf(!nats)('b', run)\ndescribe.runIf(nats)('c', () => { it('d', run) })\nit('e', run)`,
    )
    const known = found.map(({ name, skipped, conditional }) => [name, skipped, conditional])
    expect(known).toEqual([
      ['a', true, false],
      ['b', false, true],
      ['c', false, true],
      ['d', false, true],
      ['e', false, false],
    ])
  })

  it('a name has its quotes and its spaces as they are read', () => {
    expect(testsIn(String.raw`it('T3: a \'b\'', run)`).map(({ name }) => name)).toEqual([`T3: a 'b'`])
  })

  it('an unknown id is told with its place; labels of modules are not ids', () => {
    expect(unknownIds(testsIn(`it('J2: ok', run)\nit('ok', run)\nit('T3, T99: bad', run)`))).toEqual([
      'test/sample.test.ts:3 the test quotes T99, which the contract does not have',
    ])
  })
})

describe('the contract', () => {
  const tests =
    testsIn(`it('T3: results are in order', run)\nit('T3: results are stored', run)\nit('T4: twice', run)\nit('T4: twice', run)
    it.skip('T5: later', run)\ndescribe.skip('all of these', () => { it('T6: later', run) })\nit.todo('T7: later')\nit('T8: a | <b>', run)`)
  const sectionOf = (...clauses: readonly Clause[]): Section => ({ T3: item('Order', ...clauses) })
  const pageOf = (...clauses: readonly Clause[]): string => conformancePage({ Tools: sectionOf(...clauses) }, tests)

  it.each<[string, Clause, RegExp]>([
    [
      'of a test that is not there',
      proved('a', 'T3: nothing is in order'),
      /^T3: no test is named "T3: nothing is in order"$/,
    ],
    [
      'of a test that was renamed',
      proved('a', 'T3: results are in disorder'),
      /; is it "T3: results are in order" \(test\/sample/,
    ],
    ['of two tests', proved('a', 'T4: twice'), /"T4: twice" is the name of 2 tests/],
    ['that is cut where two begin alike', proved('a', 'T3: results are …'), /is the name of 2 tests/],
    ['that is skipped', proved('a', 'T5: later'), /"T5: later" is skipped and proves nothing/],
    ['that is skipped with others', proved('a', 'T6: later'), /is skipped/],
    ['that is only meant', proved('a', 'T7: later'), /is skipped/],
    ['of nothing', proved(' ', 'T3: results are stored'), /a clause has no text/],
    ['given twice', proved('a', 'T3: results are stored', 'T3: results are stored'), /names a proof twice/],
    [
      'beside what is missing',
      { ...proved('a', 'T3: results are stored'), missing: 'half' },
      /is proved and says what is missing/,
    ],
  ])('a proof %s is a fault', (_, clause, says) => {
    expect(faultsIn(sectionOf(clause), tests)).toEqual([expect.stringMatching(says)])
  })

  it('a proof may be cut where one test alone begins so; an item has clauses', () => {
    expect(faultsIn(sectionOf(proved('a', 'T3: results are st…'), open('b', 'all of it')), tests)).toEqual([])
    expect(faultsIn(sectionOf(), tests)).toEqual(['T3 has no clauses'])
  })

  it('one open clause keeps an item from being tested, whatever quotes its id', () => {
    const [yes, no] = [proved('a', 'T3: results are stored'), open('b', 'half of it')]
    expect(pageOf(yes)).toContain('| [T3](#t3) | Order | tested |')
    expect(pageOf(yes, no)).toContain('| [T3](#t3) | Order | partly (1 of 2) |')
    expect(pageOf(no)).toContain('| [T3](#t3) | Order | open |')
    expect(pageOf(yes, no)).toContain('**0 of 1** items are tested, **1 of 2** clauses.')
    expect(pageOf(yes, no)).toContain('- ☐ b: *half of it*')
  })

  it('a test that quotes an id and proves no clause of it is listed with the item', () => {
    const page = pageOf(proved('a', 'T3: results are stored'))
    expect(page).toContain('- ☑ a\n  - [sample.test.ts](../test/sample.test.ts) › T3: results are stored')
    expect(page).toContain('\n- [sample.test.ts](../test/sample.test.ts) › T3: results are in order')
  })

  it('a proof that not every machine runs is told as such', () => {
    const some = testsIn(`it.skipIf(!terminal)('C1: is drawn', run)`)
    const section = { C1: item('x', proved('a', 'C1: is drawn')) }
    expect(faultsIn(section, some)).toEqual([])
    expect(conformancePage({ 'Command line': section }, some)).toContain('C1: is drawn *(not on every machine)*')
  })

  it('a name cannot break the page, and the order of files does not matter', () => {
    const clauses = [proved('x | y', 'T8: a | <b>', 'T3: results are stored')]
    expect(pageOf(...clauses)).toContain(String.raw`- ☑ x \| y`)
    expect(pageOf(...clauses)).toContain(String.raw`› T8: a \| &lt;b>`)
    expect(conformancePage({ Tools: sectionOf(...clauses) }, [...tests].reverse())).toBe(pageOf(...clauses))
  })
})
