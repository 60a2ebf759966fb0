/**
 * W3: a parent makes N children; each asks its model three times and calls four trivial tools (two steps of two calls,
 * then a text), and all answers are read by the parent. Also the peak of memory, and what a child that is held open
 * before its last answer takes of the heap. Contenders take turns, each turn in a process of its own.
 */
import { z } from 'zod'
import { runJob, withFolder } from './child.js'
import type { Job } from './child.js'
import type { Contender } from './contenders.js'
import type { Figure, Figures } from './figures.js'
import type { Settings } from './settings.js'

const measured = z.object({ us: z.array(z.number()), cpuUs: z.array(z.number()), peakMb: z.number() })
const held = z.object({ heapKb: z.number(), rssKb: z.number() })

/** The same for everybody: 1,000 children, nothing forced. */
const warmUp = { warm: 10, warmChildren: 100 }
/** The size that nobody else is asked for: that it is done at all is what counts. */
export const most = 100_000

interface Size {
  readonly children: number
  /** In one process, and how many of those. */
  readonly turns: number
  readonly rounds: number
}

const sizes: readonly Size[] = [
  { children: 100, turns: 20, rounds: 5 },
  { children: 1_000, turns: 10, rounds: 5 },
  { children: 10_000, turns: 3, rounds: 3 },
  { children: most, turns: 1, rounds: 1 },
]
const quickMost = 1_000
/**
 * A contender that takes longer gets fewer turns in a process, one at least; and of the slowest ones fewer processes.
 */
const budgetMs = { full: 15_000, quick: 2_000 }
const slowRounds = 2

const liveSizes = [1_000, 10_000]
const liveRounds = 2
/** More turns than for times: what V8 compiles while children are held would be counted as theirs. */
const liveWarm = 30

export async function measureW3(contenders: readonly Contender[], settings: Settings, figures: Figures): Promise<void> {
  for (const size of sizes) {
    if (settings.quick && size.children > quickMost) continue
    await measureSize(able(contenders, size.children), size, { settings, figures })
  }
  for (const children of liveSizes) {
    if (settings.quick && children > quickMost) continue
    const own = able(contenders, children).filter(({ kind }) => kind === 'skein' || children === quickMost)
    await measureLive(own, children, { settings, figures })
  }
}

function able(contenders: readonly Contender[], children: number): Contender[] {
  return contenders.filter(({ most: own = 0 }) => children <= own)
}

interface Around {
  readonly settings: Settings
  readonly figures: Figures
}

async function measureSize(
  contenders: readonly Contender[],
  { children, turns, rounds }: Size,
  { settings, figures }: Around,
): Promise<void> {
  const samples = new Map(
    contenders.map((contender) => [contender, { us: [] as number[], cpuUs: [] as number[], peakMb: [] as number[] }]),
  )
  const all = Math.min(rounds, settings.rounds)
  for (let round = 1; round <= all; round++) {
    for (const [contender, own] of samples) {
      if (round > slowRounds && contender.name.startsWith('langgraph')) continue
      console.error(`w3 ${children} round ${round}/${all}: ${contender.name}`)
      const job: Job = {
        work: 'w3',
        ...warmUp,
        children,
        turns,
        budgetMs: settings.quick ? budgetMs.quick : budgetMs.full,
      }
      const answer = await attempt(contender, job, settings)
      if (!answer) continue
      own.us.push(...answer.us)
      own.cpuUs.push(...answer.cpuUs)
      own.peakMb.push(answer.peakMb)
    }
  }
  for (const [{ name, kind }, { us, cpuUs, peakMb }] of samples) {
    const add = (w: Figure['w'], unit: Figure['unit'], values: readonly number[]): void =>
      figures.add({ w, contender: name, kind, what: String(children), unit }, values)
    if (children === most) add('w3 missing', 'children', [us.length > 0 ? 0 : children])
    if (us.length === 0) continue
    add('w3', 'µs/child', us)
    add('w3 cpu', 'µs/child', cpuUs)
    add('w3 peak', 'MB', peakMb)
  }
}

/** That the largest size is not done is a figure; anything else ends the run. */
async function attempt(
  contender: Contender,
  job: Job,
  { dist }: Settings,
): Promise<z.infer<typeof measured> | undefined> {
  try {
    return await withFolder((folder) => runJob(contender, dist, { job: { ...job, folder }, answer: measured }))
  } catch (thrown) {
    if (job.children !== most) throw thrown
    console.error(`${contender.name} did not do ${most} children`, thrown)
    return undefined
  }
}

async function measureLive(
  contenders: readonly Contender[],
  children: number,
  { settings: { dist, rounds }, figures }: Around,
): Promise<void> {
  for (const contender of contenders) {
    const heapKb: number[] = []
    for (let round = 1; round <= Math.min(rounds, liveRounds); round++) {
      console.error(`w3 live ${children} round ${round}: ${contender.name}`)
      const job: Job = {
        work: 'live',
        ...warmUp,
        warm: liveWarm,
        children,
        gc: true,
        limits: { maxParallelChildren: children, maxChildren: children },
      }
      heapKb.push(
        (await withFolder((folder) => runJob(contender, dist, { job: { ...job, folder }, answer: held }))).heapKb,
      )
    }
    figures.add(
      { w: 'w3 live', contender: contender.name, kind: contender.kind, what: String(children), unit: 'KB' },
      heapKb,
    )
  }
}
