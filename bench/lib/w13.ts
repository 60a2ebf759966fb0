/**
 * W13: the main loop of a host. It is sent the largest of everything that a model, a tool or a tenant may send; the
 * longest time that the loop stood still, in CPU time, is what others had to wait.
 */
import { z } from 'zod'
import { runJob, withFolder } from './child.js'
import type { Contender } from './contenders.js'
import type { Figures } from './figures.js'
import type { Goal } from './goals.js'
import type { Settings } from './settings.js'

const answer = z.object({ stallMs: z.record(z.string(), z.array(z.number())) })
const many = { full: 100_000, quick: 10_000 }
const mostMs = 10

export async function measureW13(
  contenders: readonly Contender[],
  { dist, quick }: Settings,
  figures: Figures,
): Promise<void> {
  for (const contender of contenders) {
    const { name, kind } = contender
    const threads = many[quick ? 'quick' : 'full']
    console.error(`w13: ${name}, ${threads} threads`)
    const job = { work: 'w13', threads, rounds: quick ? 3 : 5, gc: true } as const
    const { stallMs } = await withFolder((folder) => runJob(contender, dist, { job: { ...job, folder }, answer }))
    for (const [what, ms] of Object.entries(stallMs))
      figures.add({ w: 'w13', contender: name, kind, what, unit: 'ms' }, ms)
  }
}

export function w13Goals(figures: Figures): Goal[] {
  return figures.all
    .filter(({ w }) => w === 'w13')
    .map(({ contender, what, median }) => ({
      text: `W13: ${contender}, longest stall by ${what}, median`,
      limit: mostMs,
      got: median,
      unit: 'ms',
    }))
}
