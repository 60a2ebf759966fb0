/** Unified diffs put onto texts. */
import { createTwoFilesPatch } from 'diff'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { patchText } from '../../../workers/builtins/patch.js'

const put = (text: string, patch: string): string => patchText('/a', text, patch)
const diff = (from: string, to: string, context = 3): string =>
  createTwoFilesPatch('a', 'a', from, to, '', '', { context })
const lines = (...texts: readonly string[]): string => texts.map((text) => `${text}\n`).join('')

describe('a patch', () => {
  it('T11: with several hunks', () => {
    const from = lines(...Array.from({ length: 40 }, (_, index) => `line ${index}`))
    const to = from.replace('line 3\n', 'three\n').replace('line 20\n', '').replace('line 39\n', 'line 39\nline 40\n')
    expect(diff(from, to).match(/^@@/gm)).toHaveLength(3)
    expect(put(from, diff(from, to))).toBe(to)
    const second = diff(from, to).replace('-line 20', '-line XX')
    expect(() => put(from, second)).toThrow(/hunk 2 .*line 21 is "line 20", the patch has "line XX"/)
  })

  it('T11: of one that diff made gives what it was made for', () => {
    const text = fc
      .array(fc.constantFrom('a', 'b', 'c', '', ' ', '-', '+x', '\\', '@@ -1 +1 @@', '--- a'), { maxLength: 12 })
      .chain((all) => fc.constantFrom(all.join('\n'), lines(...all)))
    fc.assert(
      fc.property(text, text, fc.integer({ min: 0, max: 3 }), (from, to, context) => {
        fc.pre(from !== to)
        expect(put(from, diff(from, to, context))).toBe(to)
      }),
      { numRuns: 500 },
    )
  })

  it('keeps CRLF, whichever line ends the patch has', () => {
    const text = fc
      .array(fc.constantFrom('a', 'b', 'c', ''), { minLength: 2, maxLength: 8 })
      .map((all) => lines(...all))
    const crlf = (value: string): string => value.replaceAll('\n', '\r\n')
    fc.assert(
      fc.property(text, text, (from, to) => {
        fc.pre(from !== to)
        for (const patch of [diff(from, to), crlf(diff(from, to)), diff(crlf(from), crlf(to))]) {
          expect(put(crlf(from), patch)).toBe(crlf(to))
          expect(put(from, patch)).toBe(to)
        }
      }),
    )
  })

  it('touches no line end that stays, and keeps a byte order mark', () => {
    expect(put('a\r\nb\nc\r\nd', '@@ -2,2 +2,3 @@\n b\n+new\n c\n')).toBe('a\r\nb\nnew\nc\r\nd')
    expect(put('\uFEFFa\nb\n', '@@ -1,1 +1,1 @@\n-a\n+A\n')).toBe('\uFEFFA\nb\n')
    expect(put('a\nb', '@@ -2,1 +2,2 @@\n b\n+c\n')).toBe('a\nb\nc\n')
    expect(() => put('a\r\n', '@@ -1,1 +1,1 @@\n-a\n+a\n')).toThrow(/changes nothing/)
  })

  it('goes to the one place where its lines are', () => {
    const text = lines('head', 'x', 'only', 'y', 'x', 'other', 'y')
    expect(put(text, '@@ -1,3 +1,3 @@\n x\n-only\n+ONLY\n y\n')).toBe(text.replace('only', 'ONLY'))
    // Its header is right, so it does not matter that the lines are elsewhere too.
    expect(put(lines('x', 'x', 'x'), '@@ -2,1 +2,1 @@\n-x\n+y\n')).toBe(lines('x', 'y', 'x'))
    // The hunk before was one line off, so this one is.
    expect(put(lines('0', 'a', 'x', 'x', 'x'), '@@ -1,1 +1,1 @@\n-a\n+b\n@@ -3,1 +3,1 @@\n-x\n+y\n')).toBe(
      lines('0', 'b', 'x', 'y', 'x'),
    )
  })

  it('is refused rather than guessed', () => {
    expect(() => put(lines('a', 'x', 'b', 'x'), '@@ -1,1 +1,1 @@\n-x\n+y\n')).toThrow(
      /more than once, and not at line 1/,
    )
    expect(() => put(lines('almost'), '@@ -1,1 +1,1 @@\n-almost \n+y\n')).toThrow(
      /line 1 is "almost", the patch has "almost "/,
    )
    expect(() => put(lines('a', 'b'), '@@ -2,1 +2,1 @@\n-b\n+B\n@@ -1,1 +1,1 @@\n-a\n+A\n')).toThrow(/hunk 2/)
    expect(() => put(lines('a'), '@@ -9,0 +10,1 @@\n+x\n')).toThrow(
      /inserts at line 10, which is not there; the file has 1 lines/,
    )
  })

  it.each([
    ['no diff at all', 'hello', /has no hunk/],
    ['nothing', '', /has no hunk/],
    ['headers alone', '--- a\n+++ b\n', /has no hunk/],
    ['wrong counts', '@@ -1,3 +1,1 @@\n-a\n+b\n', /not a unified diff: .*Count the lines/],
    ['two files', `${diff(lines('a'), lines('b'))}\n${diff(lines('a'), lines('c'))}`, /changes 2 files/],
  ])('T11: %s', (_name, patch, message) => {
    expect(() => put(lines('a'), patch)).toThrow(message)
    expect(() => put(lines('a'), patch)).toThrow(expect.objectContaining({ code: 'TOOL_PATCH_FAILED' }))
  })

  it('onto a long file', () => {
    const from = Array.from({ length: 300_000 }, (_, index) => `${index}\n`).join('')
    expect(put(from, '@@ -250001,1 +250001,1 @@\n-250000\n+x\n')).toBe(from.replace('\n250000\n', '\nx\n'))
  })
})

describe('what takes long', () => {
  /** A number of hunks that are all one line off, in a text of lines that repeat. */
  const hunk = (at: number, kept: readonly string[], added: string): string =>
    [`@@ -${at},${kept.length} +${at},${kept.length + 1} @@`, ...kept.map((line) => ` ${line}`), `+${added}`, ''].join(
      '\n',
    )

  it('a hunk of 50,000 equal lines is looked for among 200,000 in one pass', () => {
    const text = 'a\n'.repeat(200_000)
    const patch = hunk(1, [...Array.from({ length: 50_000 }, () => 'a'), 'b'], 'c')
    expect(() => patchText('/f', text, patch)).toThrow(/not in the file/)
    const near = `${text}b\n${text}`
    expect(patchText('/f', near, patch)).toHaveLength(near.length + 2)
  })

  it('thousands of hunks that are nowhere near are refused at last, with what to do', () => {
    const all = Array.from({ length: 400_000 }, (_, index) => `line ${index}`)
    const patch = Array.from({ length: 1_000 }, (_, index) =>
      hunk(1 + index * 400 + 7, [`line ${index * 400 + 11 * (index % 30)}`], 'new'),
    ).join('')
    expect(() => patchText('/f', all.join('\n'), patch)).toThrow(/Correct the line numbers/)
  })
})
