/** Meetings of a test with bodies in worker threads, and pools that are closed at the end of a test. */
import { BroadcastChannel } from 'node:worker_threads'
import { fileURLToPath } from 'node:url'
import type { App } from '../../src/agent/app.js'
import { systemClock } from '../../src/core/clock.js'
import { createPool } from '../../src/pool/pool.js'
import type { Pool, Returned } from '../../src/pool/port.js'
import { loadApp } from '../../src/runtime/load-app.js'
import { builtins } from '../../src/tools/builtins.js'
import { jobFor } from './desk.js'

export const poolOptions = { clock: systemClock, threads: 2, graceMs: 50, memoryMb: 48 }

export function loadPoolApp(): Promise<App> {
  return loadApp(fileURLToPath(new URL('./fixtures/pool-app.ts', import.meta.url)), { builtins })
}

/** The other side of `meet`: hears who is there, and lets all of them go. */
export function createMeeting(at: string) {
  const channel = new BroadcastChannel(`meet/${at}`)
  let here = 0
  let told: () => void = () => undefined
  channel.addEventListener('message', () => {
    here++
    told()
  })
  return {
    get here(): number {
      return here
    },
    arrived: (count: number): Promise<void> =>
      new Promise((resolve) => {
        told = () => here >= count && resolve()
        told()
      }),
    go(): void {
      channel.postMessage('go')
      channel.close()
    },
  }
}

export async function outcomeOf(pool: Pool, ...job: Parameters<typeof jobFor>): Promise<Returned['outcome']> {
  return (await pool.run(jobFor(...job))).outcome
}

export async function withPool(app: App, more: Partial<typeof poolOptions>, use: (pool: Pool) => Promise<void>): Promise<void> {
  const pool = await createPool(app, { ...poolOptions, ...more })
  try {
    await use(pool)
  } finally {
    await pool.close()
  }
}
