/**
 * The outbox of a resident: what was decided since its last commit, and the commit under way. Owns where the thread's
 * journal ends, and its snapshots.
 *
 * - One commit at a time; what is decided meanwhile goes into the next one.
 * - A batch is committed whole: records, the mail that goes with them, the mail that they finish. Watchers, senders and
 *   the host are told of it afterwards, never before (TH1: nothing is shown before it is durable).
 * - Of a commit that failed nobody knows whether it was applied. Its answers are kept for the next residence: mail that
 *   is gone then was finished by it.
 */
import type { ThreadState } from '../../../actors/thread/state.js'
import type { Backend, Commit, CommitResult, Send, StoredMail } from '../../backend/port.js'
import type { Answer } from '../../core/records/command.js'
import { failure, fromFailure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import type { ThreadRecord, TurnEnded } from '../../core/records/record.js'
import { pack } from '../journal/journal.js'
import type { Chain, PackedEntry } from '../journal/journal.js'
import { freeze, SnapshotPace } from '../journal/snapshot.js'
import type { Woken } from '../journal/wake.js'
import type { HostSettings, Services } from '../services.js'
import { answerTopic, asSignal, tellThread, tellTree } from '../watch/topics.js'
import { headOf } from './head.js'

export interface OutboxOptions {
  readonly backend: Backend
  readonly settings: HostSettings
  readonly services: Services
  /** Of the lease that the thread is written under. */
  readonly epoch: number
  /** Asks the host to call `flush` at the end of this turn of the event loop. */
  readonly flushSoon: (outbox: Outbox) => void
  /** A turn of the thread has ended, durably. */
  readonly turnEnded: (state: ThreadState, ended: TurnEnded) => void
}

/** The thread whose outbox it is. */
export interface CommitOwner {
  /** `durable`: the last record in the journal. */
  committed(durable: number): void
  /** The commit was refused. */
  stop(why: Failure): void
  failed(thrown: unknown): void
}

/** An answer, and the mail that it answers. */
export interface Reply {
  readonly command: string
  readonly number: number
  readonly answer: Answer
}

interface Batch {
  readonly records: readonly ThreadRecord[]
  readonly sends: readonly Send[]
  /** Numbers of mail to this thread that the batch finishes. */
  readonly done: readonly number[]
  readonly replies: readonly Reply[]
}

interface ThreadCommit extends Commit {
  readonly entry?: PackedEntry
}

/** A class: every resident has one, and closures of its own would cost it more. */
export class Outbox {
  readonly #state: ThreadState
  readonly #options: OutboxOptions
  readonly #owner: CommitOwner
  readonly #pace: SnapshotPace
  #records: ThreadRecord[] = []
  #sends: Send[] = []
  #done: number[] = []
  #replies: Reply[] = []
  #unanswered: readonly Reply[] = []
  /** The journal's last entry, or its hash. */
  #chain: Chain
  #durable: number
  #committing = false
  #closed = false

  constructor(woken: Woken, options: OutboxOptions, owner: CommitOwner) {
    this.#state = woken.state
    this.#options = options
    this.#owner = owner
    this.#chain = woken.chain
    this.#durable = woken.state.seq
    this.#pace = new SnapshotPace(woken, options.settings.snapshotEvery)
  }

  /** The last record in the journal. */
  get durable(): number {
    return this.#durable
  }

  /** Whether the journal holds every record so far. */
  get allDurable(): boolean {
    return this.#durable === this.#state.seq
  }

  /** A commit is under way, or there is something to commit. */
  get busy(): boolean {
    return this.#committing || this.#full
  }

  /** The answers of a commit that failed. */
  get unanswered(): readonly Reply[] {
    return this.#unanswered
  }

  get #full(): boolean {
    return this.#records.length > 0 || this.#done.length > 0
  }

  /** The state with what is needed to continue from it; undefined while some of it is not durable. */
  get woken(): Woken | undefined {
    return this.busy || this.#closed || !this.allDurable
      ? undefined
      : { state: this.#state, chain: this.#chain, ...this.#pace.tail }
  }

  record(record: ThreadRecord, sends: readonly Send[]): void {
    this.#records.push(record)
    for (const send of sends) this.#sends.push(send)
    this.#options.flushSoon(this)
  }

  /** Answers mail, which is finished with that. `sends`: mail that goes out without a record. */
  answer({ id, number }: StoredMail, answer: Answer, sends?: readonly Send[]): void {
    if (sends) for (const send of sends) this.#sends.push(send)
    this.#done.push(number)
    this.#replies.push({ command: id, number, answer })
    this.#options.flushSoon(this)
  }

  /** The residence ends: what was not committed is forgotten. */
  close(): void {
    this.#closed = true
  }

  /** Commits what was decided since the last commit. */
  async flush(): Promise<void> {
    if (this.#committing || this.#closed) return
    const batch = this.#take()
    const commit = this.#toCommit(batch)
    this.#committing = true
    const { observing, clock } = this.#options.services
    const since = observing && clock.now()
    try {
      const result = await this.#options.backend.commit(commit)
      this.#committing = false
      if (since !== undefined && result.ok) observing?.committed(clock.now() - since, batch.records.length)
      if (result.ok) this.#committed(batch, result, commit)
      else
        this.#owner.stop(
          failure(
            'JOURNAL_CONFLICT',
            `thread ${this.#state.id} was written by another owner (record ${result.seq}, epoch ${result.epoch})`,
            { retry: true },
          ),
        )
    } catch (thrown) {
      this.#committing = false
      this.#unanswered = batch.replies
      this.#owner.failed(thrown)
    }
  }

  #take(): Batch {
    const batch = { records: this.#records, sends: this.#sends, done: this.#done, replies: this.#replies }
    this.#records = []
    this.#sends = []
    this.#done = []
    this.#replies = []
    return batch
  }

  #toCommit({ records, sends, done }: Batch): ThreadCommit {
    return {
      thread: this.#state.id,
      expected: this.#durable,
      epoch: this.#options.epoch,
      ...(records.length > 0 && { entry: pack(records, this.#chain) }),
      ...(this.#state.seq > 0 && { head: headOf(this.#state) }),
      sends,
      done,
    }
  }

  #committed(
    batch: Batch,
    { position, finished }: Extract<CommitResult, { ok: true }>,
    { entry, head }: ThreadCommit,
  ): void {
    const last = batch.records.at(-1)
    if (last) this.#durable = last.seq
    if (entry) {
      // Where the store has made it, the hash is enough: no thread that is awake keeps the text of its last commit.
      this.#chain = entry.isMade ? entry.hash : entry
      this.#pace.appended(entry)
      if (entry.first === 1) this.#pace.based(this.#state.lineage.before)
    }
    if (last)
      tellThread(this.#options.backend, this.#state, () => ({
        kind: 'committed',
        thread: this.#state.id,
        path: this.#state.path,
        position,
        rest: head?.rest === true,
        records: batch.records,
      }))
    else this.#tellFinished()
    // Watchers that wait until the tree rests may have seen this mail before the store removed it: they look again. If
    // that fails, this host has lost the store, and the next one tells.
    finished?.then(() => this.#tellFinished()).catch(() => undefined)
    for (const reply of batch.replies) tellAnswer(this.#options, this.#state.id, reply)
    for (const record of batch.records) if (record.type === 'turn.ended') this.#options.turnEnded(this.#state, record)
    if (this.#pace.due) this.#snapshot()
    if (this.#full) this.#options.flushSoon(this)
    this.#owner.committed(this.#durable)
  }

  #tellFinished(): void {
    tellTree(this.#options.backend, this.#state.path[0] ?? this.#state.id, () => ({ kind: 'finished' }))
  }

  /** A cache (J6): that it could not be written is no failure of the thread. */
  #snapshot(): void {
    if (!this.allDurable) return
    const { backend, settings } = this.#options
    const { id } = this.#state
    const snapshot = freeze({ state: this.#state, chain: this.#chain })
    this.#pace.took(snapshot)
    backend.snapshots.put(id, snapshot).catch((thrown: unknown) => settings.warn(`no snapshot of thread ${id}`, thrown))
  }
}

/** A refusal that no sender waits for (its mail was stored while there was no host) becomes a warning. */
export function tellAnswer(
  { backend, settings }: Pick<OutboxOptions, 'backend' | 'settings'>,
  thread: string,
  { command, answer }: Reply,
): void {
  const unheard = answer.ok
    ? undefined
    : (): void => settings.warn(`thread ${thread} refused a command that was kept for it`, fromFailure(answer.failure))
  backend.signals.publish(answerTopic(thread, command), asSignal(answer), unheard)
}
