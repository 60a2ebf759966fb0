/** Figures beside each other. */
import type { Figure } from './figures.js'

/** On the Node of this run: figures of others stand beside it. */
const otherNode = /, Node \d/

/** Undefined where one of them was not measured. */
export function quotient(over: number | undefined, under: number | undefined): number | undefined {
  return over === undefined || under === undefined ? undefined : over / under
}

export function fastestPeer(figures: readonly Figure[], of: Figure['w'], size: string): Figure | undefined {
  const peers = figures.filter(
    ({ w, kind, what, contender }) => w === of && kind === 'peer' && what === size && !otherNode.test(contender),
  )
  return peers.sort((one, other) => one.best - other.best)[0]
}
