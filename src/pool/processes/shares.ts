/**
 * How the places of a lane are shared between trees, and between groups of trees with the same tag.
 *
 * - While there are more places than calls nobody waits. Past that, whoever has less than an equal part of the places
 *   may take more, and whoever has its part waits.
 */

/** Who a call is for, from the tree up. */
export type ShareKeys = readonly string[]

interface Share {
  active: number
  waiting: number
}

export class Shares {
  readonly #levels: Map<string, Share>[] = []
  readonly #places: () => number
  #active = 0

  /** `places`: how many are shared. */
  constructor(places: () => number) {
    this.#places = places
  }

  change(keys: ShareKeys, count: keyof Share, by: 1 | -1): void {
    if (count === 'active') this.#active += by
    for (const [level, key] of keys.entries()) {
      const shares = (this.#levels[level] ??= new Map())
      const share = shares.get(key) ?? { active: 0, waiting: 0 }
      share[count] += by
      if (share.active + share.waiting > 0) shares.set(key, share)
      else shares.delete(key)
    }
  }

  /** There are as many calls as places. */
  get full(): boolean {
    return this.#active >= this.#places()
  }

  allows(keys: ShareKeys): boolean {
    return !this.full || keys.every((key, level) => this.#isBelow(key, this.#levels[level]))
  }

  #isBelow(key: string, shares: ReadonlyMap<string, Share> | undefined): boolean {
    const sharers = (shares?.size ?? 0) + (shares?.has(key) ? 0 : 1)
    return sharers > 1 && (shares?.get(key)?.active ?? 0) < Math.max(1, Math.floor(this.#places() / sharers))
  }
}
