/**
 * Snapshots of threads that leave memory, so that waking one of them folds few records and no history. Owns those that
 * are on their way to the store.
 *
 * - One is taken where enough was written since the last (`SnapshotPace`): all are no longer than the journal.
 * - A cache (J6): that it could not be written is no failure of the thread.
 */
import type { Backend } from '../../backend/port.js'
import { freezeAtRest, SnapshotPace } from '../journal/snapshot.js'
import type { Woken } from '../journal/wake.js'
import type { HostSettings } from '../services.js'

/** Fewer are folded in about a millisecond. */
const leastRecords = 128

export class RestSnapshots {
  readonly #backend: Backend
  readonly #warn: HostSettings['warn']
  readonly #puts = new Set<Promise<void>>()

  constructor(backend: Backend, { warn }: Pick<HostSettings, 'warn'>) {
    this.#backend = backend
    this.#warn = warn
  }

  /** Nothing changes the state any more. */
  take(woken: Woken): void {
    if (!new SnapshotPace(woken, leastRecords).due) return
    const { id } = woken.state
    const put = this.#backend.snapshots
      .put(id, freezeAtRest(woken))
      .catch((thrown: unknown) => this.#warn(`no snapshot of thread ${id}`, thrown))
      .finally(() => this.#puts.delete(put))
    this.#puts.add(put)
  }

  /** Resolves when none is on its way. */
  async settled(): Promise<void> {
    await Promise.all(this.#puts)
  }
}
