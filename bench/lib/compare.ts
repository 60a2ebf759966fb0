/** Figures beside each other. */
import type { Figure } from './figures.js'

/** Undefined where one of them was not measured. */
export function quotient(over: number | undefined, under: number | undefined): number | undefined {
  return over === undefined || under === undefined ? undefined : over / under
}

export function fastestPeer(figures: readonly Figure[], of: Figure['w'], size: string): Figure | undefined {
  const peers = figures.filter(({ w, kind, what }) => w === of && kind === 'peer' && what === size)
  return peers.sort((one, other) => one.best - other.best)[0]
}
