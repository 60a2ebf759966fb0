/** An app with what is done to it and what must come of it: shared by the tests and `npm run sim`. */
import type { SimulateOptions, Simulation } from '../../src/sim/simulate.js'
import { prepareSimulation, runSimulation } from '../../src/sim/simulate.js'
import type { SimReport } from '../../src/sim/simulate.js'

export interface SimulatedApp {
  readonly name: string
  /** Rejects with the first seed that fails. */
  simulate(seeds: readonly number[]): Promise<SimReport>
  prepare(): Promise<Simulation<unknown>>
}

export function simulatedApp<Names extends string, Result>(
  name: string,
  options: SimulateOptions<Names, Result>,
): SimulatedApp {
  return {
    name,
    simulate: (seeds) => runSimulation({ ...options, seeds }),
    prepare: () => prepareSimulation(options),
  }
}
