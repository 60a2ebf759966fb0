/**
 * Time and randomness as ports, so that tests and simulations control both.
 *
 * - Nothing in Skein reads the clock, sets a timer or draws a random number except through these.
 * - A wake-up is set for an absolute time; it fires once, never before that time, and can be cancelled.
 */

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Calls `wake` once `now() >= at`. Returns a function that cancels it. */
  wakeAt(at: number, wake: () => void): () => void
}

export interface Random {
  /** A new id: 20 random letters and digits, in no order. */
  id(): string
  /** In [0, 1). */
  fraction(): number
}

/** setTimeout fires immediately for a longer delay. */
const longestTimerMs = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  wakeAt(at, wake) {
    let timer: ReturnType<typeof setTimeout>
    const arm = (): void => {
      const delayMs = at - Date.now()
      timer = setTimeout(() => (Date.now() >= at ? wake() : arm()), Math.min(Math.max(delayMs, 0), longestTimerMs))
    }
    arm()
    return () => clearTimeout(timer)
  },
}

/** The same time; its timers do not keep the process alive. */
export const idleClock: Clock = {
  now: () => Date.now(),
  wakeAt(at, wake) {
    const timer = setTimeout(wake, Math.min(Math.max(at - Date.now(), 0), longestTimerMs)).unref()
    return () => clearTimeout(timer)
  },
}

/** Monotonic time that also passes while the process is stopped: for durations and leases. */
export const steadyClock: Clock = {
  now: () => performance.now(),
  wakeAt(at, wake) {
    const timer = setTimeout(wake, Math.max(at - performance.now(), 0))
    return () => clearTimeout(timer)
  },
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'
const idLength = 20

/** Bytes for many ids: a call of the system for each costs more than all else that an id needs. */
const drawn = new Uint8Array(64 * idLength)
let used = drawn.length

export const systemRandom: Random = {
  id() {
    if (used === drawn.length) {
      crypto.getRandomValues(drawn)
      used = 0
    }
    let id = ''
    for (const end = used + idLength; used < end; used++) id += alphabet[(drawn[used] ?? 0) & 31]
    return id
  },
  fraction: () => Math.random(),
}
