/** What a resident is given by its host. */
import type { ThreadActors } from '../../../actors/thread/position.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { Backend } from '../../backend/port.js'
import type { Amounts } from '../../core/budget.js'
import type { Failure } from '../../core/failure.js'
import type { TurnEnded } from '../../core/records/record.js'
import type { Services } from '../effects/model-call.js'
import type { RunningEffect } from './reconcile.js'
import type { LastTries } from './recovery.js'
import type { TreeRemoval } from '../effects/remove-tree.js'
import type { Resident } from './resident.js'

export interface ResidentOptions {
  readonly backend: Backend
  readonly means: Services
  readonly actors: ThreadActors
  readonly epoch: number
  readonly maxParallelTools: number
  readonly maxWallClockMs?: number
  /** What a turn may spend. */
  readonly turnLimits?: Amounts
  /** Records after which a snapshot is written. */
  readonly snapshotEvery: number
  readonly warn: (what: string, thrown: unknown) => void
  /** Asks the host to call `flush` at the end of this turn of the event loop. */
  readonly dirty: (resident: Resident) => void
  readonly remove: (doomed: TreeRemoval) => RunningEffect
  /** A turn of it has ended, durably. */
  readonly turnEnded: (state: ThreadState, ended: TurnEnded) => void
  readonly lastTries: LastTries
  /** The thread came to rest, or was stopped by a failure (TH5). */
  readonly rested: (resident: Resident, stopped?: Failure) => void
}
