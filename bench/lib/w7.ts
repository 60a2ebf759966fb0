/**
 * W7: many resumable threads at rest on one host, each with one turn behind it; what of the host's memory is theirs,
 * and how long it takes until one of them, spoken to at random, asks its model and answers. For a store on disk also
 * in a new process that finds them there.
 */
import { z } from 'zod'
import { runJob, withFolder } from './child.js'
import type { Job } from './child.js'
import type { Contender } from './contenders.js'
import type { Figure, Figures } from './figures.js'
import { withNats } from './nats.js'
import type { Settings } from './settings.js'

const latencies = z.object({ toModelMs: z.array(z.number()), toResultMs: z.array(z.number()) })
const made = latencies.extend({
  makeUs: z.number(),
  rssBytes: z.number(),
  busyRssBytes: z.number(),
  heapBytes: z.number(),
})
const opened = z.object({ rssKb: z.number() })
const found = opened.extend(latencies.shape)

const restingThreads = { full: 100_000, quick: 5_000 }
const onNats = { full: 20_000, quick: 2_000 }
const job = { warm: 500, wakes: 1_000, gc: true }

export async function measureW7(contenders: readonly Contender[], settings: Settings, figures: Figures): Promise<void> {
  for (const contender of contenders) {
    if (contender.mode === 'nats')
      await withNats('synced', (url, memory) =>
        measure(contender, settings, {
          figures,
          place: { url, namespace: 'rest' },
          empty: { url, namespace: 'empty' },
          memory,
        }),
      )
    else
      await withFolder((folder) =>
        withFolder((other) => measure(contender, settings, { figures, place: { folder }, empty: { folder: other } })),
      )
  }
}

type Place = Pick<Job, 'folder' | 'url' | 'namespace'>

interface Around {
  readonly figures: Figures
  readonly place: Place
  /** Where nothing is. */
  readonly empty: Place
  /** Of the server, where there is one. */
  readonly memory?: () => Promise<number>
}

async function measure(
  contender: Contender,
  { dist, quick }: Settings,
  { figures, place, empty: nowhere, memory }: Around,
): Promise<void> {
  const threads = (contender.mode === 'nats' ? onNats : restingThreads)[quick ? 'quick' : 'full']
  const before = await memory?.()
  const add = (what: string, unit: Figure['unit'], values: readonly number[]): void =>
    figures.add({ w: 'w7', contender: contender.name, kind: contender.kind, what, unit }, values)
  const addLatencies = (where: string, { toModelMs, toResultMs }: z.infer<typeof latencies>): void => {
    add(`send → model call, ${where}`, 'ms', toModelMs)
    add(`send → result, ${where}`, 'ms', toResultMs)
  }
  console.error(`w7: ${contender.name} makes ${threads} threads`)
  const { makeUs, rssBytes, busyRssBytes, heapBytes, ...first } = await runJob(contender, dist, {
    job: { ...job, work: 'w7', threads, ...place },
    answer: made,
  })
  if (memory && before !== undefined)
    add('memory of the server for one', 'bytes', [((await memory()) - before) / threads])
  add('making one', 'µs/thread', [makeUs])
  add('RSS of one at rest, made here', 'bytes', [rssBytes])
  add('RSS of one right after the last turn', 'bytes', [busyRssBytes])
  add('heap of one at rest, made here', 'bytes', [heapBytes])
  addLatencies('made here', first)
  if (contender.mode === 'memory') return
  const empty = await runJob(contender, dist, {
    job: { ...job, work: 'w7open', threads: 0, ...nowhere },
    answer: opened,
  })
  const { rssKb, ...second } = await runJob(contender, dist, {
    job: { ...job, work: 'w7open', threads, ...place },
    answer: found,
  })
  add('RSS of one at rest, found on disk', 'bytes', [((rssKb - empty.rssKb) * 1024) / threads])
  addLatencies('found on disk', second)
}
