/**
 * W5: W3 on NATS with 1, 2 and 4 hosts, each a process, beside the ceiling: what the same server takes of the very same
 * messages from one bare client. Also with a model that takes 50 ms, and with hosts that die, leave and join.
 */
import { z } from 'zod'
import { runJob } from './child.js'
import type { Job } from './child.js'
import type { Contender } from './contenders.js'
import type { Figure, Figures } from './figures.js'
import { syncs, withNats } from './nats.js'
import type { Sync } from './nats.js'
import type { Settings } from './settings.js'

const measured = z.object({ us: z.array(z.number()), cpuUs: z.array(z.number()), appends: z.array(z.number()) })
const ceiling = z.object({ us: z.array(z.number()), messages: z.number(), bytes: z.number() })
const moved = z.object({
  firstMs: z.number(),
  lastMs: z.number(),
  pausesMs: z.array(z.number()),
  gapsMs: z.array(z.number()),
  moved: z.number(),
})

/** By the server: with its own sync one host is enough to see what the disk costs. */
export const hostCounts: Readonly<Record<Sync, readonly number[]>> = { synced: [1, 2, 4], relaxed: [1, 2] }
const children = { full: 1_000, quick: 300 }
const turns = { full: 5, quick: 2 }
/** As W3: what a host does first is mostly to compile. */
const warmUp = { warm: 10, warmChildren: 100 }
const windows = [64, 256, 1_024]
const budgetMs = 20_000
const mostRounds = 2

/**
 * What one call takes, and how many of them a host has under way at once: as many as it has connections to its
 * provider.
 */
const latencyMs = 50
const connections = { bounded: 16, unbounded: 1_000_000 }
const latencyChildren = { bounded: 300, unbounded: 500 }

const ways = ['kill', 'leave', 'join'] as const
/**
 * A host that has too much leaves the partitions where the least is going on: with fewer threads than partitions none
 * of them moves.
 */
const moving = {
  kill: { threads: 32, waitMs: 20 },
  leave: { threads: 32, waitMs: 20 },
  join: { threads: 160, waitMs: 100 },
}
const moveRounds = 3

interface Around {
  readonly contender: Contender
  readonly settings: Settings
  readonly figures: Figures
}

export async function measureW5(
  [contender]: readonly Contender[],
  settings: Settings,
  figures: Figures,
): Promise<void> {
  if (!contender) return
  const around = { contender, settings, figures }
  for (const sync of syncs) await withNats(sync, (url) => measureSwarm({ sync, url }, around))
  await withNats('synced', async (url) => {
    await measureLatency(url, around)
    await measureMoves(url, around)
  })
}

async function measureSwarm(
  { sync, url }: { sync: Sync; url: string },
  { contender, settings, figures }: Around,
): Promise<void> {
  const size = settings.quick ? 'quick' : 'full'
  const samples = new Map(
    hostCounts[sync].map((hosts) => [hosts, { us: [] as number[], cpuUs: [] as number[], appends: [] as number[] }]),
  )
  const raw: number[] = []
  const job: Job = { work: 'w5', url, ...warmUp, children: children[size], turns: turns[size], budgetMs }
  for (let round = 1; round <= Math.min(settings.rounds, mostRounds); round++) {
    for (const [hosts, own] of samples) {
      console.error(`w5 ${sync} round ${round}: ${hosts} hosts`)
      const answer = await runJob(contender, settings.dist, { job: { ...job, hosts }, answer: measured })
      own.us.push(...answer.us)
      own.cpuUs.push(...answer.cpuUs)
      own.appends.push(...answer.appends)
    }
    console.error(`w5 ${sync} round ${round}: the server alone`)
    const alone = await runJob(contender, settings.dist, {
      job: { work: 'w5raw', url, children: children[size], turns: 2, windows },
      answer: ceiling,
    })
    raw.push(...alone.us)
  }
  const add = (w: Figure['w'], unit: Figure['unit'], [what, values]: readonly [string, readonly number[]]): void =>
    figures.add({ w, contender: `nats ${sync}`, kind: w === 'w5 raw' ? 'floor' : 'skein', what, unit }, values)
  for (const [hosts, { us, cpuUs, appends }] of samples) {
    add('w5', 'µs/child', [String(hosts), us])
    add('w5 cpu', 'µs/child', [String(hosts), cpuUs])
    add('w5 appends', 'appends/child', [String(hosts), appends])
    add('w5', 'µs/append', [`${hosts} per append`, us.map((each, index) => each / (appends[index] ?? Number.NaN))])
  }
  add('w5 raw', 'µs/append', ['the same messages, one client', raw])
}

async function measureLatency(url: string, { contender, settings, figures }: Around): Promise<void> {
  for (const bound of ['bounded', 'unbounded'] as const) {
    for (const hosts of [1, 2]) {
      console.error(`w5 with a model of ${latencyMs} ms, ${bound}: ${hosts} hosts`)
      const job: Job = {
        work: 'w5',
        url,
        hosts,
        latencyMs,
        connections: connections[bound],
        warm: 1,
        warmChildren: 64,
        children: latencyChildren[bound],
        turns: settings.quick ? 1 : 3,
        budgetMs,
      }
      const { us } = await runJob(contender, settings.dist, { job, answer: measured })
      figures.add(
        { w: 'w5 latency', contender: 'nats synced', kind: 'skein', what: `${hosts} ${bound}`, unit: 'µs/child' },
        us,
      )
    }
  }
}

async function measureMoves(url: string, { contender, settings, figures }: Around): Promise<void> {
  for (const how of ways) {
    const firsts: number[] = []
    const lasts: number[] = []
    const pauses: number[] = []
    const gaps: number[] = []
    for (let round = 1; round <= (settings.quick ? 1 : moveRounds); round++) {
      console.error(`w5 ${how} round ${round}`)
      const answer = await runJob(contender, settings.dist, {
        job: { work: 'moves', url, how, ...moving[how] },
        answer: moved,
      })
      firsts.push(answer.firstMs)
      lasts.push(answer.lastMs)
      pauses.push(...answer.pausesMs)
      gaps.push(...answer.gapsMs)
    }
    const add = (what: string, values: readonly number[]): void =>
      figures.add(
        { w: 'w5 moves', contender: 'nats synced', kind: 'skein', what: `${how}: ${what}`, unit: 'ms' },
        values,
      )
    add('first commit elsewhere', firsts)
    add('all threads at work elsewhere', lasts)
    add('pause of a thread', pauses)
    add('longest gap of a thread that stays', gaps)
  }
}
