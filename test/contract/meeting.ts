/** Meetings of a test with bodies in workers, and pools that are closed at the end of a test. */
import { mkdtempSync, rmSync, statSync, watch, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { App } from '../../src/agent/app.js'
import { systemClock } from '../../src/core/clock.js'
import { createPool } from '../../src/pool/pool.js'
import type { PoolOptions } from '../../src/pool/pool.js'
import type { Pool, Returned } from '../../src/pool/port.js'
import { loadApp } from '../../src/runtime/app/load.js'
import { builtins } from '../../src/tools/own/thread-files.js'
import { jobFor } from './job.js'
import { fileOf, goFileOf } from './fixtures/pool-meet.js'

const folder = mkdtempSync(join(tmpdir(), 'skein-meet-'))
process.env['NODE_SKEIN_MEETINGS'] = folder
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

export const poolOptions = { clock: systemClock, threads: 2, graceMs: 50, memoryMb: 48 }

export function loadPoolApp(): Promise<App> {
  return loadApp(fileURLToPath(new URL('./fixtures/pool-app.ts', import.meta.url)), { builtins })
}

/** The other side of `meet`: hears who is there, and lets all of them go. */
export function createMeeting(at: string) {
  const before = countAt(at)
  rmSync(goFileOf(at), { force: true })
  let told: () => void = () => undefined
  const watcher = watch(folder, () => told())
  const here = (): number => countAt(at) - before
  return {
    get here(): number {
      return here()
    },
    arrived: (count: number): Promise<void> =>
      new Promise((resolve) => {
        told = () => here() >= count && resolve()
        told()
      }),
    go(): void {
      writeFileSync(goFileOf(at), '')
      watcher.close()
    },
  }
}

function countAt(at: string): number {
  return statSync(fileOf(at), { throwIfNoEntry: false })?.size ?? 0
}

export async function outcomeOf(pool: Pool, ...job: Parameters<typeof jobFor>): Promise<Returned['outcome']> {
  return (await pool.run(jobFor(...job))).outcome
}

export async function withPool(
  app: App,
  more: Partial<PoolOptions>,
  use: (pool: Pool) => Promise<void>,
): Promise<void> {
  const pool = await createPool(app, { ...poolOptions, ...more })
  try {
    await use(pool)
  } finally {
    await pool.close()
  }
}
