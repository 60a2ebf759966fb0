/**
 * Places of a lane: how many calls are active at once. A call takes a place on a thread before it begins, may give it
 * back while it waits for others, and takes one on the same thread again before it goes on.
 *
 * - No thread has more than `perThread` active calls.
 * - A call that goes on comes before one that begins, and one that lost its thread before one that is new;
 *   otherwise those who share the places take turns, each with its first.
 * - Nobody waits for the calls of others alone: who has less than an equal part gets a place, on a further thread
 *   if need be.
 */
import { Shares } from './shares.js'
import type { ShareKeys } from './shares.js'

/** The share of a thread. */
export interface Seats {
  active: number
  readonly returning: Set<() => void>
}

export interface Seated {
  readonly seats: Seats
}

/** Undefined: there will never be a place. */
type Enter<Thread> = (thread: Thread | undefined) => void

export interface Places<Thread extends Seated> {
  /**
   * Calls `go` when there is a place: at once, or later. Gives what withdraws from the queue. `again`: it had a place
   * before.
   */
  enter(go: Enter<Thread>, again?: boolean, shares?: ShareKeys): () => void
  /** Gives a place back. */
  leave(thread: Thread, shares?: ShareKeys): void
  /** Takes a place on the same thread again. */
  comeBack(thread: Thread, go: () => void, shares?: ShareKeys): () => void
  /** To be called when a thread has come, gone or changed. */
  admit(): void
  /** Nobody will enter any more. */
  close(): void
}

export const createSeats = (): Seats => ({ active: 0, returning: new Set() })

export interface PlacesOptions<Thread> {
  readonly perThread: number
  /** Places that are shared. Default: as many as there are. */
  shared?(): number
  /**
   * The thread that the next call gets: one that has a place. `further`: there may be more threads for it than usual.
   */
  choose(further: boolean): Thread | undefined
}

interface Entry<Thread> {
  readonly go: Enter<Thread>
  readonly shares: ShareKeys
}

const nobody: ShareKeys = []

export function createPlaces<Thread extends Seated>({
  perThread,
  choose,
  shared = () => Infinity,
}: PlacesOptions<Thread>): Places<Thread> {
  const shares = new Shares(shared)
  const queue = createQueue<Thread>()
  const returns = createReturns(perThread, shares)
  let closed = false

  const sit = ({ go, shares: keys }: Entry<Thread>): 'sits' | 'waits' | 'full' => {
    if (!shares.allows(keys)) return 'waits'
    const thread = choose(shares.full)
    if (!thread) return 'full'
    shares.change(keys, 'active', 1)
    thread.seats.active++
    go(thread)
    return 'sits'
  }
  const admit = (): void => {
    returns.serve()
    queue.serve((entry) => {
      const how = sit(entry)
      if (how === 'sits') shares.change(entry.shares, 'waiting', -1)
      return how
    })
  }
  return {
    admit,
    enter(go, again = false, keys = nobody) {
      const entry: Entry<Thread> = { go, shares: keys }
      if (closed) {
        go(undefined)
        return () => undefined
      }
      if (queue.size === 0 && sit(entry) === 'sits') return () => undefined
      shares.change(keys, 'waiting', 1)
      queue.add(entry, again)
      if (queue.size > 1) admit()
      return () => void (queue.delete(entry) && shares.change(keys, 'waiting', -1))
    },
    leave({ seats: seat }, keys = nobody) {
      seat.active--
      shares.change(keys, 'active', -1)
      if (returns.waiting || queue.size > 0) admit()
    },
    comeBack: ({ seats: seat }, go, keys = nobody) => returns.comeBack(seat, go, keys),
    close() {
      closed = true
      for (const { go } of queue.clear()) go(undefined)
    },
  }
}

interface Returns {
  /** Some call wants to go on, and has no place. */
  readonly waiting: boolean
  comeBack(seat: Seats, go: () => void, keys: ShareKeys): () => void
  /** Lets those go on for whom there is a place. */
  serve(): void
}

/** Calls that gave their place back: they take one on the same thread again. */
function createReturns(perThread: number, shares: Shares): Returns {
  const wanted = new Set<Seats>()
  const withdraw = (seat: Seats, again: () => void): void => {
    seat.returning.delete(again)
    if (seat.returning.size === 0) wanted.delete(seat)
  }
  return {
    get waiting() {
      return wanted.size > 0
    },
    comeBack(seat, go, keys) {
      const again = (): void => {
        if (seat.active >= perThread) return
        withdraw(seat, again)
        seat.active++
        shares.change(keys, 'active', 1)
        go()
      }
      seat.returning.add(again)
      wanted.add(seat)
      again()
      return () => withdraw(seat, again)
    },
    serve() {
      for (const seat of wanted) for (const again of seat.returning) again()
    },
  }
}

interface Queue<Thread> {
  readonly size: number
  add(entry: Entry<Thread>, again: boolean): void
  /** Whether it was there. */
  delete(entry: Entry<Thread>): boolean
  clear(): readonly Entry<Thread>[]
  /** Offers what waits, in turns, until there is no place for anybody. What sits is taken out. */
  serve(offer: (entry: Entry<Thread>) => 'sits' | 'waits' | 'full'): void
}

function createQueue<Thread>(): Queue<Thread> {
  const again = new Set<Entry<Thread>>()
  /** By tree, the one whose turn is next first. */
  const lines = new Map<string, Set<Entry<Thread>>>()
  let size = 0
  const nameOf = ({ shares: [tree = ''] }: Entry<Thread>): string => tree
  const remove = (entry: Entry<Thread>): boolean => {
    const line = lines.get(nameOf(entry))
    const found = again.delete(entry) || line?.delete(entry) === true
    if (line?.size === 0) lines.delete(nameOf(entry))
    if (found) size--
    return found
  }
  return {
    get size() {
      return size
    },
    add(entry, before) {
      size++
      if (before) return void again.add(entry)
      const line = lines.get(nameOf(entry))
      if (line) line.add(entry)
      else lines.set(nameOf(entry), new Set([entry]))
    },
    delete: remove,
    clear() {
      const all = [...again, ...[...lines.values()].flatMap((line) => [...line])]
      again.clear()
      lines.clear()
      size = 0
      return all
    },
    serve(offer) {
      for (const entry of again) {
        const how = offer(entry)
        if (how === 'full') return
        if (how === 'sits') remove(entry)
      }
      // A tree that was served goes to the end of the map, and is met again.
      for (const [tree, line] of lines) {
        const [first] = line
        const how = first ? offer(first) : 'waits'
        if (how === 'full') return
        if (how !== 'sits' || !first) continue
        remove(first)
        if (line.size === 0) continue
        lines.delete(tree)
        lines.set(tree, line)
      }
    },
  }
}
