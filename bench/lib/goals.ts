/** The goals of performance that these workloads can answer, each a ratio or a time of this very run. */
import type { Figure, Figures } from './figures.js'
import { regimeNames } from './regimes.js'
import type { Regime } from './regimes.js'
import { messages } from './w4.js'

export interface Goal {
  readonly text: string
  readonly limit: number
  /** Undefined: not measured in this run. */
  readonly got: number | undefined
  readonly unit: '×' | 'ms'
}

interface Wanted {
  readonly contender: string
  readonly what: string
  readonly share: number
}

const wanted: readonly Wanted[] = [
  { contender: 'skein memory', what: '1/3', share: 1 / 3 },
  { contender: 'skein local', what: '1/2', share: 1 / 2 },
  { contender: 'skein power', what: '2 ×', share: 2 },
]

export function judge(figures: Figures): Goal[] {
  return [...regimeNames.flatMap((regime) => w1Goals(figures, regime)), ...w4Goals(figures), ...w8Goals(figures)]
}

function w1Goals(figures: Figures, regime: Regime): Goal[] {
  const own = figures.all.filter(({ w, contender }) => w === regime && contender === 'skein memory').map(({ what }) => what)
  const common = own.filter((size) => fastestPeer(figures.all, regime, size) !== undefined)
  const name = regime.toUpperCase()
  const against = wanted.flatMap(({ contender, what, share }) =>
    common.map((size): Goal => {
      const peer = fastestPeer(figures.all, regime, size)
      const ours = figures.best(regime, contender, size)
      return { text: `${name}: ${contender} at ${size} steps ≤ ${what} of the fastest peer in memory (${peer?.contender})`, limit: share, got: quotient(ours, peer?.best), unit: '×' }
    }),
  )
  const last = own.at(-1) ?? ''
  const flat = ['skein memory', 'skein local'].map((contender): Goal => {
    const ratio = quotient(figures.best(regime, contender, last), figures.best(regime, contender, '50'))
    return { text: `${name}: ${contender} is flat: µs/step at ${last} ÷ at 50`, limit: 1.2, got: ratio, unit: '×' }
  })
  return own.length > 0 ? [...against, ...flat] : []
}

function fastestPeer(figures: readonly Figure[], regime: Regime, size: string): Figure | undefined {
  const peers = figures.filter(({ w, kind, what }) => w === regime && kind === 'peer' && what === size)
  return peers.sort((one, other) => one.best - other.best)[0]
}

function w4Goals(figures: Figures): Goal[] {
  const at = (length: number, what: string, contender = 'skein local'): number | undefined => figures.best('w4', contender, `${length} ${what}`)
  const bytes = quotient(at(messages.short, 'bytes'), at(messages.short, 'bytes', 'loop (floor)'))
  if (bytes === undefined) return []
  return [
    { text: 'W4 load + step of 1,000 messages, opening the store included', limit: 10, got: at(messages.short, 'load + step'), unit: 'ms' },
    { text: 'W4 load + step of 1,000 messages, store open', limit: 10, got: at(messages.short, 'load + step, store open'), unit: 'ms' },
    { text: 'W4 bytes on disk ÷ the JSONL floor', limit: 2, got: bytes, unit: '×' },
  ]
}

function w8Goals(figures: Figures): Goal[] {
  const own = (what: string): number | undefined => figures.best('w8', 'skein local', what)
  if (own('import') === undefined) return []
  return [
    { text: 'W8 import', limit: 100, got: own('import'), unit: 'ms' },
    { text: 'W8 `skein --help`', limit: 150, got: own('--help'), unit: 'ms' },
  ]
}

function quotient(over: number | undefined, under: number | undefined): number | undefined {
  return over === undefined || under === undefined ? undefined : over / under
}
