/** The simulated store of several hosts passes the suite of all backends. */
import { simStore } from '../../src/sim/store.js'
import { backendContract } from './backend.js'

backendContract('simulated', async () => ({ source: simStore({ partitions: 2, leaseMs: 400 }) }))
