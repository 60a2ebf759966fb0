/**
 * Several copies of zod in one project. fixtures/user.ts is the part for the compiler; test/install gives it to the
 * oldest, too.
 */
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import * as mini from 'zod/mini'
import { z as old } from 'zod-oldest'
import { defineTool } from '../../src/agent/define.js'
import { fieldsOf, jsonSchemaOf, parse, parseOrThrow } from '../../src/core/schema.js'
import type { Schema } from '../../src/core/schema.js'
import { checkArgs } from '../../src/tools/args.js'

it('E7: a schema of another copy is parsed, repaired and told with its descriptions', () => {
  const args = old.object({ a: old.number().describe('the first'), b: old.number().default(2) }).meta({ title: 'Sum' })
  expect(parse(args, { a: 1 })).toMatchObject({ success: true, data: { a: 1, b: 2 } })
  expect(checkArgs('add', args, '{"a":"1"}')).toEqual({ ok: true, args: { a: 1 } })
  expect(checkArgs('add', args, {})).toMatchObject({
    ok: false,
    failure: { message: expect.stringContaining('a: Invalid input: expected number, received undefined') },
  })
  expect(jsonSchemaOf(args)).toMatchObject({
    title: 'Sum',
    properties: { a: { type: 'number', description: 'the first' } },
    required: ['a'],
  })
  expect(jsonSchemaOf(z.object({ inner: z.string().describe('new') }))).toMatchObject({
    properties: { inner: { description: 'new' } },
  })
  expect([fieldsOf(args), fieldsOf(z.object({ c: args })), fieldsOf(old.string())]).toEqual([
    ['a', 'b'],
    ['c'],
    undefined,
  ])
})

describe('E7: what is wrong with args is told in a whole sentence', () => {
  const whole = 'a: Invalid input: expected number, received undefined'
  const copies = {
    'the oldest copy': () => old.object({ a: old.number() }),
    'our copy': () => z.object({ a: z.number() }),
    'zod/mini, which has no language of its own': () => mini.object({ a: mini.number() }),
  }
  /** A process has no language until the first schema of a copy that has one is made. */
  const inLanguage = (localeError: z.core.$ZodErrorMap | undefined): void => {
    const { localeError: before } = z.config()
    z.config({ localeError })
    onTestFinished(() => void z.config({ localeError: before }))
  }
  const messageOf = (schema: Schema): unknown => {
    const checked = checkArgs('add', schema, {})
    return checked.ok ? undefined : checked.failure.message
  }

  it.each(Object.entries(copies))('by %s, whatever was loaded before', (_, schemaOf) => {
    const schema = schemaOf()
    inLanguage(undefined)
    expect(messageOf(schema)).toContain(whole)
    expect(() => parseOrThrow(schema, {})).toThrow('expected number, received undefined')
    expect(z.config().localeError).toBeUndefined() // the process belongs to the app
  })

  it('inside a union of another copy, too', () => {
    inLanguage(undefined)
    const either = old.object({ a: old.union([old.number(), old.boolean()]) })
    const [issue] = parse(either, {}).error?.issues ?? []
    expect(issue).toMatchObject({ errors: [[{ message: expect.stringContaining('expected number') }], [{}]] })
  })

  it('in the language that the app has chosen for its process', () => {
    const schema = copies['the oldest copy']()
    inLanguage(z.locales.de().localeError)
    expect(messageOf(schema)).toContain('a: Ungültige Eingabe: erwartet Zahl')
  })

  it('in the words of the schema, if it has some', () => {
    inLanguage(undefined)
    expect(messageOf(old.object({ a: old.number('a number, please') }))).toContain('a: a number, please')
  })
})

it('D8: tools with schemas of two copies are tools alike', () => {
  const both = [
    defineTool({ name: 'a', description: '', args: old.object({}), execute: () => 1 }),
    defineTool({ name: 'b', description: '', args: z.object({}), execute: () => 1 }),
  ]
  expect(both.map(({ name }) => name)).toEqual(['a', 'b'])
})
