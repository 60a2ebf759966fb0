/**
 * Which key for secrets was given: in the options, else by the environment. Where the key is the store's own matter,
 * nothing was given.
 *
 * - There is one key. Two ways at once are a mistake, unless one of them is an option and the other the
 *   environment: an option counts.
 * - SKEIN_KEY is taken out of what other processes can see of this one, before anything is started.
 * - No message repeats what was given.
 */
import { SkeinError, isSkeinError, toFailure } from '../../core/failure.js'
import { hideVariable } from './environ.js'
import { keyFromGivenFile } from './master-key-file.js'
import { keyFromText } from './master-key.js'

export type GivenKey = string | (() => string | Promise<string>)

export interface KeyOptions {
  /**
   * For secrets: the key or passphrase as text, or a function that fetches it when it is first needed. Default: see
   * `keyFile`.
   */
  readonly key?: GivenKey | undefined
  /**
   * A file or pipe (`/dev/fd/3`) that holds it. Default: `SKEIN_KEY_FILE`, else the text in `SKEIN_KEY`, else the key
   * that the store keeps.
   */
  readonly keyFile?: string | undefined
}

export interface KeySource {
  /** As a person would name it. */
  readonly name: string
  readonly from: 'option' | 'file' | 'environment'
  /** Other processes of the same user can read it in what the system shows of this one. */
  readonly exposed: boolean
  read(): Promise<Buffer>
}

type Environment = Readonly<Record<string, string | undefined>>

/** Undefined: the store's own. */
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

function optionSource(key: GivenKey): KeySource {
  const read = async (): Promise<Buffer> => keyFromText(typeof key === 'string' ? key : await asked(key))
  return { name: 'the option key', from: 'option', exposed: false, read }
}

function fileSource(path: string, name: string): KeySource {
  return { name, from: 'file', exposed: false, read: () => keyFromGivenFile(path) }
}

async function asked(give: () => string | Promise<string>): Promise<string> {
  try {
    const given = await give()
    if (typeof given === 'string') return given
    throw new SkeinError(
      'BAD_OPTION',
      `the function given as key gave ${given === null ? 'null' : typeof given}; it must give the key as text`,
    )
  } catch (thrown) {
    if (isSkeinError(thrown)) throw thrown
    throw new SkeinError('BAD_OPTION', `the function given as key failed: ${toFailure(thrown, 'BAD_OPTION').message}`, {
      cause: thrown,
    })
  }
}
