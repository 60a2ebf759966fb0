/**
 * `npm run chaos`, shorter: a swarm of 60 children over three hosts; one is killed, one is stopped for longer than
 * its lease, the server is killed and started again. What comes of it is what comes of a quiet run.
 */
import { expect, test } from 'vitest'
import { runChaos } from '../chaos/chaos.js'
import type { Row } from '../chaos/faults.js'

const plan: readonly Row[] = [
  { part: 0.15, faults: [{ kind: 'kill', pick: 0.1, leases: 0.2, thenLeases: 0 }] },
  { part: 0.4, faults: [{ kind: 'pause', pick: 0.9, leases: 1.3, thenLeases: 0 }] },
  { part: 0.7, faults: [{ kind: 'server', pick: 0, leases: 0.3, thenLeases: 0 }] },
]

test('N1, N2, N3, P1: hosts that are killed and stopped and a server that is killed lose nothing of a swarm and repeat nothing of it', async () => {
  const { wrong, threads, faults } = await runChaos({
    seed: 0,
    children: 60,
    hosts: 3,
    faults: plan,
    leaseMs: 1_500,
    paceMs: 15,
    withinMs: 250_000,
  })
  expect(wrong).toEqual([])
  expect(threads).toBe(1 + 60 + 12)
  expect(faults).toEqual({ kill: 1, pause: 1, leave: 0, server: 1, both: 0 })
})
