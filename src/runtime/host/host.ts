/**
 * A host: holds leases of its backend, one or a share of many, and gives mail and time to the threads of their
 * partitions. Each partition is a HeldPartition (partition.ts).
 *
 * - A host does nothing for a thread whose partition it does not hold.
 * - Residents that rest are let go, oldest first, past `maxResident` (resting.ts).
 * HO3 Hosts that share a store hold a share of it each: a host with too many partitions leaves the least busy ones, a
 *     host with too few takes free ones. A lost lease is acquired again when it is free. A partition is left between
 *     two calls of its threads, so that none waits for another's; if that moment does not come within a lease, without
 *     it. Few are on their way at once, and one if its threads are at work: their pause does not grow with the number
 *     of partitions that move.
 * - Commits of all residents that are ready together are handed over together.
 */
import { ThreadActors } from '../../../actors/thread/live-thread.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { HostWork } from '../../backend/host-info.js'
import type { Backend, Send, Survey } from '../../backend/port.js'
import { defined } from '../../core/defined.js'
import { SkeinError } from '../../core/failure.js'
import type { StopReason, TurnEnded } from '../../core/records/record.js'
import type { Json } from '../../core/json.js'
import { isObject } from '../../core/json.js'
import { Flushes } from './flushes.js'
import { LocalMail } from './local-mail.js'
import { HeldPartition } from './partition.js'
import type { PartitionOptions } from './partition.js'
import { catchUpTopic, tellRemoval } from '../watch/topics.js'
import { LastTries } from '../resident/recovery.js'
import type { Services, HostSettings } from '../services.js'
import { findUnfinished, rootOf } from './unfinished.js'
import { RestSnapshots } from './rest-snapshots.js'
import { RestingThreads } from './resting.js'
import { RetainedStates } from './retained.js'

/** What happens to a host. */
export type HostEvent =
  /** How many of all partitions it holds now. */
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
  /** This host was told to leave so many unfinished threads alone. */
  | { readonly type: 'left'; readonly threads: number }

export interface HostOptions {
  readonly backend: Backend
  readonly services: Services
  readonly settings: HostSettings
  /** A tree was removed. */
  readonly removed: () => void
}

/** Partitions at rest that may be on their way at once; of those at work it is one: a new host is slow at first. */
const movingAtOnce = 4
/** How long calls may go on in a partition that is left though they run: the threads beside them wait meanwhile. */
const moveGraceMs = 250
/** Threads that are woken at once when a host takes over. */
const wakingAtOnce = 64

interface DueThread {
  readonly partition: HeldPartition
  readonly thread: string
}

export class Host {
  readonly #options: HostOptions
  readonly #partitions = new Map<number, HeldPartition>()
  readonly #resting: RestingThreads
  readonly #restSnapshots: RestSnapshots
  readonly #mail: LocalMail
  readonly #stops: (() => void)[] = []
  readonly #partitionOptions: PartitionOptions
  /** Unfinished threads that this host was told to leave alone, by the roots of their trees. */
  readonly #leftAlone = new Map<string, DueThread[]>()
  /** Threads that a take-over found unfinished; they are woken from `#nextDue` on. */
  #due: DueThread[] = []
  #nextDue = 0
  #wakers = 0
  /** How many partitions it should hold. */
  #share = 0
  /** Partitions that it is taking. */
  readonly #taking = new Map<number, Promise<void>>()
  /** Since when it has more than its share, and when it last left some of it. */
  #crowdedSince: number | undefined
  #leftAt = 0
  /** Partitions of its surplus that it is leaving. */
  #moving = 0
  #closing = false
  /** How many partitions it last told that it holds. */
  #partitionsTold = 0
  #barred = 0

  private constructor(options: HostOptions) {
    const { backend, services, settings } = options
    this.#options = options
    this.#resting = new RestingThreads(settings.maxResident)
    this.#restSnapshots = new RestSnapshots(backend, settings)
    this.#mail = new LocalMail({ backend, services, partitionOf: (thread) => this.#partitionNow(thread) })
    const flushes = new Flushes({ backend, services, take: this.#mail.take })
    this.#partitionOptions = {
      backend,
      services,
      settings,
      actors: new ThreadActors(),
      lastTries: new LastTries(),
      retained: new RetainedStates((woken) => this.#restSnapshots.take(woken)),
      leaves: (woken) => this.#restSnapshots.take(woken),
      flushSoon: (outbox) => flushes.add(outbox),
      turnEnded: (state, ended) => this.#turnEnded(state, ended),
      rested: (partition, resident) => this.#resting.add(resident, partition),
      notResting: (resident) => void this.#resting.delete(resident),
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
    for (const partition of this.#partitions.values()) {
      awake += partition.residents.size
      busy += partition.busy
    }
    return { awake, busy }
  }

  /** Mail of a caller in this process. */
  post(send: Send): Promise<void> {
    return this.#mail.post(send)
  }

  /** A tree that was left alone is taken up when mail comes to its mailbox. */
  #partitionNow(thread: string): HeldPartition | undefined {
    if (this.#closing || this.#leftAlone.size > 0) return undefined
    return this.#partitions.get(this.#options.backend.leases.partitionOf(thread))
  }

  async #join(): Promise<void> {
    const { name, leases, mailbox, signals } = this.#options.backend
    this.#stops.push(
      mailbox.watch((thread) => {
        this.#partitions.get(leases.partitionOf(thread))?.deliver(thread)
        if (this.#leftAlone.size > 0) void this.#takeUp(thread)
      }),
    )
    this.#stops.push(signals.subscribe(catchUpTopic, (value) => this.#catchUp(value)))
    await this.#balance(await leases.survey())
    if (!leases.shared && this.#partitions.size < leases.partitions) {
      throw new SkeinError(
        'STORE_IN_USE',
        `the ${name} store is served by another host; close it first, or connect to it as a client`,
      )
    }
    const { warn } = this.#options.settings
    this.#stops.push(
      leases.watch((survey) => {
        this.#balance(survey).catch((thrown: unknown) => warn('partitions could not be taken over', thrown))
      }),
    )
  }

  /** HO3: every host holds its share. Resolves when it has taken what it may take. */
  async #balance(survey: Survey): Promise<void> {
    if (this.#closing) return
    this.#share = survey.share
    this.#warnBarred(survey.barred)
    this.#leaveSurplus(survey)
    const takeable = survey.free.filter((number) => !this.#partitions.has(number) && !this.#taking.has(number))
    const missing = survey.share - this.#partitions.size - this.#taking.size
    await Promise.all(takeable.slice(0, Math.max(0, missing)).map((number) => this.#takeOnce(number)))
    this.#tellPartitions()
  }

  #takeOnce(number: number): Promise<void> {
    const taking = this.#take(number).finally(() => this.#taking.delete(number))
    this.#taking.set(number, taking)
    return taking
  }

  #warnBarred(barred: number): void {
    if (barred !== this.#barred && barred > 0)
      this.#options.settings.warn(
        `${barred} of ${this.#options.backend.leases.partitions} partitions were written by a newer Skein; this ` +
          `host leaves them alone, and their threads wait for a newer one. Update Skein here`,
        undefined,
      )
    this.#barred = barred
  }

  #leaveSurplus({ share, free }: Survey): void {
    const { backend, services } = this.#options
    const held = [...this.#partitions.values()].filter(({ leaving }) => !leaving)
    const surplus = held
      .sort((one, other) => one.running - other.running || one.busy - other.busy)
      .slice(0, Math.max(0, held.length - share))
    if (surplus.length === 0) return void (this.#crowdedSince = undefined)
    const now = services.clock.now()
    const patienceMs = backend.leases.leaseMs
    this.#crowdedSince ??= now
    const isPatient = now - this.#crowdedSince < patienceMs
    // What nobody takes for so long is not waited for.
    const isMoving = now - Math.max(this.#crowdedSince, this.#leftAt) < patienceMs
    const onTheirWay = this.#moving + (isMoving ? free.length : 0)
    const ready = surplus.filter(({ running }) => running === 0 || !isPatient)
    const isAtRest = ready[0]?.busy === 0
    const leavable = isAtRest
      ? ready.filter(({ busy }) => busy === 0).slice(0, Math.max(0, movingAtOnce - onTheirWay))
      : ready.slice(0, onTheirWay === 0 ? 1 : 0)
    if (leavable.length > 0) this.#leftAt = now
    for (const partition of leavable) void this.#move(partition)
  }

  async #move(partition: HeldPartition): Promise<void> {
    this.#moving++
    await this.#leave(partition, Math.min(moveGraceMs, this.#options.settings.closeGraceMs))
    this.#moving--
    this.#tellPartitions()
  }

  #tellPartitions(): void {
    const { backend, settings } = this.#options
    const held = this.#partitions.size
    const told = this.#partitionsTold
    // Partitions come and go one by one: it tells of the first, of its share, and of what it has lost.
    const isOnItsWay = held > this.#share || (told > 0 && held > told && held < this.#share)
    if (this.#closing || held === told || isOnItsWay) return
    this.#partitionsTold = held
    settings.onHostEvent({ type: 'partitions', held, of: backend.leases.partitions })
  }

  async #take(number: number): Promise<void> {
    const { backend, settings } = this.#options
    const { leases } = backend
    const lease = await leases.acquire(number)
    if (!lease) return
    const partition = new HeldPartition(lease, this.#partitionOptions)
    this.#partitions.set(number, partition)
    lease.lost.addEventListener('abort', () => this.#lost(partition), { once: true })
    if (lease.lost.aborted || this.#closing) return this.#closing ? this.#leave(partition) : this.#lost(partition)
    try {
      const { due, alarms, damaged, leftAlone } = await findUnfinished(backend, lease, settings.resuming)
      for (const { thread, why } of damaged) partition.mend(thread, why)
      for (const { thread, at } of alarms) partition.alarm(thread, at)
      this.#wakeAll(partition, due)
      for (const { thread, root } of leftAlone) this.#leftAloneOf(root ?? thread).push({ partition, thread })
      if (leftAlone.length > 0) settings.onHostEvent({ type: 'left', threads: leftAlone.length })
    } catch (thrown) {
      if (!leases.shared) throw thrown
      settings.warn(`partition ${number} could not be taken over`, thrown)
      await this.#leave(partition)
    }
  }

  #wakeAll(partition: HeldPartition, threads: Iterable<string>): void {
    for (const thread of threads) this.#due.push({ partition, thread })
    for (let count = this.#due.length; count > 0 && this.#wakers < wakingAtOnce; count--) void this.#wakeNext()
  }

  async #wakeNext(): Promise<void> {
    this.#wakers++
    for (let next = this.#takeDue(); next && !this.#closing; next = this.#takeDue()) {
      next.partition.deliver(next.thread)
      await next.partition.woken(next.thread)
    }
    this.#wakers--
  }

  #takeDue(): DueThread | undefined {
    const next = this.#due[this.#nextDue++]
    if (next) return next
    this.#due = []
    this.#nextDue = 0
    return undefined
  }

  #lost(partition: HeldPartition): void {
    this.#remove(partition)
    partition.drop()
    // Leases are lost all at once: one event tells of them.
    setImmediate(() => this.#tellPartitions())
  }

  async #leave(partition: HeldPartition, graceMs = this.#options.settings.closeGraceMs): Promise<void> {
    const { lease } = partition
    await partition.leave(graceMs)
    this.#remove(partition)
    await lease
      .release()
      .catch((thrown: unknown) =>
        this.#options.settings.warn(
          `partition ${lease.partition} could not be given back; it is free when its lease ends`,
          thrown,
        ),
      )
  }

  /** Unless the host has taken the same partition again meanwhile. */
  #remove(partition: HeldPartition): void {
    const { partition: number } = partition.lease
    if (this.#partitions.get(number) === partition) this.#partitions.delete(number)
  }

  /**
   * The definitions have changed: each thread that is awake looks again at what follows from its state, and those are
   * woken that could not go on with the definitions before (TH6: they lacked their agent; or values).
   */
  async redefined(): Promise<void> {
    const held = [...this.#partitions.values()].filter(({ leaving }) => !leaving)
    // All of them in this turn of the event loop: no thread asks for an agent that is gone.
    await Promise.all(held.map((partition) => partition.redefined()))
    await Promise.all(held.map((partition) => this.#wakeUnfinished(partition)))
  }

  async #wakeUnfinished(partition: HeldPartition): Promise<void> {
    const { backend, settings } = this.#options
    const { partition: number } = partition.lease
    try {
      const { due } = await findUnfinished(backend, { partition: number }, settings.resuming)
      if (!this.#closing) this.#wakeAll(partition, due)
    } catch (thrown) {
      settings.warn(`threads of partition ${number} that lacked a definition could not be looked for`, thrown)
    }
  }

  /** A new watcher of a tree, or of one thread of it, asks for what is being said there. */
  #catchUp(value: Json): void {
    if (!isObject(value) || typeof value['root'] !== 'string') return
    const { root, thread } = value
    const only = typeof thread === 'string' ? thread : undefined
    for (const partition of this.#partitions.values()) partition.speakAgain(root, only)
  }

  #leftAloneOf(root: string): DueThread[] {
    const threads = this.#leftAlone.get(root) ?? []
    this.#leftAlone.set(root, threads)
    return threads
  }

  /** The thread has mail: if its tree was left alone, someone wants it now, and it is taken up whole. */
  async #takeUp(thread: string): Promise<void> {
    const { backend, settings } = this.#options
    try {
      const root = (await rootOf(backend, thread)) ?? thread
      const due = this.#leftAlone.get(root) ?? []
      this.#leftAlone.delete(root)
      for (const each of due) this.#wakeAll(each.partition, [each.thread])
    } catch (thrown) {
      settings.warn(`the tree of thread ${thread} could not be taken up`, thrown)
    }
  }

  /** Turns of children are no events of the host: they are reported to their parents. */
  #turnEnded({ id: thread, agent, path }: ThreadState, { reason, failure: failed, detail }: TurnEnded): void {
    if (path.length > 1) return
    const why = failed?.message ?? detail
    this.#options.settings.onHostEvent({ type: 'turn', thread, agent, reason, ...defined({ why }) })
  }

  /** A tree was removed: nothing of it stays in memory, and its watchers are told. */
  #removed(root: string): void {
    for (const partition of this.#partitions.values()) partition.forget(root)
    this.#partitionOptions.retained.forget(root)
    tellRemoval(this.#options.backend, root)
    this.#options.removed()
  }

  /** Hands over: nothing new starts, running calls get their grace, what was decided is committed. */
  async close(): Promise<void> {
    this.#closing = true
    for (const stop of this.#stops) stop()
    const leaveAll = (): Promise<unknown> =>
      Promise.all([...this.#partitions.values()].map((partition) => this.#leave(partition)))
    await leaveAll()
    await Promise.allSettled(this.#taking.values())
    await leaveAll() // partitions that were being taken meanwhile
    this.#partitionOptions.retained.dropAll()
    await this.#restSnapshots.settled()
    this.#options.services.orphans.close()
  }
}
