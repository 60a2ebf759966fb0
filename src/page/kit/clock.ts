/** Time in a browser: the one module of the page that reads a clock or sets a timer. */

export interface PageClock {
  now(): number
  /** Calls `wake` once, after so many milliseconds. Returns what cancels it. */
  after(ms: number, wake: () => void): () => void
}

export const pageClock: PageClock = {
  now: () => Date.now(),
  after(ms, wake) {
    const timer = setTimeout(wake, ms)
    return () => clearTimeout(timer)
  },
}

/** For durations. */
export const steadyNow = (): number => performance.now()

/** A short id that no other tab has. */
export const freshId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(10))].map((byte) => (byte & 31).toString(32)).join('')
