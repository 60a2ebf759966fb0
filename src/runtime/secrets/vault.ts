/**
 * The vault: seals secrets with the data key of their tree, and wraps data keys with the master key. It stores nothing:
 * the wrapped key of a tree is stored with its root thread, so deleting that shreds every secret of the tree.
 *
 * - A sealed value opens only with its tree's data key, and only as the variable that it was sealed for. Children of
 *   the tree inherit it sealed.
 * - A wrapped key names the master key that it needs: a wrong key is told apart from damage.
 * - Rotation rewraps data keys and no values; repeating it, also after a crash halfway, changes nothing.
 * - No error, log or JSON of a vault holds a value or a key.
 */
import { createHash, randomBytes } from 'node:crypto'
import { SkeinError } from '../../core/failure.js'
import type { FailureCode } from '../../core/failure.js'
import { decrypt, encrypt, keyBytes } from './cipher.js'
import { DataKeys } from './data-keys.js'
import { keyFromFile } from './master-key-file.js'
import { keyFromText } from './master-key.js'

export interface VaultOptions {
  /** As in SKEIN_KEY, or the key itself; goes before the file. */
  readonly key?: string | Buffer | undefined
  readonly keyFile?: string | undefined
  /** Whether a missing file is created (default true). False: it existed, and another key would be of no use. */
  readonly mayCreate?: boolean
}

/** The variable that a value is sealed for, in one tree. */
export interface SecretScope {
  readonly root: string
  readonly name: string
  /** Of a fork: other trees that it may have been sealed for. */
  readonly roots?: readonly string[]
}

const version = 1
const maxDataKeys = 512
const unreadable: FailureCode = 'SECRET_UNREADABLE'

export async function openVault({ key, keyFile, mayCreate = true }: VaultOptions): Promise<Vault> {
  if (key !== undefined) return new Vault(typeof key === 'string' ? await keyFromText(key) : key)
  if (keyFile !== undefined) return new Vault(await keyFromFile(keyFile, mayCreate))
  throw new SkeinError(
    'BAD_OPTION',
    'there is no key for secrets: let SKEIN_KEY_FILE name a file that holds 64 hex digits (openssl rand -hex 32), ' +
      'or give key or keyFile',
  )
}

class Vault {
  /** Tells master keys apart, and reveals nothing of the key. */
  readonly keyId: string
  #master: Buffer | undefined
  readonly #dataKeys = new DataKeys(maxDataKeys)

  constructor(master: Buffer) {
    this.#master = master
    this.keyId = createHash('sha256').update(master).digest('hex').slice(0, 16)
  }

  /** A new data key, for a new root thread. */
  createDataKey(): { readonly wrapped: string } {
    const dataKey = randomBytes(keyBytes)
    const wrapped = this.#wrap(dataKey)
    this.#dataKeys.add(wrapped, dataKey)
    return { wrapped }
  }

  seal(wrapped: string, text: string, scope: SecretScope): string {
    // UTF-8 cannot encode half of a surrogate pair: another value would be read back.
    if (/\p{Surrogate}/u.test(text))
      throw new SkeinError(
        'BAD_OPTION',
        `the value of ${scope.name} is not well-formed text (it holds half of a surrogate pair); give it as base64`,
      )
    return `v${version}.${encrypt(this.#dataKey(wrapped), text, boundTo(scope))}`
  }

  /** Tries each of these wrapped keys. */
  open(keys: readonly string[], sealed: string, scope: SecretScope): string {
    const what = `the value ${scope.name} of the tree ${scope.root}`
    const [box, ...more] = fieldsOf(sealed, what)
    let plain: Buffer | undefined
    const { root, name, roots = [] } = scope
    const scopes = [...new Set([root, ...roots])].map((each) => boundTo({ root: each, name }))
    if (box !== undefined && more.length === 0)
      for (const wrapped of keys) for (const bound of scopes) plain ??= decrypt(this.#dataKey(wrapped), box, bound)
    if (!plain)
      throw damaged(
        what,
        `It is damaged, or was sealed for another name or tree. Set ${scope.name} again, or restore the store ` +
          `from a backup`,
        { root, name },
      )
    const text = plain.toString('utf8')
    plain.fill(0)
    return text
  }

  /** The same data key, wrapped by the master key of `other`. */
  rewrap(wrapped: string, other: Vault): string {
    const from = keyIdOf(wrapped) === other.keyId ? other : this
    const dataKey = from.#unwrap(wrapped)
    try {
      return from === other ? wrapped : other.#wrap(dataKey)
    } finally {
      dataKey.fill(0)
    }
  }

  /** After its tree was deleted: wipes the data key from memory, too. */
  forget(wrapped: string): void {
    this.#dataKeys.drop(wrapped)
  }

  /** Wipes every key. The vault cannot be used afterwards. */
  close(): void {
    this.#dataKeys.clear()
    this.#master?.fill(0)
    this.#master = undefined
  }

  /** Throws where a wrapped key needs another master key, or is damaged. */
  check(wrapped: string): void {
    this.#dataKey(wrapped)
  }

  #masterKey(): Buffer {
    if (!this.#master)
      throw new SkeinError('STORE_CLOSED', 'the vault is closed; open it again to read or write secrets')
    return this.#master
  }

  #wrap(dataKey: Buffer): string {
    return `v${version}.${this.keyId}.${encrypt(this.#masterKey(), dataKey, wrappedBy(this.keyId))}`
  }

  #dataKey(wrapped: string): Buffer {
    return this.#dataKeys.find(wrapped) ?? this.#dataKeys.add(wrapped, this.#unwrap(wrapped))
  }

  #unwrap(wrapped: string): Buffer {
    const master = this.#masterKey()
    const [keyId = '', box, ...more] = fieldsOf(wrapped, wrappedKey)
    if (!/^[0-9a-f]{16}$/.test(keyId) || box === undefined || more.length > 0) throw damaged(wrappedKey, restoring)
    if (keyId !== this.keyId) throw wrongKey(keyId, this.keyId)
    const dataKey = decrypt(master, box, wrappedBy(keyId))
    if (dataKey?.length !== keyBytes) throw damaged(wrappedKey, restoring)
    return dataKey
  }
}

export type { Vault }

const wrappedKey = 'the data key of a tree'
const restoring =
  'It is damaged. Restore the store from a backup: without it, the secrets of its threads cannot be read'

function keyIdOf(wrapped: string): string | undefined {
  return fieldsOf(wrapped, wrappedKey)[0]
}

/** JSON, so that two scopes never have the same text. */
function boundTo({ root, name }: SecretScope): string {
  return JSON.stringify(['skein secret', version, root, name])
}

function wrappedBy(keyId: string): string {
  return JSON.stringify(['skein data key', version, keyId])
}

/** The fields after the version. */
function fieldsOf(text: string, what: string): readonly string[] {
  const [head = '', ...fields] = text.split('.')
  const number = /^v([1-9]\d{0,8})$/.exec(head)?.[1]
  if (Number(number) > version)
    throw new SkeinError(
      'RECORD_FROM_FUTURE',
      `${what} has the form ${head}, this Skein knows up to v${version}; upgrade Skein to read it`,
    )
  return head === `v${version}` ? fields : []
}

function wrongKey(needed: string, given: string): SkeinError {
  return new SkeinError(
    unreadable,
    `the secrets of this store were written with the key ${needed}, and the key given is ${given}. Give the key ` +
      `that they were written with (SKEIN_KEY_FILE, SKEIN_KEY), or put back the key file`,
    { data: { needed, given } },
  )
}

function damaged(what: string, advice: string, data: Readonly<Record<string, unknown>> = {}): SkeinError {
  return new SkeinError(unreadable, `${what} cannot be read. ${advice}.`, { data })
}
