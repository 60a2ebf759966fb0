/**
 * A held partition: one partition while this host has its lease, and the threads of it that are awake here. Owns them,
 * their alarms and the threads that are stuck; all of it ends with the lease.
 *
 * - A thread has one resident at most. Waking it after a crash is the same as waking it for mail.
 * - A thread that cannot be woken is parked, and all others continue (stuck-threads.ts).
 * - When the lease is lost, everything stops at once, and what was not committed is forgotten (OR1: effects on the
 *   world continue). When the partition is left, nothing new starts, running calls may land within a grace, and what
 *   was decided is committed.
 */
import type { Backend, Lease } from '../../backend/port.js'
import { hasEnded } from '../../../actors/thread/state.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import { fromFailure, SkeinError, toFailure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import type { Command } from '../../core/records/command.js'
import { removeTree } from '../effects/remove-tree.js'
import { decode } from '../journal/journal.js'
import { copyTree } from './copy-tree.js'
import { continueFrom, newborn, wake } from '../journal/wake.js'
import type { Woken } from '../journal/wake.js'
import { headOf } from '../resident/head.js'
import { tellAnswer } from '../resident/outbox.js'
import type { TakenMail } from '../resident/outbox.js'
import { tellParked, tellParkedTree } from '../resident/parking.js'
import { Resident } from '../resident/resident.js'
import type { ResidentOptions } from '../resident/resident.js'
import type { Services, HostSettings } from '../services.js'
import type { RetainedStates } from './retained.js'
import { tellThread } from '../watch/topics.js'
import { StuckThreads } from './stuck-threads.js'

/** What the partitions of a host share. */
export interface PartitionOptions extends Pick<ResidentOptions, 'actors' | 'lastTries' | 'flushSoon' | 'turnEnded'> {
  readonly backend: Backend
  readonly services: Services
  readonly settings: HostSettings
  /** States of threads that were let go, as long as there is room. */
  readonly retained: RetainedStates
  /** A state leaves this host. */
  readonly leaves: (woken: Woken) => void
  /** A thread came to rest and stays in memory until its host lets it go. */
  readonly rested: (partition: HeldPartition, resident: Resident) => void
  /** A thread does not rest any more: it is at work, or was let go. */
  readonly notResting: (resident: Resident) => void
  /** A tree was removed, on whatever hosts its threads were. */
  readonly removed: (root: string) => void
}

export class HeldPartition {
  readonly lease: Lease
  readonly residents = new Map<string, Resident>()
  readonly #options: PartitionOptions
  readonly #residentOptions: ResidentOptions
  readonly #waking = new Map<string, Promise<void>>()
  readonly #stuck = new StuckThreads()
  /** Threads whose heads are damaged, and are made again from their journals. */
  readonly #headless = new Set<string>()
  /** By thread: cancels the alarm. */
  readonly #alarms = new Map<string, () => void>()
  /** Set while the partition is being left: ends the wait when no resident is left. */
  #checkEmpty: (() => void) | undefined
  #leaving: Promise<void> | undefined
  /** The lease is lost or about to be released. */
  #ended = false

  constructor(lease: Lease, options: PartitionOptions) {
    const { backend, services, settings, actors, lastTries, flushSoon, turnEnded, removed } = options
    const { epoch } = lease
    this.lease = lease
    this.#options = options
    this.#residentOptions = {
      backend,
      services,
      settings,
      actors,
      lastTries,
      flushSoon,
      turnEnded,
      epoch,
      rested: (resident) => this.#rested(resident),
      stopped: (resident, why) => this.#stopped(resident, why),
      removeTree: (removal) => removeTree({ backend, epoch, removed }, removal),
      copyTree: (owner) => copyTree(backend, owner),
    }
  }

  /** Whether it is being left, or has ended. */
  get leaving(): boolean {
    return this.#ended || this.#checkEmpty !== undefined
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

  /** Resolves when the thread is awake; undefined when it is not being woken. */
  woken(thread: string): Promise<void> | undefined {
    return this.#waking.get(thread)
  }

  /** The thread has mail, or its time has come: wakes it if need be. */
  deliver(thread: string): void {
    if (this.#ended) return
    const parked = this.#stuck.parked(thread)
    if (parked) return void this.#tellParked(thread, parked)
    const resident = this.residents.get(thread)
    if (resident) {
      this.#options.notResting(resident)
      return resident.mailArrived()
    }
    if (this.#waking.has(thread) || this.leaving) return
    this.#waking.set(thread, this.#wake(thread))
  }

  /**
   * Hands mail that is in no mailbox over to a thread that is awake, or to one that it creates. Gives the thread if it
   * has decided about it; else the mail must go through the mailbox.
   */
  take(thread: string, mail: TakenMail, command: Command): Resident | undefined {
    if (!this.isSound(thread) || this.#waking.has(thread)) return undefined
    const awake = this.residents.get(thread)
    const resident = awake ?? (command.kind === 'create' ? this.#create(thread) : undefined)
    if (!resident) return undefined
    if (awake) this.#options.notResting(awake)
    if (!resident.take(mail, command)) {
      resident.done()
      return undefined
    }
    return resident
  }

  /** Whether the thread has no trouble here: after a failure it commits alone, and its mail goes through mailboxes. */
  isSound(thread: string): boolean {
    return !this.leaving && !this.#stuck.parked(thread) && !this.#stuck.isRetrying(thread)
  }

  /**
   * A thread that is not there yet needs nothing of the store. If there is one of this id, the commit is refused (J2),
   * and its mail goes through the mailbox then.
   */
  #create(thread: string): Resident {
    const resident = new Resident(newborn(thread), this.#residentOptions)
    this.residents.set(thread, resident)
    return resident
  }

  /** The head of the thread cannot be read: it is made again from its journal (J11: no list fails because of it). */
  mend(thread: string, damage: string): void {
    this.#options.settings.warn(`the head of thread ${thread} is damaged and is made again from its journal`, damage)
    this.#headless.add(thread)
    this.deliver(thread)
  }

  async #wake(thread: string): Promise<void> {
    this.#alarms.get(thread)?.()
    this.#alarms.delete(thread)
    const { backend, services, retained } = this.#options
    try {
      const known = retained.take(thread)
      const woken = (known && (await continueFrom(backend, known))) ?? (await wake(backend, thread))
      if (this.leaving) return
      await this.#mendHead(woken.state)
      if (woken.state.env.keys.length > 0) await services.envs.secrets.admit(woken.state.env.keys)
      // A thread that starts over on this host was not cut off by the death of one.
      const recovered = !this.#stuck.isRetrying(thread)
      if (!recovered) await this.#tellLast(woken.state)
      await this.#answerAgain(thread)
      if (this.leaving) return
      // As the definitions are now: they may have changed while it was read.
      const resident = new Resident(woken, this.#residentOptions, this.#lacks(woken.state))
      this.residents.set(thread, resident)
      resident.begin(recovered)
    } catch (thrown) {
      if (!this.leaving) this.#cannotGoOn(thread, toFailure(thrown, 'STORE_FAILED'))
    } finally {
      this.#waking.delete(thread)
    }
  }

  /** The commit that failed may have been applied, and nobody was told: watchers would wait for the next one. */
  async #tellLast(state: ThreadState): Promise<void> {
    const { backend } = this.#options
    const { id, seq, path } = state
    const [entry] = seq > 0 ? await backend.journal.read(id, { after: seq - 1, limit: 1 }) : []
    if (!entry) return
    const { position } = entry
    const { rest } = headOf(state)
    const records = decode(id, entry)
    tellThread(backend, state, () => ({ kind: 'committed', thread: id, path, position, rest, records }))
  }

  /**
   * The definitions have changed: a thread whose agent has come or gone starts over from its journal. Resolves when
   * all are awake.
   */
  async redefined(): Promise<void> {
    for (const resident of [...this.residents.values()]) {
      const { state, parked } = resident
      if ((this.#lacks(state) === undefined) === (parked === undefined)) resident.begin()
      else this.#startOver(resident)
    }
    await Promise.all(this.#waking.values())
  }

  #startOver(resident: Resident): void {
    this.#remove(resident)
    resident.stop()
    this.#stuck.startsOver(resident.id)
    this.deliver(resident.id)
  }

  /** Mail that is not there any more was finished by the commit that failed; any other is read again and answered. */
  async #answerAgain(thread: string): Promise<void> {
    const { backend } = this.#options
    const unanswered = this.#stuck.unanswered(thread)
    if (unanswered.length === 0) return
    const unread = new Set((await backend.mailbox.read(thread, 0)).map(({ number }) => number))
    for (const reply of unanswered) if (!unread.has(reply.number)) tellAnswer(this.#options, thread, reply)
    this.#stuck.noteAnswered(thread)
  }

  /** Why the thread cannot go on with the definitions that there are; one that has ended needs none. */
  #lacks(state: ThreadState): Failure | undefined {
    const { services, settings } = this.#options
    if (state.seq === 0 || hasEnded(state)) return undefined
    try {
      services.setupOf(state.agent)
      return undefined
    } catch (thrown) {
      if (this.#stuck.noteMissingAgent(state.id)) settings.warn(`thread ${state.id} is parked`, thrown)
      return toFailure(thrown, 'UNKNOWN_AGENT')
    }
  }

  async #mendHead(state: ThreadState): Promise<void> {
    if (!this.#headless.has(state.id) || state.seq === 0) return
    const result = await this.#options.backend.commit({
      thread: state.id,
      expected: state.seq,
      epoch: this.lease.epoch,
      head: headOf(state),
      sends: [],
      done: [],
    })
    if (!result.ok) throw headAhead(state, result.seq)
    this.#headless.delete(state.id)
  }

  /** Parks the thread if no retry can mend it; else it starts over from its journal, after a pause. */
  #cannotGoOn(thread: string, why: Failure): void {
    const { services, settings } = this.#options
    if (this.#stuck.park(thread, why)) {
      settings.warn(`thread ${thread} is parked`, fromFailure(why))
      return void this.#tellParked(thread, why)
    }
    settings.warn(`thread ${thread} starts over from its journal`, fromFailure(why))
    this.alarm(thread, services.clock.now() + this.#stuck.nextRetryMs(thread))
  }

  /** The mail of a parked thread is kept; its senders are told, and whoever waits for it. */
  async #tellParked(thread: string, why: Failure): Promise<void> {
    const { backend, settings } = this.#options
    const head = await backend.heads.get(thread).catch(() => undefined)
    const path = head?.path ?? [thread]
    this.#stuck.notePath(thread, path)
    tellParkedTree(backend, { path, why })
    try {
      for (const mail of await backend.mailbox.read(thread, 0)) tellParked(backend, { thread, mail, why })
    } catch (thrown) {
      settings.warn(`the mail of the parked thread ${thread} could not be read`, thrown)
    }
  }

  /** Tells again what is being said, and which threads of the tree are parked, for those who begin to wait. */
  speakAgain(root: string, only?: string): void {
    if (only !== undefined) this.residents.get(only)?.speakAgain()
    else for (const resident of this.residents.values()) if (resident.state.path[0] === root) resident.speakAgain()
    for (const parked of this.#stuck.parkedIn(root)) tellParkedTree(this.#options.backend, parked)
  }

  #rested(resident: Resident): void {
    this.#stuck.rested(resident.id)
    if (this.#checkEmpty) {
      this.letGo(resident)
      return this.#checkEmpty()
    }
    // It was not created, because its first command was refused; or it has ended, and nobody will ask it for more.
    if (resident.state.seq === 0 || hasEnded(resident.state)) return this.letGo(resident)
    this.#options.rested(this, resident)
  }

  /** A commit was refused or failed: the journal is read again. */
  #stopped(resident: Resident, why: Failure): void {
    this.#remove(resident)
    this.#stuck.noteUnanswered(resident.id, resident.outbox.unanswered)
    if (this.#checkEmpty) return this.#checkEmpty()
    if (!this.#ended) this.#cannotGoOn(resident.id, why)
  }

  /** A resting thread sleeps until it has mail or its time comes. */
  letGo(resident: Resident): void {
    const { id, wakeAt, woken } = resident
    this.#remove(resident)
    resident.stop()
    if (woken && (this.leaving || hasEnded(woken.state))) this.#options.leaves(woken)
    else if (woken) this.#options.retained.keep(woken)
    if (this.leaving) return
    if (wakeAt !== undefined) this.alarm(id, wakeAt)
  }

  #remove(resident: Resident): void {
    this.#options.notResting(resident)
    this.residents.delete(resident.id)
  }

  /**
   * The tree was removed: its residents end. A tree of the same id may have begun meanwhile, and its mail have come to
   * one that was to end: all but the root were at rest, so who is not has mail.
   */
  forget(root: string): void {
    for (const resident of [...this.residents.values()]) {
      const { id, state, resting } = resident
      if (state.path[0] !== root) continue
      this.#remove(resident)
      resident.stop()
      if (id === root || !resting) this.deliver(id)
    }
    this.#checkEmpty?.()
  }

  /** Wakes the thread at that time. */
  alarm(thread: string, at: number): void {
    this.#alarms.get(thread)?.()
    this.#alarms.set(
      thread,
      this.#options.services.clock.wakeAt(at, () => this.deliver(thread)),
    )
  }

  /** The lease is still ours when it resolves, unless it was lost meanwhile. */
  leave(graceMs: number): Promise<void> {
    return (this.#leaving ??= this.#letAllGo(graceMs))
  }

  async #letAllGo(graceMs: number): Promise<void> {
    if (this.#ended) return
    for (const cancel of this.#alarms.values()) cancel()
    await this.#drained(graceMs)
    await Promise.all(this.#waking.values())
    this.drop()
  }

  /** Resolves when every resident has come to rest, or after the grace. */
  #drained(graceMs: number): Promise<void> {
    const { clock } = this.#options.services
    return new Promise((resolve) => {
      const cancel = clock.wakeAt(clock.now() + graceMs, resolve)
      this.#checkEmpty = () => {
        if (this.residents.size > 0 && !this.#ended) return
        cancel()
        resolve()
      }
      for (const resident of [...this.residents.values()]) resident.drain()
      this.#checkEmpty()
    })
  }

  /** Ends at once. */
  drop(): void {
    this.#ended = true
    for (const cancel of this.#alarms.values()) cancel()
    for (const resident of this.residents.values()) {
      this.#options.notResting(resident)
      resident.stop()
    }
    this.residents.clear()
    this.#checkEmpty?.()
  }
}

function headAhead({ id, seq }: ThreadState, headSeq: number): SkeinError {
  const message =
    `the journal of thread ${id} ends at record ${seq}, its head is at ${headSeq}. The thread is parked; other ` +
    `threads go on. Restore it from a back-up.`
  return new SkeinError('JOURNAL_CORRUPT', message, { data: { thread: id, seq } })
}
