/** Skein's second door, for tests: models without a provider, time without waiting, swarms lived through many times. */
export { scriptedModel } from './models/scripted.js'
export { manualClock } from './core/manual-clock.js'
export { simulate } from './sim/open.js'
export { SimulationFailure } from './sim/simulation-failure.js'

export type { ManualClock } from './core/manual-clock.js'
export type { Fault, FaultChoice, FaultOptions } from './sim/faults.js'
export type { SimContext } from './sim/run.js'
export type { SimReport, SimulateOptions } from './sim/simulate.js'
export type { Ledger, LedgerEntry, Service, ServiceOptions, World } from './sim/world.js'
