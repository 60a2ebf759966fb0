/**
 * Places of a lane: how many calls are active at once. A call takes a place on a thread before it begins, may give it back
 * while it waits for others, and takes one on the same thread again before it goes on.
 *
 * PC1 No thread has more than `perThread` active calls.
 * PC2 A call that goes on comes before one that begins, and one that lost its thread before one that is new; otherwise first
 *     come, first served.
 */

/** The share of a thread. */
export interface Seat {
  active: number
  readonly returning: Set<() => void>
}

export interface Seated {
  readonly seat: Seat
}

/** Undefined: there will never be a place. */
type Enter<Thread> = (thread: Thread | undefined) => void

export interface Places<Thread extends Seated> {
  /** Calls `go` when there is a place: at once, or later. Gives what withdraws from the queue. */
  enter(go: Enter<Thread>, again?: boolean): () => void
  /** Gives a place back. */
  leave(thread: Thread): void
  /** Takes a place on the same thread again. */
  comeBack(thread: Thread, go: () => void): () => void
  /** To be called when a thread has come, gone or changed. */
  admit(): void
  /** Nobody will enter any more. */
  close(): void
}

export const createSeat = (): Seat => ({ active: 0, returning: new Set() })

export interface PlacesOptions<Thread> {
  readonly perThread: number
  /** The thread that the next call gets: one that has a place. */
  choose(): Thread | undefined
}

export function createPlaces<Thread extends Seated>({ perThread, choose }: PlacesOptions<Thread>): Places<Thread> {
  const again = new Set<Enter<Thread>>()
  const entering = new Set<Enter<Thread>>()
  const queues = [again, entering]
  /** Threads with calls that want to go on. */
  const wanted = new Set<Seat>()
  let closed = false

  const sit = (go: Enter<Thread>): boolean => {
    const thread = choose()
    if (!thread) return false
    for (const queue of queues) queue.delete(go)
    thread.seat.active++
    go(thread)
    return true
  }
  const resume = (seat: Seat, go: () => void): boolean => {
    if (seat.active >= perThread) return false
    withdraw(seat, go)
    seat.active++
    go()
    return true
  }
  const withdraw = (seat: Seat, go: () => void): void => {
    seat.returning.delete(go)
    if (seat.returning.size === 0) wanted.delete(seat)
  }
  const admit = (): void => {
    for (const seat of wanted) for (const go of seat.returning) if (!resume(seat, go)) break
    for (const queue of queues) for (const go of queue) if (!sit(go)) return
  }
  return {
    admit,
    enter(go, first = false) {
      if (closed) go(undefined)
      else if (again.size + entering.size > 0 || !sit(go)) (first ? again : entering).add(go)
      return () => queues.forEach((queue) => queue.delete(go))
    },
    leave({ seat }) {
      seat.active--
      if (wanted.size + again.size + entering.size > 0) admit()
    },
    comeBack({ seat }, go) {
      if (!resume(seat, go)) {
        seat.returning.add(go)
        wanted.add(seat)
      }
      return () => withdraw(seat, go)
    },
    close() {
      closed = true
      for (const queue of queues) {
        for (const go of queue) {
          queue.delete(go)
          go(undefined)
        }
      }
    },
  }
}
