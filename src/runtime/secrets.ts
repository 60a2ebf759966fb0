/**
 * The vault of a store: opened when the first value is to be sealed or read, because most stores have none.
 *
 * VQ1 The key is the one that was given (SKEIN_KEY), else the one that the store keeps: a file in its folder, for its owner
 *     alone. A store that keeps none needs one to be given.
 * VQ2 A key that does not fit stops the thread that needs it, never its turn: with the right one it goes on.
 */
import type { Backend } from '../backend/port.js'
import { SkeinError, toFailure } from '../core/failure.js'
import { openVault } from './vault.js'
import type { Vault } from './vault.js'

export class Secrets {
  readonly #key: string | undefined
  readonly #place: Backend['key']
  #opening: Promise<Vault> | undefined
  #vault: Vault | undefined

  constructor({ key, place }: { readonly key: string | undefined; readonly place: Backend['key'] }) {
    this.#key = key ?? process.env['SKEIN_KEY']
    this.#place = place
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
    this.#vault = await openVault({ key: this.#key ?? text, keyFile: file })
    return this.#vault
  }

  /** Of a thread whose keys were admitted. */
  get vault(): Vault {
    if (!this.#vault) throw new SkeinError('SECRET_UNREADABLE', 'a value was asked for before the key of the store was read')
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
