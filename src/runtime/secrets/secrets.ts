/**
 * The vault of a store: opened when the first value is to be sealed or read, because most stores have none.
 *
 * - The key is the one that was given (key-source.ts), else the one that the store keeps: a file in its folder, for
 *   its owner alone. A store that keeps none needs one to be given.
 * VQ2 A key that does not fit stops the thread that needs it, never its turn: with the right one it goes on.
 * - With the first value a host keeps a check of its key in the store. From then on whoever joins with another key
 *   is refused: a host always, a client that was given one. It costs one look and one box to open, however many
 *   values there are.
 */
import type { Backend, KeyCheck } from '../../backend/port.js'
import { SkeinError, toFailure } from '../../core/failure.js'
import type { KeySource } from './key-source.js'
import { openVault } from './vault.js'
import type { Vault } from './vault.js'

export class Secrets {
  readonly #given: KeySource | undefined
  readonly #place: Backend['key']
  readonly #check: KeyCheck | undefined
  readonly #isHost: boolean
  #opening: Promise<Vault> | undefined
  #vault: Vault | undefined

  constructor({
    given,
    backend,
  }: {
    readonly given: KeySource | undefined
    readonly backend?: Pick<Backend, 'key' | 'keyCheck' | 'role'>
  }) {
    this.#given = given
    this.#place = backend?.key
    this.#check = backend?.keyCheck
    this.#isHost = backend?.role === 'host'
  }

  /** Before anything is done with the store. */
  async join(): Promise<void> {
    if (!this.#isHost && this.#given === undefined) return
    if ((await this.#check?.read()) !== undefined) await this.ready()
  }

  /** The vault, opened when it was not. */
  ready(): Promise<Vault> {
    this.#opening ??= this.#open().catch((thrown: unknown) => {
      // The next one may find it mended.
      this.#opening = undefined
      throw thrown
    })
    return this.#opening
  }

  async #open(): Promise<Vault> {
    const { text, file } = { text: undefined, file: undefined, ...this.#place }
    const kept = await this.#check?.read()
    const vault = await openVault({ key: (await this.#given?.read()) ?? text, keyFile: file, made: kept === undefined })
    try {
      vault.check(kept ?? (await this.#keep(vault)))
    } catch (thrown) {
      vault.close()
      throw thrown
    }
    this.#vault = vault
    return vault
  }

  /** A key like those of trees, which is used for nothing else. */
  async #keep(vault: Vault): Promise<string> {
    const { wrapped } = vault.createDataKey()
    return this.#isHost && this.#check ? this.#check.keep(wrapped) : wrapped
  }

  /** Of a thread whose keys were admitted. */
  get vault(): Vault {
    if (!this.#vault)
      throw new SkeinError('SECRET_UNREADABLE', 'a value was asked for before the key of the store was read')
    return this.#vault
  }

  /** VQ2: throws when these keys need another master key than this one, or none can be had. */
  async admit(keys: readonly string[]): Promise<void> {
    const vault = await this.ready().catch((thrown: unknown) => {
      throw new SkeinError('SECRET_UNREADABLE', toFailure(thrown, 'SECRET_UNREADABLE').message, { cause: thrown })
    })
    for (const wrapped of keys) vault.check(wrapped)
  }

  close(): void {
    this.#vault?.close()
  }
}
