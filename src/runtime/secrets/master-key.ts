/**
 * The master key from what a person gives: 64 hex digits, base64 or base64url of 32 bytes, or a passphrase. What has
 * the form of a key is one; anything else of enough length is a passphrase.
 *
 * - Anything weaker is refused, and no message repeats it.
 * - The way from passphrase to key never changes: with another salt or cost nobody could read their store.
 * - Keys have memory of their own. A buffer of Node's shared pool would go along when a neighbour in it is posted
 *   to a worker.
 */
import { scrypt } from 'node:crypto'
import { SkeinError } from '../../core/failure.js'
import { keyBytes } from './cipher.js'

const shortestPassphrase = 16
/** Of characters in a passphrase, or of bytes in a key. 32 random bytes have fewer once in 10^36 times. */
const leastVariety = 8

/** About a third of a second and 32 MB, once per process. */
const cost = { N: 2 ** 15, r: 8, p: 3, maxmem: 2 ** 26 }
const salt = 'skein master key 1'

const advice =
  'Give 64 hex digits (openssl rand -hex 32), base64 of 32 bytes, or a passphrase of at least 16 characters'

/** `what` names it in errors. */
export async function keyFromText(given: string, what = 'the key for secrets (SKEIN_KEY)'): Promise<Buffer> {
  const text = given.trim()
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
  return await derived(text.normalize('NFC'))
}

/** The key itself, as text. Undefined when it is none. */
export function keyInText(text: string): Buffer | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return ofItsOwn(Buffer.from(text, 'hex'))
  if (!/^[\w+/-]{43}=?$/.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64')
  const spelled = text.replace('=', '').replaceAll('+', '-').replaceAll('/', '_')
  return bytes.length === keyBytes && bytes.toString('base64url') === spelled ? ofItsOwn(bytes) : undefined
}

export function isGuessable(parts: Iterable<string | number>): boolean {
  return new Set(parts).size < leastVariety
}

function ofItsOwn(pooled: Buffer): Buffer {
  const key = Buffer.alloc(keyBytes)
  pooled.copy(key)
  pooled.fill(0)
  return key
}

function derived(passphrase: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(passphrase, salt, keyBytes, cost, (error, key) => (error ? reject(error) : resolve(key)))
  })
}
