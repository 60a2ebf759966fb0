/**
 * W2b: what a trivial call on a worker thread costs, through the pool and through a whole step, against a bare Piscina
 * in the same process; 64 calls that wait 200 ms in one step on two threads; and steps that write a file of 1 KB.
 */
import { z } from 'zod'
import { runJob, withFolder } from './child.js'
import type { Job } from './child.js'
import type { Contender } from './contenders.js'
import type { Figure, Figures } from './figures.js'
import type { Settings } from './settings.js'

const measured = z.object({ samples: z.record(z.string(), z.record(z.string(), z.array(z.number()))) })

interface Part {
  readonly w: 'w2b' | 'w2b io' | 'w2b files'
  readonly unit: Figure['unit']
  readonly full: Job
  readonly quick: Job
}

const sizes = [50, 800]

const parts: readonly Part[] = [
  {
    w: 'w2b',
    unit: 'µs/call',
    full: { work: 'calls', warm: 3, turns: 6, count: 1600 },
    quick: { work: 'calls', warm: 2, turns: 3, count: 800 },
  },
  {
    w: 'w2b io',
    unit: 'ms',
    full: { work: 'io', turns: 2, count: 64, waitMs: 200 },
    quick: { work: 'io', turns: 1, count: 64, waitMs: 200 },
  },
  {
    w: 'w2b files',
    unit: 'µs/step',
    full: { work: 'files', warm: 3, turns: 1, sizes },
    quick: { work: 'files', warm: 2, turns: 1, sizes },
  },
]

export async function measureW2b(
  [skein]: readonly Contender[],
  { dist, quick, rounds }: Settings,
  figures: Figures,
): Promise<void> {
  if (!skein) return
  const samples = new Map<Part, Map<string, { contender: string; what: string; values: number[] }>>(
    parts.map((part) => [part, new Map()]),
  )
  for (let round = 1; round <= rounds; round++) {
    for (const [part, own] of samples) {
      console.error(`${part.w} round ${round}/${rounds}`)
      const answer = await withFolder((folder) =>
        runJob(skein, dist, { job: { ...(quick ? part.quick : part.full), folder }, answer: measured }),
      )
      for (const [contender, named] of Object.entries(answer.samples)) {
        for (const [what, values] of Object.entries(named)) {
          const key = `${contender}/${what}`
          own.set(key, { contender, what, values: [...(own.get(key)?.values ?? []), ...values] })
        }
      }
    }
  }
  for (const [{ w, unit }, own] of samples) {
    for (const { contender, what, values } of own.values()) {
      figures.add({ w, contender, kind: contender.startsWith('skein') ? 'skein' : 'floor', what, unit }, values)
    }
  }
}
