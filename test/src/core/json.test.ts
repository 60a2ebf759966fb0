/** Plain values and failures: what crosses a journal keeps its meaning. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SkeinError, fromFailure, isSkeinError, toFailure } from '../../../src/core/failure.js'
import type { Failure } from '../../../src/core/failure.js'
import { canonical, copyOf, toJson } from '../../../src/core/json.js'
import type { Json } from '../../../src/core/json.js'

describe('json', () => {
  it('equal values have equal text, whatever the order of their keys', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const turned = JSON.parse(JSON.stringify(value), (_, field: unknown) =>
          typeof field === 'object' && field !== null && !Array.isArray(field)
            ? Object.fromEntries(Object.entries(field).reverse())
            : field,
        ) as Json
        expect(canonical(turned)).toBe(canonical(value as Json))
      }),
    )
    expect(canonical({ b: 1, a: [1, { d: null, c: 'x' }] })).toBe('{"a":[1,{"c":"x","d":null}],"b":1}')
  })

  it('anything becomes JSON that survives the journal, without a throw', () => {
    fc.assert(
      fc.property(
        fc.anything({
          withBigInt: true,
          withDate: true,
          withMap: true,
          withSet: true,
          withTypedArray: true,
          withSparseArray: true,
          withNullPrototype: true,
          withBoxedValues: true,
        }),
        (value) => {
          const json = toJson(value)
          expect(JSON.parse(JSON.stringify(json))).toEqual(json)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('a copy is what comes back from the journal, and shares nothing but texts', () => {
    const odd = fc.oneof(
      fc.constantFrom(-0, Number.NaN, Infinity, new Date(0), new Uint8Array(2), new URL('http://a.b'), undefined, {
        toJSON: () => undefined,
      }),
      fc.anything({ withSparseArray: true, withNullPrototype: true, withDate: true }),
      fc.constant(JSON.parse('{"__proto__":{"a":1},"toJSON":2}')),
    )
    fc.assert(
      fc.property(fc.array(odd), fc.object(), (list, more) => {
        const value = { list, more, none: undefined, run: () => 1 }
        const copy: typeof value = copyOf(value)
        expect(copy).toStrictEqual(JSON.parse(JSON.stringify(value)))
        expect(copy.list).not.toBe(list)
      }),
      { numRuns: 500 },
    )
  })

  it('what has no fields of its own says what it is', () => {
    expect(toJson({ found: /a+\/b/gi, later: Promise.resolve(1) })).toEqual({
      found: String.raw`/a+\/b/gi`,
      later: '[promise]',
    })
  })

  it('what contains itself says so, at any level; what is there twice is copied twice', () => {
    const twice = { text: 'x', none: null }
    const ring: Record<string, unknown> = { number: 1, twice, again: [twice, { twice }] }
    ring['self'] = ring
    ring['list'] = [{ up: ring, number: 2 }]
    expect(toJson(ring)).toEqual({
      number: 1,
      twice,
      again: [twice, { twice }],
      self: '[cycle]',
      list: [{ up: '[cycle]', number: 2 }],
    })
  })

  it('depth is no reason to throw', () => {
    let deep: unknown = 'bottom'
    for (let level = 0; level < 20_000; level++) deep = [deep]
    expect(() => JSON.stringify(toJson(deep))).not.toThrow()
  })
})

describe('failure', () => {
  it('a failure goes out and comes back with code, data and cause', () => {
    const thrown = new SkeinError('TOOL_THREW', 'outer', {
      retry: true,
      data: { n: 1 },
      cause: new SkeinError('TOOL_TIMED_OUT', 'inner'),
    })
    const travelled = JSON.parse(JSON.stringify(toFailure(thrown, 'INVARIANT'))) as Failure
    const back = fromFailure(travelled)
    expect(isSkeinError(back)).toBe(true)
    expect(toFailure(back, 'INVARIANT')).toEqual(toFailure(thrown, 'INVARIANT'))
    expect(back.cause).toMatchObject({ code: 'TOOL_TIMED_OUT', message: 'inner' })
  })

  it('whatever is thrown becomes a failure with the code that it means here', () => {
    expect(toFailure(new TypeError('bad'), 'TOOL_THREW')).toEqual({
      code: 'TOOL_THREW',
      message: 'TypeError: bad',
      retry: false,
    })
    expect(toFailure('bare text', 'TOOL_THREW').message).toBe('bare text')
    expect(toFailure(undefined, 'TOOL_THREW').message).toContain('undefined')
    expect(toFailure(Symbol('x'), 'TOOL_THREW').message).toContain('Symbol(x)')
    expect(toFailure({ code: 7, deep: [null] }, 'TOOL_THREW').message).toBe('thrown value: {"code":7,"deep":[null]}')
    expect(toFailure([1], 'TOOL_THREW').message).toBe('thrown value: [1]')
  })

  it('what a value says of itself is taken, and its refusal is told', () => {
    const refuses = {
      toJSON() {
        throw new Error('never')
      },
    }
    expect(toJson({ at: new URL('http://localhost/x'), refuses })).toEqual({
      at: 'http://localhost/x',
      refuses: '[not readable: Error: never]',
    })
  })

  it('also a thing that has no text of its own', () => {
    expect(toFailure(Object.create(null), 'TOOL_THREW')).toMatchObject({ code: 'TOOL_THREW', retry: false })
    const angry = {
      toString() {
        throw new Error('no text')
      },
    }
    expect(toFailure(angry, 'TOOL_THREW')).toMatchObject({ code: 'TOOL_THREW' })
  })

  it('a failure holds data that can be written, whatever was attached', () => {
    const live: Record<string, unknown> = { at: new Date(0), big: 1n, call: () => 1 }
    live['self'] = live
    const told = toFailure(new SkeinError('TOOL_THREW', 'x', { data: live }), 'TOOL_THREW')
    expect(() => JSON.stringify(told)).not.toThrow()
    expect(JSON.parse(JSON.stringify(told))).toEqual(told)
  })
})
