/** What is accepted as a model, and how the rest is refused. */
import { expect, test } from 'vitest'
import type { LanguageModelV2, LanguageModelV3 } from '@ai-sdk/provider'
import type { ModelSource } from '../../../src/agent/define.js'
import { toModel } from '../../../src/models/to-model.js'
import { scriptedModel } from '../../../src/models/scripted.js'
import { fakeSdkModel } from '../../helpers/sdk-model.js'

test('our own model is taken as it is, also from a function, sync or async', async () => {
  const own = scriptedModel(['x'])
  expect(await toModel(own)).toBe(own)
  expect(await toModel(() => own)).toBe(own)
  expect(await toModel(async () => own)).toBe(own)
})

test('an AI SDK model is adapted, also from a function', async () => {
  const sdk = fakeSdkModel([], { specificationVersion: 'v3' })
  expect((await toModel(sdk)).name).toBe('fake.chat/m1')
  expect((await toModel(async () => sdk)).name).toBe('fake.chat/m1')
})

test("the AI SDK's own types are accepted by the compiler", () => {
  const accepts = (source: ModelSource): ModelSource => source
  const typed = (v2: LanguageModelV2, v3: LanguageModelV3): ModelSource[] => [
    accepts(v2),
    accepts(v3),
    accepts(async () => v3),
  ]
  expect(typed).toBeTypeOf('function')
})

// JavaScript callers are not held by the type.
const refused: readonly [unknown, RegExp][] = [
  ['openai/gpt', /^a string is not a model; a model is an AI SDK language model/],
  [undefined, /^undefined is not a model/],
  [null, /^null is not a model/],
  [{}, /^an object without fields is not a model/],
  [{ apiKey: 'sk-very-secret', model: 'x' }, /^an object with apiKey, model is not a model/],
  [[1, 2], /^an array of 2 is not a model/],
  [{ specificationVersion: 'v1', provider: 'p', modelId: 'm', doStream() {} }, /^an AI SDK object of specification v1/],
  [() => () => 1, /^a function is not a model/],
  [async () => 7, /^a number is not a model/],
]

test.each(refused)('%o is refused with what it is', async (given, message) => {
  const error = await Reflect.apply(toModel, undefined, [given]).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toMatchObject({ code: 'BAD_OPTION', message: expect.stringMatching(message) })
  expect(String(error)).not.toContain('very-secret')
})

test('a function that throws is BAD_OPTION with its message', async () => {
  const source = async (): Promise<never> => {
    throw new Error("Cannot find package '@ai-sdk/openai'")
  }
  await expect(toModel(source)).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringContaining("Cannot find package '@ai-sdk/openai'"),
  })
})
