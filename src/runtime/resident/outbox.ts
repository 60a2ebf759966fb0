/**
 * The outbox of a resident: what was decided since its last commit, and the commit under way. Owns where the thread's
 * journal ends, and its snapshots.
 *
 * - One commit at a time; what is decided meanwhile goes into the next one.
 * - Mail that a thread of the same host took at once is in no mailbox: what it has decided is committed together with
 *   what sent it, all or nothing.
 * - A batch is committed whole: records, the mail that goes with them, the mail that they finish. Watchers, senders and
 *   the host are told of it afterwards, never before (TH1: nothing is shown before it is durable).
 * - Of a commit that failed nobody knows whether it was applied. Its answers are kept for the next residence: mail that
 *   is gone then was finished by it.
 */
import type { EndedTurn, ThreadState, Turn } from '../../../actors/thread/state.js'
import type { Backend, Commit, CommitResult, Placed, Send, StoredMail } from '../../backend/port.js'
import type { Answer } from '../../core/records/command.js'
import { failure, fromFailure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import { noItems, withItem } from '../../core/lists.js'
import type { ThreadRecord, TurnEnded } from '../../core/records/record.js'
import { pack } from '../journal/journal.js'
import type { Chain, PackedEntry } from '../journal/journal.js'
import { freeze, SnapshotPace } from '../journal/snapshot.js'
import type { Woken } from '../journal/wake.js'
import type { HostSettings, Services } from '../services.js'
import { turnResult } from '../watch/projection.js'
import { answerTopic, asSignal, tellThread, tellTree } from '../watch/topics.js'
import type { TurnResult } from '../watch/topics.js'
import { headOf } from './head.js'

export interface OutboxOptions {
  readonly backend: Backend
  readonly settings: HostSettings
  readonly services: Services
  /** Of the lease that the thread is written under. */
  readonly epoch: number
  /** Asks the host to commit it soon. */
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

/** Mail of a caller in this process that is in no mailbox yet. */
export interface HandedMail {
  /** What it led to is durable. */
  durable(): void
  /** Nobody knows whether it led to anything: it is put into the mailbox, and the thread knows its id if it did. */
  post(): void
}

/** Mail that a thread decides about. Its number is 0 where it is in no mailbox. */
export interface TakenMail extends StoredMail {
  readonly handed?: HandedMail
}

/** An answer, and the mail that it answers. */
export interface Reply {
  readonly command: string
  readonly number: number
  readonly answer: Answer
  readonly handed?: HandedMail | undefined
}

/** A turn as it was when it ended, and what the thread keeps of it. */
interface TurnEnd {
  /** Of the record that ended it. */
  readonly seq: number
  readonly turn: Turn
  readonly lastTurn: EndedTurn | undefined
}

interface Batch {
  readonly records: readonly ThreadRecord[]
  readonly ended: readonly TurnEnd[]
  readonly sends: readonly Send[]
  /** Numbers of mail to this thread that the batch finishes. */
  readonly done: readonly number[]
  readonly replies: readonly Reply[]
}

interface ThreadCommit extends Commit {
  readonly entry?: PackedEntry
}

/** A commit under way, as one outbox has it. */
export interface Part {
  readonly outbox: Outbox
  readonly batch: Batch
  readonly commit: ThreadCommit
}

/** A class: every resident has one, and closures of its own would cost it more. */
export class Outbox {
  readonly #state: ThreadState
  readonly #options: OutboxOptions
  readonly #owner: CommitOwner
  readonly #pace: SnapshotPace
  #records: ThreadRecord[] = noItems
  #sends: Send[] = noItems
  /** How many of `#sends` were offered to threads of this host, and not taken. */
  #offered = 0
  /** Its mail was offered for the next commit: what it takes now would come before what sent it. */
  #sealed = false
  #ended: TurnEnd[] = noItems
  #done: number[] = noItems
  #replies: Reply[] = noItems
  #unanswered: readonly Reply[] = noItems
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
    return this.#records.length > 0 || this.#replies.length > 0
  }

  /** Whether mail of another thread can be part of its next commit, behind what sends it. */
  get open(): boolean {
    return this.ready && !this.#sealed
  }

  /** Whether what is decided now can be part of the next commit of this host. */
  get ready(): boolean {
    return !this.#committing && !this.#closed
  }

  /** The state with what is needed to continue from it; undefined while some of it is not durable. */
  get woken(): Woken | undefined {
    return this.busy || this.#closed || !this.allDurable
      ? undefined
      : { state: this.#state, chain: this.#chain, ...this.#pace.tail }
  }

  record(record: ThreadRecord, sends: readonly Send[]): void {
    this.#records = withItem(this.#records, record)
    for (const send of sends) this.#sends = withItem(this.#sends, send)
    this.#options.flushSoon(this)
  }

  /** The last record ended a turn: whoever waits for it is told what it came to, and folds nothing. */
  ended(turn: Turn, lastTurn: EndedTurn | undefined): void {
    this.#ended = withItem(this.#ended, { seq: this.#state.seq, turn, lastTurn })
  }

  /** Answers mail, which is finished with that. `sends`: mail that goes out without a record. */
  answer({ id, number, handed }: TakenMail, answer: Answer, sends?: readonly Send[]): void {
    if (sends) for (const send of sends) this.#sends = withItem(this.#sends, send)
    if (number > 0) this.#done = withItem(this.#done, number)
    this.#replies = withItem(this.#replies, { command: id, number, answer, handed })
    this.#options.flushSoon(this)
  }

  /** The residence ends: what was not committed is forgotten. */
  close(): void {
    this.#closed = true
    postAgain(this.#replies)
  }

  /**
   * Offers the mail that is to go out to threads of this host, in order; mail to a thread that did not take earlier
   * mail is not offered to it. Gives the outboxes of those that took some.
   */
  handOver(take: (send: Send, from: string) => Outbox | undefined): readonly Outbox[] {
    this.#sealed = true
    if (!this.ready || this.#offered === this.#sends.length) return none
    let takers: Outbox[] = noItems
    const sends = this.#sends
    let rest: Send[] = this.#offered > 0 ? sends.slice(0, this.#offered) : noItems
    let behind: Set<string> | undefined
    for (let index = this.#offered; index < sends.length; index++) {
      const send = sends[index]
      if (!send) continue
      if (rest.length > 0) behind ??= new Set(rest.map(({ to }) => to))
      const taker = behind?.has(send.to) ? undefined : take(send, this.#state.id)
      if (taker) takers = withItem(takers, taker)
      else {
        rest = withItem(rest, send)
        behind?.add(send.to)
      }
    }
    this.#sends = rest
    this.#offered = rest.length
    return takers
  }

  /** Takes what was decided since the last commit, to be committed. Undefined: there is nothing, or it must wait. */
  begin(): Part | undefined {
    this.#sealed = false
    if (!this.ready || !this.#full) return undefined
    const batch = {
      records: this.#records,
      ended: this.#ended,
      sends: this.#sends,
      done: this.#done,
      replies: this.#replies,
    }
    this.#records = noItems
    this.#ended = noItems
    this.#sends = noItems
    this.#offered = 0
    this.#done = noItems
    this.#replies = noItems
    this.#committing = true
    return { outbox: this, batch, commit: this.#toCommit(batch) }
  }

  over(): void {
    this.#committing = false
  }

  refused({ batch }: Part, { seq, epoch }: Extract<CommitResult, { ok: false }>): void {
    postAgain(batch.replies)
    const { id } = this.#state
    const why = `thread ${id} or one that was written with it has another owner (record ${seq}, epoch ${epoch})`
    this.#owner.stop(failure('JOURNAL_CONFLICT', why, { retry: true }))
  }

  failed({ batch }: Part, thrown: unknown): void {
    postAgain(batch.replies)
    this.#unanswered = batch.replies.filter(({ number }) => number > 0)
    this.#owner.failed(thrown)
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

  committed(
    { batch, commit: { entry, head } }: Part,
    { position, follows, finished }: Placed & Pick<Extract<CommitResult, { ok: true }>, 'finished'>,
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
        follows,
        rest: head?.rest === true,
        records: batch.records,
        results: batch.ended.length > 0 ? batch.ended.map(toResult) : noItems,
      }))
    else this.#tellFinished()
    // Watchers that wait until the tree rests may have seen this mail before the store removed it: they look again. If
    // that fails, this host has lost the store, and the next one tells.
    finished?.then(() => this.#tellFinished()).catch(() => undefined)
    for (const reply of batch.replies) {
      tellAnswer(this.#options, this.#state.id, reply)
      reply.handed?.durable()
    }
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

const none: readonly Outbox[] = []

function toResult({ seq, turn, lastTurn }: TurnEnd): TurnResult {
  return { seq, run: turn.run, result: turnResult(turn, lastTurn) }
}

function postAgain(replies: readonly Reply[]): void {
  for (const { handed } of replies) handed?.post()
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
