/**
 * A world for a runtime test: a store, a clock that stands still and the skeins that the test opened on them.
 * `onEveryStore` runs the same tests on each backend (N4) and closes what they left open.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@nats-io/transport-node'
import type { NatsConnection } from '@nats-io/transport-node'
import { afterEach, beforeEach, describe, inject } from 'vitest'
import { local } from '../../src/backend/local/local.js'
import { memory } from '../../src/backend/memory/memory.js'
import { nats } from '../../src/backend/nats/nats.js'
import type { Store } from '../../src/backend/port.js'
import type { Definition } from '../../src/agent/define.js'
import type { Random } from '../../src/core/clock.js'
import { manualClock } from '../../src/core/manual-clock.js'
import type { ManualClock } from '../../src/core/manual-clock.js'
import { createSkein } from '../../src/runtime/skein.js'
import type { SkeinOptions } from '../../src/runtime/options.js'
import type { Skein } from '../../src/runtime/skein.js'
import { beatWith, observed } from './activity.js'
import { natsAskedFor } from './nats-binary.js'
import type { NatsVersion } from './nats-binary.js'
import { tapped } from './tap.js'
import type { Tap } from './tap.js'

interface TestStore {
  readonly source: Store
  /** Where it lies, when it lies anywhere. */
  readonly dir?: string
  /** Several hosts may serve it. */
  readonly shared?: true
  /** A way to its process and back, where that is another one. */
  readonly beat?: () => Promise<unknown>
  remove(): Promise<void>
}

interface StoreKind {
  readonly name: string
  /** Several hosts may serve it. */
  readonly several?: true
  make(): Promise<TestStore>
}

/** A server of the whole run (nats-setup.ts); every test has a namespace of its own. */
function onNats(version: NatsVersion): StoreKind {
  let probe: Promise<NatsConnection> | undefined
  let made = 0
  return {
    name: `nats ${version}`,
    several: true,
    async make() {
      const url = inject('nats')[version] ?? ''
      const connection = await (probe ??= connect({ servers: url }))
      // Few partitions are taken over quickly, and are enough to see that there are several. No test here waits for a
      // lease to end, and none should lose one because the machine is busy.
      const source = nats({
        servers: url,
        namespace: `world${process.pid}-${++made}`,
        partitions: 3,
        leaseMs: 10_000,
        sync: 'relaxed',
      })
      return { source, shared: true, beat: () => connection.flush(), remove: async () => undefined }
    },
  }
}

const own: readonly StoreKind[] = [
  { name: 'memory', make: async () => ({ source: memory(), remove: async () => undefined }) },
  {
    name: 'local',
    make: async () => {
      const dir = await mkdtemp(join(tmpdir(), 'skein-runtime-'))
      return { source: local(dir), dir, remove: () => rm(dir, { recursive: true, force: true }) }
    },
  },
]

export interface World {
  readonly clock: ManualClock
  readonly store: TestStore
  /** What the skeins do to the store goes through here. */
  readonly tap: Tap
  /** What operators were told. */
  readonly warnings: string[]
  open(app: readonly Definition[], options?: Partial<SkeinOptions>): Promise<Skein>
  /** Another store of the same kind, with nothing in it. */
  fresh(): Promise<Store>
  /** Closes a skein; time stands still meanwhile. */
  close(skein: Skein): Promise<void>
}

const key = Buffer.from(Array.from({ length: 32 }, (_, n) => n * 7)).toString('hex')

/** Ids of a whole test run, so that two skeins on one store never give the same. */
let given = 0
const chance: Random = { id: () => `id${++given}`, fraction: () => 0 }

async function createWorld(make: () => Promise<TestStore>): Promise<World & { end(): Promise<void> }> {
  const made = await make()
  const source = observed(made.source)
  const store = { ...made, source }
  beatWith(store.beat)
  // No store of several hosts keeps the key for secrets.
  if (store.shared) process.env['SKEIN_KEY'] = key
  const clock = manualClock(1_700_000_000_000)
  const tap: Tap = {}
  const warnings: string[] = []
  const opened = new Set<Skein>()
  const more: TestStore[] = []
  const close = async (skein: Skein): Promise<void> => {
    opened.delete(skein)
    await skein.close()
  }
  return {
    clock,
    store,
    tap,
    warnings,
    close,
    async fresh() {
      const another = await make()
      more.push(another)
      return observed(another.source)
    },
    async open(app, options = {}) {
      const skein = await createSkein({
        app,
        backend: tapped(store.source, tap),
        clock,
        random: chance,
        warn: (what) => void warnings.push(what),
        ...options,
      })
      opened.add(skein)
      return skein
    },
    async end() {
      delete tap.commit
      for (const skein of opened) {
        const closed = close(skein)
        clock.advance(60_000) // the grace of what still runs
        await closed
      }
      await source.end()
      beatWith(undefined)
      if (store.shared) delete process.env['SKEIN_KEY']
      for (const { remove } of [store, ...more]) await remove()
    },
  }
}

/** `STORES=nats` or `STORES=memory,local,nats,nats-2.10` says on which; see package.json. */
const asked = (process.env['STORES'] ?? 'memory,local').split(',')
const stores = [...own.filter(({ name }) => asked.includes(name)), ...natsAskedFor(asked).map(onNats)]

/**
 * The world of the test that is running. `hosts` is for what is promised only where one host serves the store, or
 * where several may.
 */
export function onEveryStore(title: string, tests: (world: World) => void, hosts?: 'one' | 'several'): void {
  describe.each(stores.filter(({ several = false }) => hosts === undefined || several === (hosts === 'several')))(
    `$name: ${title}`,
    ({ make }) => {
      let now: Awaited<ReturnType<typeof createWorld>>
      beforeEach(async () => {
        now = await createWorld(make)
      })
      afterEach(() => now.end())
      tests({
        get clock() {
          return now.clock
        },
        get store() {
          return now.store
        },
        get tap() {
          return now.tap
        },
        get warnings() {
          return now.warnings
        },
        fresh: () => now.fresh(),
        open: (app, options) => now.open(app, options),
        close: (skein) => now.close(skein),
      })
    },
  )
}
