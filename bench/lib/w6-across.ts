/** W6 across hosts: an attachment to a child on another host and another one back, beside bare messages of a stream. */
import { z } from 'zod'
import { runJob } from './child.js'
import type { Contender } from './contenders.js'
import type { Figures } from './figures.js'
import { syncs, withNats } from './nats.js'
import type { Sync } from './nats.js'
import type { Settings } from './settings.js'
import { attachments } from './w6.js'

const kinds = ['across', 'same host', 'raw put', 'raw get'] as const
const measured = z.object({ ms: z.record(z.enum(kinds), z.array(z.number())) })
const turns = { full: 5, quick: 2 }
const warm = 2

interface Journey {
  readonly name: string
  readonly bytes: number
  /** Written and read as a stream; else at once, which makes copies of the whole. */
  readonly streams: boolean
  readonly on: readonly Sync[]
}

export const journeys: readonly Journey[] = [
  { name: '1 KB', bytes: attachments['1 KB'], streams: false, on: ['synced'] },
  { name: '1 MB', bytes: attachments['1 MB'], streams: false, on: ['synced'] },
  { name: '64 MB', bytes: attachments['64 MB'], streams: true, on: syncs },
  { name: '64 MB at once', bytes: attachments['64 MB'], streams: false, on: ['synced'] },
]

export async function measureW6Across(
  contenders: readonly Contender[],
  { dist, quick }: Settings,
  figures: Figures,
): Promise<void> {
  const contender = contenders.find(({ mode }) => mode === 'nats')
  if (!contender) return
  for (const sync of syncs) {
    await withNats(sync, async (url) => {
      for (const { name, bytes, streams } of journeys.filter(({ on }) => on.includes(sync))) {
        console.error(`w6 across ${sync} ${name}`)
        const { ms } = await runJob(contender, dist, {
          job: { work: 'w6across', url, bytes, streams, warm, turns: quick ? turns.quick : turns.full },
          answer: measured,
        })
        const add = (what: string, values: readonly number[]): void =>
          figures.add(
            {
              w: 'w6 across',
              contender: `nats ${sync}`,
              kind: what.startsWith('raw') ? 'floor' : 'skein',
              what: `${name} ${what}`,
              unit: 'ms',
            },
            values,
          )
        for (const kind of kinds) if (ms[kind].length > 0) add(kind, ms[kind])
        // Two files go there and back: put, read, put, read.
        add(
          'raw, both ways',
          ms['raw put'].map((put, index) => 2 * (put + (ms['raw get'][index] ?? Number.NaN))),
        )
      }
    })
  }
}
