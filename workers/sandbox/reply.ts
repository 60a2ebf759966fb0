/** The result of a host function as JSON, in the form that the prelude reads. */
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

/** The reply to a call after the end of its run. */
export const runEnded = encodeError(new Error('the run has ended'))
