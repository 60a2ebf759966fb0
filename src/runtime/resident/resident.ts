/**
 * A resident: one thread awake on this host, and its only writer. It owns the thread's state and live actor, decides
 * what follows from mail and outcomes, and records it; the outbox commits, the reconciler runs the effects.
 *
 * TH1 State changes only by folding a record that is then committed; nothing is shown to anyone (answers, news,
 *     results) before its commit is durable.
 * TH2 A call with a side effect and a model call that follows an outcome (a later step, or a turn begun with the
 *     outcome that ended the one before) start only when every record so far is durable (T4); pure work may start
 *     before. But no body runs in a thread that does not exist yet for others.
 * - Mail is finished by the commit that holds its records, in order of arrival.
 * TH5 After a refused or failed commit the resident stops, and the thread is woken again from its journal.
 * TH6 A thread whose agent is not defined here does nothing and wants nothing; it can be terminated and deleted, like
 *     any.
 */
import { obey } from '../../../actors/thread/decide/commands.js'
import type { Decision, DecisionContext } from '../../../actors/thread/decide/decision.js'
import { due } from '../../../actors/thread/decide/due.js'
import { land } from '../../../actors/thread/decide/landings.js'
import type { Landing } from '../../../actors/thread/decide/landings.js'
import { fold } from '../../../actors/thread/fold.js'
import { atRest, earliestWake, outstanding } from '../../../actors/thread/outstanding.js'
import { moveActor } from '../../../actors/thread/live-thread.js'
import type { ThreadActor, ThreadActors } from '../../../actors/thread/live-thread.js'
import type { Move } from '../../../actors/thread/position.js'
import { hasEnded } from '../../../actors/thread/state.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import { defined } from '../../core/defined.js'
import { callKey } from '../../core/effect.js'
import type { Answer, Command } from '../../core/records/command.js'
import { toFailure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import type { Fact, ThreadRecord } from '../../core/records/record.js'
import { forgetSummarised, hydrate } from '../journal/wake.js'
import type { Woken } from '../journal/wake.js'
import type { CommandResolution } from '../resolve/hooked-mail.js'
import type { ObservedThread } from '../services.js'
import { CallLedger } from './call-ledger.js'
import { decisionContext, dueContext } from './decision-context.js'
import { EffectStarter } from './effect-starter.js'
import type { EffectStarterOptions, StarterThread } from './effect-starter.js'
import { MailReader } from './mail-reader.js'
import type { MailHandler } from './mail-reader.js'
import { Outbox } from './outbox.js'
import type { CommitOwner, OutboxOptions, TakenMail } from './outbox.js'
import { refusalsOf, sendsOf } from './outgoing-mail.js'
import { Reconciler } from './reconcile.js'
import type { EffectThread } from './reconcile.js'

/** Shared by all residents of a partition. */
export interface ResidentOptions extends OutboxOptions, EffectStarterOptions {
  readonly actors: ThreadActors
  /** The thread came to rest. */
  readonly rested: (resident: Resident) => void
  /** The thread was stopped by a failure (TH5: it is woken again from its journal). */
  readonly stopped: (resident: Resident, why: Failure) => void
}

/** Implements what its parts ask of it as methods, not closures: a host may have thousands of residents. */
export class Resident implements MailHandler, CommitOwner, EffectThread, StarterThread {
  readonly id: string
  readonly state: ThreadState
  readonly outbox: Outbox
  readonly ledger = new CallLedger()
  readonly #options: ResidentOptions
  readonly #actor: ThreadActor
  readonly #mail: MailReader
  readonly #starter: EffectStarter
  readonly #reconciler: Reconciler
  readonly #observed: ObservedThread | undefined
  /** Why it cannot go on with the definitions that there are (TH6: it does nothing). */
  readonly #lacks: Failure | undefined
  /** The `effectsEpoch` of the state when it was last reconciled. */
  #reconciled = -1
  #stopped = false
  #draining = false
  #hydrating: Promise<void> | undefined

  constructor(woken: Woken, options: ResidentOptions, lacks?: Failure) {
    const { state } = woken
    this.id = state.id
    this.state = state
    this.#options = options
    this.#lacks = lacks
    this.#actor = options.actors.create(state.position)
    this.#observed = options.services.observing?.of(state)
    this.outbox = new Outbox(woken, options, this)
    this.#mail = new MailReader(options, this)
    this.#starter = new EffectStarter(options, this)
    this.#reconciler = new Reconciler(this, {
      backend: options.backend,
      runner: this.#starter,
      maxParallelTools: options.settings.maxParallelTools,
    })
  }

  /**
   * Starts the outstanding effects and reads the mail. `recovered`: calls may have been under way when another host
   * died.
   */
  begin(recovered = false): void {
    if (recovered && this.state.slots.own > 0 && !this.parked)
      this.#starter.recover({
        record: (fact) => this.#record(fact),
        land: (landing) => this.#recordAll(this.#decide(landing)),
      })
    this.#recordDue()
    this.#reconcile()
    this.mailArrived()
  }

  /** No effect runs, nothing is to be committed, and nothing happens before mail comes or a deadline passes. */
  get resting(): boolean {
    return this.#inactive && this.#reconciler.running === 0 && !this.#busy
  }

  get #inactive(): boolean {
    return (
      this.#draining || this.parked !== undefined || (atRest(this.state) && !this.#overdue && !this.ledger.hasIntents)
    )
  }

  /** Model and tool calls that are under way. */
  get running(): number {
    return this.#reconciler.running
  }

  /** TH6: why it does nothing. A thread that has ended needs no definition. */
  get parked(): Failure | undefined {
    return hasEnded(this.state) ? undefined : this.#lacks
  }

  /** A deadline has passed: if it were let go now, it would only be woken again. */
  get #overdue(): boolean {
    const { wakeAt } = this
    return wakeAt !== undefined && wakeAt <= this.#options.services.clock.now()
  }

  get #busy(): boolean {
    return this.#mail.busy || this.outbox.busy
  }

  get wakeAt(): number | undefined {
    return this.parked ? undefined : earliestWake(this.state)
  }

  /** Tells again what the model and the calls have said so far, for watchers that come late. */
  speakAgain(): void {
    this.#reconciler.speakAgain()
  }

  /** The state to continue from when it is woken again; undefined while some of it is not durable. */
  get woken(): Woken | undefined {
    return this.#mail.busy ? undefined : this.outbox.woken
  }

  mailArrived(): void {
    this.#mail.arrived()
  }

  /**
   * Decides about mail that is in no mailbox, if it is its turn and nothing stands in the way. TH2: what another thread
   * has sent is an outcome of that thread, and is durable together with what follows from it here.
   */
  take(mail: TakenMail, command: Command): boolean {
    if (!this.open || !this.outbox.open || !this.#mail.mayTake(command)) return false
    if (!mail.handed) this.ledger.noteMail(this.state.seq + 1)
    this.#mail.take(mail, command)
    if (this.ledger.lastOutcome > this.state.seq) this.ledger.noteMail(this.state.seq)
    return true
  }

  get open(): boolean {
    return !this.#stopped && !this.#draining
  }

  obey(mail: TakenMail, resolution: CommandResolution): void {
    if ('refused' in resolution) return this.#refuse(mail, resolution.refused)
    const { resolved } = resolution
    const decision: Decision = obey(this.state, { id: mail.id, command: resolved }, this.#moment())
    if ('refused' in decision) return this.#refuse(mail, decision.refused)
    // Numbered mail is known by its number, other mail by its id.
    const numbered = 'number' in resolved && resolved.number !== undefined
    this.#apply(decision.facts, numbered ? undefined : mail.id)
    // The record of the command, not the last that followed from it: a run is looked for from here on.
    const { seq = this.state.seq, run } = this.state.accepted.get(mail.id) ?? {}
    const { turn } = this.state
    const began = run !== mail.id && turn?.run === run ? turn?.startedSeq : 0
    this.answer(mail, { ok: true, seq, ...(run && { run }), ...(began && { began }) })
  }

  #refuse(mail: TakenMail, why: Failure): void {
    this.outbox.answer(mail, { ok: false, failure: why }, refusalsOf(this.state, mail, why))
  }

  answer(mail: TakenMail, answer: Answer): void {
    this.outbox.answer(mail, answer)
  }

  #moment(): DecisionContext {
    return decisionContext(this.#options, this.state)
  }

  #apply(facts: readonly Fact[], by?: string): void {
    if (facts.length === 0) return
    this.#recordAll(facts, by)
    this.#recordDue()
    this.#reconcile()
    this.#recordBlockedCalls()
  }

  #recordDue(): void {
    while (!this.parked) {
      const fact = due(this.state, dueContext(this.#options, this.state, this.open))
      if (!fact) return
      this.#record(fact)
    }
  }

  #recordAll(facts: readonly Fact[], by?: string): void {
    for (const fact of facts) this.#record(fact, by)
  }

  /** TH1: the one place where the state changes. */
  #record(fact: Fact, by?: string): void {
    const { services } = this.#options
    const record: ThreadRecord = { seq: this.state.seq + 1, at: services.clock.now(), ...defined({ by }), ...fact }
    // Made for the record, not kept: a host may have thousands of residents.
    const move: Move = (from, signal) => moveActor(this.#actor, from, signal)
    const { turn } = this.state
    if (this.#observed) this.#observed.fold(record, () => fold(this.state, record, move))
    else fold(this.state, record, move)
    services.quotas?.note(this.state, record)
    this.ledger.note(record)
    // Whoever told the outcome: the body here, or a receipt of the host that had the call before.
    if (record.type === 'call.returned') this.#starter.callEnded(callKey(record.step, record.index))
    if (record.type === 'turn.ended') this.#starter.endRecovery()
    if (record.type === 'context.reduced') forgetSummarised(this.state)
    this.outbox.record(record, sendsOf(this.state, record))
    if (turn && this.state.turn !== turn) this.outbox.ended(turn, this.state.lastTurn)
    this.#reconciler.advance()
  }

  #reconcile(): void {
    if (this.parked) return
    if (this.state.effectsEpoch === this.#reconciled) return this.#reconciler.startReady()
    this.#reconciled = this.state.effectsEpoch
    this.#reconciler.reconcile(outstanding(this.state))
  }

  /** The outcome of an effect; `key`: of that effect. */
  land(landing: Landing, key: string): void {
    this.#starter.callEnded(key)
    this.ledger.keepOutcome(this.state, landing)
    this.#apply(this.#decide(landing))
    this.done()
  }

  #decide(landing: Landing): readonly Fact[] {
    const decision = land(this.state, landing, this.#moment())
    return 'refused' in decision ? [] : decision.facts
  }

  callWaits(key: string): void {
    this.#starter.callEnded(key)
    this.#recordBlockedCalls()
    if (this.#draining) this.#reconciler.abortWaiting('the host is closing')
  }

  /**
   * Records of calls whose bodies wait for their turn behind a call that waits for a person that they are blocked too:
   * the thread may then have nothing left to do by itself.
   */
  #recordBlockedCalls(): void {
    if (this.state.slots.held === 0) return
    const { step } = this.state
    const blocked = this.#reconciler.waitingCalls.flatMap((index) => this.#decide({ kind: 'parked', step, index }))
    this.#recordAll(blocked)
    if (blocked.length > 0) this.#reconcile()
  }

  hydrated(): Promise<void> {
    return (this.#hydrating ??= this.#hydrate().finally(() => (this.#hydrating = undefined)))
  }

  /** A history that cannot be read ends the residence, not the turn: it may still be had from a back-up. */
  async #hydrate(): Promise<void> {
    try {
      await hydrate(this.#options.backend, this.state)
    } catch (thrown) {
      this.failed(thrown)
      throw thrown
    }
  }

  committed(durable: number): void {
    this.ledger.committed(durable)
    this.#observed?.committed(durable)
    this.#reconciler.startReady()
    this.done()
  }

  idleAt(): number | undefined {
    return this.#busy ? undefined : this.outbox.durable
  }

  /** Something has ended: tells the host if nothing is left to do. */
  done(): void {
    if (!this.#stopped && this.resting) this.#options.rested(this)
  }

  /** The host closes: starts nothing more, ends model calls and hooks (to be asked again), lets calls land. */
  drain(): void {
    this.#draining = true
    // RH1: a host that closes in good order is not counted as one that a call has killed.
    for (const { step, index } of this.ledger.takeIntents()) this.#record({ type: 'call.unbegun', step, index })
    for (const { step, index } of this.#reconciler.calls)
      this.#record({ type: 'call.tried', step, index, tries: (this.state.slots.items[index]?.tries ?? 0) - 1 })
    this.#reconciler.abortAll('the host is closing', 'model')
    this.#reconciler.abortAll('the host is closing', 'hook')
    this.#reconciler.abortAll('the host is closing', 'context')
    this.#reconciler.abortWaiting('the host is closing')
    this.done()
  }

  /** The store has failed (TH5: the thread starts over). */
  failed(thrown: unknown): void {
    this.stop(toFailure(thrown, 'STORE_FAILED'))
  }

  /**
   * Ends the residence: what was not committed is forgotten, effects are aborted, but those on the world continue (OR1:
   * their outcomes go to its next owner).
   */
  stop(why?: Failure): void {
    if (this.#stopped) return
    this.#stopped = true
    this.outbox.close()
    this.#starter.endRecovery()
    this.#reconciler.leaveAll('the thread left this host')
    this.ledger.leave(this.#options.services.orphans)
    this.#options.actors.stop(this.#actor)
    if (why) this.#options.stopped(this, why)
  }
}
