/**
 * A host: holds the leases of its backend, wakes the threads that have work or mail, and lets resting ones go.
 *
 * HO1 A thread has one resident at most. Waking it after a crash is the same as waking it for mail.
 * HO2 Residents that rest are let go, oldest first, past `maxResident`: memory does not grow with the number of
 *     threads.
 * HO3 A thread that cannot be woken (damaged, from the future, unknown agent) is parked: its mail is kept, its
 *     senders are told, all other threads go on.
 * HO4 Commits of all residents that are ready together are handed over together.
 */
import type { Backend, Lease } from '../backend/port.js'
import type { Amounts } from '../core/budget.js'
import type { Answer } from '../core/command.js'
import { SkeinError, failure, fromFailure, toFailure } from '../core/failure.js'
import type { Failure, FailureCode } from '../core/failure.js'
import type { Json } from '../core/json.js'
import { isObject } from '../core/json.js'
import type { Means } from './effects.js'
import { answerTopic, asSignal, catchUpTopic } from './news.js'
import { Resident } from './resident.js'
import type { ResidentOptions } from './resident.js'
import { wake } from './wake.js'

export interface HostOptions {
  readonly backend: Backend
  readonly means: Means
  readonly maxParallelTools: number
  readonly maxWallClockMs?: number
  readonly turnLimits?: Amounts
  readonly maxResident: number
  readonly snapshotEvery: number
  /** How long running calls may go on after `close` was asked for. */
  readonly closeGraceMs: number
  readonly warn: (what: string, thrown: unknown) => void
}

/** Threads that are being woken at once when a host takes over. */
const wakingAtOnce = 64
/** What no second try can mend. */
const parking: ReadonlySet<FailureCode> = new Set(['JOURNAL_CORRUPT', 'RECORD_FROM_FUTURE', 'UNKNOWN_AGENT', 'UNKNOWN_PROMPT', 'SECRET_UNREADABLE', 'INVARIANT'])
const firstRetryMs = 50
const longestRetryMs = 5_000

export class Host {
  readonly #options: HostOptions
  readonly #residents = new Map<string, Resident>()
  readonly #waking = new Map<string, Promise<void>>()
  readonly #resting = new Set<string>()
  readonly #parked = new Map<string, Failure>()
  readonly #dirty = new Set<Resident>()
  readonly #alarms = new Map<string, () => void>()
  readonly #retries = new Map<string, number>()
  readonly #stops: (() => void)[] = []
  readonly #residentOptions: ResidentOptions
  #leases: Lease[] = []
  #flushing = false
  #closing: (() => void) | undefined

  constructor(options: HostOptions, leases: Lease[]) {
    const { backend, means, maxParallelTools, maxWallClockMs, turnLimits, snapshotEvery, warn } = options
    this.#options = options
    this.#leases = leases
    this.#residentOptions = {
      backend,
      means,
      epoch: Math.max(...leases.map(({ epoch }) => epoch)),
      maxParallelTools,
      snapshotEvery,
      ...(maxWallClockMs !== undefined && { maxWallClockMs }),
      ...(turnLimits && { turnLimits }),
      warn,
      dirty: (resident) => this.#flushSoon(resident),
      rested: (resident, stopped) => (stopped ? this.#stopped(resident, stopped) : this.#rested(resident)),
    }
  }

  static async open(options: HostOptions): Promise<Host> {
    const { leases } = options.backend
    const held: Lease[] = []
    for (let partition = 0; partition < leases.partitions; partition++) {
      const lease = await leases.acquire(partition)
      if (!lease) {
        await Promise.all(held.map((other) => other.release()))
        throw new SkeinError('STORE_IN_USE', `the ${options.backend.name} store is served by another host; close it first, or connect to it as a client`)
      }
      held.push(lease)
    }
    const host = new Host(options, held)
    await host.#takeOver()
    return host
  }

  get resident(): number {
    return this.#residents.size
  }

  async #takeOver(): Promise<void> {
    const { backend } = this.#options
    this.#stops.push(backend.mailbox.watch((thread) => this.#deliver(thread)))
    this.#stops.push(backend.signals.subscribe(catchUpTopic, (value) => this.#catchUp(value)))
    const due: string[] = []
    for (const head of await backend.heads.restless()) {
      if (!head.rest) due.push(head.thread)
      else if (head.wakeAt !== undefined) this.#alarm(head.thread, head.wakeAt)
    }
    due.push(...(await backend.mailbox.waiting()), ...(await this.#awaiting()))
    void this.#wakeAll([...new Set(due)])
  }

  /** Threads that wait for variables: definitions and options may give them now. */
  async #awaiting(): Promise<readonly string[]> {
    const { heads } = this.#options.backend
    const found: string[] = []
    for (let cursor: string | undefined, more = true; more; ) {
      const page = await heads.list({ status: 'awaiting_variables', ...(cursor !== undefined && { cursor }) })
      found.push(...page.heads.map(({ thread }) => thread))
      cursor = page.next
      more = cursor !== undefined
    }
    return found
  }

  async #wakeAll(threads: readonly string[]): Promise<void> {
    const queue = threads.values()
    const worker = async (): Promise<void> => {
      for (const thread of queue) {
        if (this.#closing) return
        this.#deliver(thread)
        await this.#waking.get(thread)
      }
    }
    await Promise.all(Array.from({ length: wakingAtOnce }, worker))
  }

  #deliver(thread: string): void {
    const parked = this.#parked.get(thread)
    if (parked) return void this.#holdMail(thread, parked)
    const resident = this.#residents.get(thread)
    if (resident) {
      this.#resting.delete(thread)
      return resident.mailArrived()
    }
    if (this.#waking.has(thread) || this.#closing) return
    this.#waking.set(thread, this.#wake(thread))
  }

  async #wake(thread: string): Promise<void> {
    this.#alarms.get(thread)?.()
    this.#alarms.delete(thread)
    try {
      const woken = await wake(this.#options.backend, thread)
      if (this.#closing) return
      if (woken.state.seq > 0) this.#options.means.brief(woken.state.agent)
      if (woken.state.env.keys.length > 0) await this.#options.means.envs.secrets.admit(woken.state.env.keys)
      if (this.#closing) return
      const resident = new Resident(woken, this.#residentOptions)
      this.#residents.set(thread, resident)
      resident.begin()
    } catch (thrown) {
      this.#cannotGoOn(thread, toFailure(thrown, 'STORE_FAILED'))
    } finally {
      this.#waking.delete(thread)
    }
  }

  /** HO3, or another try: from its journal, after a pause. */
  #cannotGoOn(thread: string, why: Failure): void {
    if (!parking.has(why.code)) {
      this.#options.warn(`thread ${thread} starts over from its journal`, fromFailure(why))
      return this.#retry(thread)
    }
    this.#parked.set(thread, why)
    this.#options.warn(`thread ${thread} is parked`, fromFailure(why))
    void this.#holdMail(thread, why)
  }

  async #holdMail(thread: string, why: Failure): Promise<void> {
    const { mailbox, signals } = this.#options.backend
    const answer: Answer = {
      ok: false,
      failure: { ...failure('THREAD_PARKED', `thread ${thread} is parked, your command is kept until that is mended: ${why.message}`), cause: why },
    }
    try {
      for (const mail of await mailbox.read(thread, 0)) signals.publish(answerTopic(mail.id), asSignal(answer))
    } catch (thrown) {
      this.#options.warn(`the mail of the parked thread ${thread} could not be read`, thrown)
    }
  }

  #catchUp(value: Json): void {
    if (!isObject(value)) return
    for (const resident of this.#residents.values()) if (resident.state.path[0] === value['root']) resident.sayAgain()
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

  #rested(resident: Resident): void {
    const { id, state } = resident
    this.#retries.delete(id)
    if (this.#closing) {
      this.#letGo(resident)
      return this.#closing()
    }
    this.#resting.delete(id)
    if (state.seq === 0) return this.#letGo(resident)
    this.#resting.add(id)
    if (this.#resting.size <= this.#options.maxResident) return
    for (const oldest of this.#resting) {
      const victim = this.#residents.get(oldest)
      // Its deadline may have come meanwhile: it will rest again, and is asked then.
      if (victim && !victim.resting) continue
      if (victim) this.#letGo(victim)
      return
    }
  }

  #letGo(resident: Resident): void {
    const { id, wakeAt } = resident
    this.#resting.delete(id)
    this.#residents.delete(id)
    resident.stop()
    if (wakeAt !== undefined && !this.#closing) this.#alarm(id, wakeAt)
  }

  #alarm(thread: string, at: number): void {
    this.#alarms.get(thread)?.()
    this.#alarms.set(thread, this.#options.means.clock.wakeAt(at, () => this.#deliver(thread)))
  }

  /** A commit was refused or failed: read the journal again and go on from there. */
  #stopped(resident: Resident, why: Failure): void {
    this.#residents.delete(resident.id)
    this.#resting.delete(resident.id)
    if (this.#closing) return this.#closing()
    this.#cannotGoOn(resident.id, why)
  }

  #retry(thread: string): void {
    const before = this.#retries.get(thread) ?? 0
    const delayMs = Math.min(firstRetryMs * 2 ** before, longestRetryMs)
    this.#retries.set(thread, before + 1)
    this.#alarm(thread, this.#options.means.clock.now() + delayMs)
  }

  /** Hands over: nothing new starts, running calls get their grace, what was decided is committed. */
  async close(): Promise<void> {
    for (const stop of this.#stops) stop()
    for (const cancel of this.#alarms.values()) cancel()
    await new Promise<void>((resolve) => {
      const { clock } = this.#options.means
      const cancel = clock.wakeAt(clock.now() + this.#options.closeGraceMs, resolve)
      this.#closing = () => {
        if (this.#residents.size > 0) return
        cancel()
        resolve()
      }
      for (const resident of [...this.#residents.values()]) resident.drain()
      this.#closing()
    })
    await Promise.all(this.#waking.values())
    for (const resident of this.#residents.values()) resident.stop()
    this.#residents.clear()
    await Promise.all(this.#leases.map((lease) => lease.release()))
  }
}
