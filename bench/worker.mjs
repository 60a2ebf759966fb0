/** What a bare Piscina runs: the body of W2, and one that gives back what it was given. */
import { hash as computed } from './work.mjs'

export const hash = ({ seed, iterations }) => computed(seed, iterations)
export const echo = (given) => given
