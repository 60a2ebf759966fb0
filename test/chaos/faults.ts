/**
 * Which faults come when, from a seed: at which part of the work, how many in a row, what they do to whom. The same
 * seed gives the same plan; what it meets is up to the processes. Owns no process.
 */
import { createChance } from '../helpers/lives.js'

export type FaultKind = 'kill' | 'pause' | 'leave' | 'server' | 'both'

export interface Fault {
  readonly kind: FaultKind
  /** Which of the hosts that are there, in [0, 1). */
  readonly pick: number
  /** How long it lasts, in leases: a pause, an outage; until another host is started. */
  readonly leases: number
  /** Until the next one of this row, in leases. */
  readonly thenLeases: number
}

/** Faults that come one after another once this part of all work is begun. */
export interface Row {
  readonly part: number
  readonly faults: readonly Fault[]
}

const often: readonly FaultKind[] = ['kill', 'kill', 'pause', 'pause', 'leave', 'server', 'both']

export function planFaults(seed: number, count: number): readonly Row[] {
  const chance = createChance(seed)
  const rows: Row[] = []
  for (let left = count; left > 0;) {
    const faults = Array.from({ length: Math.min(left, 1 + Math.floor(chance() * 3)) }, () => fault(chance))
    rows.push({ part: 0.02 + chance() * 0.93, faults })
    left -= faults.length
  }
  return rows.sort((one, other) => one.part - other.part)
}

function fault(chance: () => number): Fault {
  const kind = often[Math.floor(chance() * often.length)] ?? 'kill'
  const short = kind === 'server' || kind === 'both'
  return { kind, pick: chance(), leases: short ? chance() * 1.6 : 1.1 + chance() * 1.4, thenLeases: chance() * 1.2 }
}
