/** Text for a model: cut between characters, and in lines. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { linesOfText, pickLines } from '../../../workers/builtins/lines.js'
import { createCollector, cutText, decodeText } from '../../../workers/builtins/text.js'

/** The text in pieces of any size, also through characters. */
async function* pieces(text: string, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text)
  let at = 0
  for (let index = 0; at < bytes.length; index++) {
    const size = sizes[index % sizes.length] ?? 1
    yield bytes.subarray(at, at + size)
    at += size
  }
}

const anyText = fc
  .array(fc.constantFrom('a', 'ü', '€', '🧶', '\n', 'line\n', '\r\n'), { maxLength: 80, size: 'max' })
  .map((parts) => parts.join(''))
const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 })

describe('a cut', () => {
  it('fits the limit with its note and splits no character', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 60, max: 200 }), (text, most) => {
        const cut = cutText(text, most)
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(most)
        const [kept = ''] = cut.split('\n[cut: ')
        expect(text.startsWith(kept)).toBe(true)
        const size = Buffer.byteLength(text)
        expect(cut).toBe(size <= most ? text : `${kept}\n[cut: the first part of ${size} bytes]`)
      }),
    )
  })

  it('of a stream is that of the whole, in whatever pieces it comes', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, sizes, fc.integer({ min: 60, max: 200 }), async (text, chunks, most) => {
        const collector = createCollector(most)
        for await (const piece of pieces(text, chunks)) collector.add(piece)
        expect(collector.text()).toBe(cutText(text, most))
      }),
    )
  })

  it('what is no UTF-8 is no text', () => {
    expect(decodeText(Buffer.from('ü\uFEFF'))).toBe('ü\uFEFF')
    expect(decodeText(Buffer.from('\uFEFFx'))).toBe('\uFEFFx')
    expect(decodeText(Buffer.from([0xff]))).toBeUndefined()
    expect(decodeText(Buffer.from([0x61, 0]))).toBeUndefined()
  })
})

describe('lines', () => {
  it('any range of any text, in whatever pieces it comes', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyText,
        sizes,
        fc.record({ offset: fc.integer({ min: 1, max: 6 }), limit: fc.integer({ min: 1, max: 4 }) }),
        async (text, chunks, range) => {
          const all = text.split(/(?<=\n)/).filter((line) => line !== '')
          const picked = pickLines(pieces(text, chunks), { path: '/a', ...range, maxBytes: 100_000 }).catch(
            (thrown: Error) => thrown.message,
          )
          const isPast = range.offset > Math.max(all.length, 1)
          expect(await picked).toBe(
            isPast
              ? `/a has ${all.length} lines; there is no line ${range.offset}. Ask for a smaller offset.`
              : all.slice(range.offset - 1, range.offset - 1 + range.limit).join(''),
          )
        },
      ),
    )
  })

  it('nothing is read past the last line', async () => {
    let given = 0
    async function* endless(): AsyncGenerator<Uint8Array> {
      while (true) {
        given++
        yield Buffer.from('line\n')
      }
    }
    expect(await pickLines(endless(), { path: '/a', offset: 2, limit: 2, maxBytes: 1000 })).toBe('line\nline\n')
    expect(given).toBe(4)
    const part = await pickLines(endless(), { path: '/a', offset: 1, limit: Infinity, maxBytes: 1000 })
    const [, next] = /offset (\d+)\]$/.exec(part) ?? []
    expect(part.split('\n')).toHaveLength(Number(next))
  })

  it('a line that never ends comes in parts', async () => {
    const found: [number, boolean][] = []
    for await (const { line, starts } of linesOfText(pieces(`${'x'.repeat(95)}\ny`, [10]), { path: '/a', longest: 40 }))
      found.push([line.length, starts])
    expect(found).toEqual([
      [50, true],
      [46, false],
      [1, true],
    ])
  })
})
