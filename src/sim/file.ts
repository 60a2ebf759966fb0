/** A simulation in a file of its own, for the command line: the file exports the options of `simulate`. */
import { resolve } from 'node:path'
import { SkeinError, isSkeinError } from '../core/failure.js'
import { isObject } from '../core/json.js'
import { checkOptions } from '../core/options.js'
import { importFile } from '../runtime/app/load.js'
import { runSimulation, seedSchema } from './simulate.js'
import type { SeedOptions, SimReport, SimulateOptions } from './simulate.js'

export async function runFile(path: string, seeds: SeedOptions): Promise<SimReport> {
  checkOptions(seedSchema, seeds, 'simulateFile')
  return runSimulation({ ...(await simulationIn(path)), ...seeds })
}

async function simulationIn(path: string): Promise<SimulateOptions<string, unknown>> {
  const module = await importFile(resolve(path)).catch((thrown: unknown) => {
    if (isSkeinError(thrown)) throw thrown
    const why = thrown instanceof Error ? thrown.message : String(thrown)
    throw new SkeinError('APP_NOT_LOADED', `the file ${path} could not be loaded: ${why}`, { cause: thrown })
  })
  const { simulation } = { simulation: undefined, ...module }
  if (isSimulation(simulation)) return simulation
  throw new SkeinError(
    'APP_NOT_LOADED',
    `${path} exports no simulation; export the options of simulate, { app, scenario, … }, by the name simulation`,
  )
}

/** `simulate` checks the rest of it. */
function isSimulation(value: unknown): value is SimulateOptions<string, unknown> {
  return isObject(value) && 'app' in value && typeof value['scenario'] === 'function'
}
