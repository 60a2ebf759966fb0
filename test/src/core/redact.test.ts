/** Secrets do not get out, in whatever dress. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRedactor, mask } from '../../../src/core/redact/redact.js'
import { times } from '../../helpers/soak.js'

const secret = 'tök"en/+\\42 &\n!'

function redactor(...secrets: readonly string[]) {
  const made = createRedactor(secrets)
  if (!made) throw new Error('nothing to mask')
  return made
}

describe('every form is masked', () => {
  it.each([
    ['raw', secret],
    ['JSON', JSON.stringify(secret).slice(1, -1)],
    ['JSON in JSON', JSON.stringify(JSON.stringify(secret)).slice(3, -3)],
    [
      'JSON in ASCII',
      JSON.stringify(secret)
        .slice(1, -1)
        .replace('ö', String.raw`\u00f6`),
    ],
    ['percent', encodeURIComponent(secret)],
    ['percent in lower case', encodeURIComponent(secret).replaceAll(/%../g, (digits) => digits.toLowerCase())],
    ['a form field', new URLSearchParams({ a: secret }).toString().slice(2)],
    ['hex', Buffer.from(secret).toString('hex')],
    ['upper-case hex', Buffer.from(secret).toString('hex').toUpperCase()],
    ['base64', Buffer.from(secret).toString('base64').replace(/.=*$/, '')],
    ['base64url', Buffer.from(secret).toString('base64url').slice(0, -1)],
  ])('F3: %s', (_, form) => {
    expect(redactor(secret).text(`<${form}>`)).toMatch(/^<\[redacted\][A-Za-z0-9+/=]?>$/)
  })

  it('base64 of a longer text, wherever in it', () => {
    fc.assert(
      fc.property(fc.string(), fc.string({ unit: 'binary', minLength: 8 }), fc.string(), (before, value, after) => {
        const text = Buffer.from(before + value + after).toString('base64')
        const clean = redactor(value).text(text)
        expect(clean).toContain(mask)
        expect(Buffer.from(clean.replaceAll(mask, ''), 'base64').includes(Buffer.from(value))).toBe(false)
      }),
    )
  })

  it('no text holds the value afterwards, and what was around it is left', () => {
    const words = fc.stringMatching(/^[a-z ]{0,20}$/)
    fc.assert(
      fc.property(words, fc.stringMatching(/^[A-Z0-9%"\\]{8,40}$/), words, (before, value, after) => {
        expect(redactor(value).text(before + value + after)).toBe(before + mask + after)
      }),
    )
  })

  it('a value with space around it is also masked without', () => {
    expect(redactor('hunter2hunter2\n').text('(hunter2hunter2)')).toBe('([redacted])')
  })

  it('half of a surrogate pair is no mistake', () => {
    expect(redactor('\uD800abcdefgh').text('x \uD800abcdefgh')).toBe('x [redacted]')
  })
})

it('values that overlap leave nothing of either', () => {
  expect(redactor('abcdefgh', 'efghijkl').text('<abcdefghijkl>')).toBe('<[redacted]>')
  expect(redactor('aaaaaaaa').text('<aaaaaaaaaaaa>')).toBe('<[redacted]>')
  expect(redactor('abcdefgh', 'abcdefghij').text('<abcdefghij> <abcdefgh>')).toBe('<[redacted]> <[redacted]>')
})

describe('JSON', () => {
  it('F3: keys, nested values, and a number that says the same', () => {
    const clean = redactor('hunter2hunter2', '12345678').json({
      hunter2hunter2: [1, { deep: ['my hunter2hunter2'] }],
      pin: 12345678,
      near: 1234567,
    })
    expect(clean).toEqual({ [mask]: [1, { deep: ['my [redacted]'] }], pin: mask, near: 1234567 })
  })

  it('what holds no secret is the same object', () => {
    const value = { list: [1, 'two', null], deep: { yes: true } }
    expect(redactor('hunter2hunter2').json(value)).toBe(value)
  })
})

it('RX4: there is nothing to mask without a value of 8 characters', () => {
  expect(createRedactor([])).toBeUndefined()
  expect(createRedactor(['1234567', ' 1234567'])).toBeDefined()
  expect(createRedactor(['', '1234567'])).toBeUndefined()
})

describe('RX5: bytes and streams', () => {
  const secrets = ['abcabcab', 'cabxyz!!', 'ünsicher-42']
  const pieces = fc.array(
    fc.oneof(
      fc.constantFrom(
        ...secrets,
        ...secrets.map((each) => each.slice(0, 5)),
        ...secrets.map((each) => Buffer.from(each).toString('base64')),
        'abc',
        'cab',
        'x',
      ),
      fc.string({ maxLength: 3 }),
    ),
  )

  it('RX5: in whatever pieces a text comes, what the stream gives is the masked text, and nothing given holds a secret', () => {
    fc.assert(
      fc.property(pieces, (given) => {
        const made = redactor(...secrets)
        const stream = made.stream()
        const out = [...given.map((piece) => stream.push(piece)), stream.end()].join('')
        expect(out).toBe(made.text(given.join('')))
        for (const each of secrets) expect(out).not.toContain(each)
      }),
      { numRuns: times(500, 2_000) },
    )
  })

  it('RX5: what cannot become a secret is given at once', () => {
    const stream = redactor('abcabcab').stream()
    expect([
      stream.push('hello a'),
      stream.push('bc'),
      stream.push('d '),
      stream.push('abcabca'),
      stream.push('b'),
      stream.push('.'),
      stream.end(),
    ]).toEqual(['hello ', '', 'abcd ', '', '', `${mask}.`, ''])
  })

  it('RX5: bytes of any kind, whole and in pieces; without a secret they are the same', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), fc.nat(2), (parts, which) => {
        const made = redactor(...secrets)
        const whole = Buffer.concat([...parts, Buffer.from(secrets[which] ?? ''), ...parts])
        const clean = Buffer.from(made.bytes(whole))
        expect(clean.includes(secrets[which] ?? '')).toBe(false)
        expect(clean.includes(mask)).toBe(true)
        const stream = made.byteStream()
        const out = Buffer.concat([
          ...[...parts, Buffer.from(secrets[which] ?? ''), ...parts].map((part) => stream.push(part)),
          stream.end(),
        ])
        expect(out.equals(clean)).toBe(true)
        const plain = Uint8Array.from([0, 255, 128, 1])
        expect(made.bytes(plain)).toBe(plain)
      }),
    )
  })
})
