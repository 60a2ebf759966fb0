/** RESULTS.md: the figures of one run as tables, with what they were measured on and which goals they meet. */
import type { Contender, Missing } from './contenders.js'
import type { Figure, Figures } from './figures.js'
import { isMet } from './goals.js'
import type { Goal } from './goals.js'
import { regimeNames, regimes } from './regimes.js'
import type { Regime } from './regimes.js'
import { table } from './markdown.js'
import { w3Table, w6Table, w7Table } from './table-children.js'
import { w5Tables, w6AcrossTable } from './table-nats.js'
import { idealMs } from './w2.js'

export interface Circumstances {
  readonly command: string
  readonly date: string
  readonly commit: string
  readonly cores: number
  readonly cpu: string
  readonly node: string
  readonly load: readonly number[]
  readonly contenders: readonly Contender[]
  readonly missing: readonly Missing[]
  /** Written by hand: reasons of misses, with their profiles. */
  readonly notes: readonly string[]
}

export function toMarkdown({ all: figures, find }: Figures, goals: readonly Goal[], around: Circumstances): string {
  const sections = [
    '# Benchmarks\n\nWritten by `npm run bench`; do not edit (what is written by hand is in `notes/`). The ' +
      'workloads, and what is in and out of the clock, are in [README.md](README.md).',
    circumstances(around),
    goalTable(goals),
    ...regimeNames.map((regime) => w1Table(figures, regime)),
    w2Table(figures, idealMs({ find })),
    plainTable('W2B: a trivial call on a worker thread', 'w2b', figures),
    plainTable('W2B: 64 calls of 200 ms in one step, 2 threads', 'w2b io', figures),
    plainTable('W2B: a step whose call writes a file of 1 KB', 'w2b files', figures),
    w3Table(figures),
    plainTable('W4: a thread on disk, opened by a new process', 'w4', figures),
    w5Tables(figures, find),
    w6Table(figures),
    w6AcrossTable(find),
    w7Table(figures),
    plainTable('W8: start-up', 'w8', figures),
    plainTable('W9: 10,000 steps in a context of 20,000 tokens', 'w9', figures),
    plainTable('W10: lists of 100,000 threads that are followed', 'w10', figures),
    plainTable('W11: a service over HTTP', 'w11', figures),
    plainTable('W12: many turns over 500 threads', 'w12', figures),
    plainTable('W13: the longest stall of the event loop', 'w13', figures),
    ...around.notes,
  ]
  return `${sections.filter(Boolean).join('\n\n')}\n`
}

function circumstances({ command, date, commit, cores, cpu, node, load, contenders, missing }: Circumstances): string {
  const versions = [
    ...new Set(
      contenders.filter(({ kind }) => kind !== 'floor').map(({ name, version }) => `${name.split(' ')[0]} ${version}`),
    ),
  ]
  return table(
    ['', ''],
    [
      ['command', `\`${command}\``],
      ['date', date],
      ['commit', commit],
      ['machine', `${cores} cores, ${cpu}, load ${load.map((value) => value.toFixed(2)).join(' ')} at the start`],
      ['Node', node],
      ['versions', versions.join(', ')],
      ...missing.map(({ name, why }) => [`${name}`, `**could not be installed**: ${why}`]),
    ],
  )
}

function goalTable(goals: readonly Goal[]): string {
  if (goals.length === 0) return ''
  const rows = goals.map((goal) => {
    const { text, limit, least, got, unit, miss } = goal
    const met = isMet(goal)
    return [
      text,
      `${least ? '≥' : '≤'} ${shown(limit, unit)}`,
      got === undefined ? 'n/a' : shown(got, unit),
      met === undefined ? '–' : verdict(met, miss),
    ]
  })
  return `## Goals\n\nFrom the best of all rounds of this run.\n\n${table(['goal', 'limit', 'this run', ''], rows)}`
}

function verdict(met: boolean, miss: Goal['miss']): string {
  if (met) return '✓'
  return miss === undefined ? '✗' : `✗ ${miss}`
}

const digits: Partial<Record<Goal['unit'], number>> = { '×': 2, bytes: 0, children: 0 }

function shown(value: number, unit: Goal['unit']): string {
  return `${value.toFixed(digits[unit] ?? 1)} ${unit}`
}

function w1Table(figures: readonly Figure[], regime: Regime): string {
  const own = figures.filter(({ w }) => w === regime)
  if (own.length === 0) return ''
  const sizes = [...new Set(own.map(({ what }) => what))].sort((one, other) => Number(one) - Number(other))
  const rows = [...new Set(own.map(({ contender }) => contender))].map((contender) => [
    contender,
    ...sizes.map((size) => {
      const figure = own.find((each) => each.contender === contender && each.what === size)
      return figure ? `${figure.best} (${figure.median})` : '–'
    }),
  ])
  return (
    `## ${regime.toUpperCase()}: µs per step, best ` +
    `(median)\n\n${capital(regimes[regime].title)}.\n\n${table(['k', ...sizes], rows)}`
  )
}

function w2Table(figures: readonly Figure[], ideal: number | undefined): string {
  if (ideal === undefined) return ''
  const rows = figures.flatMap((wall) => {
    if (wall.w !== 'w2' || wall.what !== 'wall') return []
    const stall = figures.find(
      ({ w, contender, what }) => w === 'w2' && contender === wall.contender && what === 'longest stall',
    )
    const times = (value: number): string => (value / ideal).toFixed(2)
    return [
      [
        wall.contender,
        `${times(wall.best)} (${times(wall.median)})`,
        `${wall.best} (${wall.median})`,
        `${stall?.median} (${stall?.worst})`,
        String(wall.samples),
      ],
    ]
  })
  const head = ['who', '× ideal, best (median)', 'wall ms, best (median)', 'longest stall ms, median (worst)', 'n']
  return (
    `## W2: 16 calls of 20 ms in one step\n\nIdeal: ${ideal.toFixed(1)} ms, from the fastest single call of ` +
    `this run.\n\n${table(head, rows)}`
  )
}

function plainTable(title: string, w: Figure['w'], figures: readonly Figure[]): string {
  const rows = figures
    .filter((figure) => figure.w === w)
    .map(({ contender, what, unit, best, median, samples }) => [
      contender,
      what,
      unit,
      String(best),
      String(median),
      String(samples),
    ])
  return rows.length > 0 ? `## ${title}\n\n${table(['who', 'what', 'unit', 'best', 'median', 'n'], rows)}` : ''
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}
