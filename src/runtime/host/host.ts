/**
 * A host: holds leases of its backend, one or a share of many, and gives mail and time to the threads of their
 * partitions. What happens within a partition is in holding.ts.
 *
 * - A host does nothing for a thread whose partition it does not hold.
 * - Residents that rest are let go, oldest first, past `maxResident`: memory does not grow with the number of
 *   threads.
 * HO3 Hosts that share a store hold a share of it each: who has too much leaves the partitions where the least is
 *     going on, who has too little takes what is free. A lost lease is had again when there is one. A partition is
 *     left between two calls of its threads, so that none waits for another's; where that moment does not come for a
 *     while, without it.
 * - Commits of all residents that are ready together are handed over together.
 */
import { ThreadActors } from '../../../actors/thread/position.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { HostWork } from '../../backend/host-info.js'
import type { Backend, Survey } from '../../backend/port.js'
import type { Amounts } from '../../core/budget.js'
import { defined } from '../../core/defined.js'
import { SkeinError } from '../../core/failure.js'
import type { StopReason, TurnEnded } from '../../core/records/record.js'
import type { Json } from '../../core/json.js'
import { isObject } from '../../core/json.js'
import type { Services } from '../effects/model-call.js'
import { HeldPartition } from './partition.js'
import type { PartitionServices } from './partition.js'
import { asSignal, catchUpTopic, treeTopic } from '../watch/topics.js'
import { LastTries } from '../resident/recovery.js'
import type { Resident } from '../resident/resident.js'
import { findUnfinished, rootOf } from './unfinished.js'
import type { Resuming } from './unfinished.js'
import { RetainedStates } from './retained.js'

/** What happens to a host. */
export type HostEvent =
  /** How many of the partitions it holds now. */
  | { readonly type: 'partitions'; readonly held: number; readonly of: number }
  | { readonly type: 'server.lost' | 'server.back' }
  /** A turn of a thread without a parent has ended here. */
  | {
      readonly type: 'turn'
      readonly thread: string
      readonly agent: string
      readonly reason: StopReason
      readonly why?: string
    }
  /** So many threads have unfinished work that this host was told to leave alone. */
  | { readonly type: 'left'; readonly threads: number }

export interface HostOptions {
  readonly backend: Backend
  readonly means: Services
  readonly maxParallelTools: number
  /** Hosts that one call may cost. */
  readonly maxHostDeaths: number
  readonly maxWallClockMs?: number
  readonly turnLimits?: Amounts
  readonly maxResident: number
  readonly snapshotEvery: number
  readonly resuming: Resuming
  /** How long running calls may go on after `close` was asked for. */
  readonly closeGraceMs: number
  readonly warn: (what: string, thrown: unknown) => void
  readonly told: (news: HostEvent) => void
  /** A tree was removed. */
  readonly removed: () => void
}

/** How often it looks for a moment in which nothing runs: for one lease, on NATS. */
const looksForCalm = 12
/** Threads that are being woken at once when a host takes over. */
const wakingAtOnce = 64

interface Due {
  readonly holding: HeldPartition
  readonly thread: string
}

export class Host {
  readonly #options: HostOptions
  readonly #holdings = new Map<number, HeldPartition>()
  /** In the order in which they came to rest. */
  readonly #resting = new Map<Resident, HeldPartition>()
  readonly #dirty = new Set<Resident>()
  readonly #stops: (() => void)[] = []
  readonly #holdingMeans: PartitionServices
  /** Trees that were left alone, by their roots. */
  readonly #left = new Map<string, Due[]>()
  /** Threads that a take-over found, to be woken. */
  #due: Due[] = []
  /** How many of them were taken. */
  #woken = 0
  #wakers = 0
  #flushing = false
  #balancing: Promise<void> | undefined
  /** Told while it was at it. */
  #toBalance: Survey | undefined
  /** Looks in a row at which it had more than its share. */
  #crowded = 0
  #closing = false
  /** What was last told of its partitions. */
  #told = 0
  #barred = 0

  private constructor(options: HostOptions) {
    const {
      backend,
      means,
      maxParallelTools,
      maxHostDeaths,
      maxWallClockMs,
      turnLimits,
      snapshotEvery,
      closeGraceMs,
      warn,
    } = options
    this.#options = options
    this.#holdingMeans = {
      backend,
      means,
      closeGraceMs,
      warn,
      retained: new RetainedStates(),
      residentOptions: {
        backend,
        means,
        actors: new ThreadActors(),
        lastTries: new LastTries(maxHostDeaths),
        maxParallelTools,
        snapshotEvery,
        ...defined({ maxWallClockMs }),
        ...defined({ turnLimits }),
        warn,
        dirty: (resident) => this.#flushSoon(resident),
        turnEnded: (state, ended) => this.#turnEnded(state, ended),
      },
      rested: (holding, resident) => this.#rested(holding, resident),
      awake: (resident) => void this.#resting.delete(resident),
      removed: (root) => this.#removed(root),
    }
  }

  static async open(options: HostOptions): Promise<Host> {
    const host = new Host(options)
    try {
      await host.#join()
      return host
    } catch (thrown) {
      await host.close()
      throw thrown
    }
  }

  get work(): Pick<HostWork, 'awake' | 'busy'> {
    let [awake, busy] = [0, 0]
    for (const holding of this.#holdings.values()) {
      awake += holding.residents.size
      busy += holding.busy
    }
    return { awake, busy }
  }

  async #join(): Promise<void> {
    const { name, leases, mailbox, signals } = this.#options.backend
    this.#stops.push(
      mailbox.watch((thread) => {
        this.#holdings.get(leases.partitionOf(thread))?.deliver(thread)
        if (this.#left.size > 0) void this.#takeUp(thread)
      }),
    )
    this.#stops.push(signals.subscribe(catchUpTopic, (value) => this.#catchUp(value)))
    await this.#balance(await leases.survey())
    if (!leases.shared && this.#holdings.size < leases.partitions) {
      throw new SkeinError(
        'STORE_IN_USE',
        `the ${name} store is served by another host; close it first, or connect to it as a client`,
      )
    }
    this.#stops.push(leases.watch((survey) => this.#balanceSoon(survey)))
  }

  /** One at a time. */
  #balanceSoon(survey: Survey): void {
    if (this.#closing) return
    if (this.#balancing) return void (this.#toBalance = survey)
    this.#balancing = this.#balance(survey)
      .catch((thrown: unknown) => this.#options.warn('partitions could not be taken over', thrown))
      .finally(() => {
        const next = this.#toBalance
        this.#balancing = undefined
        this.#toBalance = undefined
        if (next) this.#balanceSoon(next)
      })
  }

  /** HO3 */
  async #balance({ share, free, barred }: Survey): Promise<void> {
    if (barred !== this.#barred && barred > 0)
      this.#options.warn(
        `${barred} of ${this.#options.backend.leases.partitions} partitions were written by a newer Skein; this ` +
          `host leaves them alone, and their threads wait for a newer one. Update Skein here`,
        undefined,
      )
    this.#barred = barred
    const kept = [...this.#holdings.values()].filter(({ leaving }) => !leaving)
    const surplus = kept
      .sort((one, other) => one.running - other.running || one.busy - other.busy)
      .slice(0, Math.max(0, kept.length - share))
    this.#crowded = surplus.length > 0 ? this.#crowded + 1 : 0
    const left = surplus.filter(({ running }) => running === 0 || this.#crowded > looksForCalm)
    if (left.length > 0) void Promise.all(left.map((holding) => this.#leave(holding))).then(() => this.#tell())
    const wanted = free
      .filter((partition) => !this.#holdings.has(partition))
      .slice(0, Math.max(0, share - this.#holdings.size))
    await Promise.all(wanted.map((partition) => this.#take(partition)))
    this.#tell()
  }

  #tell(): void {
    const { told, backend } = this.#options
    const held = this.#holdings.size
    if (this.#closing || held === this.#told) return
    this.#told = held
    told({ type: 'partitions', held, of: backend.leases.partitions })
  }

  async #take(partition: number): Promise<void> {
    const { backend, resuming, told, warn } = this.#options
    const { leases } = backend
    const lease = await leases.acquire(partition)
    if (!lease) return
    const holding = new HeldPartition(lease, this.#holdingMeans)
    this.#holdings.set(partition, holding)
    lease.lost.addEventListener('abort', () => this.#lost(holding), { once: true })
    if (lease.lost.aborted || this.#closing) return this.#closing ? this.#leave(holding) : this.#lost(holding)
    try {
      const { due, alarms, damaged, left } = await findUnfinished(backend, partition, resuming)
      for (const { thread, why } of damaged) holding.mend(thread, why)
      for (const { thread, at } of alarms) holding.alarm(thread, at)
      this.#wakeAll(holding, due)
      for (const { thread, root } of left) this.#leftOf(root ?? thread).push({ holding, thread })
      if (left.length > 0) told({ type: 'left', threads: left.length })
    } catch (thrown) {
      if (!leases.shared) throw thrown
      warn(`partition ${partition} could not be taken over`, thrown)
      await this.#leave(holding)
    }
  }

  #wakeAll(holding: HeldPartition, threads: Iterable<string>): void {
    for (const thread of threads) this.#due.push({ holding, thread })
    for (let left = this.#due.length; left > 0 && this.#wakers < wakingAtOnce; left--) void this.#wakeNext()
  }

  async #wakeNext(): Promise<void> {
    this.#wakers++
    for (let next = this.#nextDue(); next && !this.#closing; next = this.#nextDue()) {
      next.holding.deliver(next.thread)
      await next.holding.woken(next.thread)
    }
    this.#wakers--
  }

  #nextDue(): Due | undefined {
    const next = this.#due[this.#woken++]
    if (next) return next
    this.#due = []
    this.#woken = 0
    return undefined
  }

  #lost(holding: HeldPartition): void {
    if (this.#holdings.get(holding.lease.partition) === holding) this.#holdings.delete(holding.lease.partition)
    holding.drop()
    // All of them are lost at once.
    setImmediate(() => this.#tell())
  }

  async #leave(holding: HeldPartition): Promise<void> {
    const { lease } = holding
    await holding.leave()
    if (this.#holdings.get(lease.partition) === holding) this.#holdings.delete(lease.partition)
    await lease
      .release()
      .catch((thrown: unknown) =>
        this.#options.warn(
          `partition ${lease.partition} could not be given back; it is free when its lease ends`,
          thrown,
        ),
      )
  }

  #catchUp(value: Json): void {
    if (!isObject(value)) return
    for (const { residents } of this.#holdings.values()) {
      for (const resident of residents.values()) if (resident.state.path[0] === value['root']) resident.sayAgain()
    }
  }

  #leftOf(root: string): Due[] {
    const left = this.#left.get(root) ?? []
    this.#left.set(root, left)
    return left
  }

  async #takeUp(thread: string): Promise<void> {
    const { backend, warn } = this.#options
    try {
      const root = (await rootOf(backend, thread)) ?? thread
      const due = this.#left.get(root) ?? []
      this.#left.delete(root)
      for (const each of due) this.#wakeAll(each.holding, [each.thread])
    } catch (thrown) {
      warn(`the tree of thread ${thread} could not be taken up`, thrown)
    }
  }

  /** Of children their parents hear. */
  #turnEnded({ id: thread, agent, path }: ThreadState, { reason, failure: failed, detail }: TurnEnded): void {
    if (path.length > 1) return
    const why = failed?.message ?? detail
    this.#options.told({ type: 'turn', thread, agent, reason, ...defined({ why }) })
  }

  #flushSoon(resident: Resident): void {
    this.#dirty.add(resident)
    if (this.#flushing) return
    this.#flushing = true
    setImmediate(() => {
      this.#flushing = false
      const dirty = [...this.#dirty]
      this.#dirty.clear()
      for (const each of dirty) void each.flush()
    })
  }

  /** Nobody here has anything of that tree any more. */
  #removed(root: string): void {
    for (const holding of this.#holdings.values()) holding.forget(root)
    this.#holdingMeans.retained.forget(root)
    this.#options.backend.signals.publish(treeTopic(root), asSignal({ kind: 'removed' }))
    this.#options.removed()
  }

  #rested(holding: HeldPartition, resident: Resident): void {
    this.#resting.delete(resident)
    this.#resting.set(resident, holding)
    if (this.#resting.size <= this.#options.maxResident) return
    for (const [oldest, its] of this.#resting) {
      // Its deadline may have come meanwhile: it will rest again, and is asked then.
      if (!oldest.resting) continue
      return its.letGo(oldest)
    }
  }

  /** Hands over: nothing new starts, running calls get their grace, what was decided is committed. */
  async close(): Promise<void> {
    this.#closing = true
    for (const stop of this.#stops) stop()
    const leaveAll = (): Promise<unknown> =>
      Promise.all([...this.#holdings.values()].map((holding) => this.#leave(holding)))
    await leaveAll()
    await this.#balancing
    await leaveAll() // what was being taken meanwhile
    this.#options.means.orphans.close()
  }
}
