/**
 * Where the master key comes from: the options, else the environment, else the store itself (no source).
 *
 * - There is one key. Two sources at once are a mistake, unless one is an option and the other the environment: then
 *   the option is used.
 * - SKEIN_KEY is hidden from other processes before anything is started.
 * - No message repeats the key.
 */
import { SkeinError, isSkeinError, toFailure } from '../../core/failure.js'
import { hideVariable } from './hide-variable.js'
import { keyFromConfiguredFile } from './master-key-file.js'
import { keyFromText } from './master-key.js'

export type KeyInput = string | (() => string | Promise<string>)

export interface KeyOptions {
  /**
   * The key for secrets, or a passphrase, as text; or a function that fetches it when it is first needed. Default:
   * see `keyFile`.
   */
  readonly key?: KeyInput | undefined
  /**
   * A file or pipe (`/dev/fd/3`) that holds the key. Default: `SKEIN_KEY_FILE`, else the text in `SKEIN_KEY`, else
   * the key that the store keeps.
   */
  readonly keyFile?: string | undefined
}

export interface KeySource {
  /** For messages. */
  readonly name: string
  readonly from: 'option' | 'file' | 'environment'
  /** Other processes of the same user can read it (/proc/PID/environ). */
  readonly exposed: boolean
  read(): Promise<Buffer>
}

type Environment = Readonly<Record<string, string | undefined>>

/** Undefined: the store keeps the key. */
export function keySource({ key, keyFile }: KeyOptions, env: Environment = process.env): KeySource | undefined {
  if (key !== undefined && keyFile !== undefined)
    throw twoKeys('both key and keyFile are given', 'leave one of them out')
  if (key !== undefined) return optionSource(key)
  if (keyFile !== undefined) return fileSource(keyFile, `the key file ${keyFile}`)
  const { SKEIN_KEY: text, SKEIN_KEY_FILE: path = '' } = env
  if (text !== undefined && path !== '') throw twoKeys('both SKEIN_KEY and SKEIN_KEY_FILE are set', 'unset one of them')
  if (path !== '') return fileSource(path, `the key file ${path} (SKEIN_KEY_FILE)`)
  if (text === undefined) return undefined
  const hidden = env !== process.env || hideVariable('SKEIN_KEY')
  return { name: 'SKEIN_KEY', from: 'environment', exposed: !hidden, read: () => keyFromText(text) }
}

function twoKeys(what: string, advice: string): SkeinError {
  return new SkeinError('BAD_OPTION', `${what}; there is one key for secrets: ${advice}`)
}

function optionSource(key: KeyInput): KeySource {
  const read = async (): Promise<Buffer> => keyFromText(typeof key === 'string' ? key : await fetchKey(key))
  return { name: 'the option key', from: 'option', exposed: false, read }
}

function fileSource(path: string, name: string): KeySource {
  return { name, from: 'file', exposed: false, read: () => keyFromConfiguredFile(path) }
}

async function fetchKey(read: () => string | Promise<string>): Promise<string> {
  try {
    const key: unknown = await read()
    if (typeof key === 'string') return key
    throw new SkeinError(
      'BAD_OPTION',
      `the function given as key gave ${key === null ? 'null' : typeof key}; it must give the key as text`,
    )
  } catch (thrown) {
    if (isSkeinError(thrown)) throw thrown
    throw new SkeinError('BAD_OPTION', `the function given as key failed: ${toFailure(thrown, 'BAD_OPTION').message}`, {
      cause: thrown,
    })
  }
}
