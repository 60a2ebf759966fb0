/**
 * A resident: one thread awake on this host. It owns the thread's state and live actor, commits what was
 * decided, and keeps the outstanding effects running. It is the only writer of its thread.
 *
 * TH1 State changes only by folding a record that is then committed; nothing is shown to anyone (answers, news,
 *     results) before its commit is durable.
 * TH2 A call with a side effect and a model call that follows an outcome (a later step, or a turn begun with the
 *     outcome that ended the one before) start only when every record so far is durable (T4); pure work may start
 *     before. But no body runs in a thread that does not exist yet for others.
 * - One commit at a time; what is decided meanwhile goes into the next one.
 * - Mail is finished by the commit that holds its records, in order of arrival.
 * TH5 After a refused or failed commit the resident is done for: it stops, and the journal is read again.
 * TH6 A thread whose agent is not defined here does nothing and wants nothing; it can be terminated and deleted, like
 *     any.
 */
import { obey } from '../../../actors/thread/decide/commands.js'
import type { Decision, DecisionContext } from '../../../actors/thread/decide/decision.js'
import { due } from '../../../actors/thread/decide/due.js'
import { land } from '../../../actors/thread/decide/landings.js'
import type { Landing } from '../../../actors/thread/decide/landings.js'
import { fold } from '../../../actors/thread/fold.js'
import { atRest, earliestWake, mayStart, outstanding } from '../../../actors/thread/outstanding.js'
import { moveActor } from '../../../actors/thread/position.js'
import type { Move, ThreadActor } from '../../../actors/thread/position.js'
import { hasEnded } from '../../../actors/thread/state.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { Commit, CommitResult, StoredMail } from '../../backend/port.js'
import { defined } from '../../core/defined.js'
import type { Answer } from '../../core/records/command.js'
import { callKey } from '../../core/effect.js'
import type { Effect } from '../../core/effect.js'
import type { DeltaEvent } from '../../core/records/event.js'
import { failure, toFailure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import type { CallBegan, Fact, ThreadRecord } from '../../core/records/record.js'
import { RunningCall } from '../effects/tool-call.js'
import { awaitDeadline, ModelCall } from '../effects/model-call.js'
import { headOf } from './head.js'
import { pack } from '../journal/journal.js'
import { MailReader } from './mail-reader.js'
import type { MailHandler } from './mail-reader.js'
import type { CommandResolution } from '../resolve/commands.js'
import { Outbox, tellAnswer } from './outbox.js'
import type { Batch } from './outbox.js'
import { tellTree } from '../watch/topics.js'
import type { MailFinishedSignal, TreeSignal } from '../watch/topics.js'
import { Reconciler } from './reconcile.js'
import { Recovery } from './recovery.js'
import type { RunningEffect, EffectRunner, EffectTicket } from './reconcile.js'
import { decisionContext, dueContext } from './decision-context.js'
import { awaitSchedule } from '../effects/timers.js'
import { refusalsOf, sendsOf } from './outgoing-mail.js'
import { freeze, SnapshotPace } from '../journal/snapshot.js'
import type { ResidentOptions } from './resident-options.js'
import { CallOrder } from './call-order.js'
import { UncommittedOutcomes } from './undurable.js'
import { ResidentEffect } from './wanted.js'
import { hydrate } from '../journal/wake.js'
import type { Woken } from '../journal/wake.js'

/**
 * What its mail, its reconciler and its effects ask of it are methods, not closures: a host may have thousands of
 * residents.
 */
export class Resident implements MailHandler, EffectRunner {
  readonly id: string
  readonly state: ThreadState
  readonly #actor: ThreadActor
  readonly #options: ResidentOptions
  readonly #move: Move
  readonly #reconciler
  readonly #turns
  #chain: string
  #durable: number
  /** The last record that gave an outcome to a call. */
  #lastOutcome = 0
  /** Intents that were recorded here and whose bodies have not started: any other intent may have happened (T10). */
  #begun: Map<string, CallBegan> | undefined
  readonly #undurable = new UncommittedOutcomes()
  readonly #pace: SnapshotPace
  #reconciled = -1
  readonly #outbox = new Outbox()
  readonly #mail
  #committing = false
  #stopped = false
  #draining = false
  #hydrating: Promise<void> | undefined
  readonly #lacks: Failure | undefined
  #recovery: Recovery | undefined

  /** `lacks`: why it cannot go on with the definitions that there are (TH6). */
  constructor(woken: Woken, options: ResidentOptions, lacks?: Failure) {
    const { state, chain } = woken
    this.id = state.id
    this.state = state
    this.#options = options
    this.#lacks = lacks
    this.#chain = chain
    this.#durable = state.seq
    this.#pace = new SnapshotPace(woken, options.snapshotEvery)
    const actor = options.actors.create(state.position)
    this.#actor = actor
    this.#move = (from, signal) => moveActor(actor, from, signal)
    this.#mail = new MailReader(options, this)
    this.#turns = new CallOrder(state)
    this.#reconciler = new Reconciler(this, options.maxParallelTools)
  }

  /** Starts whatever the state waits for, and reads the mail. `recovered`: another host had the thread before. */
  begin(recovered = false): void {
    if (recovered && this.state.slots.own > 0 && !this.parked) this.#recover()
    this.#recordDue()
    this.#reconcile()
    this.mailArrived()
  }

  #recover(): void {
    const { lastTries, maxParallelTools, warn } = this.#options
    this.#recovery = new Recovery({
      state: this.state,
      lastTries,
      maxParallelTools,
      warn,
      record: (fact) => this.#record(fact),
      land: (landing) => this.#decide(landing).forEach((fact) => this.#record(fact)),
      durable: () => this.#durable === this.state.seq,
    })
    this.#recovery.begin(outstanding(this.state))
  }

  /** Nothing runs, nothing is to be written, nothing is wanted until mail comes. */
  get resting(): boolean {
    return (
      (this.#draining || this.parked !== undefined || (atRest(this.state) && !this.#overdue && !this.#begun?.size)) &&
      this.#reconciler.running === 0 &&
      !this.#busy
    )
  }

  get running(): number {
    return this.#reconciler.running
  }

  /** TH6 */
  get parked(): Failure | undefined {
    return hasEnded(this.state) ? undefined : this.#lacks
  }

  /** Its deadline has come: let go now, it would only be woken again. */
  get #overdue(): boolean {
    const { wakeAt } = this
    return wakeAt !== undefined && wakeAt <= this.#options.means.clock.now()
  }

  get #busy(): boolean {
    return this.#committing || this.#mail.busy || this.#outbox.full
  }

  get wakeAt(): number | undefined {
    return this.parked ? undefined : earliestWake(this.state)
  }

  /** What the model and the calls have said so far, for watchers that come late. */
  sayAgain(): void {
    for (const event of this.#reconciler.soFar()) this.speak(() => event)
  }

  /** All of it, for whoever wakes it again; undefined while something of it is not durable. */
  get woken(): Woken | undefined {
    return this.#busy || this.#stopped || this.#durable !== this.state.seq
      ? undefined
      : { state: this.state, chain: this.#chain, ...this.#pace.tail }
  }

  mailArrived(): void {
    this.#mail.arrived()
  }

  get open(): boolean {
    return !this.#stopped && !this.#draining
  }

  obey(mail: StoredMail, ordered: CommandResolution): void {
    const decision =
      'refused' in ordered ? ordered : obey(this.state, { id: mail.id, command: ordered.order }, this.#moment())
    // What is numbered is known by its number.
    const numbered = 'order' in ordered && 'number' in ordered.order && ordered.order.number !== undefined
    if ('refused' in decision) this.#outbox.send(refusalsOf(this.state, mail, decision.refused))
    this.answer(mail, this.#obeyed(mail.id, decision, numbered))
  }

  answer(mail: StoredMail, answer: Answer): void {
    this.#outbox.answer(mail, answer)
    this.#options.dirty(this)
  }

  #obeyed(id: string, decision: Decision, numbered: boolean): Answer {
    if ('refused' in decision) return { ok: false, failure: decision.refused }
    this.#apply(decision.facts, numbered ? undefined : id)
    // Not what follows from it: a run is looked for from here on.
    const { seq = this.state.seq, run } = this.state.accepted.get(id) ?? {}
    return { ok: true, seq, ...(run && { run }) }
  }

  #moment(): DecisionContext {
    return decisionContext(this.#options, this.state)
  }

  #apply(facts: readonly Fact[], by?: string): void {
    if (facts.length === 0) return
    for (const fact of facts) this.#record(fact, by)
    this.#recordDue()
    this.#reconcile()
    this.#park()
  }

  #recordDue(): void {
    while (!this.parked) {
      const fact = due(this.state, dueContext(this.#options, this.state, this.open))
      if (!fact) return
      this.#record(fact)
    }
  }

  #record(fact: Fact, by?: string): void {
    const record: ThreadRecord = {
      seq: this.state.seq + 1,
      at: this.#options.means.clock.now(),
      ...defined({ by }),
      ...fact,
    }
    fold(this.state, record, this.#move)
    this.#options.means.quotas?.note(this.state, record)
    // The end of a turn answers the calls that it leaves open.
    if (record.type === 'call.returned' || record.type === 'call.settled' || record.type === 'turn.ended')
      this.#lastOutcome = record.seq
    if (record.type === 'call.began') (this.#begun ??= new Map()).set(callKey(record.step, record.index), record)
    if (record.type === 'turn.ended') this.#begun = undefined
    if (record.type === 'turn.ended') this.#recovery?.end()
    this.#outbox.record(record, sendsOf(this.state, record))
    this.#turns.advance()
    this.#options.dirty(this)
  }

  #reconcile(): void {
    if (this.parked) return
    if (this.state.effectsEpoch === this.#reconciled) return this.#reconciler.startReady()
    this.#reconciled = this.state.effectsEpoch
    this.#reconciler.reconcile(outstanding(this.state))
  }

  ready(effect: Effect): boolean {
    if (effect.kind === 'deadline' || effect.kind === 'schedule') return true
    if (!this.open || (!mayStart(this.state) && effect.kind !== 'removal')) return false
    if (effect.kind === 'removal') return this.#durable === this.state.seq
    if (effect.kind === 'call' && this.#durable === 0) return false
    if (effect.kind === 'call' && this.#recovery?.ready(effect, this.#reconciler.running) === false) return false
    const waits =
      effect.kind === 'model'
        ? (this.state.turn?.steps ?? 0) > 0 || this.#lastOutcome > this.#durable
        : this.state.slots.items[effect.index]?.call.sideEffect
    return !waits || this.#durable === this.state.seq // TH2
  }

  start(ticket: EffectTicket): RunningEffect {
    const { means } = this.#options
    const { effect } = ticket
    const wanting = new ResidentEffect(this, ticket)
    if (effect.kind === 'call')
      return new RunningCall(means, wanting, { recovered: !this.#begun?.delete(effect.key), ...effect })
    if (effect.kind === 'deadline') return awaitDeadline(means, wanting, effect)
    if (effect.kind === 'schedule') return awaitSchedule(means, wanting, effect)
    if (effect.kind === 'removal')
      return this.#options.remove({
        root: this.id,
        durable: () => (this.#busy ? undefined : this.#durable),
        failed: (thrown) => this.failed(thrown),
      })
    return new ModelCall(means, wanting, effect)
  }

  land(landing: Landing, key?: string): void {
    if (key !== undefined) this.#recovery?.over(key)
    this.#undurable.keep(this.state, landing)
    this.#apply(this.#decide(landing))
    this.done()
  }

  /** Resolves when the calls before this one of the step are settled. */
  turn(key: string, index: number): Promise<void> {
    if (this.#turns.hasCome(index)) return Promise.resolve()
    return new Promise((resolve) => {
      this.#turns.wait(index, () => this.#reconciler.goOn(key, resolve))
      this.#reconciler.rest(key)
      this.#recovery?.over(key)
      this.#park()
      if (this.#draining) this.#reconciler.abortWaiting('the host is closing')
    })
  }

  /** Calls that wait for their turn behind one that waits for someone do nothing more by themselves. */
  #park(): void {
    if (this.state.slots.held === 0) return
    const { step } = this.state
    const parked = this.#turns.waiting.flatMap((index) => this.#decide({ kind: 'parked', step, index }))
    for (const fact of parked) this.#record(fact)
    if (parked.length > 0) this.#reconcile()
  }

  #decide(landing: Landing): readonly Fact[] {
    const decision = land(this.state, landing, this.#moment())
    return 'refused' in decision ? [] : decision.facts
  }

  speak(make: () => DeltaEvent): void {
    if (!this.#stopped) this.#tell(() => ({ kind: 'spoken', after: this.state.seq, event: make() }))
  }

  #tell(make: () => TreeSignal | MailFinishedSignal): void {
    tellTree(this.#options.backend, this.state.path[0] ?? this.id, make)
  }

  /** Resolves when the whole transcript is in memory. */
  hydrated(): Promise<void> {
    return (this.#hydrating ??= this.#hydrate().finally(() => (this.#hydrating = undefined)))
  }

  /** What cannot be read ends the residence, not the turn: the history is still to be had from a back-up (TH5). */
  async #hydrate(): Promise<void> {
    try {
      await hydrate(this.#options.backend, this.state)
    } catch (thrown) {
      this.failed(thrown)
      throw thrown
    }
  }

  /** Commits what was decided since the last commit. */
  async flush(): Promise<void> {
    if (this.#committing || this.#stopped) return
    const batch = this.#outbox.take()
    const commit = this.#commit(batch)
    this.#committing = true
    try {
      const result = await this.#options.backend.commit(commit)
      this.#committing = false
      if (!result.ok)
        return this.stop(
          failure(
            'JOURNAL_CONFLICT',
            `thread ${this.id} was written by another owner (record ${result.seq}, epoch ${result.epoch})`,
            { retry: true },
          ),
        )
      this.#committed(batch, result, commit)
    } catch (thrown) {
      this.#committing = false
      this.failed(thrown)
    }
  }

  #commit({ records, sends, done }: Batch): Commit {
    return {
      thread: this.id,
      expected: this.#durable,
      epoch: this.#options.epoch,
      ...(records.length > 0 && { entry: pack(records, this.#chain) }),
      ...(this.state.seq > 0 && { head: headOf(this.state) }),
      sends,
      done,
    }
  }

  #committed(what: Batch, { position, finished }: Extract<CommitResult, { ok: true }>, { entry, head }: Commit): void {
    const last = what.records.at(-1)
    if (last) this.#durable = last.seq
    this.#undurable.committed(this.#durable)
    if (entry) {
      this.#chain = entry.hash
      this.#pace.went(entry)
    }
    this.#tell(() =>
      last
        ? {
            kind: 'committed',
            thread: this.id,
            path: this.state.path,
            position,
            rest: head?.rest === true,
            records: what.records,
          }
        : { kind: 'finished' },
    )
    // Whoever waits until the tree rests has seen the mail meanwhile. Where it cannot be told, the host is gone; the
    // next one tells.
    finished?.then(() => this.#tell(() => ({ kind: 'finished' }))).catch(() => undefined)
    for (const reply of what.replies) tellAnswer(this.#options, this.id, reply)
    for (const record of what.records) if (record.type === 'turn.ended') this.#options.turnEnded(this.state, record)
    if (this.#pace.due) this.#snapshot()
    if (this.#outbox.full) this.#options.dirty(this)
    this.#reconciler.startReady()
    this.done()
  }

  done(): void {
    if (!this.#stopped && this.resting) this.#options.rested(this)
  }

  /** A cache (J6): that it could not be written is no failure of the thread. */
  #snapshot(): void {
    if (this.#durable !== this.state.seq) return
    const { backend, warn } = this.#options
    const snapshot = freeze({ state: this.state, chain: this.#chain })
    this.#pace.took(snapshot)
    backend.snapshots
      .put(this.id, snapshot)
      .catch((thrown: unknown) => warn(`no snapshot of thread ${this.id}`, thrown))
  }

  /** Starts nothing more, ends model calls (they can be asked again), lets running calls land. */
  drain(): void {
    this.#draining = true
    for (const { step, index } of this.#begun?.values() ?? []) this.#record({ type: 'call.unbegun', step, index })
    this.#begun = undefined // RH1: what is cut off by closing is nobody's fault
    for (const { step, index } of this.#reconciler.calls)
      this.#record({ type: 'call.tried', step, index, tries: (this.state.slots.items[index]?.tries ?? 0) - 1 })
    this.#reconciler.abortAll('the host is closing', 'model')
    this.#reconciler.abortWaiting('the host is closing')
    this.done()
  }

  /** The store could not do what was asked of it (TH5). */
  failed(thrown: unknown): void {
    this.stop(toFailure(thrown, 'STORE_FAILED'))
  }

  /**
   * Ends the residence: what was not committed is forgotten, effects are aborted; but those on the world go on (OR1).
   */
  stop(why?: Failure): void {
    if (this.#stopped) return
    this.#stopped = true
    this.#recovery?.end()
    this.#reconciler.leaveAll('the thread left this host')
    this.#undurable.leave(this.#options.means.orphans)
    this.#options.actors.stop(this.#actor)
    if (why) this.#options.rested(this, why)
  }
}
