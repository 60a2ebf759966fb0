/** The text of a prompt, put together of parts. */
import { describe, expect, it } from 'vitest'
import { createApp } from '../../../src/agent/app.js'
import { defineModel, definePrompt } from '../../../src/agent/define.js'
import type { Definition, PromptPart } from '../../../src/agent/define.js'
import { textOf } from '../../../src/agent/prompt-parts.js'
import { isSkeinError } from '../../../src/core/failure.js'
import { scriptedModel } from '../../../src/models/scripted.js'

const model = defineModel({ name: 'fast', model: scriptedModel([]) })
const text = (content: string): PromptPart => ({ type: 'text', content })
const include = (prompt: string): PromptPart => ({ type: 'include', prompt })
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
    const app = createApp([model, lead, rules, definePrompt({ name: 'style', prompt: 'Be short.', model: 'fast' })], 'app.ts')
    expect(textOf(app, lead)).toBe('You lead. Be kind. Be short. Go.Be short.')
    expect(textOf(app, { prompt: [] })).toBe('')
  })

  it('D5, D1: a prompt that is not there, or that includes itself by a detour', () => {
    expect(mistakesIn(prompt('lead', include('gone')))).toEqual(['prompt "lead" includes the prompt "gone"; there are: lead'])
    expect(mistakesIn(prompt('a', include('b')), prompt('b', include('c'), include('c')), prompt('c', include('b')))).toEqual(['prompt "b" includes itself: b → c → b'])
    expect(mistakesIn(prompt('a', include('a')))).toEqual(['prompt "a" includes itself: a → a'])
  })

  it.each<[unknown, RegExp]>([
    [5, /^prompt "p": prompt: must be a text, or a list of parts/],
    [[{ type: 'text', contents: 'x' }], /^prompt "p": prompt/],
    [[{ type: 'image', content: 'x' }], /^prompt "p": prompt/],
    [['x'], /^prompt "p": prompt/],
  ])('D5, D1: %j is told', (parts, says) => {
    expect(mistakesIn({ ...prompt('p'), prompt: parts } as unknown as Definition)).toEqual([expect.stringMatching(says)])
  })
})
