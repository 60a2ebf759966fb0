/**
 * What a simulation cannot control: bodies and models that wait for something real (a timer, a file, the network), and
 * errors that nobody handles. Both are found here, and named.
 *
 * - While nothing is left to do in virtual time, whatever goes on was waited for in real time. So a look at what the
 *   process waits for is enough; nothing of the user's code is replaced.
 */
import { steadyClock } from '../core/clock.js'
import { Life } from './life.js'

/** User code that is running. */
interface Running {
  readonly what: string
  readonly life: Life | undefined
}

/** Real time that something outside is waited for, in rounds of a millisecond. */
const patience = 300

export class Outside {
  readonly problems: string[] = []
  readonly #running = new Set<Running>()
  readonly #waitedFor = new Set<Running>()
  readonly #usual = countResources()

  /** Runs user code; `what` names it in a failure. */
  async run<Result>(what: string, act: () => Promise<Result> | Result): Promise<Result> {
    const running: Running = { what, life: Life.current() }
    this.#running.add(running)
    try {
      return await act()
    } finally {
      this.#running.delete(running)
    }
  }

  /** What runs in processes that live. */
  get running(): readonly string[] {
    return [...this.#living()].map(({ what }) => what)
  }

  #living(): readonly Running[] {
    return [...this.#running].filter(({ life }) => life?.alive !== false)
  }

  /**
   * Nothing is left to do in virtual time. If user code waits for something real, that is waited for, and told.
   * `changed`: whether there is something to do again.
   */
  async await(changed: () => boolean): Promise<void> {
    const suspects = this.#living().filter((each) => !this.#waitedFor.has(each))
    if (suspects.length === 0 || this.#realWaits().length === 0) return
    for (const suspect of suspects) this.#waitedFor.add(suspect)
    for (let round = 0; round < patience && this.#realWaits().length > 0; round++) {
      const waits = this.#realWaits().join(', ')
      await new Promise<void>((resolve) => void steadyClock.wakeAt(steadyClock.now() + 1, resolve))
      await new Promise((resolve) => setImmediate(resolve))
      if (!changed()) continue
      this.problems.push(
        `${suspects.map(({ what }) => what).join(' or ')} waits for something outside the simulation (${waits}); use ` +
          `world.sleep, or a service of the world`,
      )
      return
    }
  }

  /** What the process is waiting for, and was not when the simulation began. */
  #realWaits(): readonly string[] {
    return [...countResources()].flatMap(([name, count]) => (count > (this.#usual.get(name) ?? 0) ? [name] : []))
  }
}

/** Immediates are how the simulation goes on; a copy of a value (`structuredClone`) leaves a port for a while. */
const ours: ReadonlySet<string> = new Set(['Immediate', 'MessagePort'])

function countResources(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const name of process.getActiveResourcesInfo())
    if (!ours.has(name)) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

type Told = (what: string) => void

/** Who is told of errors that nobody handles, while simulations run in this process. */
const listeners = new Set<Told>()
const events = ['unhandledRejection', 'uncaughtException'] as const
let others: (() => void) | undefined

function tellAll(thrown: unknown): void {
  const text = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
  for (const told of listeners) told(`an error that nobody handles: ${text}`)
}

/**
 * From now on errors that nobody handles are told here, and to nobody else: a test runner would say that some test had
 * one, and not which seed. Returns what ends it.
 */
export function hearUnhandled(told: Told): () => void {
  listeners.add(told)
  others ??= takeOver()
  return () => {
    listeners.delete(told)
    if (listeners.size > 0) return
    others?.()
    others = undefined
  }
}

function takeOver(): () => void {
  const before = events.map((event) => ({ event, heard: process.rawListeners(event) }))
  for (const event of events) {
    process.removeAllListeners(event)
    process.on(event, tellAll)
  }
  return () => {
    for (const { event, heard } of before) {
      process.removeListener(event, tellAll)
      for (const listener of heard) process.on(event, listener as (thrown: unknown) => void)
    }
  }
}
