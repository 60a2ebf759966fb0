/** Figures: what was measured, one JSON line each, kept for the table and the goals. */
import type { Regime } from './regimes.js'

export interface Figure {
  readonly w:
    | Regime
    | 'w2'
    | 'w2b'
    | 'w2b io'
    | 'w2b files'
    | 'w3'
    | 'w3 cpu'
    | 'w3 peak'
    | 'w3 live'
    | 'w3 missing'
    | 'w4'
    | 'w5'
    | 'w5 cpu'
    | 'w5 appends'
    | 'w5 raw'
    | 'w5 latency'
    | 'w5 moves'
    | 'w6'
    | 'w6 across'
    | 'w7'
    | 'w8'
    | 'w9'
    | 'w10'
    | 'w11'
    | 'w12'
    | 'w13'
  readonly contender: string
  readonly kind: 'skein' | 'floor' | 'peer'
  /** What was measured: a number of steps in W1, of children in W3, else words. */
  readonly what: string
  readonly unit:
    | ''
    | 'µs'
    | 'µs/step'
    | 'µs/call'
    | 'µs/child'
    | 'µs/thread'
    | 'µs/append'
    | 'µs/turn'
    | 'appends/child'
    | 'ms'
    | 'bytes'
    | 'KB'
    | 'MB'
    | 'children'
    | 'tokens'
    | 'summaries'
  readonly best: number
  readonly median: number
  readonly p99: number
  readonly worst: number
  readonly samples: number
}

export interface Figures {
  add(figure: Omit<Figure, 'best' | 'median' | 'p99' | 'worst' | 'samples'>, samples: readonly number[]): void
  readonly all: readonly Figure[]
  /** One contender at one thing. */
  find(w: Figure['w'], contender: string, what: string): Figure | undefined
  best(w: Figure['w'], contender: string, what: string): number | undefined
}

export function createFigures(): Figures {
  const all: Figure[] = []
  const find: Figures['find'] = (w, contender, what) =>
    all.find((figure) => figure.w === w && figure.contender === contender && figure.what === what)
  return {
    all,
    find,
    add(figure, samples) {
      const sorted = [...samples].sort((one, other) => one - other)
      const best = rounded(sorted[0] ?? Number.NaN)
      const median = rounded(sorted[sorted.length >> 1] ?? Number.NaN)
      const p99 = rounded(sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.NaN)
      const worst = rounded(sorted.at(-1) ?? Number.NaN)
      const whole: Figure = { ...figure, best, median, p99, worst, samples: samples.length }
      all.push(whole)
      console.log(JSON.stringify(whole))
    },
    best: (w, contender, what) => find(w, contender, what)?.best,
  }
}

function rounded(value: number): number {
  const digits = digitsOf(Math.abs(value))
  return Math.round(value * digits) / digits
}

function digitsOf(size: number): number {
  if (size >= 1000) return 1
  return size >= 10 ? 10 : 100
}
