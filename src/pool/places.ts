/**
 * Places of a lane: how many calls are active at once. A call takes a place before it gets a thread, may give it back while
 * it waits for others, and takes one on the same thread again before it goes on.
 *
 * PC1 No thread has more than `perThread` active calls, and the lane has none without a thread that could take it.
 * PC2 A call that goes on comes before one that begins; otherwise first come, first served.
 */

/** The share of a thread. */
export interface Seat {
  active: number
  readonly returning: Set<() => void>
}

export interface Places {
  /** Calls `go` when there is a place: at once, or later. Gives what withdraws from the queue. */
  enter(go: () => void): () => void
  /** A call that has a place gets its thread. */
  sit(seat: Seat): void
  /** Gives a place back. */
  leave(seat: Seat | undefined): void
  /** Takes a place on the same thread again. */
  comeBack(seat: Seat, go: () => void): () => void
}

export const createSeat = (): Seat => ({ active: 0, returning: new Set() })

export function createPlaces({ perThread, threads }: { readonly perThread: number; readonly threads: number }): Places {
  const most = perThread * threads
  const entering = new Set<() => void>()
  /** Threads with calls that want to go on. */
  const wanted = new Set<Seat>()
  let active = 0

  const admit = (): void => {
    for (const seat of wanted) {
      for (const go of seat.returning) {
        if (active >= most || seat.active >= perThread) break
        resume(seat, go)
      }
    }
    for (const go of entering) {
      if (active >= most) return
      entering.delete(go)
      active++
      go()
    }
  }
  const resume = (seat: Seat, go: () => void): void => {
    seat.returning.delete(go)
    if (seat.returning.size === 0) wanted.delete(seat)
    active++
    seat.active++
    go()
  }
  return {
    enter(go) {
      if (active < most && entering.size === 0) {
        active++
        go()
        return () => undefined
      }
      entering.add(go)
      return () => entering.delete(go)
    },
    sit(seat) {
      seat.active++
    },
    leave(seat) {
      active--
      if (seat) seat.active--
      admit()
    },
    comeBack(seat, go) {
      if (active < most && seat.active < perThread) {
        resume(seat, go)
        return () => undefined
      }
      seat.returning.add(go)
      wanted.add(seat)
      return () => {
        seat.returning.delete(go)
        if (seat.returning.size === 0) wanted.delete(seat)
      }
    },
  }
}
