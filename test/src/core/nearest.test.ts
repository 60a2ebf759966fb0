/** The word that was meant. */
import { expect, it } from 'vitest'
import { nearest } from '../../../src/core/mistakes/nearest.js'

const known = ['execute', 'timeoutMs', 'outputSchema', 'sideEffect', 'uses', 'cpu']

it.each([
  ['exceute', 'execute'],
  ['timeout', 'timeoutMs'],
  ['outputschema', 'outputSchema'],
  ['sideEffects', 'sideEffect'],
  ['use', 'uses'],
  ['uess', 'uses'],
  ['ucp', undefined],
  ['output', 'outputSchema'],
  ['handler', undefined],
  ['', undefined],
])('%s → %s', (word, meant) => {
  expect(nearest(word, known)).toBe(meant)
})
