/** The text of a prompt, put together of parts. */
import { describe, expect, it } from 'vitest'
import { createApp } from '../../../src/agent/app.js'
import { defineModel, definePrompt } from '../../../src/agent/define.js'
import type { Definition, PromptPart, Variable } from '../../../src/agent/define.js'
import { promptPieces } from '../../../src/agent/prompt-parts.js'
import { isSkeinError } from '../../../src/core/failure.js'
import { scriptedModel } from '../../../src/models/scripted.js'
import { looseTool } from '../../helpers/app.js'

const model = defineModel({ name: 'fast', model: scriptedModel([]) })
const text = (content: string): PromptPart => ({ type: 'text', content })
const include = (prompt: string): PromptPart => ({ type: 'include', prompt })
const env = (property: string): PromptPart => ({ type: 'env', property })
const prompt = (name: string, ...parts: readonly PromptPart[]) => definePrompt({ name, prompt: parts, model: 'fast' })

function mistakesIn(...definitions: readonly Definition[]): unknown {
  try {
    createApp([model, ...definitions], 'app.ts')
    return []
  } catch (thrown) {
    if (isSkeinError(thrown)) return thrown.data?.['mistakes']
    throw thrown
  }
}

describe('parts of a prompt', () => {
  it('D5: texts and whole prompts, with nothing between them', () => {
    const rules = prompt('rules', text('Be kind. '), include('style'))
    const lead = prompt('lead', text('You lead. '), include('rules'), text(' Go.'), include('style'))
    const app = createApp(
      [model, lead, rules, definePrompt({ name: 'style', prompt: 'Be short.', model: 'fast' })],
      'app.ts',
    )
    expect(promptPieces(app, lead)).toEqual(['You lead. Be kind. Be short. Go.Be short.'])
    expect(promptPieces(app, { prompt: [] })).toEqual([])
  })

  it('D5, D1: a prompt that is not there, or that includes itself by a detour', () => {
    expect(mistakesIn(prompt('lead', include('gone')))).toEqual([
      'prompt "lead" includes the prompt "gone"; there are: lead',
    ])
    expect(
      mistakesIn(prompt('a', include('b')), prompt('b', include('c'), include('c')), prompt('c', include('b'))),
    ).toEqual(['prompt "b" includes itself: b → c → b'])
    expect(mistakesIn(prompt('a', include('a')))).toEqual(['prompt "a" includes itself: a → a'])
  })

  it('D5, D7: variables stand where their values will, also those of prompts that are included', () => {
    const tone = { name: 'TONE', type: 'text' as const, default: 'kind' }
    const rules = definePrompt({
      name: 'rules',
      model: 'fast',
      variables: [tone],
      prompt: [text('Be '), env('TONE'), text('.')],
    })
    const lead = prompt('lead', text('You lead. '), include('rules'))
    expect(promptPieces(createApp([model, lead, rules], 'app.ts'), lead)).toEqual(['You lead. Be ', tone, '.'])
  })

  it('D5: a variable that is not declared, or that anyone declares as a secret, is not shown to a model', () => {
    const says = (rest: string) => `prompt "p" shows the variable KEY${rest}`
    const shown = (...variables: readonly Variable[]) => definePrompt({ ...prompt('p', env('KEY')), variables })
    expect(mistakesIn(shown())).toEqual([
      says(", which it does not declare: add { name: 'KEY', type: 'text' } to its variables"),
    ])
    expect(mistakesIn(shown({ name: 'KEY' }))).toEqual([
      says(` to its model, and prompt "p" declares it as a secret: say type: 'text' there, or leave it out`),
    ])
    expect(
      mistakesIn(
        shown({ name: 'KEY', type: 'text' }),
        looseTool('look', () => 1, { variables: [{ name: 'KEY' }] }),
      ),
    ).toEqual([expect.stringContaining('and tool "look" declares it as a secret')])
    expect(mistakesIn(shown({ name: 'KEY', type: 'text' }))).toEqual([])
  })

  it.each<[unknown, RegExp]>([
    [[{ type: 'env', property: 'key' }], /^prompt "p": prompt/],
    [5, /^prompt "p": prompt: must be a text, or a list of parts/],
    [[{ type: 'text', contents: 'x' }], /^prompt "p": prompt/],
    [[{ type: 'image', content: 'x' }], /^prompt "p": prompt/],
    [['x'], /^prompt "p": prompt/],
  ])('D5, D1: %j is told', (parts, says) => {
    expect(mistakesIn({ ...prompt('p'), prompt: parts } as unknown as Definition)).toEqual([
      expect.stringMatching(says),
    ])
  })
})
