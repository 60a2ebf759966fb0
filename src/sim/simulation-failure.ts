/** What is thrown for a seed that fails: all that is needed to understand it, and to repeat it. */
import type { Fault } from './faults.js'
import type { RunOutcome } from './run.js'

/** How many of the last commits are told. */
const lastCommits = 20

/** A seed for which something did not hold. */
export class SimulationFailure extends Error {
  /** Undefined: it fails without any fault. */
  readonly seed: number | undefined
  readonly broken: readonly string[]
  readonly faults: readonly Fault[]

  constructor(seed: number | undefined, { broken, faults, virtualMs, log }: RunOutcome<unknown>, tries: number) {
    super(
      [
        `${seed === undefined ? 'the app' : `seed ${seed}`} fails after ${virtualMs} ms of virtual time:`,
        ...broken.map((text) => `  - ${text}`),
        faults.length === 0
          ? 'Nothing went wrong before.'
          : `What went wrong (the first ${faults.length} faults are enough, of ${tries}):`,
        ...faults.map(({ at, kind, what }) => `  ${at} ms ${kind}: ${what}`),
        'The last commits:',
        ...log.slice(-lastCommits).map((line) => `  ${line}`),
        seed === undefined ? 'No seed is needed to repeat it.' : `Repeat it with SKEIN_SEED=${seed}.`,
      ].join('\n'),
    )
    this.name = 'SimulationFailure'
    this.seed = seed
    this.broken = broken
    this.faults = faults
  }
}
