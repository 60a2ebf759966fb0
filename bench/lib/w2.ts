/**
 * W2: one step with 16 calls that compute for 20 ms each. The wall time is compared to the ideal, all cores busy with
 * nothing else; and how long the event loop of the host stood still meanwhile. The same amount of work for everybody,
 * found anew for each run: what takes 20 ms on this machine.
 */
import { availableParallelism } from 'node:os'
import { z } from 'zod'
import { runJob, withFolder } from './child.js'
import type { Contender } from './contenders.js'
import type { Figures } from './figures.js'
import type { Settings } from './settings.js'

const calibrated = z.object({ iterations: z.number().int().positive() })
const measured = z.object({ oneMs: z.number(), wallMs: z.array(z.number()), stallMs: z.array(z.number()) })

export const calls = 16
const callMs = 20
const turns = { full: 5, quick: 2 }

export async function measureW2(
  contenders: readonly Contender[],
  { dist, quick, rounds }: Settings,
  figures: Figures,
): Promise<void> {
  const [first] = contenders
  if (!first) return
  const { iterations } = await runJob(first, dist, { job: { work: 'calibrate', callMs }, answer: calibrated })
  const one: number[] = []
  const samples = new Map(
    contenders.map((contender) => [contender, { wallMs: [] as number[], stallMs: [] as number[] }]),
  )
  for (let round = 1; round <= rounds; round++) {
    for (const [contender, own] of samples) {
      console.error(`w2 round ${round}/${rounds}: ${contender.name}`)
      const job = { work: 'w2' as const, calls, iterations, warm: 2, turns: quick ? turns.quick : turns.full }
      const { oneMs, wallMs, stallMs } = await withFolder((folder) =>
        runJob(contender, dist, { job: { ...job, folder }, answer: measured }),
      )
      one.push(oneMs)
      own.wallMs.push(...wallMs)
      own.stallMs.push(...stallMs)
    }
  }
  figures.add({ w: 'w2', contender: 'node', kind: 'floor', what: 'one call', unit: 'ms' }, one)
  for (const [{ name, kind }, { wallMs, stallMs }] of samples) {
    figures.add({ w: 'w2', contender: name, kind, what: 'wall', unit: 'ms' }, wallMs)
    figures.add({ w: 'w2', contender: name, kind, what: 'longest stall', unit: 'ms' }, stallMs)
  }
}

/** All cores at work on the calls and on nothing else, with the fastest call that was seen in this run. */
export function idealMs(figures: Pick<Figures, 'find'>): number | undefined {
  const one = figures.find('w2', 'node', 'one call')?.best
  return one === undefined ? undefined : (one * calls) / availableParallelism()
}
