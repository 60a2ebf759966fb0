/** Tables of the workloads with many threads: W3, W6 on one host, W7. */
import type { Figure } from './figures.js'
import { table } from './markdown.js'
import { attachments } from './w6.js'

export function w3Table(figures: readonly Figure[]): string {
  const own = figures.filter(({ w }) => w === 'w3')
  if (own.length === 0) return ''
  const sizes = unique(own.map(({ what }) => what)).sort((one, other) => Number(one) - Number(other))
  const liveSizes = unique(figures.filter(({ w }) => w === 'w3 live').map(({ what }) => what))
  const rows = unique(own.map(({ contender }) => contender)).map((contender) => {
    const cell = (w: Figure['w'], size: string, show: (figure: Figure) => string): string => {
      const figure = figures.find((each) => each.w === w && each.contender === contender && each.what === size)
      return figure ? show(figure) : '–'
    }
    const best = ({ best: value }: Figure): string => String(value)
    return [
      [
        contender,
        ...sizes.map((size) => cell('w3', size, both)),
        ...liveSizes.map((size) => cell('w3 live', size, best)),
      ],
      [
        contender,
        ...sizes.flatMap((size) => [
          cell('w3', size, (figure) => seconds(figure, size)),
          cell('w3 cpu', size, best),
          cell('w3 peak', size, best),
        ]),
      ],
    ]
  })
  const times = table(
    ['µs per child, best (median)', ...sizes, ...liveSizes.map((size) => `heap KB per live child of ${size}`)],
    rows.map(([first = []]) => first),
  )
  const more = table(
    ['', ...sizes.flatMap((size) => [`${size}: wall s`, 'CPU µs/child', 'peak MB'])],
    rows.map(([, second = []]) => second),
  )
  return `## W3: a parent and its children\n\n1,000 children of warm-up, nothing forced.\n\n${times}\n\n${more}`
}

export function w6Table(figures: readonly Figure[]): string {
  const rows = figures.flatMap((added) => {
    const size = Object.keys(attachments).find((name) => added.w === 'w6' && added.what === `${name} added`)
    if (size === undefined) return []
    const of = (what: string, show: (figure: Figure) => string): string => {
      const figure = figures.find(
        ({ w, contender, what: name }) => w === 'w6' && contender === added.contender && name === `${size} ${what}`,
      )
      return figure ? show(figure) : '–'
    }
    const median = (what: string): string => of(what, ({ median: value }) => String(value))
    return [
      [
        added.contender,
        size,
        of('without', both),
        of('with', both),
        median('added'),
        of('nothing back', both),
        of('there and back', both),
        median('added by both ways'),
        String(added.samples),
      ],
    ]
  })
  const head = [
    'who',
    'size',
    'a child without it',
    'with it',
    'added, median of pairs',
    'a child that gives nothing back',
    'there and back',
    'added, median of pairs',
    'n',
  ]
  return rows.length > 0
    ? `## W6: an attachment to a child on the same host\n\nms, best (median).\n\n${table(head, rows)}`
    : ''
}

export function w7Table(figures: readonly Figure[]): string {
  const rows = figures
    .filter(({ w }) => w === 'w7')
    .map(({ contender, what, unit, best, median, p99, samples }) => [
      contender,
      what,
      unit,
      ...(samples === 1 ? ['', String(median), ''] : [best, median, p99].map(String)),
      String(samples),
    ])
  return rows.length > 0
    ? `## W7: threads at rest, and spoken to\n\n${table(['who', 'what', 'unit', 'best', 'p50', 'p99', 'n'], rows)}`
    : ''
}

function both({ best, median }: Figure): string {
  return `${best} (${median})`
}

function seconds({ best }: Figure, size: string): string {
  return ((best * Number(size)) / 1e6).toFixed(2)
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)]
}
