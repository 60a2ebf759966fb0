/**
 * What a host publishes about itself to those that share its store: machine and process, the versions of Skein, of its
 * records and of its app, and its load.
 *
 * - An app that is a module or a folder has the name and the version of the package that it is in, unless the options
 *   name others.
 */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { HostProfile } from '../backend/host-info.js'
import { steadyClock } from '../core/clock.js'
import type { Clock } from '../core/clock.js'
import { defined } from '../core/defined.js'
import { SkeinError, toFailure } from '../core/failure.js'
import { recordVersion } from '../core/records/record.js'
import { appPath } from './app/load.js'
import type { AppSource } from './app/load.js'

interface ProfileOptions {
  /** Of the app. */
  readonly name?: string
  readonly version?: string
  readonly clock: Clock
}

const packageSchema = z.object({ name: z.string().optional(), version: z.string().optional() })

export function profileOf(source: AppSource, { name, version, clock }: ProfileOptions): HostProfile {
  // Not by require(): that takes 3 ms to find what is above this file.
  const { version: skein = '' } = packageOf(fileURLToPath(import.meta.url))
  const found = source instanceof URL || typeof source === 'string' ? packageOf(appPath(source)) : {}
  const app = name ?? found.name
  // An app of another name does not have the version of the package that it is in.
  const appVersion = version ?? (name === undefined || name === found.name ? found.version : undefined)
  return {
    name: `${hostname()}/${process.pid}`,
    since: clock.now(),
    skein,
    records: recordVersion,
    ...defined({ app, appVersion }),
  }
}

/** The nearest package.json above the path. */
function packageOf(path: string): z.infer<typeof packageSchema> {
  const start = statSync(path, { throwIfNoEntry: false })?.isDirectory() ? path : dirname(path)
  for (let folder = start; ; folder = dirname(folder)) {
    const file = join(folder, 'package.json')
    if (existsSync(file)) return readPackage(file)
    if (folder === dirname(folder)) return {}
  }
}

function readPackage(file: string): z.infer<typeof packageSchema> {
  try {
    return packageSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (thrown) {
    throw new SkeinError(
      'APP_NOT_LOADED',
      `the package.json of the app, ${file}, cannot be read: ${toFailure(thrown, 'APP_NOT_LOADED').message}`,
      { cause: thrown },
    )
  }
}

/** Over a shorter interval the measure is noise. */
const minIntervalMs = 500

/** Returns a function that measures the share of time, since its last measure, in which the event loop was busy. */
export function createLoad(): () => number {
  let [from, at, load] = [performance.eventLoopUtilization(), steadyClock.now(), 0]
  return () => {
    if (steadyClock.now() - at < minIntervalMs) return load
    const now = performance.eventLoopUtilization()
    load = Math.round(performance.eventLoopUtilization(now, from).utilization * 100) / 100
    ;[from, at] = [now, steadyClock.now()]
    return load
  }
}
