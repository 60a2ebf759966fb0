/**
 * A holding: one partition while this host has its lease, and the threads of it that are awake here. Owns them, their
 * alarms and those that cannot be woken; all of it ends with the lease.
 *
 * - A thread has one resident at most. Waking it after a crash is the same as waking it for mail.
 * - A thread that cannot be woken (damaged, from the future) is parked: its mail is kept, its senders are told, all
 *   other threads go on. One whose agent is unknown is parked too, but can be ended (TH6).
 * - A holding whose lease is lost does nothing more, at once; what was not committed is forgotten (effects on the
 *   world: OR1). One that is left starts nothing new, lets running calls land within a grace, and commits what was
 *   decided.
 */
import type { Backend, Lease } from '../../backend/port.js'
import { hasEnded } from '../../../actors/thread/state.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import { fromFailure, SkeinError, toFailure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import type { Services } from '../effects/model-call.js'
import { headOf } from '../resident/head.js'
import { parking, tellParked } from '../resident/parking.js'
import { removeTree } from '../effects/remove-tree.js'
import { Resident } from '../resident/resident.js'
import type { ResidentOptions } from '../resident/resident-options.js'
import type { RetainedStates } from './retained.js'
import { continueFrom, wake } from '../journal/wake.js'

export interface PartitionServices {
  readonly backend: Backend
  readonly means: Services
  readonly residentOptions: Omit<ResidentOptions, 'epoch' | 'rested' | 'remove'>
  readonly closeGraceMs: number
  /** What was let go, as long as there is room. */
  readonly retained: RetainedStates
  readonly warn: (what: string, thrown: unknown) => void
  /** A thread came to rest and stays in memory until its host lets it go. */
  readonly rested: (holding: HeldPartition, resident: Resident) => void
  /** It is at work, or gone. */
  readonly awake: (resident: Resident) => void
  /** A tree is gone, wherever its threads were. */
  readonly removed: (root: string) => void
}

function headAgainstJournal({ id, seq }: ThreadState, says: number): string {
  return (
    `the journal of thread ${id} ends at record ${seq}, its head is at ${says}. The thread is parked; other ` +
    `threads go on. Restore it from a back-up.`
  )
}

const firstRetryMs = 50
const longestRetryMs = 5_000

export class HeldPartition {
  readonly lease: Lease
  readonly residents = new Map<string, Resident>()
  readonly #host: PartitionServices
  readonly #residentOptions: ResidentOptions
  readonly #waking = new Map<string, Promise<void>>()
  readonly #parked = new Map<string, Failure>()
  /** Threads of which it was told that they lack their agent. */
  readonly #lacking = new Set<string>()
  /** Threads whose heads are damaged. */
  readonly #headless = new Set<string>()
  readonly #alarms = new Map<string, () => void>()
  readonly #retries = new Map<string, number>()
  readonly #retained: RetainedStates
  /** Set while it is being left: looks whether everyone has. */
  #left: (() => void) | undefined
  #leave: Promise<void> | undefined
  #over = false

  constructor(lease: Lease, host: PartitionServices) {
    this.lease = lease
    this.#host = host
    this.#retained = host.retained
    this.#residentOptions = {
      ...host.residentOptions,
      epoch: lease.epoch,
      rested: (resident, stopped) => (stopped ? this.#stopped(resident, stopped) : this.#rested(resident)),
      remove: (doomed) => removeTree({ backend: host.backend, epoch: lease.epoch, removed: host.removed }, doomed),
    }
  }

  /** Whether it is on its way out. */
  get leaving(): boolean {
    return this.#over || this.#left !== undefined
  }

  /** Threads that are at work. */
  get busy(): number {
    let count = this.#waking.size
    for (const { resting } of this.residents.values()) if (!resting) count++
    return count
  }

  /** Model and tool calls that are under way. */
  get running(): number {
    let count = 0
    for (const { running } of this.residents.values()) count += running
    return count
  }

  /** Resolves when it is awake, if it is being woken. */
  woken(thread: string): Promise<void> | undefined {
    return this.#waking.get(thread)
  }

  deliver(thread: string): void {
    if (this.#over) return
    const parked = this.#parked.get(thread)
    if (parked) return void this.#holdMail(thread, parked)
    const resident = this.residents.get(thread)
    if (resident) {
      this.#host.awake(resident)
      return resident.mailArrived()
    }
    if (this.#waking.has(thread) || this.leaving) return
    this.#waking.set(thread, this.#wake(thread))
  }

  /** Its head cannot be read: it is made again from its journal (J11). */
  mend(thread: string, damage: string): void {
    this.#host.warn(`the head of thread ${thread} is damaged and is made again from its journal`, damage)
    this.#headless.add(thread)
    this.deliver(thread)
  }

  async #mended(state: ThreadState): Promise<void> {
    if (!this.#headless.has(state.id) || state.seq === 0) return
    const { epoch } = this.lease
    const result = await this.#host.backend.commit({
      thread: state.id,
      expected: state.seq,
      epoch,
      head: headOf(state),
      sends: [],
      done: [],
    })
    if (!result.ok)
      throw new SkeinError('JOURNAL_CORRUPT', headAgainstJournal(state, result.seq), {
        data: { thread: state.id, seq: state.seq },
      })
    this.#headless.delete(state.id)
  }

  async #wake(thread: string): Promise<void> {
    this.#alarms.get(thread)?.()
    this.#alarms.delete(thread)
    const { backend, means } = this.#host
    try {
      const kept = this.#retained.take(thread)
      const woken = (kept && (await continueFrom(backend, kept))) ?? (await wake(backend, thread))
      if (this.leaving) return
      const lacks = this.#lacks(woken.state)
      await this.#mended(woken.state)
      if (woken.state.env.keys.length > 0) await means.envs.secrets.admit(woken.state.env.keys)
      if (this.leaving) return
      const resident = new Resident(woken, this.#residentOptions, lacks)
      this.residents.set(thread, resident)
      // One that starts over here was not cut off by a death.
      resident.begin(!this.#retries.has(thread))
    } catch (thrown) {
      if (!this.leaving) this.#cannotGoOn(thread, toFailure(thrown, 'STORE_FAILED'))
    } finally {
      this.#waking.delete(thread)
    }
  }

  /** What its definitions lack so that it could go on; one that is over needs none. */
  #lacks(state: ThreadState): Failure | undefined {
    const { means, warn } = this.#host
    if (state.seq === 0 || hasEnded(state)) return undefined
    try {
      means.brief(state.agent)
      return undefined
    } catch (thrown) {
      if (!this.#lacking.has(state.id)) warn(`thread ${state.id} is parked`, thrown)
      this.#lacking.add(state.id)
      return toFailure(thrown, 'UNKNOWN_AGENT')
    }
  }

  /** HD2, or another try: from its journal, after a pause. */
  #cannotGoOn(thread: string, why: Failure): void {
    const { warn } = this.#host
    if (!parking.has(why.code)) {
      warn(`thread ${thread} starts over from its journal`, fromFailure(why))
      return this.#retry(thread)
    }
    this.#parked.set(thread, why)
    warn(`thread ${thread} is parked`, fromFailure(why))
    void this.#holdMail(thread, why)
  }

  async #holdMail(thread: string, why: Failure): Promise<void> {
    const { backend, warn } = this.#host
    try {
      for (const mail of await backend.mailbox.read(thread, 0)) tellParked(backend, { thread, mail, why })
    } catch (thrown) {
      warn(`the mail of the parked thread ${thread} could not be read`, thrown)
    }
  }

  #rested(resident: Resident): void {
    this.#retries.delete(resident.id)
    if (this.#left) {
      this.letGo(resident)
      return this.#left()
    }
    if (resident.state.seq === 0) return this.letGo(resident)
    this.#host.rested(this, resident)
  }

  letGo(resident: Resident): void {
    const { id, wakeAt, woken } = resident
    this.#host.awake(resident)
    this.residents.delete(id)
    resident.stop()
    if (woken && !this.leaving) this.#retained.keep(woken)
    if (wakeAt !== undefined && !this.leaving) this.alarm(id, wakeAt)
  }

  /** The tree is gone: so is all that was awake of it. */
  forget(root: string): void {
    for (const resident of [...this.residents.values()]) {
      if (resident.state.path[0] !== root) continue
      this.#host.awake(resident)
      this.residents.delete(resident.id)
      resident.stop()
    }
    this.#left?.()
  }

  alarm(thread: string, at: number): void {
    this.#alarms.get(thread)?.()
    this.#alarms.set(
      thread,
      this.#host.means.clock.wakeAt(at, () => this.deliver(thread)),
    )
  }

  /** A commit was refused or failed: read the journal again and go on from there. */
  #stopped(resident: Resident, why: Failure): void {
    this.#host.awake(resident)
    this.residents.delete(resident.id)
    if (this.#left) return this.#left()
    if (!this.#over) this.#cannotGoOn(resident.id, why)
  }

  #retry(thread: string): void {
    const before = this.#retries.get(thread) ?? 0
    const delayMs = Math.min(firstRetryMs * 2 ** before, longestRetryMs)
    this.#retries.set(thread, before + 1)
    this.alarm(thread, this.#host.means.clock.now() + delayMs)
  }

  /** The lease is still ours when it resolves, unless it was lost meanwhile. */
  leave(): Promise<void> {
    return (this.#leave ??= this.#letAllGo())
  }

  async #letAllGo(): Promise<void> {
    if (this.#over) return
    for (const cancel of this.#alarms.values()) cancel()
    await new Promise<void>((resolve) => {
      const { clock } = this.#host.means
      const cancel = clock.wakeAt(clock.now() + this.#host.closeGraceMs, resolve)
      this.#left = () => {
        if (this.residents.size > 0 && !this.#over) return
        cancel()
        resolve()
      }
      for (const resident of [...this.residents.values()]) resident.drain()
      this.#left()
    })
    await Promise.all(this.#waking.values())
    this.drop()
  }

  /** At once. */
  drop(): void {
    this.#over = true
    for (const cancel of this.#alarms.values()) cancel()
    for (const resident of this.residents.values()) {
      this.#host.awake(resident)
      resident.stop()
    }
    this.residents.clear()
    this.#left?.()
  }
}
