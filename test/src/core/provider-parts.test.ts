import { describe, expect, test } from 'vitest'
import { maskProviderParts, piecesOfParts, toProviderParts } from '../../../src/core/records/provider-parts.js'
import { createRedactor } from '../../../src/core/redact/redact.js'
import { maskReply } from '../../../src/runtime/secrets/mask.js'
import type { ModelReply } from '../../../src/models/port.js'
import { noUsage } from '../../../src/core/usage.js'

const signed = (signature: string) => ({ provider: { signature } })

test('a part finds its piece of the text again, and only of that text', () => {
  const parts = [
    { type: 'reasoning', length: 2 },
    { type: 'text', length: 3 },
    { type: 'reasoning', length: 1 },
    { type: 'call', index: 0 },
  ] as const
  expect(piecesOfParts(parts, { text: 'abc', reasoning: 'xyz' })).toEqual(['xy', 'abc', 'z', ''])
  expect(piecesOfParts(parts, { text: 'abcd', reasoning: 'xyz' })).toBeUndefined()
})

test('what no provider would miss is not kept, nor what is too large for a journal', () => {
  expect(
    toProviderParts('o', [
      { type: 'text', length: 3 },
      { type: 'call', index: 0 },
    ]),
  ).toBeUndefined()
  expect(
    toProviderParts('o', [
      { type: 'text', length: 0 },
      { type: 'reasoning', length: 3 },
    ]),
  ).toEqual({ origin: 'o', parts: [{ type: 'reasoning', length: 3 }] })
  expect(
    toProviderParts('o', [{ type: 'reasoning', length: 3, meta: { data: 'x'.repeat(1_000_001) } }]),
  ).toBeUndefined()
})

describe('KP3', () => {
  const redactor = createRedactor(['open-sesame'])
  if (!redactor) throw new Error('nothing to mask')
  const reply = (fields: Partial<ModelReply>): ModelReply =>
    maskReply(redactor, { text: '', calls: [], usage: noUsage, finish: 'stop', ...fields })

  test('a masked part loses its data, the others keep theirs', () => {
    const parts = [
      { type: 'reasoning', length: 5, meta: signed('a') },
      { type: 'reasoning', length: 11, meta: signed('b') },
      { type: 'call', index: 0, meta: signed('c') },
    ] as const
    const masked = reply({
      reasoning: 'firstopen-sesame',
      calls: [{ tool: 't', args: '{"key":"open-sesame"}' }],
      kept: { origin: 'o', parts },
    })
    expect(masked.kept).toEqual({
      origin: 'o',
      parts: [parts[0], { type: 'reasoning', length: 10 }, { type: 'call', index: 0 }],
    })
    expect(piecesOfParts(masked.kept?.parts ?? [], { text: '', reasoning: masked.reasoning ?? '' })).toEqual([
      'first',
      '[redacted]',
      '',
    ])
  })

  test('a secret over two parts leaves none of them', () => {
    const parts = [
      { type: 'reasoning', length: 5, meta: signed('a') },
      { type: 'reasoning', length: 6, meta: signed('b') },
    ] as const
    const masked = reply({ reasoning: 'open-sesame', kept: { origin: 'o', parts } })
    expect([masked.reasoning, masked.kept]).toEqual(['[redacted]', undefined])
  })

  test('data that holds a secret is not kept', () => {
    const masked = reply({
      text: 'hi',
      kept: { origin: 'o', parts: [{ type: 'text', length: 2, meta: signed('open-sesame') }] },
    })
    expect(masked.kept).toEqual({ origin: 'o', parts: [{ type: 'text', length: 2 }] })
  })

  test('parts of another text are not kept', () => {
    const before = { text: 'abc' }
    const all = { before, after: before, mask: (text: string) => text, same: () => true, clean: () => true }
    expect(maskProviderParts({ origin: 'o', parts: [{ type: 'text', length: 2 }] }, all)).toBeUndefined()
  })
})
