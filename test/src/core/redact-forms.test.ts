/** Secrets in every dress that programs give them, alone and over one another: nothing of them is left. */
import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createRedactor, mask } from '../../../src/core/redact/redact.js'
import { times } from '../../helpers/soak.js'

type Dress = (secret: string) => string

const spread = (text: string, size: number, between: string): string =>
  text.match(new RegExp(`.{1,${size}}`, 'g'))?.join(between) ?? text
const hex = (text: string): string => Buffer.from(text).toString('hex')
const base64 = (text: string): string => Buffer.from(text).toString('base64')
/** Every other byte, in cases that change. */
const partly = (text: string): string =>
  Array.from(Buffer.from(text), (byte, at) =>
    at % 2 === 0 || byte > 126 || byte === 37
      ? `%${byte.toString(16).padStart(2, '0')[at % 3 === 0 ? 'toUpperCase' : 'toLowerCase']()}`
      : String.fromCharCode(byte),
  ).join('')

/** Those that may be put over another one. */
const wrappings: Readonly<Record<string, Dress>> = {
  'as it is': (secret) => secret,
  JSON: (secret) => JSON.stringify(secret).slice(1, -1),
  'JSON for PHP': (secret) =>
    JSON.stringify(secret)
      .slice(1, -1)
      .replaceAll('/', String.raw`\/`),
  'JSON in ASCII': (secret) =>
    JSON.stringify(secret)
      .slice(1, -1)
      .replaceAll(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`),
  encodeURIComponent: (secret) => encodeURIComponent(secret),
  'percent in lower case': (secret) => encodeURIComponent(secret).replaceAll(/%../g, (digits) => digits.toLowerCase()),
  'percent, partly': partly,
  URLSearchParams: (secret) => new URLSearchParams({ q: secret }).toString().slice(2),
  'bytes as escapes': (secret) =>
    Array.from(Buffer.from(secret), (byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join(''),
  'entities of HTML': (secret) =>
    secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;'),
}

const ends: Readonly<Record<string, Dress>> = {
  'the search of a URL': (secret) =>
    new URL(`https://example.com/?q=${encodeURIComponent(secret)}&x=1`).href.slice(23, -4),
  'the user of a URL': (secret) =>
    Object.assign(new URL('https://example.com/'), { password: secret, username: 'u' })
      .href.slice(10)
      .replace('@example.com/', ''),
  hex,
  'upper-case hex': (secret) => hex(secret).toUpperCase(),
  'hex with colons': (secret) => spread(hex(secret), 2, ':'),
  'hex in groups': (secret) => spread(hex(secret), 4, ' '),
  'hex with 0x': (secret) => `0x${spread(hex(secret), 2, ', 0x')}`,
  'a printed buffer': (secret) =>
    inspect(Buffer.from(secret))
      .slice(8, -1)
      .replace(/ \.\.\..*/, ''),
  'a printed array of bytes': (secret) =>
    inspect(new Uint8Array(Buffer.from(secret)))
      .replace(/^.*?\[/, '')
      .replace(/\]$/, ''),
  'a buffer in JSON': (secret) => JSON.stringify(Buffer.from(secret)).slice(24, -2),
  base64,
  base64url: (secret) => Buffer.from(secret).toString('base64url'),
  'base64 in lines': (secret) => spread(base64(secret), 16, '\r\n'),
  'base64 in lines in JSON': (secret) => JSON.stringify(spread(base64(secret), 16, '\n')).slice(1, -1),
  'base64 in a URL': (secret) => encodeURIComponent(base64(secret)),
  'base64 of a header': (secret) => base64(`user:${secret}`),
}

const secrets = fc
  .string({ unit: fc.constantFrom(...'abcXYZ0189+/=-_ "\\&<%?#:@\'äß€😀'), minLength: 12, maxLength: 40 })
  .filter((secret) => secret.trim() === secret && new Set(secret).size > 5)

/** No piece of this length of what was said is left: less than that tells nothing. */
const piece = 10
function leftOf(dressed: string, clean: string): readonly string[] {
  if (!clean.includes(mask)) return [clean]
  const left = clean.replaceAll(mask, '\u0000')
  return Array.from({ length: Math.max(0, dressed.length - piece + 1) }, (_, at) =>
    dressed.slice(at, at + piece),
  ).filter((each) => left.includes(each))
}

const redactor = (...given: readonly string[]) => createRedactor(given) ?? expect.fail('nothing to mask')

describe('every dress', () => {
  it.each(Object.entries({ ...wrappings, ...ends }))('F3: %s', (_, dress) => {
    fc.assert(
      fc.property(secrets, (secret) => {
        expect(leftOf(dress(secret), redactor(secret).text(`(${dress(secret)})`))).toEqual([])
      }),
      { numRuns: times(60, 1_000) },
    )
  })

  it('RX5, F3: one over another, in a text, in JSON, in bytes and in a stream of any pieces', () => {
    fc.assert(
      fc.property(
        secrets,
        fc.array(fc.constantFrom(...Object.values(wrappings)), { minLength: 1, maxLength: 2 }),
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
        (secret, dresses, sizes) => {
          const made = redactor(secret)
          const dressed = dresses.reduce((text, dress) => dress(text), secret)
          const whole = `before (${dressed}) after`
          const clean = made.text(whole)
          expect(leftOf(dressed, clean)).toEqual([])
          expect(made.json({ [whole]: [whole] })).toEqual({ [clean]: [clean] })
          expect(Buffer.from(made.bytes(Buffer.from(whole))).toString()).toBe(clean)
          const stream = made.stream()
          let out = ''
          for (let at = 0, turn = 0; at < whole.length; turn++) {
            const size = sizes[turn % sizes.length] ?? 1
            out += stream.push(whole.slice(at, at + size))
            at += size
          }
          expect(out + stream.end()).toBe(clean)
        },
      ),
      { numRuns: times(300, 5_000) },
    )
  })
})

describe('what is more than a value', () => {
  const body = Array.from({ length: 6 }, (_, at) =>
    Buffer.from(`line ${at} of the key, long enough ..... ${at}${at}`).toString('base64').slice(0, 48),
  )
  const pem = ['-----BEGIN PRIVATE KEY-----', ...body, '-----END PRIVATE KEY-----', ''].join('\n')

  it.each([
    ['line by line', body.join('" "')],
    ['with other ends of lines', pem.replaceAll('\n', '\r\n')],
    ['indented', body.map((line) => `    ${line}`).join('\n')],
    ['without its lines', body.join('')],
    ['in lines of another length', spread(body.join(''), 20, '\n')],
    ['as a variable', JSON.stringify(pem)],
    ['in base64', base64(pem)],
    ['a line of it in hex', hex(body[2] ?? '')],
  ])('a key %s', (_, said) => {
    const clean = redactor(pem).text(`<<${said}>>`)
    expect(clean).toContain(mask)
    for (const line of body)
      for (const form of [line, hex(line), base64(line).slice(4, 40)]) expect(clean).not.toContain(form.slice(4, 24))
  })

  it('a key that is written in one line, with the ends of its lines as escapes', () => {
    expect(redactor(pem.replaceAll('\n', String.raw`\n`)).text(body[3] ?? '')).toBe(mask)
  })

  it('what stands around a key is no secret', () => {
    expect(redactor(pem).text('it begins with -----BEGIN PRIVATE KEY-----')).toBe(
      'it begins with -----BEGIN PRIVATE KEY-----',
    )
  })

  it('the beginning of a long value, as Node prints it', () => {
    const long = 'sk-live-'.padEnd(130, '0123456789abcdef')
    for (const value of [Buffer.from(long), new Uint8Array(Buffer.from(long))])
      expect(redactor(long).text(inspect(value))).not.toMatch(/73 6b 2d|115, +107/)
  })

  it('a list of its bytes', () => {
    const value = 'sk-live-0123456789'
    expect(redactor(value).json({ bytes: [1, ...Buffer.from(value), 2], other: [1, 2, 3] })).toEqual({
      bytes: mask,
      other: [1, 2, 3],
    })
  })

  it('what an error of JSON.parse quotes', () => {
    const parsed = (text: string): string => {
      try {
        JSON.parse(text)
        return ''
      } catch (thrown) {
        return String(thrown)
      }
    }
    const value = 'sk-live-0123456789abcdef'
    for (const text of [value, `{"a": ${value}}`, `{"token":"${value}" oops ${value}`]) {
      const clean = redactor(value).text(parsed(text))
      expect(clean).toMatch(/JSON/)
      for (let at = 0; at + 4 <= value.length; at++) expect(clean).not.toContain(value.slice(at, at + 4))
    }
    expect(redactor(value).text(parsed('{"a": hello}'))).toBe(parsed('{"a": hello}'))
  })
})

describe('what it costs', () => {
  /** The least of some tries: what else the machine does only adds to it. */
  const timeOf = (work: () => unknown): number =>
    Math.min(
      ...Array.from({ length: 3 }, () => {
        const began = performance.now()
        work()
        return performance.now() - began
      }),
    )
  const short = redactor('abcdefgh')

  it.each([
    ['one letter', 'a'.repeat(32_768), 'a'.repeat(300_000)],
    ['nearly itself', 'abcdefg'.repeat(4_000), 'abcdefg'.repeat(3_999).repeat(10)],
    [
      'in many lines',
      Array.from({ length: 500 }, (_, at) => `aaaaaaaa${'a'.repeat(at % 60)}`).join('\n'),
      'a'.repeat(300_000),
    ],
  ])('AU1: a value of 32 KB costs a text no more than a short one does (%s)', (_, secret, text) => {
    const long = redactor(secret)
    short.text(text)
    expect(timeOf(() => long.text(text)) / timeOf(() => short.text(text))).toBeLessThan(40)
  })

  it('RX5: a stream that could be a long value all the time costs no more than a text', () => {
    const long = redactor('a'.repeat(20_000))
    const streamed = (): void => {
      const stream = long.stream()
      for (let at = 0; at < 10_000; at++) stream.push('aaaa')
      stream.end()
    }
    expect(timeOf(streamed) / timeOf(() => long.text('a'.repeat(40_000)))).toBeLessThan(400)
  })
})
