/**
 * What is wrong with options and definitions, in words: zod's issues, with the names that a schema knows where one of
 * them was not found, and with what is missing where nothing was given.
 */
import { z } from 'zod'
import { nearest } from './nearest.js'

/** In one line; `schema` is what refused the value. */
export function mistakesIn({ issues }: z.ZodError, schema: z.ZodType): string {
  const [first] = issues
  if (first && first.path.length === 0 && isMissing(first)) {
    const { error } = schema.safeParse({})
    return `takes an object of options${error ? `; ${mistakesIn(error, schema)}` : ''}`
  }
  return issues
    .flatMap((issue) =>
      issue.code === 'unrecognized_keys' ? unknownOptions(issue, fieldsAt(schema, issue.path)) : [mistakeOf(issue)],
    )
    .join('; ')
}

function mistakeOf(issue: z.core.$ZodIssue): string {
  return issue.path.length > 0 ? `${issue.path.join('.')}: ${wordsOf(issue)}` : wordsOf(issue)
}

/** The list of those that exist stands once, after the last. */
function unknownOptions({ keys, path }: z.core.$ZodIssueUnrecognizedKeys, known: readonly string[]): readonly string[] {
  const mistakes = keys.map((key) => {
    const meant = nearest(key, known)
    const says = `there is no option "${[...path, key].join('.')}"`
    return meant === undefined ? says : `${says}; did you mean "${meant}"?`
  })
  const all = mistakes.join('; ')
  return known.length === 0 ? [all] : [`${all}${all.endsWith('?') ? '' : ';'} there are: ${known.join(', ')}`]
}

/** What a schema says itself stays as it is. */
export function wordsOf(issue: z.core.$ZodIssue): string {
  if (!isMissing(issue)) return issue.message
  return `is missing; it must be ${/^[aeiou]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}`
}

function isMissing(issue: z.core.$ZodIssue): issue is z.core.$ZodIssueInvalidType {
  return issue.code === 'invalid_type' && issue.message.endsWith('received undefined')
}

/** The names of the fields at a path of a schema. */
export function fieldsAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): readonly string[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodLazy) return fieldsAt(schema.unwrap(), path)
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => fieldsAt(option, path))
  const [key, ...rest] = path
  if (schema instanceof z.ZodArray && key !== undefined) return fieldsAt(schema.element, rest)
  if (schema instanceof z.ZodRecord && key !== undefined) return fieldsAt(schema.valueType, rest)
  if (!(schema instanceof z.ZodObject)) return []
  if (key === undefined) return Object.keys(schema.shape)
  const field: z.core.$ZodType | undefined = schema.shape[String(key)]
  return field ? fieldsAt(field, rest) : []
}
