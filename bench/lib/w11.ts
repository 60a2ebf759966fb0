/**
 * W11: a service. Create, send and result over HTTP beside the same through the API; what an idle stream costs; and
 * many clients of one large tree, through a server that is no host, while a host is killed.
 */
import { z } from 'zod'
import { runJob, withFolder } from './child.js'
import type { Contender } from './contenders.js'
import type { Figures } from './figures.js'
import type { Goal } from './goals.js'
import { withNats } from './nats.js'
import type { Settings } from './settings.js'

const us = z.array(z.number())
const ways = z.object({ api: us, bare: us, one: us, door: us })
const turns = z.object({ us: ways, cpu: ways })
const idle = z.object({ heapKb: z.number(), rssKb: z.number() })
const watched = z.object({
  wrong: z.literal(0),
  opened: z.number(),
  mb: z.number(),
  events: z.number(),
  turnMs: z.number(),
  readMs: z.number(),
  peakMb: z.number(),
})

const sizes = {
  full: { count: 200, turns: 5, threads: 1_000, clients: 1_000, children: 1_000 },
  quick: { count: 100, turns: 2, threads: 200, clients: 100, children: 100 },
}

export async function measureW11(
  contenders: readonly Contender[],
  { dist, quick }: Settings,
  figures: Figures,
): Promise<void> {
  const size = sizes[quick ? 'quick' : 'full']
  for (const contender of contenders) {
    const { name, kind, mode } = contender
    console.error(`w11: ${name}`)
    const add = (what: string, unit: 'ms' | 'µs' | 'KB' | 'MB' | '', values: readonly number[]): void =>
      figures.add({ w: 'w11', contender: name, kind, what, unit }, values)
    if (mode === 'nats') {
      const { clients, children } = size
      const got = await withNats('relaxed', (url) =>
        runJob(contender, dist, { job: { work: 'w11tree', url, clients, children }, answer: watched }),
      )
      add('events of the tree', '', [got.events])
      add('until all clients had all', 'ms', [got.readMs])
      add('the turn', 'ms', [got.turnMs])
      add('connections that were opened', '', [got.opened])
      add('sent to all', 'MB', [got.mb])
      add('peak of the server', 'MB', [got.peakMb])
      continue
    }
    const { us: got, cpu } = await withFolder((folder) =>
      runJob(contender, dist, { job: { work: 'w11', warm: 300, ...size, folder }, answer: turns }),
    )
    add('create, send, result: API', 'µs', got.api)
    add('create, send, result: HTTP', 'µs', got.one)
    add('create, send, result: HTTP, two requests', 'µs', got.bare)
    add('create, send, result: skein/client', 'µs', got.door)
    add('CPU of the process: API', 'µs', cpu.api)
    add('CPU of the server: HTTP', 'µs', cpu.one)
    add('CPU of the server: HTTP, two requests', 'µs', cpu.bare)
    if (mode !== 'memory') continue
    const { threads } = size
    const one = await runJob(contender, dist, { job: { work: 'w11idle', threads, gc: true }, answer: idle })
    add('heap of an idle stream', 'KB', [one.heapKb])
    add('RSS of an idle stream', 'KB', [one.rssKb])
  }
}

export function w11Goals(figures: Figures): Goal[] {
  if (!figures.all.some(({ w }) => w === 'w11')) return []
  const median = (contender: string, what: string): number | undefined => figures.find('w11', contender, what)?.median
  const ratios = ['skein memory', 'skein local'].map((contender): Goal => {
    const [own, http] = ['API', 'HTTP'].map((way) => median(contender, `create, send, result: ${way}`))
    return {
      text: `W11: ${contender}, create + send + result over HTTP ÷ through the API, medians`,
      limit: 2,
      got: own === undefined || http === undefined ? undefined : http / own,
      unit: '×',
    }
  })
  const heap = median('skein memory', 'heap of an idle stream')
  return [...ratios, { text: 'W11: heap of an idle stream', limit: 20, got: heap, unit: 'KB' }]
}
