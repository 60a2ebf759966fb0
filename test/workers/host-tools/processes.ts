/** Processes by the directory that they run in: their numbers are not the same in every namespace. */
import { execFile } from 'node:child_process'
import { readdirSync, readlinkSync } from 'node:fs'
import { promisify } from 'node:util'

/** The dead have no directory. */
export function processesIn(folder: string): readonly number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      return readlinkSync(`/proc/${name}/cwd`) === folder ? [Number(name)] : []
    } catch {
      return []
    }
  })
}

/**
 * Waits for what other processes do: between two looks a process has begun and ended, so they have had their time too.
 */
export async function eventually(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 20_000; tries++) {
    if (await holds()) return
    await promisify(execFile)('true')
  }
  throw new Error(`this never came: ${what}`)
}
