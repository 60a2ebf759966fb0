/** What a body may return, and what becomes of it. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { toOutcome } from '../../../src/tools/outcome.js'

class Money {
  readonly amount = 5
  toString(): string {
    return '5 EUR'
  }
}

function cycle(): unknown {
  const round: Record<string, unknown> = { name: 'round' }
  round['self'] = round
  return round
}

describe('a plain value is a success', () => {
  it.each([
    ['text', 'found', 'found'],
    ['a number', 5, 5],
    ['false', false, false],
    ['null', null, null],
    ['nothing', undefined, null],
    ['a list', [1, undefined, 'x'], [1, null, 'x']],
    ['an object', { a: { b: 1 }, gone: undefined }, { a: { b: 1 } }],
    ['a Date', new Date('2026-01-02T03:04:05.000Z'), '2026-01-02T03:04:05.000Z'],
    ['a Date that is none', new Date(Number.NaN), 'Invalid Date'],
    ['a bigint', 2n ** 70n, String(2n ** 70n)],
    ['NaN', Number.NaN, 'NaN'],
    ['an infinite number', -Infinity, '-Infinity'],
    ['a function', function look() {}, '[function look]'],
    ['a symbol', Symbol('x'), 'Symbol(x)'],
    [
      'a Map',
      new Map<unknown, unknown>([
        ['a', 1],
        [2, new Map([['b', 2]])],
      ]),
      { 2: { b: 2 }, a: 1 },
    ],
    ['a Set', new Set(['a', 2n]), ['a', '2']],
    ['a Buffer', Buffer.from('abc'), '[3 bytes]'],
    ['an ArrayBuffer', new ArrayBuffer(8), '[8 bytes]'],
    ['an Error', new TypeError('wrong'), { name: 'TypeError', message: 'wrong' }],
    ['an instance', new Money(), { amount: 5 }],
    ['a cycle', cycle(), { name: 'round', self: '[cycle]' }],
    ['an object with another status', { status: 'pending', result: 1 }, { status: 'pending', result: 1 }],
    ['an object with a status of its own kind', { status: 200, error: 'x' }, { status: 200, error: 'x' }],
  ])('T2: %s', (_, returned, value) => {
    expect(toOutcome('look', returned, undefined)).toEqual({ ok: true, value })
  })

  it('the same object twice is no cycle', () => {
    const shared = { n: 1 }
    expect(toOutcome('look', [shared, shared], undefined)).toEqual({ ok: true, value: [{ n: 1 }, { n: 1 }] })
  })

  it('the outcome keeps no reference to what was returned', () => {
    const returned = { list: [1] }
    const outcome = toOutcome('look', returned, undefined)
    returned.list.push(2)
    expect(outcome).toEqual({ ok: true, value: { list: [1] } })
  })

  it('a property that throws when it is read is told, not thrown', () => {
    const angry = Object.defineProperty({ fine: 1 }, 'angry', {
      enumerable: true,
      get() {
        throw new Error('do not look')
      },
    })
    expect(toOutcome('look', angry, undefined)).toMatchObject({ ok: true, value: { fine: 1 } })
  })

  it('a key that names the prototype is data like any other', () => {
    const sent: unknown = JSON.parse('{"__proto__":{"admin":true},"a":1}')
    const outcome = toOutcome('look', sent, undefined)
    expect(outcome.ok && JSON.stringify(outcome.value)).toBe('{"__proto__":{"admin":true},"a":1}')
  })
})

describe('an object with a status is taken at its word', () => {
  it('T2: success with a result', () => {
    expect(toOutcome('look', { status: 'success', result: { n: 1 } }, undefined)).toEqual({ ok: true, value: { n: 1 } })
    expect(toOutcome('look', { status: 'success', result: undefined }, undefined)).toEqual({ ok: true, value: null })
  })

  it('T2: a code of our own is the code of the failure, and not told twice', () => {
    expect(toOutcome('look', { status: 'error', code: 'TOOL_COMMAND_FAILED', error: 'exit 1' }, undefined)).toEqual({
      ok: false,
      failure: { code: 'TOOL_COMMAND_FAILED', message: 'exit 1', retry: false },
    })
  })

  it.each([
    [{ status: 'success', result: 1, next: 'page 2' }],
    [{ status: 'success', result: { n: 1 }, total: 40, content: 'x' }],
  ])('T2: %j says more than a result, and is a value like any other', (returned) => {
    expect(toOutcome('look', returned, undefined)).toEqual({ ok: true, value: returned })
  })

  it('T2: success with a result and what belongs to it', () => {
    expect(
      toOutcome('look', { status: 'success', result: 1, error: null, content: [], attachments: [] }, undefined),
    ).toEqual({ ok: true, value: 1 })
  })

  it('T2: success without one', () => {
    expect(toOutcome('look', { status: 'success' }, undefined)).toEqual({ ok: true, value: { status: 'success' } })
  })

  it.each([
    ['a text', { status: 'error', error: 'no luck' }, 'no luck'],
    ['an object', { status: 'error', error: { code: 7 } }, '{"code":7}'],
    ['an Error', { status: 'error', error: new Error('no luck') }, '{"name":"Error","message":"no luck"}'],
    ['the result, when there is no error', { status: 'error', result: 'half' }, 'half'],
    ['nothing', { status: 'error' }, 'look reported an error without saying which'],
    [
      'nothing but empty fields',
      { status: 'error', error: undefined, result: null },
      'look reported an error without saying which',
    ],
    ['a message', { status: 'error', message: 'out of stock' }, 'out of stock'],
    [
      'a message and more',
      { status: 'error', message: 'out of stock', code: 'E42', left: 0 },
      'out of stock {"code":"E42","left":0}',
    ],
    [
      'an error and more',
      { status: 'error', error: 'no luck', message: 'try again', result: [1] },
      'no luck {"message":"try again","result":[1]}',
    ],
    [
      'other fields alone',
      { status: 'error', data: { sku: 7 }, code: 'E42' },
      '{"status":"error","data":{"sku":7},"code":"E42"}',
    ],
    [
      'an empty text and more',
      { status: 'error', error: '', detail: 'why' },
      '{"status":"error","error":"","detail":"why"}',
    ],
  ])('T2: an error told by %s', (_, returned, message) => {
    expect(toOutcome('look', returned, undefined)).toEqual({
      ok: false,
      failure: { code: 'TOOL_FAILED', message, retry: false },
    })
  })
})

describe('outputSchema', () => {
  const output = z.object({ hits: z.array(z.string()), total: z.number().default(0) })

  it('T2: what fits is given as the schema gives it', () => {
    expect(toOutcome('look', { hits: ['a'] }, output)).toEqual({ ok: true, value: { hits: ['a'], total: 0 } })
    expect(toOutcome('look', { status: 'success', result: { hits: [] } }, output)).toEqual({
      ok: true,
      value: { hits: [], total: 0 },
    })
  })

  it('T2: what does not fit is an error result that names each field', () => {
    const outcome = toOutcome('look', { hits: ['a', 5], total: 'x' }, output)
    expect(outcome).toMatchObject({ ok: false, failure: { code: 'TOOL_OUTPUT_INVALID' } })
    expect(!outcome.ok && outcome.failure.message).toMatch(/look .*hits\.1: .*total: /)
    const whole = toOutcome('look', undefined, output)
    expect(!whole.ok && whole.failure.message).toContain('(result): ')
  })

  it('T2: an error that was reported is not asked to fit', () => {
    expect(toOutcome('look', { status: 'error', error: 'no luck' }, output)).toMatchObject({
      ok: false,
      failure: { code: 'TOOL_FAILED' },
    })
  })
})
