/**
 * The one write: a commit is one message on its thread's subject; then its mail goes out, and the mail that it finishes
 * is removed. Owns what is known of the last message of each thread.
 *
 * NC1 The message is written only where the thread's last one is the one that the writer has folded, and only by an
 *     epoch that is not older (J2). An expired lease writes nothing and retries nothing; and whoever learns that a
 *     commit was written knows whether the lease is still held.
 * NC2 Commits of one thread are written one after another; the next one only when the mail of the one before is out.
 *     So only the last message of a thread can have unsent mail.
 * NC3 The next message of a thread says that this mail is out. Where none comes, one without records is written to say
 *     so, so that a new owner sends again only what may not have been sent.
 */
import type { Commit, CommitResult, Head, Removal, RemovalResult } from '../../port.js'
import { checkCommit } from '../../checks.js'
import { eraseTree } from './erase-tree.js'
import type { Presence } from '../membership/presence.js'
import { after, sleep } from '../connection/timers.js'
import { SerialQueues } from '../../../core/async/serial.js'
import type { NatsContext } from '../context.js'
import type { NatsMailbox } from './mailbox.js'
import { partitionOf } from '../subjects.js'
import { publish } from '../connection/publish.js'
import type { StreamMessage } from '../connection/read.js'
import { noteHeader, noteOfCommit, packCommit, serializeMail, tailOfCommit } from './commit-message.js'
import type { SerializedCommit, SerializedMail } from './commit-message.js'
import { knownFrom, readLeftBehind } from './left-behind.js'
import type { KnownThread, LeftBehind } from './left-behind.js'

/** A thread that has no message yet. */
const unwritten: KnownThread = { last: 0, seq: 0, epoch: 0, born: 0, root: '', snapshot: false }

/** A message whose mail is out, while no later message says so yet (NC3). */
interface Unmarked {
  readonly head: Head
  readonly last: number
  /** Of the lease under which it will be said: it may be a later one than the message's. */
  readonly epoch: number
}

const noMail: readonly SerializedMail[] = []

const knownThreads = 20_000
/** A journal of so many records is read as quickly as a snapshot. */
const shortJournal = 32
const markAfterMs = 300
const retryMs = 200
const pollMs = 50

export class Commits {
  readonly #context: NatsContext
  readonly #mailbox: NatsMailbox
  /** Absent for a client, which writes nothing. */
  readonly #presence: Presence | undefined
  readonly #known = new Map<string, KnownThread>()
  readonly #queues = new SerialQueues()
  readonly #unmarked = new Map<string, Unmarked>()
  /** Threads of which a snapshot was taken here, until a message says so. */
  readonly #snapshots = new Set<string>()
  #cancelMarking: (() => void) | undefined
  /** The last one that was written here, for commits that write none. */
  #position = 0

  constructor(context: NatsContext, mailbox: NatsMailbox, presence: Presence | undefined) {
    this.#context = context
    this.#mailbox = mailbox
    this.#presence = presence
  }

  async commit(commit: Commit): Promise<CommitResult> {
    checkCommit(commit)
    // No spread: this runs with every commit.
    const { thread, expected, epoch, entry, head, sends, done } = commit
    const mails = sends.length > 0 ? sends.map(serializeMail) : noMail
    const serialized: SerializedCommit = { thread, expected, epoch, entry, sends: mails }
    return this.#queues.run(thread, () => this.#write(serialized, head, done))
  }

  async #write(commit: SerializedCommit, head: Head | undefined, done: readonly number[]): Promise<CommitResult> {
    const { thread, expected, epoch, sends } = commit
    if (this.#presence?.hasExpired(this.#partition(thread), epoch)) return this.#refused(thread)
    const known = this.#recall(commit) ?? (await this.#look(thread))
    if (known.seq !== expected || epoch < known.epoch) return this.#refused(thread)
    const position = head ? await this.#append(commit, head, known) : this.#position
    if (position === undefined) return this.#refused(thread)
    this.#position = Math.max(this.#position, position)
    if (sends.length > 0) await this.#send(commit, head && { head, last: position, epoch })
    if (done.length === 0) return { ok: true, position }
    const { finished } = await this.#mailbox.finish(thread, done)
    return finished ? { ok: true, position, finished } : { ok: true, position }
  }

  /** What is known without asking the server; undefined: it must be asked. */
  #recall({ thread, expected, entry }: SerializedCommit): KnownThread | undefined {
    const known = this.#known.get(thread)
    // A thread that begins is not looked for: the server compares anyway.
    if (!known) return expected === 0 && entry ? unwritten : undefined
    // Otherwise it may be of a thread that was removed since.
    return known.seq === expected ? known : undefined
  }

  /** The message's sequence; undefined when it was refused. */
  async #append(commit: SerializedCommit, head: Head, known: KnownThread): Promise<number | undefined> {
    const { connection, reader, subjects, spill, blobs } = this.#context
    const { thread, expected, epoch, entry } = commit
    const snapshot = known.snapshot || this.#snapshots.has(thread)
    const { header, payload } = packCommit({ commit, head, born: known.born, snapshot })
    const putsUnderWay = blobs.settled()
    if (putsUnderWay) await putsUnderWay // whoever sees the commit sees the blobs that were put before it
    const root = known.root || head.root
    this.#known.delete(thread) // until the outcome is known
    this.#unmarked.delete(thread)
    const spilling = spill(payload, header.length * 2)
    const spilled = spilling instanceof Promise ? await spilling : spilling
    const partition = this.#partition(thread)
    const last = await publish(connection, reader, {
      stream: subjects.streams.log,
      subject: subjects.log(partition, root, thread),
      payload: spilled.payload,
      headers: { [noteHeader]: header, ...spilled.headers },
      expected: known.last,
      mayWrite: () => !this.#presence?.hasExpired(partition, epoch),
    })
    this.#presence?.expireIfDead() // NC1: aborts the lease before anyone learns of the commit
    if (last === undefined) return undefined
    const seq = expected + (entry?.count ?? 0)
    this.#remember(thread, { last, seq, epoch, born: known.born || last, root, snapshot })
    if (snapshot) this.#snapshots.delete(thread)
    return last
  }

  /** Mail that cannot be sent now is sent before anything else of this thread is written (NC2). */
  async #send({ thread, epoch, sends }: SerializedCommit, unmarked: Unmarked | undefined): Promise<void> {
    try {
      await this.#mailbox.post(sends)
      if (unmarked) this.#markSoon(thread, unmarked)
    } catch {
      void this.#queues.run(thread, () => this.#sendAgain({ thread, epoch, sends }, unmarked))
    }
  }

  async #sendAgain(
    { thread, epoch, sends }: Pick<SerializedCommit, 'thread' | 'epoch' | 'sends'>,
    unmarked: Unmarked | undefined,
  ): Promise<void> {
    while (this.#open && !this.#isExpired(thread, epoch)) {
      try {
        await this.#mailbox.post(sends)
        if (unmarked) this.#markSoon(thread, unmarked)
        return
      } catch {
        await sleep(retryMs)
      }
    }
    // The next owner of the thread finds the mail in the journal.
  }

  #isExpired(thread: string, epoch: number): boolean {
    return this.#presence?.isExpired(this.#partition(thread), epoch) ?? false
  }

  get #open(): boolean {
    try {
      this.#context.assertOpen()
      return true
    } catch {
      return false
    }
  }

  async #refused(thread: string): Promise<CommitResult> {
    this.#known.delete(thread)
    const known = await this.#look(thread)
    return { ok: false, seq: known.seq, epoch: known.epoch }
  }

  async #look(thread: string): Promise<KnownThread> {
    const message = await this.#last(thread)
    const known = message ? knownFrom(message) : unwritten
    if (message || this.#presence?.mayWrite(this.#partition(thread))) this.#remember(thread, known)
    return known
  }

  async #last(thread: string): Promise<StreamMessage | undefined> {
    const { reader, subjects } = this.#context
    const message = await reader.last(subjects.streams.log, subjects.logOf(this.#partition(thread), thread))
    if (!message || !noteOfCommit(message).removed) return message
    await this.#finishRemoval(thread)
    return undefined
  }

  #remember(thread: string, known: KnownThread): void {
    if (this.#known.size >= knownThreads) {
      const oldest = this.#known.keys().next()
      if (!oldest.done) this.#known.delete(oldest.value)
    }
    this.#known.set(thread, known)
  }

  #partition(thread: string): number {
    return partitionOf(thread, this.#context.partitions)
  }

  /** NC3: says so unless the next commit of the thread comes soon. */
  #markSoon(thread: string, unmarked: Unmarked): void {
    this.#unmarked.set(thread, unmarked)
    this.#cancelMarking ??= after(markAfterMs, () => {
      this.#cancelMarking = undefined
      void this.mark()
    })
  }

  /** Says of the threads (of a partition) whose mail is out that it is (NC3). */
  async mark(partition?: number): Promise<void> {
    const all = [...this.#unmarked].filter(
      ([thread]) => partition === undefined || this.#partition(thread) === partition,
    )
    await Promise.allSettled(
      all.map(([thread, unmarked]) => this.#queues.run(thread, () => this.#mark(thread, unmarked))),
    )
  }

  /** Retried until it is written, or until the thread has another owner. */
  async #mark(thread: string, unmarked: Unmarked): Promise<void> {
    const { head, last, epoch } = unmarked
    if (this.#unmarked.get(thread) !== unmarked) return
    this.#unmarked.delete(thread)
    try {
      const known = this.#known.get(thread) ?? (await this.#look(thread))
      if (known.last === last) await this.#append({ thread, expected: known.seq, epoch, sends: [] }, head, known)
    } catch {
      if (this.#open && !this.#isExpired(thread, epoch)) this.#markSoon(thread, unmarked)
    }
  }

  /** Resolves when nothing of the partition is under way, and its mail is known to be out. */
  async settle(partition: number): Promise<void> {
    await this.#queues.settledOf((thread) => this.#partition(thread) === partition)
    await this.mark(partition)
  }

  /** The last message of a thread of a partition that is held here; undefined where it must be looked for. */
  recall(thread: string): KnownThread | undefined {
    return this.#presence?.mayWrite(this.#partition(thread)) ? this.#known.get(thread) : undefined
  }

  /** Tells a thread from others that had or will have its id; undefined when there is none. */
  async identify(thread: string): Promise<KnownThread | undefined> {
    const known = this.#known.get(thread) ?? (await this.#look(thread))
    return known === unwritten ? undefined : known
  }

  /**
   * Whether a thread that is held here has no snapshot, or one that saves nothing: the last message of it does not
   * say yet what was taken after it.
   */
  async hasNoSnapshot(thread: string): Promise<boolean> {
    if (!this.#presence?.mayWrite(this.#partition(thread))) return false
    const { snapshot, seq } = this.#known.get(thread) ?? (await this.#look(thread))
    return !snapshot && seq <= shortJournal && !this.#snapshots.has(thread)
  }

  /** A snapshot of the thread is there: its next message says so. */
  snapshotTaken(thread: string): void {
    this.#snapshots.add(thread)
  }

  async removeTree(removal: Removal): Promise<RemovalResult> {
    const marked = await this.#markRemoved(removal)
    if (!marked.ok) return marked
    await this.#finishRemoval(removal.root)
    return { ok: true }
  }

  /** Ends a root so that nobody writes to it any more. */
  #markRemoved({ root, expected, epoch }: Removal): Promise<CommitResult> {
    return this.#queues.run(root, async () => {
      const message = await this.#last(root)
      const known = message && knownFrom(message)
      const head = message && (await this.#headIn(message))
      if (!known || !head || known.seq !== expected || epoch < known.epoch) return this.#refused(root)
      const position = await this.#append({ thread: root, expected, epoch, sends: [], removed: true }, head, known)
      this.#known.delete(root)
      return position === undefined ? this.#refused(root) : { ok: true, position }
    })
  }

  async #finishRemoval(root: string): Promise<void> {
    for (const thread of await eraseTree(this.#context, this.#mailbox, root)) {
      this.#known.delete(thread)
      this.#unmarked.delete(thread)
    }
  }

  async #headIn(message: StreamMessage): Promise<Head | undefined> {
    const note = noteOfCommit(message)
    return note.head ?? tailOfCommit(note, await this.#context.payloadOf(message)).head
  }

  /** For a new owner: forgets what was known of the partition, and reads what its last owner left. */
  async takeOver(partition: number): Promise<LeftBehind> {
    for (const thread of this.#known.keys()) if (this.#partition(thread) === partition) this.#known.delete(thread)
    return readLeftBehind(this.#context, partition, (thread, known) => this.#remember(thread, known))
  }

  /** Completes what was left, under the new epoch. */
  async complete({ removedRoots, unsent }: LeftBehind, epoch: number): Promise<void> {
    for (const root of removedRoots) await this.#finishRemoval(root)
    await Promise.all(unsent.map((seq) => this.#resend(seq, epoch)))
  }

  async #resend(seq: number, epoch: number): Promise<void> {
    const { reader, subjects, payloadOf } = this.#context
    const message = await reader.get(subjects.streams.log, { seq })
    if (!message) return
    const note = noteOfCommit(message)
    const { sends, head = note.head } = tailOfCommit(note, await payloadOf(message))
    this.#remember(note.thread, knownFrom(message))
    await this.#queues.run(note.thread, () =>
      this.#sendAgain({ thread: note.thread, epoch, sends }, head && { head, last: seq, epoch }),
    )
  }

  /** Resolves when the mail of all commits of a tree that can be read now is out. */
  async mailSent(root: string): Promise<void> {
    const { reader, subjects } = this.#context
    const unsent: { readonly thread: string; readonly last: number }[] = []
    await reader.scan(
      { stream: subjects.streams.log, filter: subjects.logOfTree(root), last: true, headersOnly: true },
      (message) => {
        const { thread, sends } = noteOfCommit(message)
        if (sends > 0) unsent.push({ thread, last: message.seq })
      },
    )
    await Promise.all(unsent.map(({ thread, last }) => this.#mailSent(thread, last)))
  }

  /** Of a message that was written here it is known; of any other the next message of the thread says it (NC3). */
  async #mailSent(thread: string, last: number): Promise<void> {
    const { reader, subjects } = this.#context
    await this.#queues.after(thread)
    while (this.#unmarked.get(thread)?.last !== last) {
      const newest = await reader.last(subjects.streams.log, subjects.logOf(this.#partition(thread), thread))
      if (newest?.seq !== last) return
      await sleep(pollMs)
    }
  }

  /** Resolves when nothing is under way any more. */
  async settled(): Promise<void> {
    await this.#queues.settled()
    this.#cancelMarking?.()
    await this.mark()
  }
}
