/** Tables of the workloads on NATS: W5, W6 across hosts. */
import type { Figure } from './figures.js'
import { table } from './markdown.js'
import { syncs } from './nats.js'
import { hostCounts } from './w5.js'
import { journeys } from './w6-across.js'

type Find = (w: Figure['w'], contender: string, what: string) => Figure | undefined

export function w5Tables(figures: readonly Figure[], find: Find): string {
  return [swarmTable(find), latencyTable(figures), movesTable(figures)].filter(Boolean).join('\n\n')
}

function swarmTable(find: Find): string {
  const rows = syncs.flatMap((sync) => {
    const raw = find('w5 raw', `nats ${sync}`, 'the same messages, one client')
    if (!raw) return []
    const own = hostCounts[sync].map((hosts) => {
      const of = (w: Figure['w'], what = String(hosts)): Figure | undefined => find(w, `nats ${sync}`, what)
      const append = of('w5', `${hosts} per append`)
      return [
        `${hosts} ${hosts === 1 ? 'host' : 'hosts'}, ${sync}`,
        both(of('w5')),
        String(of('w5 cpu')?.best ?? '–'),
        String(of('w5 appends')?.median ?? '–'),
        both(append),
        perSecond(append),
        append ? `${((100 * raw.best) / append.best).toFixed(0)} %` : '–',
      ]
    })
    return [...own, [`the server alone, ${sync}`, '–', '–', '–', both(raw), perSecond(raw), '100 %']]
  })
  const head = [
    'who',
    'µs per child, best (median)',
    'CPU µs/child, all hosts',
    'appends/child',
    'µs per append',
    'appends/s, best',
    'of the ceiling',
  ]
  return rows.length > 0
    ? `## W5: a parent and its children on NATS, over several hosts\n\n\`synced\`: the server writes to the disk ` +
        `before it acknowledges, as in nats.conf; \`relaxed\`: its own default.\n\n${table(head, rows)}`
    : ''
}

function latencyTable(figures: readonly Figure[]): string {
  const rows = figures
    .filter(({ w }) => w === 'w5 latency')
    .map(({ what, best, median, samples }) => {
      const [hosts, bound] = what.split(' ')
      return [
        `${hosts} ${hosts === '1' ? 'host' : 'hosts'}`,
        bound === 'bounded' ? '16' : 'no limit',
        String(best),
        String(median),
        (1e6 / best).toFixed(0),
        String(samples),
      ]
    })
  return rows.length > 0
    ? `## W5: the same with a model that takes 50 ms\n\n64 children of the parent are at work at ` +
        `once.\n\n${table(['who', 'model calls of a host at once', 'µs per child, best', 'median', 'children/s, best', 'n'], rows)}`
    : ''
}

function movesTable(figures: readonly Figure[]): string {
  const rows = figures
    .filter(({ w }) => w === 'w5 moves')
    .map(({ what, best, median, worst, samples }) => [
      what,
      String(best),
      String(median),
      String(worst),
      String(samples),
    ])
  return rows.length > 0
    ? `## W5: threads that change their host\n\nThreads at work on two hosts, 64 partitions, a lease of 3,000 ms. ` +
        `One host is killed or leaves (32 threads, steps of 20 ms), or a third joins (160 threads, steps of 100 ` +
        `ms). ms.\n\n${table(['what', 'best', 'median', 'worst', 'n'], rows)}`
    : ''
}

export function w6AcrossTable(find: Find): string {
  const rows = syncs.flatMap((sync) =>
    journeys.flatMap(({ name: size, bytes }) => {
      const of = (what: string): Figure | undefined => find('w6 across', `nats ${sync}`, `${size} ${what}`)
      const [across, raw] = [of('across'), of('raw, both ways')]
      if (!across || !raw) return []
      const rate = ({ best }: Figure): string => ((4 * bytes) / 2 ** 20 / (best / 1000)).toFixed(0)
      return [
        [
          `${size}, ${sync}`,
          both(across),
          both(of('same host')),
          both(of('raw put')),
          both(of('raw get')),
          both(raw),
          rate(across),
          rate(raw),
          `${((100 * raw.best) / across.best).toFixed(0)} %`,
          String(across.samples),
        ],
      ]
    }),
  )
  const head = [
    'size',
    'there and back, other host',
    'same host',
    'bare: put',
    'bare: get',
    'bare: both ways',
    'MB/s',
    'bare MB/s',
    'of the ceiling',
    'n',
  ]
  return rows.length > 0
    ? `## W6: an attachment to a child on another host, and another one back\n\nms, best (median). The bytes go ` +
        `over the wire four times: put, read, put, read. The first 64 MB are written and read as a stream, all ` +
        `others at once.\n\n${table(head, rows)}`
    : ''
}

function both(figure: Figure | undefined): string {
  return figure ? `${figure.best} (${figure.median})` : '–'
}

function perSecond(figure: Figure | undefined): string {
  return figure ? (1e6 / figure.best).toFixed(0) : '–'
}
