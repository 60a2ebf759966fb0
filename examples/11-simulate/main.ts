/**
 * A swarm tested before it runs: its hosts die, stop and lose their connection, its bank loses answers, all in virtual
 * time and all from a seed. The bug is found and printed with its seed; three lines mend it.
 *
 *   npx tsx examples/11-simulate/main.ts
 */
import assert from 'node:assert/strict'
import type { Definition } from 'skein'
import { SimulationFailure, simulate } from 'skein/testing'
import type { Service, SimReport } from 'skein/testing'
import { careless, desk, mended, orders } from './app.js'

function tryIt(tool: (bank: Service) => Definition): Promise<SimReport> {
  return simulate({
    app: (world) => desk(tool(world.bank)),
    services: { bank: { latencyMs: [5, 300], loses: 0.1, refuses: 0.05 } },
    seeds: 50,
    // A lost lease counts as a death of the host, and a call that seems to kill hosts is given up after three.
    skein: { limits: { maxHostDeaths: 10 } },
    scenario: async ({ skein }) => {
      const thread = await skein.threads.create({ agent: 'clerk', id: 'desk' })
      return thread.send('They are all broken.', { id: 'complaint' }).text()
    },
    check({ result, quiet, world }) {
      const paid = world.ledger('bank').entries.map(({ request }) => JSON.stringify(request))
      const twice = paid.filter((order, index) => paid.indexOf(order) !== index)
      assert.deepEqual(twice, [], `refunded twice: ${twice.join()}`)
      // After a crash Skein may say that it does not know whether it was done. It never says so without cause.
      if (!result.includes('EFFECT_UNKNOWN')) assert.deepEqual([result, paid.length], [quiet, orders.length])
    },
  })
}

try {
  await tryIt(careless)
  throw new Error('the bug was not found')
} catch (thrown) {
  if (!(thrown instanceof SimulationFailure)) throw thrown
  const [first = ''] = thrown.message.split('\n')
  const [what = ''] = thrown.broken.join().split('\n')
  console.log(`✗ careless: ${first}\n    ${what}\n    repeat it with SKEIN_SEED=${thrown.seed}`)
}

const { seeds, interleavings, takeOvers, retriedCalls, faults } = await tryIt(mended)
console.log(`✓ mended: ${seeds} seeds, ${interleavings} different courses of events, every order refunded once`)
console.log(`    ${faults.crash} hosts died, ${faults.cut} were cut off, ${faults.leave} left and joined again;`)
console.log(`    ${takeOvers} partitions were taken over, ${retriedCalls} calls were under way and went on elsewhere`)
