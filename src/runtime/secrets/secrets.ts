/**
 * Opens the vault of a store when the first value is sealed or read: most stores have none.
 *
 * - The master key is the configured one (key-source.ts), else the one that the store keeps: a file in its folder,
 *   for its owner alone. A store that keeps none needs a configured key.
 * VQ2 A wrong key parks the thread that needs it and does not fail its turn: with the right key the turn resumes.
 * - With the first value a host stores a check of its key. From then on a process that joins with another key is
 *   refused: a host always, a client that has one configured. That costs one read and one decryption, however many
 *   values there are.
 */
import type { Backend, KeyCheck } from '../../backend/port.js'
import { isSkeinError, SkeinError, toFailure } from '../../core/failure.js'
import type { KeySource } from './key-source.js'
import { openVault } from './vault.js'
import type { Vault } from './vault.js'

export interface SecretsOptions {
  /** Undefined: the key that the store keeps. */
  readonly source: KeySource | undefined
  readonly backend?: Pick<Backend, 'key' | 'keyCheck' | 'role'>
}

export class Secrets {
  readonly #source: KeySource | undefined
  readonly #storeKey: Backend['key']
  readonly #check: KeyCheck | undefined
  readonly #isHost: boolean
  #opening: Promise<Vault> | undefined
  #vault: Vault | undefined

  constructor({ source, backend }: SecretsOptions) {
    this.#source = source
    this.#storeKey = backend?.key
    this.#check = backend?.keyCheck
    this.#isHost = backend?.role === 'host'
  }

  /** Refuses a wrong key. Called before anything is done with the store. */
  async join(): Promise<void> {
    if (!this.#isHost && this.#source === undefined) return
    if ((await this.#check?.read()) !== undefined) await this.ready()
  }

  /** The open vault. */
  ready(): Promise<Vault> {
    this.#opening ??= this.#open().catch((thrown: unknown) => {
      // A later call may find it mended.
      this.#opening = undefined
      throw thrown
    })
    return this.#opening
  }

  async #open(): Promise<Vault> {
    const { text, file } = { text: undefined, file: undefined, ...this.#storeKey }
    const stored = await this.#check?.read()
    const key = (await this.#source?.read()) ?? text
    const vault = await openVault({ key, keyFile: file, mayCreate: stored === undefined })
    try {
      vault.check(stored ?? (await this.#storeCheck(vault)))
    } catch (thrown) {
      vault.close()
      throw thrown
    }
    this.#vault = vault
    return vault
  }

  /** The check is a data key like those of trees, which seals nothing. */
  async #storeCheck(vault: Vault): Promise<string> {
    const { wrapped } = vault.createDataKey()
    return this.#isHost && this.#check ? this.#check.keep(wrapped) : wrapped
  }

  /** For threads whose keys were admitted. */
  get vault(): Vault {
    if (!this.#vault)
      throw new SkeinError('SECRET_UNREADABLE', 'a value was asked for before the key of the store was read')
    return this.#vault
  }

  /** VQ2: throws where these keys need another master key, or there is none; the caller parks the thread. */
  async admit(keys: readonly string[]): Promise<void> {
    const vault = await this.ready().catch((thrown: unknown) => {
      // A store that is away says nothing of its key: whoever asked tries again.
      if (isSkeinError(thrown) && thrown.retry) throw thrown
      throw new SkeinError('SECRET_UNREADABLE', toFailure(thrown, 'SECRET_UNREADABLE').message, { cause: thrown })
    })
    for (const wrapped of keys) vault.check(wrapped)
  }

  close(): void {
    this.#vault?.close()
  }
}
