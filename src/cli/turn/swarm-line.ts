/**
 * A whole swarm in one line: how many of its children are done, how the others stand, how long it takes and what it
 * has cost so far. A child that failed and was called again counts once, as it stands now.
 */
import { duration } from '../format.js'

const cells = 12

export interface Swarm {
  readonly done: number
  readonly failed: number
  readonly working: number
  /** Children that are still to be called. */
  readonly inLine: number
  /** How many may be at work at once, where some are in line for that. */
  readonly atOnce: number | undefined
  /** Threads in which nothing goes on until someone acts. */
  readonly waiting: number
  readonly elapsedMs: number
  readonly costUsd: number
}

/** Undefined where there is no swarm, or nothing left of it to wait for. */
export function swarmLine(swarm: Swarm): string | undefined {
  const { done, failed, working, inLine, atOnce, waiting, elapsedMs, costUsd } = swarm
  const all = done + failed + working + inLine
  if (all < 2 || working + inLine === 0) return undefined
  const full = Math.floor((cells * (done + failed)) / all)
  const parts = [
    `${'▰'.repeat(full)}${'▱'.repeat(cells - full)} ${done} of ${all} done`,
    failed > 0 && `${failed} failed`,
    waiting > 0 && `${waiting} ${waiting === 1 ? 'waits' : 'wait'} for someone`,
    working > waiting && `${working - waiting} at work`,
    inLine > 0 && `${inLine} in line${atOnce === undefined ? '' : ` (${atOnce} at once)`}`,
    duration(elapsedMs),
    costUsd > 0 && `$${costUsd.toFixed(4)}`,
  ]
  return parts.filter((part) => part !== false).join(' · ')
}
