/** Goals of the workloads on NATS: W5, W6 across hosts. */
import { quotient } from './compare.js'
import type { Figures } from './figures.js'
import type { Goal } from './goals.js'
import { syncs } from './nats.js'
import { hostCounts } from './w5.js'

/** The lease that a namespace has unless it says another. */
const leaseMs = 3_000

export function w5Goals(figures: Figures): Goal[] {
  if (!figures.all.some(({ w }) => w === 'w5')) return []
  const ofCeiling = syncs.flatMap((sync) =>
    hostCounts[sync].map((hosts): Goal => {
      const raw = figures.best('w5 raw', `nats ${sync}`, 'the same messages, one client')
      const own = figures.best('w5', `nats ${sync}`, `${hosts} per append`)
      return {
        text: `W5: ${hosts} ${hosts === 1 ? 'host' : 'hosts'}, ${sync}: appends a second ÷ those of the server alone`,
        limit: 0.5,
        least: true,
        got: quotient(raw, own),
        unit: '×',
      }
    }),
  )
  const latency = (hosts: number): number | undefined => figures.best('w5 latency', 'nats synced', `${hosts} bounded`)
  const moves = (what: string): number | undefined => figures.find('w5 moves', 'nats synced', what)?.worst
  return [
    ...ofCeiling,
    {
      text: 'W5: model of 50 ms, 16 calls of it at once on a host: two hosts ÷ one',
      limit: 1.5,
      least: true,
      got: quotient(latency(1), latency(2)),
      unit: '×',
    },
    {
      text: 'W5: kill -9 of a host → first commit elsewhere, worst',
      limit: leaseMs + 1_000,
      got: moves('kill: first commit elsewhere'),
      unit: 'ms',
    },
    {
      text: 'W5: kill -9 of a host → all its threads at work elsewhere, worst',
      limit: leaseMs + 1_000,
      got: moves('kill: all threads at work elsewhere'),
      unit: 'ms',
    },
    {
      text: 'W5: a host leaves: pause of a thread, worst',
      limit: 500,
      got: moves('leave: pause of a thread'),
      unit: 'ms',
    },
    {
      text: 'W5: a host joins: pause of a thread, worst',
      limit: 500,
      got: moves('join: pause of a thread'),
      unit: 'ms',
    },
  ]
}

export function w6AcrossGoals(figures: Figures): Goal[] {
  if (!figures.all.some(({ w }) => w === 'w6 across')) return []
  return syncs.map((sync): Goal => {
    const own = figures.best('w6 across', `nats ${sync}`, '64 MB across')
    const raw = figures.best('w6 across', `nats ${sync}`, '64 MB raw, both ways')
    return {
      text: `W6: 64 MB to a child on another host and back, ${sync}: rate ÷ that of bare chunks`,
      limit: 0.6,
      least: true,
      got: quotient(raw, own),
      unit: '×',
    }
  })
}
