/** docs/conformance.md says what the tests' names say, and the names quote only ids that exist. */
import { describe, expect, it } from 'vitest'
import { conformancePage, namedTests, readConformance, unknownIds } from '../scripts/conformance.js'

function testsIn(text: string) {
  return namedTests([{ path: 'test/sample.test.ts', text }])
}

describe('docs/conformance.md', () => {
  it('is what `npm run conformance` writes', () => {
    const { wanted, written } = readConformance()
    expect(written === wanted, 'docs/conformance.md is stale; run: npm run conformance').toBe(true)
  })

  it('no test quotes an id that the contract does not have', () => {
    expect(unknownIds(readConformance().tests)).toEqual([])
  })
})

describe('reading test names', () => {
  it('CF1: finds ids in plain, template, tabled and multi-line names', () => {
    const found = testsIn(`
      it('T3: a', run)
      test("T3, T4: b", run)
      describe(\`P1: \${name()} recovers\`, run)
      it.each([['x', f(1)]])('F4: with %s', run)
      it.skipIf(!nats)(
        'N1: wrapped', run)
      it(name, run)
      unit('T9: not a test', run)
      const text = "it('T8: in a string')" // it('T7: in a comment')
      it('says T6: in the middle', run)
    `)
    expect(found.map(({ line, labels }) => [line, ...labels])).toEqual([
      [2, 'T3'],
      [3, 'T3', 'T4'],
      [4, 'P1'],
      [5, 'F4'],
      [6, 'N1'],
      [11],
    ])
  })

  it('CF2: a skipped test leaves its item open', () => {
    const page = conformancePage(testsIn(`it.skip('T3: later', run)\nit.todo('T4: later')\nit('T5: now', run)
      describe.skip('all of these', () => { it('T6: later', run) })`))
    expect(page).toMatch(/^\| T3 \|.*\*\(skipped\)\* \| open \|$/m)
    expect(page).toMatch(/^\| T4 \|.*\*\(skipped\)\* \| open \|$/m)
    expect(page).toMatch(/^\| T6 \|.*\*\(skipped\)\* \| open \|$/m)
    expect(page).toMatch(/^\| T5 \|.* \| tested \(1\) \|$/m)
  })

  it('an unknown id is told with its place; labels of modules are not ids', () => {
    expect(unknownIds(testsIn(`it('J2: ok', run)\nit('TM1: ok', run)\nit('T3, T99: bad', run)`))).toEqual([
      'test/sample.test.ts:3 the test quotes T99, which the contract does not have',
    ])
  })

  it('CF3: a name cannot break the table, and the order of files does not matter', () => {
    const tests = testsIn(`it('T3: a | b', run)\nit('T3: <c>', run)`)
    expect(conformancePage(tests)).toContain(String.raw`T3: a \| b |`)
    expect(conformancePage(tests)).toContain('T3: &lt;c>')
    expect(conformancePage([...tests].reverse())).toBe(conformancePage(tests))
  })
})
