import { describe, expect, it } from 'vitest'
import { createRedactor } from '../../../src/core/redact/redact.js'
import { toThrown } from '../../../src/core/thrown.js'

describe('what was thrown', () => {
  it('F3: a secret at the place where a text is cut is masked whole', () => {
    const secret = 'carrier-token-12345'
    const redactor = createRedactor([secret])
    // Whatever is cut off, no part of it is left.
    for (let before = 8_192 - secret.length; before <= 8_192; before++) {
      const error = new Error('x'.repeat(before) + secret, { cause: new Error('y'.repeat(before) + secret) })
      const told = JSON.stringify(toThrown(error, (text) => redactor?.text(text) ?? text))
      expect(/[xy]car/.test(told)).toBe(false)
    }
  })

  it('an error whose name and message are no texts is told all the same', () => {
    const odd = Object.assign(new Error('x'), { message: 5, name: Symbol('odd'), stack: null })
    expect(toThrown(odd)).toMatchObject({ message: '5', name: 'Symbol(odd)' })
  })
})
