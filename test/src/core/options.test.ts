/** Forms whose schemas are made when a value has their fields. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { forms } from '../../../src/agent/forms.js'
import { FieldForm, checkFitting, checkOptions } from '../../../src/core/options.js'

function createForm() {
  const made: string[] = []
  const note = <Made>(name: string, schema: Made): Made => {
    made.push(name)
    return schema
  }
  const form = new FieldForm(
    {
      first: () => note('first', z.string()),
      second: () => note('second', z.number().optional()),
      third: () => note('third', z.number().min(3).optional()),
    },
    { required: ['first'] },
  )
  return { form, made }
}

describe('FieldForm', () => {
  it('makes the schema of a field when a value first has it, once', () => {
    const { form, made } = createForm()
    expect(form.names).toEqual(['first', 'second', 'third'])
    expect(made).toEqual([])
    expect(form.fits({ first: 'a' })).toBe(true)
    expect(made).toEqual(['first'])
    expect(form.fits({ first: 'a', third: 4 })).toBe(true)
    expect(form.fits({ first: 'b' })).toBe(true)
    expect(form.fits({ first: 'c', third: 5 })).toBe(true)
    expect(made).toEqual(['first', 'third'])
  })

  it('FF1: fits what the whole form accepts, and nothing else, whichever schemas were made', () => {
    class Inherited {
      get third(): number {
        return 1
      }
    }
    const values: readonly unknown[] = [
      { first: 'a' },
      {},
      { first: 1 },
      { first: 'a', second: 2 },
      { first: 'a', second: undefined },
      { first: 'a', second: '2' },
      { first: 'a', third: 2 },
      { first: 'a', other: 1 },
      { first: 'a', toString: 1 },
      Object.assign(new Inherited(), { first: 'a' }),
      undefined,
      null,
      'text',
      [],
    ]
    const { form } = createForm()
    for (const value of values) {
      const isRight = createForm().form.whole().safeParse(value).success
      expect([value, createForm().form.fits(value)]).toEqual([value, isRight])
      expect([value, form.fits(value)]).toEqual([value, isRight])
    }
  })

  it('FF1: a mistake reads the same whichever schemas were made before', () => {
    const mistake = (form: FieldForm, value: unknown): unknown => {
      try {
        return checkFitting(form, value, 'here')
      } catch (thrown) {
        return thrown
      }
    }
    const value = { third: 1, forth: 2, second: 'x' }
    const { form } = createForm()
    form.fits({ first: 'a', third: 4 })
    expect(mistake(form, value)).toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringMatching(
        /^here: first: .*; second: .*; third: .*"forth"; there are: first, second, third$/,
      ),
    })
    expect(mistake(form, value)).toEqual(mistake(createForm().form, value))
  })

  it.each(Object.entries(forms))('FF1: the form of a %s says which fields it requires', (_kind, form) => {
    expect(form.fits({})).toBe(false)
    const missing = form
      .whole()
      .safeParse({})
      .error?.issues.map(({ path: [field] }) => field)
    for (const name of form.names) expect(form.requires(name)).toBe(missing?.includes(name))
  })
})

describe('mistakes in options', () => {
  const schema = z.strictObject({
    limits: z.strictObject({ maxSteps: z.number().optional(), maxTokens: z.number().optional() }).optional(),
    backend: z.string(),
    rules: z.record(z.string(), z.strictObject({ maxTrees: z.number().optional() })).optional(),
    repeat: z.union([z.literal(false), z.strictObject({ same: z.number().optional() })]).optional(),
    list: z.array(z.strictObject({ name: z.string() })).optional(),
  })

  it.each([
    [
      { backand: 'a', backend: 'b' },
      'here: there is no option "backand"; did you mean "backend"? there are: limits, backend, rules, repeat, list',
    ],
    [
      { backend: 'b', limits: { maxStep: 1 } },
      'here: there is no option "limits.maxStep"; did you mean "maxSteps"? there are: maxSteps, maxTokens',
    ],
    [{ backend: 'b', limits: { zoom: 1 } }, 'here: there is no option "limits.zoom"; there are: maxSteps, maxTokens'],
    [
      { backend: 'b', rules: { 'a:*': { maxTree: 1 } } },
      'here: there is no option "rules.a:*.maxTree"; did you mean "maxTrees"? there are: maxTrees',
    ],
    [
      { backend: 'b', list: [{ name: 'a', nam: 1 }] },
      'here: there is no option "list.0.nam"; did you mean "name"? there are: name',
    ],
    [{}, 'here: backend: is missing; it must be a string'],
    [undefined, 'here: takes an object of options; backend: is missing; it must be a string'],
    [5, 'here: Invalid input: expected object, received number'],
  ])('%j', (value, message) => {
    expect(() => checkOptions(schema, value, 'here')).toThrow(expect.objectContaining({ code: 'BAD_OPTION', message }))
  })
})
