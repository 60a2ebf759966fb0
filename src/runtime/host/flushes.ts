/**
 * When the outboxes of a host are flushed: all that fill together are committed together. Owns the outboxes that have
 * something to commit.
 *
 * - A few are flushed as soon as nothing else is left to do at once. Many wait for the end of this turn of the event
 *   loop, so that one transaction holds many; the rest of very many are flushed in the next turns.
 * - The event loop goes on after a few flushes, also where threads always have something to commit: timers and
 *   sockets are not held up.
 * - Before a commit its mail is handed over to threads of this host; those that take some are part of the commit (LM2:
 *   all or nothing).
 */
import type { Send } from '../../backend/port.js'
import { commitTogether } from '../resident/commit-together.js'
import type { Outbox, OutboxOptions } from '../resident/outbox.js'

const few = 2
const flushesInOneTurn = 16
/** Outboxes that are flushed at once, besides those of threads that they hand mail to. */
const most = 32

export interface FlushOptions extends Pick<OutboxOptions, 'backend' | 'services'> {
  /** Hands mail over. Gives the outbox of the thread that has taken it. */
  readonly take: (send: Send, from: string) => Outbox | undefined
}

export class Flushes {
  readonly #options: FlushOptions
  #outboxes = new Set<Outbox>()
  #awaited = false
  /** In this turn of the event loop. */
  #count = 0

  constructor(options: FlushOptions) {
    this.#options = options
  }

  add(outbox: Outbox): void {
    this.#outboxes.add(outbox)
    if (this.#awaited) return
    this.#awaited = true
    // Called when all microtasks are done.
    if (this.#count < flushesInOneTurn) process.nextTick(this.#flushFew)
    else setImmediate(this.#flushAll)
  }

  readonly #flushFew = (): void => {
    if (this.#outboxes.size > few) return void setImmediate(this.#flushAll)
    this.#count++
    this.#flush()
  }

  readonly #flushAll = (): void => {
    this.#count = 0
    this.#flush()
  }

  #flush(): void {
    const all = this.#outboxes
    const rest = all.size > most ? all : undefined
    if (rest) this.#outboxes = new Set([...rest].slice(0, most))
    const groups = this.#gather()
    // One of the rest may have taken mail: it is part of that commit.
    if (rest) for (const outbox of this.#outboxes) rest.delete(outbox)
    else this.#outboxes.clear()
    this.#outboxes = all
    this.#awaited = all.size > 0
    if (this.#awaited) setImmediate(this.#flushAll)
    for (const group of groups) commitTogether(this.#options, group)
  }

  /** The outboxes in groups: those whose threads have handed mail to one another. */
  #gather(): Iterable<readonly Outbox[]> {
    // Most threads have handed over nothing: then each is a group of its own, and no map is made.
    let groups: Map<Outbox, Outbox[]> | undefined
    // Threads that take mail have something to commit, and are gone through with the others.
    for (const outbox of this.#outboxes)
      for (const taker of outbox.handOver(this.#options.take)) join((groups ??= new Map()), outbox, taker)
    return groups ? inOrder(this.#outboxes, groups) : Array.from(this.#outboxes, alone)
  }
}

const alone = (outbox: Outbox): readonly Outbox[] => [outbox]

/** Whoever sends is written before whoever takes it: a reader of positions sees no effect before its cause. */
function inOrder(outboxes: Iterable<Outbox>, groups: ReadonlyMap<Outbox, Outbox[]>): Iterable<readonly Outbox[]> {
  const ordered = new Map<Outbox | Outbox[], Outbox[]>()
  for (const outbox of outboxes) {
    const group = groups.get(outbox) ?? outbox
    const known = ordered.get(group)
    if (known) known.push(outbox)
    else ordered.set(group, [outbox])
  }
  return ordered.values()
}

function join(groups: Map<Outbox, Outbox[]>, one: Outbox, other: Outbox): void {
  const [own = [one], others = [other]] = [groups.get(one), groups.get(other)]
  if (own === others) return
  const [larger, smaller] = own.length < others.length ? [others, own] : [own, others]
  larger.push(...smaller)
  groups.set(one, larger)
  groups.set(other, larger)
  for (const outbox of smaller) groups.set(outbox, larger)
}
