/**
 * W12: a host that lives long. 50,000 turns over 500 threads, of which 256 stay awake, so that each thread was let go
 * since it was last spoken to: what a turn costs and what the heap holds in each tenth of the turns. Where a model has a
 * context the past of a thread is bounded, and both must stay as they are; without one its model reads all of it.
 */
import { z } from 'zod'
import { runJob, withFolder } from './child.js'
import { quotient } from './compare.js'
import type { Contender } from './contenders.js'
import type { Figures } from './figures.js'
import type { Goal } from './goals.js'
import type { Settings } from './settings.js'

const tenths = z.array(z.number()).length(10)
const answer = z.object({ us: tenths, cpuUs: tenths, heapMb: tenths })

const threads = 500
const turns = { full: 50_000, quick: 10_000 }
const pasts = { summary: 'with a context', all: 'without' } as const

export async function measureW12(
  contenders: readonly Contender[],
  { dist, quick }: Settings,
  figures: Figures,
): Promise<void> {
  for (const contender of contenders) {
    const { name, kind } = contender
    for (const past of ['summary', 'all'] as const) {
      console.error(`w12: ${name}, ${pasts[past]}`)
      const job = { work: 'w12', past, threads, turns: turns[quick ? 'quick' : 'full'], gc: true } as const
      const { us, cpuUs, heapMb } = await withFolder((folder) =>
        runJob(contender, dist, { job: { ...job, folder }, answer }),
      )
      const add = (what: string, unit: 'µs/turn' | 'MB', values: readonly number[]): void =>
        figures.add({ w: 'w12', contender: name, kind, what: `${pasts[past]}, ${what}`, unit }, values)
      // The first tenth pays for the compiler: the second is what a turn costs.
      for (const [what, tenth] of [
        ['first', 0],
        ['second', 1],
        ['last', 9],
      ] as const) {
        const one = (values: readonly number[]): readonly number[] => values.slice(tenth, tenth + 1)
        add(`${what} tenth`, 'µs/turn', one(us))
        add(`${what} tenth, CPU`, 'µs/turn', one(cpuUs))
        add(`heap after the ${what} tenth`, 'MB', one(heapMb))
      }
    }
  }
}

export function w12Goals(figures: Figures): Goal[] {
  const of = (what: string): number | undefined => figures.best('w12', 'skein local', `with a context, ${what}`)
  if (of('last tenth') === undefined) return []
  return [
    {
      text: 'W12: skein local, CPU of a turn in the last tenth ÷ the second',
      limit: 1.2,
      got: quotient(of('last tenth, CPU'), of('second tenth, CPU')),
      unit: '×',
    },
    {
      text: 'W12: skein local, heap after the last tenth ÷ the second',
      limit: 1.2,
      got: quotient(of('heap after the last tenth'), of('heap after the second tenth')),
      unit: '×',
    },
  ]
}
