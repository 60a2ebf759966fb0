/** JSON Schema that someone else wrote: what it accepts, and what it may cost. */
import { describe, expect, it } from 'vitest'
import { limitOf } from '../../helpers/contention.js'
import type { Json } from '../../../src/core/json.js'
import { createChecker, excessOfSchema } from '../../../src/tools/foreign/json-schema.js'
import type { JsonSchema } from '../../../src/tools/foreign/json-schema.js'
import { loadPatterns } from '../../../src/tools/foreign/linear-patterns.js'

const fits = (schema: JsonSchema, value: Json): boolean => createChecker(schema)(value).length === 0

describe('keywords', () => {
  const table: readonly (readonly [JsonSchema, readonly Json[], readonly Json[]])[] = [
    [{ type: 'integer' }, [1, 2], [1.5, '1', null]],
    [{ type: ['number', 'null'] }, [1, null], ['1', {}]],
    [{ enum: ['a', 1, { b: [1] }] }, ['a', 1, { b: [1] }], ['b', 2, { b: [2] }]],
    [{ const: null }, [null], [0, 'null']],
    [{ minLength: 2, maxLength: 3 }, ['ab', '😀😀😀', 7], ['a', 'abcd']],
    [{ minimum: 1, exclusiveMaximum: 2, multipleOf: 0.1 }, [1, 1.3, 'x'], [0, 2, 1.25]],
    [
      { items: { type: 'number' }, minItems: 1, maxItems: 2, uniqueItems: true },
      [[1], [1, 2], 'x'],
      [[], [1, 1], ['1'], [1, 2, 3]],
    ],
    [{ prefixItems: [{ type: 'string' }], items: { type: 'number' } }, [['a', 1, 2]], [[1], ['a', 'b']]],
    [{ items: [{ type: 'string' }], additionalItems: false }, [['a']], [['a', 'b']]],
    [
      { properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false },
      [{ a: 'x' }, 5],
      [{}, { a: 1 }, { a: 'x', b: 1 }],
    ],
    [{ required: ['a'], properties: { a: { default: 1 } } }, [{}, { a: 2 }], []],
    [
      { patternProperties: { '^x-': { type: 'number' } }, additionalProperties: { type: 'boolean' } },
      [{ 'x-a': 1, b: true }],
      [{ 'x-a': true }, { b: 1 }],
    ],
    [
      { propertyNames: { maxLength: 2 }, minProperties: 1, maxProperties: 2 },
      [{ a: 1 }],
      [{}, { abc: 1 }, { a: 1, b: 1, c: 1 }],
    ],
    [{ anyOf: [{ type: 'string' }, { type: 'number', minimum: 5 }] }, ['a', 5], [4, null]],
    [{ oneOf: [{ minimum: 1 }, { minimum: 5 }] }, [2], [6, 0]],
    [{ allOf: [{ minimum: 1 }, { maximum: 3 }] }, [2], [0, 4]],
    [{ not: { type: 'string' } }, [1], ['a']],
    [JSON.parse('{"if":{"type":"string"},"then":{"minLength":2},"else":{"minimum":2}}'), ['ab', 2], ['a', 1]],
    [{ $ref: '#/$defs/a~1b%20c', $defs: { 'a/b c': { type: 'number' } } }, [1], ['a']],
    [{ $ref: 'https://example.com/other.json' }, [1, 'a'], []],
    [{ $ref: '#/$defs/constructor' }, [1, 'a'], []],
    [{ pattern: String.raw`^\p{L}+$` }, ['Ærø'], ['1']],
    [{ pattern: '(?=a)b' }, ['anything'], []],
    [{ properties: { a: true, b: false } }, [{ a: 1 }], [{ b: 1 }]],
  ]
  it.each(table)('D9: %j', async (schema, right, wrong) => {
    await loadPatterns()
    for (const value of right) expect([value, fits(schema, value)]).toEqual([value, true])
    for (const value of wrong) expect([value, fits(schema, value)]).toEqual([value, false])
  })

  it('D9: what is wrong with the only alternative to null is told with its place', () => {
    expect(
      createChecker({ properties: { a: { anyOf: [{ type: 'number' }, { type: 'null' }] } } })({ a: '1' }),
    ).toMatchObject([{ path: ['a'], expected: 'number' }])
  })
})

describe('what it may cost', () => {
  it('JS2: a value is looked at once by each part of a schema, however many ways lead there', () => {
    // 3^100 ways to the end of it.
    const node = { properties: { next: { $ref: '#/$defs/node' }, n: { type: 'number' } }, additionalProperties: false }
    const schema = {
      $ref: '#/$defs/node',
      $defs: { node: { anyOf: [node, { ...node, title: 'b' }, { ...node, title: 'c' }] } },
    }
    const chain = (end: Json): Json => Array.from({ length: 100 }).reduce<Json>((inner) => ({ next: inner }), end)
    expect(fits(schema, chain({ n: 1 }))).toBe(true)
    expect(fits(schema, chain({ n: 'x' }))).toBe(false)
  })

  it('JS2: references that go in circles end', () => {
    expect(fits({ $ref: '#' }, { a: 1 })).toBe(true)
    expect(fits({ $ref: '#' }, 'a')).toBe(true)
    expect(
      fits(
        {
          $ref: '#/$defs/a',
          $defs: {
            a: { anyOf: [{ $ref: '#/$defs/b' }, { $ref: '#/$defs/b' }] },
            b: { anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }] },
          },
        },
        1,
      ),
    ).toBe(true)
  })

  it('JS2: what would take too many steps is left to the tool', () => {
    const parts = Array.from({ length: 2_000 }, (_, at) => ({ type: 'object', minProperties: 1, title: String(at) }))
    const schema = { items: { allOf: parts } }
    expect(fits(schema, [{}])).toBe(false)
    expect(
      fits(
        schema,
        Array.from({ length: 1_000 }, () => ({})),
      ),
    ).toBe(true)
  })

  describe('JS2: a check takes some milliseconds, whatever a schema and a value do together', () => {
    const times = (count: number, part: JsonSchema): JsonSchema[] => Array.from({ length: count }, () => ({ ...part }))
    const letters = 'x'.repeat(1_000_000)
    const rows = Array.from({ length: 20_000 }, (_, index) => ({ index }))
    const fields = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`f${index}`, index]))
    const chain = Array.from({ length: 45 }).reduce<JsonSchema>((inner) => ({ properties: { a: inner } }), {
      required: Array.from({ length: 1_000 }, (_, index) => `r${index}`),
    })
    const hostile: Readonly<Record<string, readonly [JsonSchema, Json]>> = {
      'choices and a long text': [{ anyOf: times(5_000, { enum: ['a'] }) }, letters],
      'choices and a large list': [{ anyOf: times(5_000, { const: [1] }) }, rows],
      'lengths of a long text': [{ allOf: times(5_000, { minLength: 1 }) }, letters],
      'unique items of a long list': [{ allOf: times(5_000, { uniqueItems: true }) }, rows],
      'counts of a large object': [{ allOf: times(5_000, { minProperties: 1 }) }, fields],
      'items that anything fits': [{ allOf: times(5_000, { items: true }) }, rows],
      'a long list of types': [{ items: { type: Array.from({ length: 15_000 }, () => 'null') } }, rows],
      'a long reference': [{ items: { $ref: `#${'/a'.repeat(100_000)}` } }, rows],
      'names of a large object': [{ propertyNames: { allOf: times(5_000, { maxLength: 9 }) } }, fields],
      'many issues, told by each level': [
        { allOf: times(10, chain) },
        Array.from({ length: 46 }).reduce<Json>((a) => ({ a }), {}),
      ],
      'patterns and a long text': [{ allOf: times(500, { pattern: '^(a|x)*$' }) }, letters.slice(0, 10_000)],
      'rows of an ordinary table': [
        { items: { properties: { index: { type: 'integer', minimum: 0 } }, required: ['index'] } },
        rows,
      ],
    }
    it.each(Object.entries(hostile))('%s', async (_, [schema, value]) => {
      await loadPatterns()
      expect(excessOfSchema(schema)).toBeUndefined()
      const check = createChecker(schema)
      const limit = limitOf(200)
      const began = performance.now()
      check(value)
      expect(performance.now() - began).toBeLessThan(limit())
    })
  })

  it('JS2: a pattern that others never finish is answered', async () => {
    await loadPatterns()
    expect(fits({ pattern: '^(a+)+$' }, `${'a'.repeat(10_000)}!`)).toBe(false)
    // And one that would take seconds on a long text is left to the tool.
    expect(fits({ pattern: '^(a|b|ab){1,300}$' }, `${'a'.repeat(1_000_000)}!`)).toBe(true)
  })

  it('JS1: a schema has bounds', () => {
    let deep: object = {}
    for (let level = 0; level < 200; level++) deep = { anyOf: [deep] }
    expect(excessOfSchema(deep)).toMatch(/deeper than 100/)
    expect(excessOfSchema({ enum: Array.from({ length: 30_000 }, (_, at) => at) })).toMatch(/20000 values/)
    expect(excessOfSchema({ description: 'x'.repeat(600_000) })).toMatch(/500000 characters/)
    expect(excessOfSchema({ type: 'object', properties: { a: { type: 'string' } } })).toBeUndefined()
  })
})
