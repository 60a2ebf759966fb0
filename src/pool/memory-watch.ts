/**
 * Ends a thread that takes memory without ever letting its event loop turn: buffers are not counted by V8's limits, and the
 * thread's own watch (workers/pulse.ts) needs a turn to look.
 *
 * MW1 A thread is suspected when it has not beaten since the last look, and the process has grown since its last beat by more
 *     than the thread may have, not counting what the host and the other threads know to have taken.
 * MW2 At most one thread is ended at a look, the one that stopped beating last; the next look shows whether it was the one.
 */
import type { WorkerThread } from './thread.js'

interface Seen {
  readonly beat: number
  readonly rss: number
  readonly known: number
  readonly look: number
}

const mb = 1024 * 1024

/** Gives what looks, at even intervals, at the threads that are at work. */
export function createMemoryWatch(memoryMb: number): (threads: readonly WorkerThread[]) => void {
  // Heap and buffers, each up to the limit.
  const allowed = 2 * memoryMb * mb
  let seen = new Map<WorkerThread, Seen>()
  let looks = 0
  const expel = (thread: WorkerThread, stuck: number): void => {
    thread.doom = `it took more memory than the ${memoryMb} MB that a thread may have, most likely in buffers, without ever waiting`
    thread.shared ||= stuck > 1
    thread.kill()
  }
  return (threads) => {
    looks++
    const now = measure(threads)
    const before = seen
    seen = new Map(threads.map((thread) => [thread, lastSeen(before.get(thread), { ...now, beat: thread.beat, look: looks })]))
    const stuck = [...seen].filter(([, { look: at }]) => at < looks)
    const over = stuck.filter(([, { rss, known }]) => now.rss - rss - Math.max(0, now.known - known) > allowed)
    const [last] = over.toSorted(([, a], [, b]) => b.look - a.look)
    if (last) expel(last[0], stuck.length)
  }
}

function lastSeen(before: Seen | undefined, now: Seen): Seen {
  return before?.beat === now.beat ? before : now
}

/** `known`: what the host and the threads say of themselves; a stuck thread says nothing new. */
function measure(threads: readonly WorkerThread[]): { readonly rss: number; readonly known: number } {
  const { rss, heapTotal, external } = process.memoryUsage()
  return { rss, known: threads.reduce((sum, { usedBytes }) => sum + usedBytes, heapTotal + external) }
}
