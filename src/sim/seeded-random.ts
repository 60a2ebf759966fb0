/**
 * Random numbers from a seed: equal seeds give equal numbers, whatever the machine. Streams with different names are
 * independent, so that one more draw in one part of a simulation does not change all others.
 */
import type { Random } from '../core/clock.js'

export interface SeededRandom extends Random {
  /** True with this probability. */
  chance(probability: number): boolean
  /** An integer, both ends included. */
  between(least: number, most: number): number
  /** A stream of its own. */
  stream(name: string): SeededRandom
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'

export function seededRandom(seed: number, name = ''): SeededRandom {
  let state = hashOf(`${seed}/${name}`)
  // mulberry32: 32 bits of state are enough to choose among faults and delays.
  const fraction = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (least: number, most: number): number => least + Math.floor(fraction() * (most - least + 1))
  return {
    fraction,
    between,
    chance: (probability) => fraction() < probability,
    id: () => Array.from({ length: 20 }, () => alphabet[between(0, 31)]).join(''),
    stream: (other) => seededRandom(seed, `${name}/${other}`),
  }
}

/** FNV-1a. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return hash >>> 0
}
