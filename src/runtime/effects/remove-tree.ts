/**
 * Removing a deleted tree: an effect of its root like any other. It is outstanding as long as the root is there, so
 * after a crash in the middle the next host continues.
 *
 * - Nothing is removed before every thread below the root has ended and rests, and no mail is on its way to one.
 */
import type { Backend } from '../../backend/port.js'
import type { RunningEffect } from '../services.js'
import { treeSettled } from '../watch/until-settled.js'

export interface TreeRemoval {
  readonly root: string
  /** The last record in the journal of the root; undefined while the root has something to do. */
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
    await treeSettled({ backend, closed: aborted.signal }, { root, thread: root, but: root, patient: true })
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
