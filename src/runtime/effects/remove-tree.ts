/**
 * The removal of a tree that was deleted: an effect of its root like any other. It is wanted as long as the root is
 * there, so a crash in the middle changes nothing: the next host goes on.
 *
 * - Nothing is removed before everything below the root is over and at rest, and no mail is on its way to it.
 */
import type { Backend } from '../../backend/port.js'
import type { RunningEffect } from '../resident/reconcile.js'
import { treeSettled } from '../watch/until-settled.js'

export interface TreeRemoval {
  readonly root: string
  /** The last record of the root that is durable, and nothing is under way; undefined while something is. */
  durable(): number | undefined
  failed(thrown: unknown): void
}

export interface RemovalServices {
  readonly backend: Backend
  readonly epoch: number
  removed(root: string): void
}

export function removeTree(
  { backend, epoch, removed }: RemovalServices,
  { root, durable, failed }: TreeRemoval,
): RunningEffect {
  const aborted = new AbortController()
  const attempt = async (): Promise<boolean> => {
    await treeSettled({ backend, closed: aborted.signal }, { root, thread: root, but: root })
    const expected = durable()
    return expected !== undefined && (await backend.trees.remove({ root, expected, epoch })).ok
  }
  const carryOut = async (): Promise<void> => {
    while (!(await attempt())) await new Promise((resolve) => setImmediate(resolve))
    removed(root)
  }
  carryOut().catch((thrown: unknown) => {
    if (!aborted.signal.aborted) failed(thrown)
  })
  return { abort: () => aborted.abort() }
}
