/** Goals of the workloads with many threads: W3, W6 on one host, W7. */
import { fastestPeer, quotient } from './compare.js'
import type { Figure, Figures } from './figures.js'
import type { Goal } from './goals.js'
import { most } from './w3.js'

const shares = [
  { contender: 'skein memory', what: '1/3', share: 1 / 3 },
  { contender: 'skein local', what: '1/2', share: 1 / 2 },
]
const modes = shares.map(({ contender }) => contender)
const inMemory = 'the store is in this memory too'

export function w3Goals(figures: Figures): Goal[] {
  if (!figures.all.some(({ w }) => w === 'w3')) return []
  const against = shares.flatMap(({ contender, what, share }) =>
    ['1000', '10000'].map((size): Goal => {
      const peer = fastestPeer(figures.all, 'w3', size)
      return {
        text:
          `W3: ${contender}, ${size} children ≤ ${what} of the fastest peer in memory ` +
          `(${peer?.contender ?? 'none'})`,
        limit: share,
        got: quotient(figures.best('w3', contender, size), peer?.best),
        unit: '×',
      }
    }),
  )
  const alone = modes.flatMap((contender): Goal[] => {
    const best = (w: Figure['w'], size: string): number | undefined => figures.best(w, contender, size)
    return [
      {
        text: `W3: ${contender} is flat: µs/child at 10000 ÷ at 1000`,
        limit: 1.3,
        got: quotient(best('w3', '10000'), best('w3', '1000')),
        unit: '×',
      },
      {
        text: `W3: ${contender}, missing of ${most} children`,
        limit: 0,
        got: best('w3 missing', String(most)),
        unit: 'children',
      },
      {
        text: `W3: ${contender}, peak RSS at 10000`,
        limit: 300,
        got: best('w3 peak', '10000'),
        unit: 'MB',
        ...(contender === 'skein memory' && { miss: inMemory }),
      },
      ...['1000', '10000'].map((size): Goal => ({
        text: `W3: ${contender}, heap of a live child of ${size}`,
        limit: 12,
        got: best('w3 live', size),
        unit: 'KB',
        ...(contender === 'skein memory' && { miss: inMemory }),
      })),
    ]
  })
  return [...against, ...alone]
}

export function w6Goals(figures: Figures): Goal[] {
  if (!figures.all.some(({ w }) => w === 'w6')) return []
  const ways = { added: 'to a child', 'added by both ways': 'to a child that gives it back' }
  return modes.flatMap((contender) =>
    Object.entries(ways).map(([what, words]): Goal => ({
      text: `W6: ${contender}, what an attachment of 64 MB adds ${words}, median`,
      limit: 5,
      got: figures.find('w6', contender, `64 MB ${what}`)?.median,
      unit: 'ms',
    })),
  )
}

export function w7Goals(figures: Figures): Goal[] {
  if (!figures.all.some(({ w }) => w === 'w7')) return []
  return [...modes, 'skein nats'].flatMap((contender) =>
    (contender === 'skein memory' ? ['made here'] : ['made here', 'found on disk']).flatMap((where): Goal[] => {
      const wakeMs = contender === 'skein nats' ? 5 : 2
      const of = (what: string): number | undefined => figures.find('w7', contender, `${what}, ${where}`)?.median
      return [
        {
          text: `W7: ${contender}, RSS of a thread at rest, ${where}`,
          limit: 1024,
          got: of('RSS of one at rest'),
          unit: 'bytes',
          ...(contender === 'skein memory' && { miss: inMemory }),
        },
        {
          text: `W7: ${contender}, send → model call, median, ${where}`,
          limit: wakeMs,
          got: of('send → model call'),
          unit: 'ms',
        },
        {
          text: `W7: ${contender}, send → result, median, ${where}`,
          limit: wakeMs,
          got: of('send → result'),
          unit: 'ms',
        },
      ]
    }),
  )
}
