/**
 * The places of a lane limit how many calls are active at once. A call takes a place on a worker before it begins, may
 * give it back while it waits for other calls, and takes one on the same worker again before it continues.
 *
 * - No worker has more than `perWorker` active calls.
 * - Calls that continue come first, then calls that lost their worker, then new ones; within these, those who share
 *   the places take turns.
 * - Nobody waits for the calls of others alone: whoever has less than an equal part gets a place, on a further worker
 *   if need be.
 */
import { Shares } from './shares.js'
import type { ShareKeys } from './shares.js'

/** The places of one worker. */
export interface Seats {
  active: number
  /** Calls that wait for a place here, to continue. */
  readonly returning: Set<() => void>
}

export interface Seated {
  readonly seats: Seats
}

/** Called with undefined if there will never be a place. */
type Enter<Worker> = (worker: Worker | undefined) => void

export interface Places<Worker extends Seated> {
  /**
   * Calls `go` when there is a place: at once, or later. Returns what withdraws from the queue. `again`: the call had
   * a place before.
   */
  enter(go: Enter<Worker>, again?: boolean, shares?: ShareKeys): () => void
  leave(worker: Worker, shares?: ShareKeys): void
  /** Takes a place on the same worker again: calls `go` when there is one. Returns what withdraws. */
  comeBack(worker: Worker, go: () => void, shares?: ShareKeys): () => void
  /** To be called when a worker was added, removed or changed. */
  admit(): void
  /** Whoever waits is told that there will be no place. */
  close(): void
}

export const createSeats = (): Seats => ({ active: 0, returning: new Set() })

export interface PlacesOptions<Worker> {
  readonly perWorker: number
  /** How many places are shared. Default: no limit. */
  shared?(): number
  /** A worker with a free place for the next call. `further`: there may be more workers for it than usual. */
  choose(further: boolean): Worker | undefined
}

interface Entry<Worker> {
  readonly go: Enter<Worker>
  readonly shares: ShareKeys
}

const noKeys: ShareKeys = []

export function createPlaces<Worker extends Seated>({
  perWorker,
  choose,
  shared = () => Infinity,
}: PlacesOptions<Worker>): Places<Worker> {
  const shares = new Shares(shared)
  const queue = createQueue<Worker>()
  const returns = createReturns(perWorker, shares)
  let closed = false

  const seat = ({ go, shares: keys }: Entry<Worker>): Offer => {
    if (!shares.allows(keys)) return 'waits'
    const worker = choose(shares.full)
    if (!worker) return 'full'
    shares.change(keys, 'active', 1)
    worker.seats.active++
    go(worker)
    return 'seated'
  }
  const admit = (): void => {
    returns.serve()
    queue.serve((entry) => {
      const result = seat(entry)
      if (result === 'seated') shares.change(entry.shares, 'waiting', -1)
      return result
    })
  }
  return {
    admit,
    enter(go, again = false, keys = noKeys) {
      const entry: Entry<Worker> = { go, shares: keys }
      if (closed) {
        go(undefined)
        return () => undefined
      }
      if (queue.size === 0 && seat(entry) === 'seated') return () => undefined
      shares.change(keys, 'waiting', 1)
      queue.add(entry, again)
      if (queue.size > 1) admit()
      return () => void (queue.delete(entry) && shares.change(keys, 'waiting', -1))
    },
    leave({ seats }, keys = noKeys) {
      seats.active--
      shares.change(keys, 'active', -1)
      if (returns.waiting || queue.size > 0) admit()
    },
    comeBack: ({ seats }, go, keys = noKeys) => returns.comeBack(seats, go, keys),
    close() {
      closed = true
      for (const { go } of queue.clear()) go(undefined)
    },
  }
}

interface Returns {
  /** Some call waits for a place, to continue. */
  readonly waiting: boolean
  comeBack(seats: Seats, go: () => void, keys: ShareKeys): () => void
  /** Lets calls continue for which there is a place. */
  serve(): void
}

/** Calls that gave their place back and take one on the same worker again. */
function createReturns(perWorker: number, shares: Shares): Returns {
  const wantedSeats = new Set<Seats>()
  const withdraw = (seats: Seats, retry: () => void): void => {
    seats.returning.delete(retry)
    if (seats.returning.size === 0) wantedSeats.delete(seats)
  }
  return {
    get waiting() {
      return wantedSeats.size > 0
    },
    comeBack(seats, go, keys) {
      const retry = (): void => {
        if (seats.active >= perWorker) return
        withdraw(seats, retry)
        seats.active++
        shares.change(keys, 'active', 1)
        go()
      }
      seats.returning.add(retry)
      wantedSeats.add(seats)
      retry()
      return () => withdraw(seats, retry)
    },
    serve() {
      for (const seats of wantedSeats) for (const retry of seats.returning) retry()
    },
  }
}

/** What became of the offer of a place: taken, not allowed by the shares now, or there is none for anybody. */
type Offer = 'seated' | 'waits' | 'full'

interface Queue<Worker> {
  readonly size: number
  add(entry: Entry<Worker>, again: boolean): void
  /** Whether it was there. */
  delete(entry: Entry<Worker>): boolean
  clear(): readonly Entry<Worker>[]
  /** Offers a place to each entry in turn, until there is none left. Entries that take one leave the queue. */
  serve(offer: (entry: Entry<Worker>) => Offer): void
}

function createQueue<Worker>(): Queue<Worker> {
  const again = new Set<Entry<Worker>>()
  /** By tree; the tree whose turn is next comes first. */
  const entriesByTree = new Map<string, Set<Entry<Worker>>>()
  let size = 0
  const treeOf = ({ shares: [tree = ''] }: Entry<Worker>): string => tree
  const remove = (entry: Entry<Worker>): boolean => {
    const entries = entriesByTree.get(treeOf(entry))
    const found = again.delete(entry) || entries?.delete(entry) === true
    if (entries?.size === 0) entriesByTree.delete(treeOf(entry))
    if (found) size--
    return found
  }
  return {
    get size() {
      return size
    },
    add(entry, hadPlace) {
      size++
      if (hadPlace) return void again.add(entry)
      const entries = entriesByTree.get(treeOf(entry))
      if (entries) entries.add(entry)
      else entriesByTree.set(treeOf(entry), new Set([entry]))
    },
    delete: remove,
    clear() {
      const all = [...again, ...[...entriesByTree.values()].flatMap((entries) => [...entries])]
      again.clear()
      entriesByTree.clear()
      size = 0
      return all
    },
    serve(offer) {
      for (const entry of again) {
        const result = offer(entry)
        if (result === 'full') return
        if (result === 'seated') remove(entry)
      }
      // A tree that was served moves to the end of the map, and is met again there.
      for (const [tree, entries] of entriesByTree) {
        const [first] = entries
        const result = first ? offer(first) : 'waits'
        if (result === 'full') return
        if (result !== 'seated' || !first) continue
        remove(first)
        if (entries.size === 0) continue
        entriesByTree.delete(tree)
        entriesByTree.set(tree, entries)
      }
    },
  }
}
