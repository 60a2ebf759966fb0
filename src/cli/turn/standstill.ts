/**
 * Finds out when a turn that is being watched stands still.
 *
 * - A turn that is paused or waits for a person has no end to wait for, nor has one that waits for children who all
 *   do: watching it stops there, after all that they have done so far was shown. While any thread below is at work
 *   it goes on: what that one says may be what is waited for.
 */
import type { SkeinClient, SkeinEvent, ThreadInfo, Thread } from '../../index.js'
import { waitingItems } from './waiting-for.js'
import { createCalls } from './calls.js'
import { isStandstill } from '../exit.js'
import { createChildren, subtree } from './children.js'
import type { StandstillEntry } from './summary.js'

export function createStandstills(client: SkeinClient, { id, info }: Thread) {
  const family = createChildren()
  const suspects = createSuspects()
  /** The last record of each thread that was shown. */
  const seen = new Map<string, number>()
  // It may have been paused before this turn began.
  let stands = true
  /** By the events; the store is asked only when they leave no other way. */
  const likely = (thread: string): boolean => {
    const working = family.working(thread)
    return (suspects.has(thread) || working.length > 0) && working.every(likely)
  }
  return {
    async after(event: SkeinEvent): Promise<StandstillEntry | undefined> {
      if (!('seq' in event)) return undefined
      seen.set(event.thread, event.seq)
      family.take(event)
      suspects.take(event)
      if (
        event.type === 'message.received' &&
        event.thread !== id &&
        (await statusOf(client, event.thread)) === 'paused'
      )
        suspects.add(event.thread)
      if (!stands && !likely(id)) return undefined
      // What is read here is as new as the event or newer: an old pause that is over does not stop us.
      const head = await info()
      stands = head.rest && isStandstill(head.status)
      if (!stands && !likely(id)) return undefined
      const below = await subtree(client, head)
      // A child that nobody waits for may be at work.
      if (below.some(({ rest }) => !rest)) return undefined
      const heads = new Map(below.map((each) => [each.thread, each]))
      const still = stillOf(id, (thread) => {
        const stored = heads.get(thread)
        // Else more is told of it first.
        return stored && stored.seq <= (seen.get(thread) ?? 0)
          ? { head: stored, working: family.working(thread) }
          : undefined
      })
      return still && haltOf(id, still)
    },
  }
}

async function statusOf({ threads }: SkeinClient, thread: string): Promise<string> {
  return (await threads.get(thread)).status()
}

interface Known {
  readonly head: ThreadInfo
  readonly working: readonly string[]
}

/** The threads that someone must let go on, if that is all that this one waits for. */
function stillOf(thread: string, find: (thread: string) => Known | undefined): readonly ThreadInfo[] | undefined {
  const known = find(thread)
  if (!known?.head.rest) return undefined
  const { head, working } = known
  const own = isStandstill(head.status)
  if (!own && (head.status !== 'waiting' || working.length === 0)) return undefined
  const below = working.map((child) => stillOf(child, find))
  if (!below.every((each) => each !== undefined)) return undefined
  return own ? [head, ...below.flat()] : below.flat()
}

function haltOf(thread: string, still: readonly ThreadInfo[]): StandstillEntry | undefined {
  // What a person can answer is told rather than a pause beside it.
  const status = (still.find((head) => head.status !== 'paused') ?? still[0])?.status ?? ''
  if (!isStandstill(status)) return undefined
  const paused = still.filter((head) => head.status === 'paused' && head.thread !== thread).map((head) => head.thread)
  return {
    standstill: status,
    pending: still.flatMap(waitingItems),
    ...(paused.length > 0 && { pausedChildren: paused }),
  }
}

/** Children that cannot begin before someone has given them values. */
function asked(event: SkeinEvent): readonly string[] {
  return event.type === 'model.replied' || event.type === 'calls.made'
    ? event.calls.flatMap(({ deferred }) => (deferred ? [deferred.request] : []))
    : []
}

/** Threads of the tree that may stand still, by their events. */
function createSuspects() {
  const calls = new Map<string, ReturnType<typeof createCalls>>()
  const held = new Map<string, Set<string>>()
  const paused = new Set<string>()
  /** Values that people were asked for: a child that does not stay waits for them after its turn. */
  const requests = new Map<string, Set<string>>()
  return {
    add: (thread: string) => paused.add(thread),
    has: (thread: string): boolean =>
      paused.has(thread) || (held.get(thread)?.size ?? 0) > 0 || (requests.get(thread)?.size ?? 0) > 0,
    take(event: SkeinEvent): void {
      const { thread, type } = event
      const own = calls.get(thread) ?? createCalls()
      calls.set(thread, own)
      if (type === 'thread.paused') paused.add(thread)
      if (type === 'thread.resumed') paused.delete(thread)
      if (type === 'turn.ended') held.delete(thread)
      for (const request of asked(event))
        (requests.get(thread) ?? requests.set(thread, new Set()).get(thread))?.add(request)
      if (type === 'variables.provided' || type === 'variables.declined') requests.get(thread)?.delete(event.request)
      if (type === 'turn.held') held.set(thread, new Set(['turn']))
      if (type === 'turn.freed') held.delete(thread)
      for (const news of own.take(event)) {
        const waiting = held.get(thread) ?? new Set()
        held.set(thread, waiting)
        // Children come back by themselves; everything else waits for a person.
        if (news.state === 'held' && news.why !== 'children') waiting.add(news.call.id)
        else waiting.delete(news.call.id)
      }
    },
  }
}
