/** Args from a model: parsed, validated, repaired once, or refused by field. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { checkArgs } from '../../../src/tools/args.js'
import type { Json } from '../../../src/core/json.js'

const schema = z.object({
  name: z.string(),
  count: z.number().optional(),
  exact: z.boolean().optional(),
  tags: z.array(z.string()).optional(),
  options: z.object({ depth: z.number() }).optional(),
})

const accepted = (sent: unknown, of: z.ZodType = schema): Json => {
  const checked = checkArgs('look', of, sent)
  if (!checked.ok) throw new Error(checked.failure.message)
  return checked.args
}

const refused = (sent: unknown, of: z.ZodType = schema) => {
  const checked = checkArgs('look', of, sent)
  if (checked.ok) throw new Error(`accepted: ${JSON.stringify(checked.args)}`)
  return checked
}

describe('parsing', () => {
  it('T1: JSON text and a decoded value are the same', () => {
    expect(accepted('{"name":"a","count":2}')).toEqual({ name: 'a', count: 2 })
    expect(accepted({ name: 'a', count: 2 })).toEqual({ name: 'a', count: 2 })
  })

  it('T1: no text at all is an empty object', () => {
    for (const nothing of ['', '  ', undefined, null]) expect(accepted(nothing, z.object({}))).toEqual({})
  })

  it('T1: text that is not JSON is refused with the reason, and kept as it was sent', () => {
    const { failure, sent } = refused('{"name": "a",')
    expect(failure).toMatchObject({ code: 'TOOL_INPUT_INVALID', retry: false })
    expect(failure.message).toMatch(/the args of look are not JSON/)
    expect(sent).toBe('{"name": "a",')
  })
})

describe('repair', () => {
  const table: readonly (readonly [string, unknown, Json])[] = [
    ['a number in a text', { name: 'a', count: '60' }, { name: 'a', count: 60 }],
    ['a number in a text with blanks', { name: 'a', count: ' 2.5 ' }, { name: 'a', count: 2.5 }],
    ['true in a text', { name: 'a', exact: 'true' }, { name: 'a', exact: true }],
    ['false in a text, whatever the case', { name: 'a', exact: 'False' }, { name: 'a', exact: false }],
    ['a scalar for a list', { name: 'a', tags: 'x' }, { name: 'a', tags: ['x'] }],
    ['a list in a text', { name: 'a', tags: '["x","y"]' }, { name: 'a', tags: ['x', 'y'] }],
    ['an object in a text', { name: 'a', options: '{"depth":3}' }, { name: 'a', options: { depth: 3 } }],
    ['a field inside', { name: 'a', options: { depth: '3' } }, { name: 'a', options: { depth: 3 } }],
    [
      'several at once',
      { name: 'a', count: '1', exact: 'true', tags: 'x' },
      { name: 'a', count: 1, exact: true, tags: ['x'] },
    ],
    ['the whole in a text, twice', JSON.stringify('{"name":"a"}'), { name: 'a' }],
    ['an envelope `input`', { input: { name: 'a' } }, { name: 'a' }],
    ['an envelope `args`', { args: { name: 'a' } }, { name: 'a' }],
    ['what is wrong inside an envelope', { input: { name: 'a', count: '60' } }, { name: 'a', count: 60 }],
    ['an envelope with a text', { input: '{"name":"a"}' }, { name: 'a' }],
  ]
  it.each(table)('T1: %s', (_, sent, wanted) => {
    expect(accepted(sent)).toEqual(wanted)
  })

  it('T1: items of a list are mended in their place', () => {
    const numbers = z.object({ all: z.array(z.object({ n: z.number() })) })
    expect(accepted({ all: [{ n: 1 }, { n: '2' }, { n: 3 }] }, numbers)).toEqual({
      all: [{ n: 1 }, { n: 2 }, { n: 3 }],
    })
  })

  it('T1: whole numbers are numbers too', () => {
    expect(accepted({ n: '7' }, z.object({ n: z.int() }))).toEqual({ n: 7 })
  })

  it('T1: what is valid is never touched', () => {
    const sent = { name: '60', tags: ['true'], extra: '1' }
    expect(accepted(sent)).toEqual(sent)
    expect(accepted({ input: { name: 'a' } }, z.object({ input: z.object({ name: z.string() }) }))).toEqual({
      input: { name: 'a' },
    })
    expect(accepted({ id: '007', n: '5' }, z.object({ id: z.string(), n: z.number() }))).toEqual({ id: '007', n: 5 })
  })

  it('an envelope with anything beside it is not one', () => {
    expect(refused({ input: { name: 'a' }, name: 5 }).failure.message).toContain('name:')
  })

  it.each([
    ['', Number.NaN],
    ['twelve', Number.NaN],
    ['Infinity', Number.NaN],
    ['1,5', Number.NaN],
  ])('T1: the text %j is no number', (count) => {
    expect(refused({ name: 'a', count }).failure.message).toContain('count:')
  })

  it('T1: a missing value is never invented', () => {
    for (const sent of [{}, { count: 1 }, { name: null }, { name: undefined }, '{}']) {
      const { failure } = refused(sent)
      expect(failure.data).toMatchObject({ fields: [{ path: 'name' }] })
    }
    expect(refused({ tags: undefined }, z.object({ tags: z.array(z.string()) })).failure.code).toBe(
      'TOOL_INPUT_INVALID',
    )
    expect(refused({}, z.object({ tags: z.array(z.string()) })).failure.code).toBe('TOOL_INPUT_INVALID')
  })

  it('not even where every object has something of that name', () => {
    expect(checkArgs('look', z.object({ valueOf: z.array(z.unknown()) }), {}).ok).toBe(false)
  })
})

describe('refusal', () => {
  it('T1: each field is named by its path, and the message says what to do', () => {
    const nested = z.object({ list: z.array(z.object({ at: z.number() })), name: z.string() })
    const { failure, sent } = refused({ list: [{ at: 1 }, { at: 'x' }], name: 3 }, nested)
    expect(failure.data).toMatchObject({ fields: [{ path: 'list.1.at' }, { path: 'name' }] })
    expect(failure.message).toMatch(/list\.1\.at: .*name: .*Send them again, corrected/)
    expect(sent).toEqual({ list: [{ at: 1 }, { at: 'x' }], name: 3 })
  })

  it('T1: a wrong whole is named as such', () => {
    expect(refused('[1]').failure.data).toMatchObject({ fields: [{ path: '(args)' }] })
  })

  it('what JSON cannot say is told, not thrown', () => {
    const cycle: Record<string, unknown> = {}
    cycle['self'] = cycle
    expect(refused(cycle).sent).toEqual({ self: '[cycle]' })
  })

  it('T1: a schema whose own check throws refuses the args instead of failing the turn', () => {
    const throwing = z.object({
      json: z.string().refine((text) => {
        JSON.parse(text)
        return true
      }),
    })
    const checked = checkArgs('look', throwing, { json: '{' })
    expect(checked).toMatchObject({ ok: false, failure: { code: 'TOOL_INPUT_INVALID' } })
  })
})

describe('hostile args', () => {
  const numbers = z.object({ all: z.array(z.number()) })

  /** The least of some tries: what else the machine does only adds to it. */
  const timeOf = (work: () => unknown): number =>
    Math.min(
      ...Array.from({ length: 5 }, () => {
        const began = performance.now()
        work()
        return performance.now() - began
      }),
    )

  it('T1: however many mistakes are mended, it takes a few times as long as finding them', () => {
    const sent = Object.fromEntries(Array.from({ length: 6_000 }, (_, at) => [`key${at}`, String(at)]))
    const byKey = z.record(z.string(), z.number())
    const found = timeOf(() => byKey.safeParse(sent).error?.issues.length)
    expect(timeOf(() => accepted(sent, byKey)) / found).toBeLessThan(40)
  })

  it('what is said of mistakes is short, however many there are and however long they are', () => {
    const { failure } = refused({ all: Array.from({ length: 5_000 }, () => 'x') }, numbers)
    expect(failure.data).toMatchObject({ more: 4_980 })
    expect(failure.message).toContain('all.0: ')
    expect(failure.message).toContain('and 4980 more')
    const long = refused({ ['k'.repeat(100_000)]: 1, name: 'a' }, schema.strict()).failure
    expect(JSON.stringify([failure, long]).length).toBeLessThan(8_000)
  })

  it.each([
    ['more than 2,000,000 characters', JSON.stringify({ name: 'x'.repeat(2_000_000) }), /characters/],
    ['the same, decoded', { name: 'x'.repeat(2_000_001) }, /2000000 characters/],
    ['more than 50,000 values', `{"all":[${'1,'.repeat(60_000)}1]}`, /50000 values/],
    ['deep lists', `{"all":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, /200 levels/],
    ['deep lists inside of a text', { all: `${'['.repeat(100_000)}${']'.repeat(100_000)}` }, /200 levels/],
    ['many values inside of an envelope', { input: `{"all":[${'1,'.repeat(60_000)}1]}` }, /50000 values/],
  ])('T1: %s are refused by name before they are looked at, and not kept', (_, sent, why) => {
    const { failure, sent: kept } = refused(sent, numbers)
    expect(failure).toMatchObject({ code: 'TOOL_INPUT_TOO_LARGE', retry: false })
    expect(failure.message).toMatch(why)
    expect(JSON.stringify(kept).length).toBeLessThan(1_000)
  })

  it('a field with the name of a prototype is a field like any other', () => {
    expect(JSON.stringify(accepted('{"n":"1","__proto__":{"polluted":true}}', z.looseObject({ n: z.number() })))).toBe(
      '{"n":1,"__proto__":{"polluted":true}}',
    )
  })
})
