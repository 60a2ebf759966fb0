/**
 * What a host that joins costs the threads of the others (HO3). No test here measures time: a pause is bounded by what
 * it waits for, so each shows one thing for which no thread waits.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Definition } from '../../../../src/agent/define.js'
import { partitionOf } from '../../../../src/backend/nats/subjects.js'
import { nats } from '../../../../src/backend/nats/nats.js'
import type { NatsOptions } from '../../../../src/backend/nats/nats.js'
import type { Lease, Store } from '../../../../src/backend/port.js'
import type { SkeinOptions } from '../../../../src/runtime/options.js'
import { createSkein } from '../../../../src/runtime/skein.js'
import type { Skein } from '../../../../src/runtime/skein.js'
import type { Run } from '../../../../src/runtime/watch/run.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { deferred, until } from '../../../helpers/deferred.js'
import { startNats } from '../../../helpers/nats-server.js'
import type { NatsServer } from '../../../helpers/nats-server.js'

let server: NatsServer
let made = 0
const opened = new Set<Skein>()
/** Ends the long calls of a test. */
let release = deferred()

beforeAll(async () => {
  server = await startNats()
})
afterAll(() => server.remove())
beforeEach(() => void (release = deferred()))
afterEach(async () => {
  release.resolve()
  for (const skein of opened) await skein.close()
  opened.clear()
})

const namespace = (options: Partial<NatsOptions>): Store =>
  nats({ servers: server.url, namespace: `joins${++made}`, sync: 'relaxed', ...options })

async function open(options: Pick<SkeinOptions, 'app' | 'backend'> & Partial<SkeinOptions>): Promise<Skein> {
  const skein = await createSkein(options)
  opened.add(skein)
  return skein
}

/** Counts partitions that nobody holds, from the moment at which their holder begins to leave them. */
class Movements {
  #nobodys = new Set<number>()
  most = 0
  taken = 0

  of(store: Store): Store {
    return {
      open: async (role, self) => {
        const backend = await store.open(role, self)
        const acquire = async (partition: number): Promise<Lease | undefined> => {
          const lease = await backend.leases.acquire(partition)
          if (!lease) return lease
          if (this.#nobodys.delete(partition)) this.taken++
          const giveBack = async (): Promise<void> => {
            this.#nobodys.add(partition)
            this.most = Math.max(this.most, this.#nobodys.size)
            await lease.release()
          }
          return { ...lease, release: giveBack }
        }
        return { ...backend, leases: { ...backend.leases, acquire } }
      },
    }
  }
}

/** Threads that make one call that ends when it is let go, and threads that make many that end at once. */
function longAndQuick() {
  const began: string[] = []
  const app = (): readonly Definition[] =>
    tinyApp({
      script: ({ messages, step }) => {
        const [tool, steps] = messages[0]?.text === 'long' ? ['slow', 1] : ['quick', 10]
        return step < steps ? calls(tool) : 'done'
      },
      tools: [
        looseTool('slow', async ({ threadId }) => {
          began.push(threadId)
          return release.promise
        }),
        looseTool('quick', () => 1),
      ],
    }).app
  return { app, began }
}

async function begin(skein: Skein, message: string, [partition, of]: readonly [number, number]): Promise<Run> {
  const ids = Array.from({ length: 1_000 }, (_, n) => `${message}${n}`)
  const id = ids.find((each) => partitionOf(each, of) === partition) ?? ''
  return (await skein.threads.create({ agent: 'helper', id })).send(message, { delivery: 'new_turn' })
}

const held = async (skein: Skein): Promise<readonly number[]> =>
  (await skein.hosts()).hosts.map(({ partitions }) => partitions.length)

describe('HO3: while a host joins', () => {
  it('few partitions are on their way at once, so that a thread does not wait for those of others', async () => {
    const movements = new Movements()
    const backend = movements.of(namespace({ partitions: 64 }))
    const { app } = longAndQuick()
    const one = await open({ app: app(), backend })
    await Promise.all([0, 20, 40, 63].map(async (partition) => (await begin(one, 'quick', [partition, 64])).text()))
    await open({ app: app(), backend })
    await until('a share for each', async () => (await held(one)).every((count) => count === 32))
    await until('the last of them', () => movements.taken === 32)
    expect(movements.most).toBeLessThanOrEqual(8)
  })

  it('calls that run when a lease has passed without a pause do not hold up the threads beside them', async () => {
    const backend = namespace({ partitions: 2, leaseMs: 1_000 })
    const { app, began } = longAndQuick()
    const options = { app: app(), backend, closeGraceMs: 600_000 }
    const one = await open(options)
    const long = await Promise.all([0, 1].map((partition) => begin(one, 'long', [partition, 2])))
    await until('both long calls', () => began.length === 2)
    const two = await open({ ...options, app: app() })
    await until('a share for each', async () => (await held(one)).every((count) => count === 1))
    const quick = await Promise.all([0, 1].map((partition) => begin(two, 'quick', [partition, 2])))
    expect(await Promise.all(quick.map((run) => run.text()))).toEqual(['done', 'done'])
    release.resolve()
    expect(await Promise.all(long.map((run) => run.text()))).toEqual(['done', 'done'])
  })

  it('partitions that move do not use up the patience with those in which calls run', async () => {
    const backend = namespace({ partitions: 64, leaseMs: 60_000 })
    const { app, began } = longAndQuick()
    const options = { app: app(), backend, closeGraceMs: 0 }
    const one = await open(options)
    const busy = Array.from({ length: 40 }, (_, partition) => partition)
    const long = await Promise.all(busy.map((partition) => begin(one, 'long', [partition, 64])))
    await until('all long calls', () => began.length === busy.length)
    await open({ ...options, app: app() })
    await until('the others', async () => (await held(one)).includes(24))
    for (let round = 0; round < 3; round++) await (await begin(one, 'quick', [0, 64])).text()
    release.resolve()
    expect(new Set(await Promise.all(long.map((run) => run.text())))).toEqual(new Set(['done']))
    expect(began).toHaveLength(busy.length)
  })
})
