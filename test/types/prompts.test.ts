/** Types flow from a prompt's schemas. Checked by the compiler. */
import { expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { definePrompt } from '../../src/agent/define.js'
import type { Definition, PromptDefinition } from '../../src/agent/define.js'
import type { InferPromptInput, InferPromptOutput } from '../../src/agent/infer.js'

const translate = definePrompt({
  name: 'translate',
  prompt: 'You translate.',
  model: 'fast',
  requiredSchema: z.object({ text: z.string(), to: z.string().default('en') }),
  outputSchema: z.object({ text: z.string(), sure: z.number() }),
})

it('D8: what a prompt is given and gives has the type of its schemas', () => {
  expectTypeOf<InferPromptInput<typeof translate>>().toEqualTypeOf<{ text: string; to: string }>()
  expectTypeOf<InferPromptOutput<typeof translate>>().toEqualTypeOf<{ text: string; sure: number }>()
  expectTypeOf<InferPromptInput<PromptDefinition>>().toBeUnknown()
  expectTypeOf<typeof translate>().toExtend<PromptDefinition>()
  expectTypeOf<typeof translate>().toExtend<Definition>()
  expect(translate.kind).toBe('prompt')
})
