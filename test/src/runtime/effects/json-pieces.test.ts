/** A long text is made in pieces, and is the same text. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type { Json } from '../../../../src/core/json.js'
import { jsonPieces } from '../../../../src/runtime/effects/json-pieces.js'

it('pieces of a long text are the whole text, and none is much longer than another', () => {
  const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `row \u{1f9f6} ${id}`, nothing: null }))
  const long = 'x'.repeat(200_000)
  for (const value of [
    rows,
    { rows, more: { deep: [[rows]], none: [], empty: {} } },
    [long, [long], { long }],
    long,
    7,
  ]) {
    const pieces = [...jsonPieces(value)]
    expect(pieces.join('')).toBe(JSON.stringify(value))
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(300_000)
  }
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), fc.jsonValue({ maxDepth: 3 }), (one, other) => {
      const value = [one, long, { other, long, rest: [one, long, other] }] as Json
      expect([...jsonPieces(value)].join('')).toBe(JSON.stringify(value))
    }),
  )
})
