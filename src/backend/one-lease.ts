/** What the leases of a store with one host at a time have in common: one partition, which holds every thread. */
import type { Leases } from './port.js'

export const oneLease: Pick<Leases, 'partitions' | 'shared' | 'leaseMs' | 'partitionOf' | 'watch'> = {
  partitions: 1,
  shared: false,
  leaseMs: 0,
  partitionOf: () => 0,
  // The share of the one that holds it never changes.
  watch: () => () => undefined,
}
