/**
 * Turns the `model` of a definition into a `Model`: a Skein model, an AI SDK model, or a function that returns either,
 * so that a provider package is loaded only when its model is first needed.
 *
 * - Anything else is BAD_OPTION with its type and field names only: values may hold keys.
 * - A function is called once per `toModel`; caching its result is up to the caller.
 */
import { SkeinError } from '../core/failure.js'
import { isObject } from '../core/json.js'
import { type AiSdkOptions, fromAiSdk, isAiSdkModel } from './ai-sdk/adapter.js'
import type { Model } from './port.js'

const accepted =
  "a model is an AI SDK language model (v2, v3 or v4, such as openai('gpt-…')), a Skein model ({ name, call }), " +
  'or a function that gives one of these'

// `unknown`, because JavaScript callers and dynamic imports may give anything.
export async function toModel(source: unknown, options: AiSdkOptions = {}): Promise<Model> {
  return fromValue(typeof source === 'function' ? await callSource(() => source()) : source, options)
}

async function callSource(source: () => unknown): Promise<unknown> {
  try {
    return await source()
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown)
    throw new SkeinError('BAD_OPTION', `the function that gives the model threw: ${why}`, { cause: thrown })
  }
}

function fromValue(value: unknown, options: AiSdkOptions): Model {
  if (isModel(value)) return value
  if (isAiSdkModel(value)) return fromAiSdk(value, options)
  throw new SkeinError('BAD_OPTION', `${described(value)} is not a model; ${accepted}`)
}

function isModel(value: unknown): value is Model {
  return isObject(value) && typeof value['name'] === 'string' && typeof value['call'] === 'function'
}

function described(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (!isObject(value)) return `a ${typeof value}`
  const version = value['specificationVersion']
  if (typeof version === 'string') return `an AI SDK object of specification ${version.slice(0, 20)}`
  const keys = Object.keys(value).slice(0, 8)
  return keys.length === 0 ? 'an object without fields' : `an object with ${keys.join(', ')}`
}
