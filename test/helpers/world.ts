/**
 * A world for a runtime test: a store, a clock that stands still and the skeins that the test opened on them.
 * `onEveryStore` runs the same tests on each backend (N4) and closes what they left open.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe } from 'vitest'
import { local } from '../../src/backend/local/local.js'
import { memory } from '../../src/backend/memory.js'
import type { BackendSource } from '../../src/backend/port.js'
import type { Definition } from '../../src/agent/define.js'
import type { Chance } from '../../src/core/clock.js'
import { manualClock } from '../../src/core/manual-clock.js'
import type { ManualClock } from '../../src/core/manual-clock.js'
import { createSkein } from '../../src/runtime/skein.js'
import type { Skein, SkeinOptions } from '../../src/runtime/skein.js'
import { tapped } from './tap.js'
import type { Tap } from './tap.js'

interface Store {
  readonly source: BackendSource
  /** Where it lies, when it lies anywhere. */
  readonly dir?: string
  remove(): Promise<void>
}

const stores: readonly { readonly name: string; make(): Promise<Store> }[] = [
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
  readonly store: Store
  /** What the skeins do to the store goes through here. */
  readonly tap: Tap
  /** What operators were told. */
  readonly warnings: string[]
  open(app: readonly Definition[], options?: Partial<SkeinOptions>): Promise<Skein>
  /** Closes a skein; time stands still meanwhile. */
  close(skein: Skein): Promise<void>
}

/** Ids of a whole test run, so that two skeins on one store never give the same. */
let given = 0
const chance: Chance = { id: () => `id${++given}`, fraction: () => 0 }

async function createWorld(make: () => Promise<Store>): Promise<World & { end(): Promise<void> }> {
  const store = await make()
  const clock = manualClock(1_700_000_000_000)
  const tap: Tap = {}
  const warnings: string[] = []
  const opened = new Set<Skein>()
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
    async open(app, options = {}) {
      const skein = await createSkein({ app, backend: tapped(store.source, tap), clock, chance, warn: (what) => void warnings.push(what), ...options })
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
      await store.remove()
    },
  }
}

/** The world of the test that is running. */
export function onEveryStore(title: string, tests: (world: World) => void): void {
  describe.each(stores)(`$name: ${title}`, ({ make }) => {
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
      open: (app, options) => now.open(app, options),
      close: (skein) => now.close(skein),
    })
  })
}
