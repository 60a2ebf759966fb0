/** Merges of one text by its lines. */
import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { matchLines } from '../../../src/files/merge/match-lines.js'
import { mergeText } from '../../../src/files/merge/text.js'
import { poem } from './merging.js'

describe('a merge of lines', () => {
  const text = async (base: string, ours: string, theirs: string): Promise<string> => {
    const outcome = await mergeText({ base: Buffer.from(base), ours: Buffer.from(ours), theirs: Buffer.from(theirs) })
    return typeof outcome === 'string' ? `no: ${outcome}` : Buffer.from(outcome).toString()
  }

  it('line ends, a missing last newline and a byte order mark are kept', async () => {
    expect(await text('\uFEFFa\r\nb\r\nc', '\uFEFFA\r\nb\r\nc', '\uFEFFa\r\nb\r\nC')).toBe('\uFEFFA\r\nb\r\nC')
    expect(await text('a\nb\nc\n', 'A\nb\nc\n', 'a\nb\nc')).toBe('A\nb\nc')
    expect(await text('a\nb\nc', 'A\nb\nc', 'a\nb\nc\nd')).toBe('A\nb\nc\nd')
    expect(await text('a\rb\nc\n\nd\n', 'a\rb\nc\n\n', 'a\rB\nc\n\nd\n')).toBe('a\rB\nc\n\n')
  })

  it.each([
    ['the same line', 'a\nb\nc\n', 'a\n1\nc\n', 'a\n2\nc\n'],
    ['lines that touch', 'a\nb\nc\n', 'A\nb\nc\n', 'a\nB\nc\n'],
    ['different lines at the end', 'a\n', 'a\n1\n', 'a\n2\n'],
    ['a line behind a last one that lost its newline', 'a\nb\n', 'a\nb', 'a\nb\nc\n'],
    ['a line in what the other removed', 'a\nb\nc\nd\n', 'a\nd\n', 'a\nb\nx\nc\nd\n'],
    ['different texts where none was', '', 'x', 'y'],
    ['lines that may be any of several equal ones', 'y\nx\nw\n', 'x\nw\nw\n', 'x\nx\nw\n'],
  ])('%s', async (...[, base, ours, theirs]) => {
    expect(await text(base, ours, theirs)).toBe('no: content')
    expect(await text(base, theirs, ours)).toBe('no: content')
  })

  it('equal changes are made once', async () => {
    expect(await text('a\nb\nc\nd\n', 'a\nX\nc\nd\n1\n', 'a\nX\nc\nd\n1\n')).toBe('a\nX\nc\nd\n1\n')
    expect(await text('a\nb\nc\nd\ne\n', 'a\nX\nc\nd\nE\n', 'a\nX\nc\nd\ne\n')).toBe('a\nX\nc\nd\nE\n')
    expect(await text('a\nb\n', '', '')).toBe('')
  })

  it('changes with a line between them give both, on either side', async () => {
    const words = fc.array(fc.constantFrom('x', 'y', 'z'), { maxLength: 3 })
    const part = fc.record({
      base: words,
      next: words,
      by: fc.constantFrom('none' as const, 'ours' as const, 'theirs' as const, 'both' as const),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { minLength: 1, maxLength: 8 }),
        fc.constantFrom('\n', '\r\n'),
        fc.boolean(),
        async (parts, end, ended) => {
          // Lines of a part are found in no other, and each part ends with one that stays.
          const version = (...sides: readonly string[]): string => {
            const lines = parts.flatMap(({ base, next, by }, index) => [
              ...(sides.includes(by) ? next : base).map((word) => `${index}${word}`),
              `${index}`,
            ])
            return lines.join(end) + (ended ? end : '')
          }
          const expected = version('ours', 'theirs', 'both')
          expect(await text(version(), version('ours', 'both'), version('theirs', 'both'))).toBe(expected)
          expect(await text(version(), version('theirs', 'both'), version('ours', 'both'))).toBe(expected)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('what both did alike comes once, also among lines that are alike', async () => {
    expect(await text('a\ny\n1\n', 'a\ny\ny\n1\n', '0\na\ny\ny\n1\n')).toBe('0\na\ny\ny\n1\n')
    expect(await text('a\n\n\nb\nc\n', 'a\n\n\n\nb\nc\n', 'a\n\n\n\nb\nc\nd\n')).toBe('a\n\n\n\nb\nc\nd\n')
  })

  it('texts that have little in common are one change', async () => {
    const many = (word: string): string =>
      poem(...Array.from({ length: 5000 }, (_, line) => (line === 2500 ? 'middle' : `${word}${line}`)))
    const [base, ours] = [many('a'), many('b')]
    expect(await text(`${base}same\nlast\n`, `${ours}same\nlast\n`, `${base}same\nLAST\n`)).toBe(`${ours}same\nLAST\n`)
    expect(await text(base, ours, base.replace('middle', 'centre'))).toBe('no: content')
  })

  it('a large merge lets others go first, and no difference takes more than its steps', async () => {
    const version = (factor: number): Buffer =>
      Buffer.from(Array.from({ length: 60_000 }, (_, line) => ((line * factor) % 7 < 3 ? 'a' : 'b')).join('\n'))
    const [base, ours, theirs] = [version(3), version(5), version(11)]
    let turns = 0
    let merging = true
    const count = (): void => {
      turns++
      if (merging) setImmediate(count)
    }
    setImmediate(count)
    expect(await mergeText({ base, ours, theirs })).toBe('content')
    merging = false
    expect(turns).toBeGreaterThan(4)
    // More steps than are allowed: there is no answer, instead of one after minutes.
    const numbers = (factor: number): Int32Array =>
      Int32Array.from({ length: 200_000 }, (_, line) => Number((line * factor) % 7 < 3))
    expect(matchLines(numbers(3), numbers(5))).toBeUndefined()
    expect(matchLines(Int32Array.of(1, 2, 3, 4), Int32Array.of(2, 5, 4))).toEqual(Int32Array.of(-1, 0, -1, 2))
  })
})
