/**
 * Skein's second door, for tests: models without a provider, time without waiting, swarms lived through many times,
 * and recorded threads asked again.
 */
export { scriptedModel } from './models/scripted.js'
export { manualClock } from './core/manual-clock.js'
export { pinRequests, replay } from './replay/open.js'
export { simulate, simulateFile } from './sim/open.js'
export { SimulationFailure } from './sim/simulation-failure.js'

export type { ManualClock } from './core/manual-clock.js'
export type { DivergenceKind } from './replay/differences.js'
export type { PinOptions, ReplayOptions, ReplayReport } from './replay/replay.js'
export type { ReplaySource } from './replay/source.js'
export type { Divergence } from './replay/walk.js'
export type { Fault, FaultChoice, FaultOptions } from './sim/faults.js'
export type { SimContext } from './sim/run.js'
export type { SeedOptions, SimReport, SimulateOptions } from './sim/simulate.js'
export type { Ledger, LedgerEntry, Service, ServiceOptions, World } from './sim/world.js'
