/**
 * The hosts of a simulation: each is a process that starts, and starts again after it has died or left, as a
 * supervisor of processes would have it.
 */
import type { Definition } from '../agent/define.js'
import type { ManualClock } from '../core/manual-clock.js'
import type { SkeinOptions } from '../runtime/options.js'
import { createSkein } from '../runtime/skein.js'
import type { Skein } from '../runtime/skein.js'
import { Life } from './life.js'
import { seededRandom } from './seeded-random.js'
import type { SeededRandom } from './seeded-random.js'
import { viewOf } from './view.js'
import type { Network } from './view.js'

export interface HostsOptions {
  readonly seed: number
  readonly count: number
  readonly clock: ManualClock
  readonly network: Network
  readonly leaseMs: number
  readonly skewMs: number
  readonly skein: Partial<SkeinOptions>
  readonly app: (random: SeededRandom) => readonly Definition[]
}

export class SimHosts {
  readonly #options: HostsOptions
  readonly #lives = new Map<Life, Skein | undefined>()
  #starts = 0
  #opened = 0
  #ended = false

  constructor(options: HostsOptions) {
    this.#options = options
    for (let index = 0; index < options.count; index++) this.#start(index)
  }

  /** Whether all have been open once. */
  get opened(): boolean {
    return this.#opened >= this.#options.count
  }

  #start(index: number): void {
    const { seed, count, clock, network, leaseMs, skewMs, skein, app } = this.#options
    const name = `host-${index + 1}${this.#starts < count ? '' : `/${this.#starts}`}`
    const random = seededRandom(seed, `${name}/${this.#starts}`)
    const again = (): void => {
      this.#lives.delete(life)
      if (!this.#ended) clock.wakeAt(clock.now() + random.between(0, leaseMs * 2), () => this.#start(index))
    }
    const life = new Life(name, { clock, skewMs: random.between(-skewMs, skewMs), died: again })
    this.#starts++
    this.#lives.set(life, undefined)
    life.enter(() => {
      createSkein({
        warn: () => undefined,
        ...skein,
        app: app(random),
        backend: viewOf(network, life),
        clock: life.clock,
        random,
      }).then(
        (opened) => {
          this.#opened++
          if (this.#lives.has(life)) this.#lives.set(life, opened)
        },
        () => life.kill(),
      )
    })
  }

  /** A host closes in good order, and its process ends. */
  leave(life: Life): void {
    const skein = this.#lives.get(life)
    if (!skein) return
    const end = (): void => life.kill()
    life.run(() => void skein.close().then(end, end))
  }

  end(): void {
    this.#ended = true
    for (const life of [...this.#lives.keys()]) life.kill()
  }
}
