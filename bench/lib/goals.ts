/** The goals of performance that these workloads can answer, each a ratio or a time of this very run. */
import { fastestPeer, quotient } from './compare.js'
import type { Figures } from './figures.js'
import { w3Goals, w6Goals, w7Goals } from './goals-children.js'
import { w5Goals, w6AcrossGoals } from './goals-nats.js'
import { regimeNames } from './regimes.js'
import type { Regime } from './regimes.js'
import { calls, idealMs } from './w2.js'
import { messages } from './w4.js'
import { w9Goals } from './w9.js'
import { w10Goals } from './w10.js'
import { w11Goals } from './w11.js'
import { w12Goals } from './w12.js'
import { w13Goals } from './w13.js'

export interface Goal {
  readonly text: string
  readonly limit: number
  /** The limit is the least that is wanted, not the most. */
  readonly least?: true
  /** Undefined: not measured in this run. */
  readonly got: number | undefined
  readonly unit: '×' | 'ms' | 'MB' | 'KB' | 'bytes' | 'children'
  /** Why it cannot be met, where that is known. */
  readonly miss?: string
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

/** Undefined: not measured in this run. */
export function isMet({ got, limit, least }: Goal): boolean | undefined {
  if (got === undefined) return undefined
  return least ? got >= limit : got <= limit
}

export function judge(figures: Figures): Goal[] {
  return [
    ...regimeNames.flatMap((regime) => w1Goals(figures, regime)),
    ...w2Goals(figures),
    ...w2bGoals(figures),
    ...w3Goals(figures),
    ...w4Goals(figures),
    ...w5Goals(figures),
    ...w6Goals(figures),
    ...w6AcrossGoals(figures),
    ...w7Goals(figures),
    ...w8Goals(figures),
    ...w9Goals(figures),
    ...w10Goals(figures),
    ...w11Goals(figures),
    ...w12Goals(figures),
    ...w13Goals(figures),
  ]
}

function w1Goals(figures: Figures, regime: Regime): Goal[] {
  const own = figures.all
    .filter(({ w, contender }) => w === regime && contender === 'skein memory')
    .map(({ what }) => what)
  const common = own.filter((size) => fastestPeer(figures.all, regime, size) !== undefined)
  const name = regime.toUpperCase()
  const against = wanted.flatMap(({ contender, what, share }) =>
    common.map((size): Goal => {
      const peer = fastestPeer(figures.all, regime, size)
      const ours = figures.best(regime, contender, size)
      return {
        text: `${name}: ${contender} at ${size} steps ≤ ${what} of the fastest peer in memory (${peer?.contender})`,
        limit: share,
        got: quotient(ours, peer?.best),
        unit: '×',
      }
    }),
  )
  const last = own.at(-1) ?? ''
  const flat = ['skein memory', 'skein local'].map((contender): Goal => {
    const ratio = quotient(figures.best(regime, contender, last), figures.best(regime, contender, '50'))
    return { text: `${name}: ${contender} is flat: µs/step at ${last} ÷ at 50`, limit: 1.2, got: ratio, unit: '×' }
  })
  return own.length > 0 ? [...against, ...flat] : []
}

const toolModes = ['skein memory', 'skein local']

function w2Goals(figures: Figures): Goal[] {
  const ideal = idealMs(figures)
  if (ideal === undefined) return []
  return toolModes.flatMap((contender): Goal[] => {
    const stall = figures.find('w2', contender, 'longest stall')
    return [
      {
        text: `W2: ${contender}, ${calls} calls of a step ÷ ideal`,
        limit: 1.1,
        got: quotient(figures.best('w2', contender, 'wall'), ideal),
        unit: '×',
      },
      { text: `W2: ${contender}, longest stall of a step, median`, limit: 10, got: stall?.median, unit: 'ms' },
      { text: `W2: ${contender}, longest stall of all steps`, limit: 10, got: stall?.worst, unit: 'ms' },
    ]
  })
}

function w2bGoals(figures: Figures): Goal[] {
  const bare = figures.best('w2b', 'piscina (floor)', 'one by one')
  if (bare === undefined) return []
  const own = (contender: string, what: string): number | undefined => figures.best('w2b', contender, what)
  const there = own('skein memory', 'step')
  const here = own('skein memory', 'step on the host')
  const added = there === undefined || here === undefined ? undefined : there - here
  return [
    {
      text: 'W2B: a trivial worker call through the pool ÷ a bare Piscina round trip',
      limit: 3,
      got: quotient(own('skein pool', 'one by one'), bare),
      unit: '×',
    },
    {
      text: 'W2B: what a worker adds to a step (skein memory) ÷ a bare Piscina round trip',
      limit: 3,
      got: quotient(added, bare),
      unit: '×',
    },
    {
      text: 'W2B: the whole step (skein memory) ÷ a bare Piscina round trip',
      limit: 3,
      got: quotient(there, bare),
      unit: '×',
    },
    ...toolModes.map((contender): Goal => ({
      text: `W2B: ${contender}, 64 calls that wait 200 ms on 2 threads`,
      limit: 500,
      got: figures.best('w2b io', contender, 'threads at work'),
      unit: 'ms',
    })),
  ]
}

function w4Goals(figures: Figures): Goal[] {
  const at = (length: number, what: string, contender = 'skein local'): number | undefined =>
    figures.best('w4', contender, `${length} ${what}`)
  const bytes = quotient(at(messages.short, 'bytes'), at(messages.short, 'bytes', 'loop (floor)'))
  if (bytes === undefined) return []
  return [
    {
      text: 'W4 load + step of 1,000 messages, opening the store included',
      limit: 25,
      got: at(messages.short, 'load + step'),
      unit: 'ms',
    },
    {
      text: 'W4 load + step of 1,000 messages, store open',
      limit: 10,
      got: at(messages.short, 'load + step, store open'),
      unit: 'ms',
    },
    { text: 'W4 bytes on disk ÷ the JSONL floor', limit: 2, got: bytes, unit: '×' },
  ]
}

function w8Goals(figures: Figures): Goal[] {
  const own = (what: string): number | undefined => figures.best('w8', 'skein local', what)
  if (own('import') === undefined) return []
  return [
    { text: 'W8 import', limit: 100, got: own('import'), unit: 'ms' },
    { text: 'W8 createSkein on a folder', limit: 15, got: own('createSkein'), unit: 'ms' },
    {
      text: 'W8 first token since the start of the process',
      limit: 150,
      got: own('first token since start'),
      unit: 'ms',
    },
    { text: 'W8 `skein --help`', limit: 150, got: own('--help'), unit: 'ms' },
  ]
}
