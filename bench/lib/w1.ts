/**
 * W1: one thread, k steps of one trivial call each and a final answer, in µs per step. Contenders take turns
 * (A B C, A B C, …), each turn in a process of its own that warms up first; in both regimes.
 */
import { z } from 'zod'
import { runJob, withFolder } from './child.js'
import type { Contender } from './contenders.js'
import type { Figures } from './figures.js'
import { regimeNames, regimes } from './regimes.js'
import type { Regime } from './regimes.js'
import type { Settings } from './settings.js'

const answer = z.object({ samples: z.record(z.string(), z.array(z.number())) })

const sizes = [50, 100, 200, 400, 800, 2000, 10_000]
const quickSizes = [50, 200, 800, 2000]
/** A contender that takes longer for one size gets fewer turns at it, one at least. */
const budgetMs = { full: 2500, quick: 500 }

export async function measureW1(contenders: readonly Contender[], settings: Settings, figures: Figures): Promise<void> {
  const { quick, rounds } = settings
  const samples = new Map<string, number[]>()
  for (let round = 1; round <= rounds; round++) {
    for (const regime of regimeNames) {
      for (const contender of contenders) {
        const own = sizesOf(contender, { quick, round, regime })
        if (own.length === 0) continue
        console.error(`${regime} round ${round}/${rounds}: ${contender.name}`)
        const measured = await measure(contender, settings, { regime, sizes: own })
        for (const size of own) {
          const key = `${regime}/${contender.name}/${size}`
          samples.set(key, [...(samples.get(key) ?? []), ...(measured[size] ?? [])])
        }
      }
    }
  }
  for (const regime of regimeNames) {
    for (const { name, kind } of contenders) {
      for (const size of sizes) {
        const own = samples.get(`${regime}/${name}/${size}`)
        if (own) figures.add({ w: regime, contender: name, kind, what: String(size), unit: 'µs/step' }, own)
      }
    }
  }
}

/** Langgraph is one to two orders slower than the rest: it gets what patience allows. */
function sizesOf(
  { mode, longest, name }: Contender,
  { quick, round, regime }: { quick: boolean; round: number; regime: Regime },
): readonly number[] {
  const all = quick ? quickSizes : sizes
  if (!name.startsWith('langgraph')) return all.filter((size) => size <= longest)
  const patience = mode === 'sqlite' ? { rounds: 2, quickSize: 50 } : { rounds: 3, quickSize: 200 }
  if (regime === 'w1 steady' || round > (quick ? 1 : patience.rounds)) return []
  return all.filter((size) => size <= (quick ? patience.quickSize : longest))
}

async function measure(
  contender: Contender,
  { dist, quick }: Settings,
  { regime, sizes: own }: { regime: Regime; sizes: readonly number[] },
): Promise<Readonly<Record<string, number[]>>> {
  const { warm, gc } = regimes[regime]
  const job = { work: 'w1' as const, sizes: own, turns: 5, warm, gc, budgetMs: quick ? budgetMs.quick : budgetMs.full }
  const { samples } = await withFolder((folder) => runJob(contender, dist, { job: { ...job, folder }, answer }))
  return samples
}
