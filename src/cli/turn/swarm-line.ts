/**
 * A whole swarm in one line: how many of its children are done, how the others stand, how long it takes and what it
 * has cost so far. Counted from events. A child that failed and was called again counts once, as it stands now.
 */
import type { SkeinEvent, Usage } from '../../index.js'
import { addedUsage, duration } from '../format.js'

type State = 'work' | 'done' | 'failed'

const cells = 12

export interface SwarmCounts {
  /** Children that are still to be called. */
  readonly inLine: number
  /** How many may be at work at once, where some are in line for that. */
  readonly atOnce?: number
  /** Threads in which nothing goes on until someone acts. */
  readonly waiting: number
}

export function createSwarmLine(top: string) {
  /** By parent and reference. */
  const states = new Map<string, State>()
  const keys = new Map<string, string>()
  let usage: Usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 }
  let [startedAt, now] = [0, 0]
  const set = (thread: string, state: State): void => {
    const key = keys.get(thread)
    if (key !== undefined) states.set(key, state)
  }
  return {
    /** The time of the last event. */
    now: () => now,
    take(event: SkeinEvent): void {
      if (!('seq' in event)) return
      startedAt ||= event.at
      now = Math.max(now, event.at)
      if (event.type === 'model.replied') usage = addedUsage(usage, event.usage)
      if (event.thread === top) return
      if (event.type === 'thread.created')
        keys.set(event.thread, `${event.path.at(-2) ?? ''}/${event.child?.reference ?? event.thread}`)
      if (event.type === 'thread.created' || event.type === 'turn.started') set(event.thread, 'work')
      if (event.type === 'turn.ended')
        set(
          event.thread,
          event.reason === 'completed' || event.reason === 'empty_reply' || event.reason === 'session_stopped'
            ? 'done'
            : 'failed',
        )
      if (event.type === 'thread.terminated' && states.get(keys.get(event.thread) ?? '') === 'work')
        set(event.thread, 'failed')
    },
    /** Undefined where there is no swarm, or nothing left of it to wait for. */
    line({ inLine, atOnce, waiting }: SwarmCounts): string | undefined {
      const all = states.size + inLine
      if (all < 2) return undefined
      const count = (wanted: State): number => [...states.values()].filter((state) => state === wanted).length
      const [done, failed, work] = [count('done'), count('failed'), count('work')]
      if (work + inLine === 0) return undefined
      const full = Math.floor((cells * (done + failed)) / all)
      const parts = [
        `${'▰'.repeat(full)}${'▱'.repeat(cells - full)} ${done} of ${all} done`,
        failed > 0 && `${failed} failed`,
        waiting > 0 && `${waiting} ${waiting === 1 ? 'waits' : 'wait'} for someone`,
        work > waiting && `${work - waiting} at work`,
        inLine > 0 && `${inLine} in line${atOnce === undefined ? '' : ` (${atOnce} at once)`}`,
        duration(now - startedAt),
        usage.costUsd > 0 && `$${usage.costUsd.toFixed(4)}`,
      ]
      return parts.filter((part) => part !== false).join(' · ')
    },
  }
}
