/**
 * W10: lists of many threads that a client follows: how long it takes until it has them all, what a list, a count and
 * the inbox take from then on, and what it keeps in memory for one thread. Beside it the same list by a scan.
 */
import { z } from 'zod'
import { runJob, withFolder } from './child.js'
import type { Contender } from './contenders.js'
import type { Figures } from './figures.js'
import type { Goal } from './goals.js'
import { withNats } from './nats.js'
import type { Settings } from './settings.js'

const ms = z.array(z.number())
const answer = z.object({
  scanMs: ms,
  readyMs: z.number(),
  listMs: ms,
  failedMs: ms,
  rootsMs: ms,
  costMs: ms,
  textMs: ms,
  countMs: ms,
  inboxMs: ms,
  rowBytes: z.number(),
})

const many = { full: 100_000, quick: 10_000 }
const job = { work: 'w10', turns: 50, gc: true } as const

export async function measureW10(
  contenders: readonly Contender[],
  { dist, quick }: Settings,
  figures: Figures,
): Promise<void> {
  const threads = many[quick ? 'quick' : 'full']
  for (const contender of contenders) {
    const { name, kind, mode } = contender
    console.error(`w10: ${name}, ${threads} threads`)
    const got = await (mode === 'nats'
      ? withNats('relaxed', (url) =>
          runJob(contender, dist, { job: { ...job, threads, url, namespace: 'lists' }, answer }),
        )
      : withFolder((folder) => runJob(contender, dist, { job: { ...job, threads, folder }, answer })))
    const add = (what: string, unit: 'ms' | 'bytes', values: readonly number[]): void =>
      figures.add({ w: 'w10', contender: name, kind, what, unit }, values)
    add('until all are followed', 'ms', [got.readyMs])
    add('threads.list, 100 of all', 'ms', got.listMs)
    add('threads.list, 100 that failed', 'ms', got.failedMs)
    add('the same before it is open', 'ms', got.scanMs)
    add('roots, last updated first', 'ms', got.rootsMs)
    add('most expensive first', 'ms', got.costMs)
    add('a text that none has', 'ms', got.textMs)
    add('counts of a tree', 'ms', got.countMs)
    add('inbox', 'ms', got.inboxMs)
    add('heap for one', 'bytes', [got.rowBytes])
  }
}

export function w10Goals(figures: Figures): Goal[] {
  if (!figures.all.some(({ w }) => w === 'w10')) return []
  return ['skein nats', 'skein local'].map((contender) => ({
    text: `W10: ${contender}, threads.list once followed, median`,
    limit: 50,
    got: figures.find('w10', contender, 'threads.list, 100 of all')?.median,
    unit: 'ms' as const,
  }))
}
