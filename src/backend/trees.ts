/**
 * The part of the backend port that lets go of trees: journals, heads, mail, snapshots and blobs.
 *
 * J9   A tree is removed whole: up to one instant all of it is there, from then on nothing of it is seen (heads,
 *     journals, mail, snapshots) and its ids are free, also after a crash at any time. What it took up is collected
 *     by `sweep`.
 * J10 A text names the blobs whose hashes stand in it between quotation marks. A blob is collected only when no
 *     journal and no mail names it, and nobody has put it for as long as `sweep` was told.
 */
export interface Removal {
  readonly root: string
  /** As in a commit: the last record of the root that the remover has folded, and its lease (J2). */
  readonly expected: number
  readonly epoch: number
}

export interface Trees {
  /** Removes every thread of a tree (J9). Mail that comes later is mail to a thread that does not exist. */
  remove(
    removal: Removal,
  ): Promise<{ readonly ok: true } | { readonly ok: false; readonly seq: number; readonly epoch: number }>
  /**
   * Collects a little of what removed trees have left behind (J10); in a few milliseconds, so that whoever shares the
   * store goes on.
   */
  sweep(options: { readonly olderThanMs: number }): Promise<{ readonly more: boolean }>
}
