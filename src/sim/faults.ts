/**
 * What goes wrong in a simulation, and when: drawn from the seed, counted, and listed in the order in which it
 * happened, so that a run can be repeated with its first faults only.
 */
import { z } from 'zod'
import type { SeededRandom } from './seeded-random.js'

/** How much goes wrong. Counts are per run; the others are probabilities per occasion. */
export interface FaultOptions {
  /** Hosts that die at a commit, before or after it is applied. */
  readonly crash?: number
  /** Hosts that are stopped, for up to three lease times. */
  readonly pause?: number
  /** Hosts that lose their connection to the store, for up to three lease times. */
  readonly cut?: number
  /** Hosts that close in good order, and join again after a while. */
  readonly leave?: number
  /** Hosts whose disk is full, for up to three lease times: no commit and no blob of theirs is written. */
  readonly disk?: number
  /** A commit fails, or is applied and its answer is lost; a blob cannot be read or written. */
  readonly stores?: number
  /** A signal is lost, or late. */
  readonly signals?: number
  /** Mail arrives twice: a command of a client, or what one thread sends to another. */
  readonly mail?: number
  /** A model call fails and may be tried again, or never ends and is timed out. */
  readonly models?: number
  /** The worker that runs a body dies. */
  readonly workers?: number
  /** Clocks of hosts differ by up to this. */
  readonly skewMs?: number
}

export type FaultChoice = FaultOptions | 'all' | 'none'

const share = z.number().min(0).max(1)
const count = z.number().int().min(0)
export const faultSchema = z.union([
  z.enum(['all', 'none']),
  z.strictObject({
    crash: count.exactOptional(),
    pause: count.exactOptional(),
    cut: count.exactOptional(),
    leave: count.exactOptional(),
    disk: count.exactOptional(),
    stores: share.exactOptional(),
    signals: share.exactOptional(),
    mail: share.exactOptional(),
    models: share.exactOptional(),
    workers: share.exactOptional(),
    skewMs: z.number().min(0).exactOptional(),
  }),
])

/** Without `workers`: a worker that dies is an error that the model reads, so the end may differ from a quiet run's. */
const everything: FaultOptions = {
  crash: 2,
  pause: 1,
  cut: 1,
  leave: 1,
  disk: 1,
  stores: 0.02,
  signals: 0.2,
  mail: 0.1,
  models: 0.05,
  skewMs: 200,
}

export function faultsOf(choice: FaultChoice): FaultOptions {
  if (choice === 'none') return {}
  return choice === 'all' ? everything : choice
}

/** One thing that went wrong. */
export interface Fault {
  readonly kind: Exclude<keyof FaultOptions, 'skewMs'>
  readonly at: number
  readonly what: string
}

/** How many commits and requests a quiet run has: faults by count are spread over them. */
export interface Extent {
  readonly commits: number
  readonly requests: number
}

export interface PlanOptions {
  readonly random: SeededRandom
  readonly faults: FaultOptions
  readonly extent: Extent
  readonly now: () => number
  /** No more than the first so many. */
  readonly most?: number
}

type Counted = 'crash' | 'pause' | 'cut' | 'leave' | 'disk'

export class FaultPlan {
  readonly done: Fault[] = []
  readonly #options: PlanOptions
  readonly #points: Readonly<Record<Counted, ReadonlySet<number>>>
  readonly #draws = new Map<string, SeededRandom>()
  #over = false

  constructor(options: PlanOptions) {
    this.#options = options
    const { faults, extent } = options
    this.#points = {
      crash: this.#spread('crash', faults.crash, extent.commits),
      pause: this.#spread('pause', faults.pause, extent.requests),
      cut: this.#spread('cut', faults.cut, extent.requests),
      leave: this.#spread('leave', faults.leave, extent.requests),
      disk: this.#spread('disk', faults.disk, extent.commits),
    }
  }

  #spread(kind: Counted, times = 0, over: number): ReadonlySet<number> {
    const random = this.#options.random.stream(`points/${kind}`)
    return new Set(Array.from({ length: times }, () => random.between(1, Math.max(1, over))))
  }

  /** From now on nothing goes wrong. */
  end(): void {
    this.#over = true
  }

  get isOver(): boolean {
    return this.#over
  }

  /** Whether the fault happens at the `number`-th commit or request of the run. */
  at(kind: Counted, number: number, what: string): boolean {
    return this.#points[kind].has(number) && this.#happens(kind, what)
  }

  /** Whether it happens this time. Draws in any case, so that a plan with fewer faults draws the same numbers. */
  draw(kind: Exclude<Fault['kind'], Counted>, what: string): boolean {
    const drawn = this.stream(kind).chance(this.#options.faults[kind] ?? 0)
    return drawn && this.#happens(kind, what)
  }

  /** Numbers for the details of a fault. */
  stream(name: string): SeededRandom {
    const known = this.#draws.get(name) ?? this.#options.random.stream(name)
    this.#draws.set(name, known)
    return known
  }

  #happens(kind: Fault['kind'], what: string): boolean {
    if (this.#over || this.done.length >= (this.#options.most ?? Infinity)) return false
    this.done.push({ kind, at: this.#options.now(), what })
    return true
  }
}
