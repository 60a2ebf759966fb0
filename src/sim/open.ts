/** The door to the simulator: it is loaded when it is first used, because it brings the whole runtime with it. */
import type { SeedOptions, SimReport, SimulateOptions } from './simulate.js'

/**
 * Lives an app through many times in virtual time, with hosts that die, stop and are cut off, and checks it after each
 * life. Rejects with a `SimulationFailure` for the first seed that fails.
 */
export async function simulate<Result, Names extends string = never>(
  options: SimulateOptions<Names, Result>,
): Promise<SimReport> {
  const simulator = await import('./simulate.js')
  return simulator.runSimulation(options)
}

/** The simulation that a file exports by the name `simulation`: the options of `simulate`. TypeScript or not. */
export async function simulateFile(path: string, options: SeedOptions = {}): Promise<SimReport> {
  const simulator = await import('./file.js')
  return simulator.runFile(path, options)
}
