/** The JSON of what a host function came to, as the prelude reads it. */
import { textOf, toJson } from '../../src/core/json.js'

export function encodeValue(value: unknown): string {
  return JSON.stringify({ value: toJson(value) })
}

export function encodeError(thrown: unknown): string {
  const error =
    thrown instanceof Error
      ? { name: thrown.name, message: thrown.message }
      : { name: 'Error', message: textOf(thrown) }
  return JSON.stringify({ error: toJson(error) })
}

/** To a call that comes after the end. */
export const runEnded = encodeError(new Error('the run has ended'))
