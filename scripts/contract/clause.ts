/**
 * The words in which the contract is written down: items, each of clauses, each with the tests that prove it.
 *
 * - A clause is one thing that can be broken on its own. It is open while no test would fail if it were broken.
 * - A proof is the name of a test, as it stands in its source. A long one may be cut with `…` where no other begins
 *   alike.
 */

export interface Clause {
  /** What must be so. */
  readonly says: string
  /**
   * Names of tests, each of which would fail were this not so; together they cover all of it. None: the clause is open.
   */
  readonly proofs: readonly string[]
  /** Of an open clause: what there is instead, where that is not plain. */
  readonly missing?: string
}

export interface Item {
  readonly title: string
  readonly clauses: readonly Clause[]
}

/** Items by id. */
export type Section = Readonly<Record<string, Item>>

export function item(title: string, ...clauses: readonly Clause[]): Item {
  return { title, clauses }
}

export function proved(says: string, ...proofs: readonly string[]): Clause {
  return { says, proofs }
}

export function open(says: string, missing?: string): Clause {
  return { says, proofs: [], ...(missing !== undefined && { missing }) }
}
