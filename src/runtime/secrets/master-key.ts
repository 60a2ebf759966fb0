/**
 * The master key from text: 64 hex digits, base64 or base64url of 32 bytes, or a passphrase. Text in the form of a key
 * is one; other text of sufficient length is a passphrase.
 *
 * - Weaker text is refused, and no message repeats it.
 * - The derivation from a passphrase never changes: with another salt or cost no store could be read any more.
 * - A key has a buffer of its own. One of Node's shared pool would be transferred with a neighbour that is posted to a
 *   worker.
 */
import { scrypt } from 'node:crypto'
import { SkeinError } from '../../core/failure.js'
import { keyBytes } from './cipher.js'

const shortestPassphrase = 16
/** Different characters of a passphrase, or bytes of a key. 32 random bytes have fewer once in 10^36 times. */
const leastVariety = 8

/** About a third of a second and 32 MB, once per process. */
const cost = { N: 2 ** 15, r: 8, p: 3, maxmem: 2 ** 26 }
const salt = 'skein master key 1'

const advice =
  'Give 64 hex digits (openssl rand -hex 32), base64 of 32 bytes, or a passphrase of at least 16 characters'

/** `what` names the key in errors. */
export async function keyFromText(input: string, what = 'the key for secrets (SKEIN_KEY)'): Promise<Buffer> {
  const text = input.trim()
  const key = keyInText(text)
  const tooWeak = (why: string): SkeinError => new SkeinError('BAD_OPTION', `${what} ${why}. ${advice}.`)
  if (key) {
    if (isGuessable(key)) throw tooWeak('is a key of very few different bytes')
    return key
  }
  const characters = [...text]
  if (characters.length < shortestPassphrase)
    throw tooWeak(text === '' ? 'is empty' : `has only ${characters.length} characters`)
  if (isGuessable(characters)) throw tooWeak('is a passphrase of very few different characters')
  return await deriveKey(text.normalize('NFC'))
}

/** Undefined where the text is not in the form of a key. */
export function keyInText(text: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return unpooled(Buffer.from(text, 'hex'))
  if (!/^[\w+/-]{43}=?$/.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64')
  const spelled = text.replace('=', '').replaceAll('+', '-').replaceAll('/', '_')
  return bytes.length === keyBytes && bytes.toString('base64url') === spelled ? unpooled(bytes) : undefined
}

export function isGuessable(parts: Iterable<string | number>): boolean {
  return new Set(parts).size < leastVariety
}

function unpooled(pooled: Buffer): Buffer {
  const key = Buffer.alloc(keyBytes)
  pooled.copy(key)
  pooled.fill(0)
  return key
}

function deriveKey(passphrase: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(passphrase, salt, keyBytes, cost, (error, key) => (error ? reject(error) : resolve(key)))
  })
}
