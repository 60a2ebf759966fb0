/**
 * Finds out when a turn that is being watched stands still.
 *
 * - A turn that is paused or waits for a person has no end to wait for, nor has one that waits for children who all
 *   do: watching it stops there, after all that they have done so far was shown. While any thread below is at work
 *   it goes on: what that one says may be what is waited for.
 */
import { defined } from '../../core/defined.js'
import type { RemoteThread, RemoteThreadChange } from '../../client.js'
import type { ThreadInfo } from '../../index.js'
import { isStandstill } from '../exit.js'
import { createChildren, subtree } from './children.js'
import type { StandstillEntry } from './summary.js'
import { waitingItems } from './waiting-for.js'
import type { AnyClient } from '../store.js'

export function createStandstills(client: AnyClient, { id, info }: RemoteThread) {
  const children = createChildren()
  /** The last record of each thread that was shown. */
  const shown = new Map<string, number>()
  const workingOf = (thread: string): readonly string[] => children.working(thread).map((child) => child.thread)
  /** By what was shown; the store is asked only when that leaves no other way. */
  const isLikely = (thread: string, threads: RemoteThreadChange['threads']): boolean => {
    const status = threads.get(thread)?.status
    const working = workingOf(thread)
    if (status === undefined || !(isStandstill(status) || working.length > 0)) return false
    return working.every((child) => isLikely(child, threads))
  }
  return {
    async after(change: RemoteThreadChange): Promise<StandstillEntry | undefined> {
      const { event, threads } = change
      if (!event || !('seq' in event)) return undefined
      shown.set(event.thread, event.seq)
      children.take(change)
      if (!isLikely(id, threads)) return undefined
      // The store may be ahead of what was shown: a pause that has ended meanwhile stops nobody.
      const below = await subtree(client, await info())
      // A child that nobody waits for may be at work.
      if (below.some(({ rest }) => !rest)) return undefined
      const heads = new Map(below.map((head) => [head.thread, head]))
      const still = stillThreads(id, (thread) => {
        const head = heads.get(thread)
        // Else more of it is still to be shown.
        const isShown = head && head.seq <= (shown.get(thread) ?? 0)
        return isShown ? { head, working: workingOf(thread) } : undefined
      })
      return still && standstillOf(id, still)
    },
  }
}

interface ShownThread {
  readonly head: ThreadInfo
  readonly working: readonly string[]
}

/** The threads that someone must let go on, if that is all that this one waits for. */
function stillThreads(
  thread: string,
  find: (thread: string) => ShownThread | undefined,
): readonly ThreadInfo[] | undefined {
  const found = find(thread)
  if (!found?.head.rest) return undefined
  const { head, working } = found
  const isStill = isStandstill(head.status)
  if (!isStill && (head.status !== 'waiting' || working.length === 0)) return undefined
  const below = working.map((child) => stillThreads(child, find))
  if (!below.every((each) => each !== undefined)) return undefined
  return isStill ? [head, ...below.flat()] : below.flat()
}

function standstillOf(thread: string, still: readonly ThreadInfo[]): StandstillEntry | undefined {
  // What a person can answer is told rather than a pause beside it.
  const status = (still.find((head) => head.status !== 'paused') ?? still[0])?.status ?? ''
  if (!isStandstill(status)) return undefined
  const paused = still.filter((head) => head.status === 'paused' && head.thread !== thread).map((head) => head.thread)
  return {
    standstill: status,
    pending: still.flatMap(waitingItems),
    ...defined({ pausedChildren: paused.length > 0 ? paused : undefined }),
  }
}
