/** The door to the simulator: it is loaded when it is first used, because it brings the whole runtime with it. */
import type { SimReport, SimulateOptions } from './simulate.js'

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
