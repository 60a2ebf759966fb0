/** Skein's second door, for tests: models without a provider, time without waiting. */
export { scriptedModel } from './models/scripted.js'
export { manualClock } from './core/manual-clock.js'

export type { ManualClock } from './core/manual-clock.js'
