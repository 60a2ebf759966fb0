/**
 * Several copies of zod in one project. fixtures/user.ts is the part for the compiler; test/install gives it to the
 * oldest, too.
 */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { z as old } from 'zod-oldest'
import { defineTool } from '../../src/agent/define.js'
import { fieldsOf, jsonSchemaOf, parse } from '../../src/core/schema.js'
import { checkArgs } from '../../src/tools/args.js'

it('E7: a schema of another copy is parsed, repaired and told with its descriptions', () => {
  const args = old.object({ a: old.number().describe('the first'), b: old.number().default(2) }).meta({ title: 'Sum' })
  expect(parse(args, { a: 1 })).toMatchObject({ success: true, data: { a: 1, b: 2 } })
  expect(checkArgs('add', args, '{"a":"1"}')).toEqual({ ok: true, args: { a: 1 } })
  expect(checkArgs('add', args, {})).toMatchObject({
    ok: false,
    // zod's longer sentence ("expected number, received undefined") is missing in some orders of test files.
    failure: { message: expect.stringContaining('a: Invalid input') },
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

it('D8: tools with schemas of two copies are tools alike', () => {
  const both = [
    defineTool({ name: 'a', description: '', args: old.object({}), execute: () => 1 }),
    defineTool({ name: 'b', description: '', args: z.object({}), execute: () => 1 }),
  ]
  expect(both.map(({ name }) => name)).toEqual(['a', 'b'])
})
