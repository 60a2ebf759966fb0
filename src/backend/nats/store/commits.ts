/**
 * The one write: a commit is one message on its thread's subject, and then its mail goes out and the mail it finishes
 * is removed. Owns what is known of the last message of each thread.
 *
 * NC1 The message is written only where the thread's last one is the one that the writer has folded, and only by an
 *     epoch that is not older (J2). A lease that is over writes nothing, nor does it try again; and whoever learns
 *     that a commit was written knows whether the lease is still there.
 * NC2 Commits of one thread are written one after another; the next one only when the mail of the one before is out.
 *     So only the last message of a thread can have mail that was not sent.
 * NC3 The next message of a thread says that this mail is out. Where none comes, one without records is written for
 *     that, so that a new owner sends again only what may not have been sent.
 */
import type { Commit, CommitResult, Head } from '../../port.js'
import { checkCommit } from '../../checks.js'
import type { Removal } from '../../trees.js'
import { raiseBarrier } from './barrier.js'
import { after, sleep } from '../connection/timers.js'
import { SerialQueues } from '../../../core/async/serial.js'
import type { NatsContext } from '../context.js'
import type { NatsMailbox } from './mailbox.js'
import { partitionOf, rootIn } from '../subjects.js'
import { publish } from '../connection/publish.js'
import type { StreamMessage } from '../connection/read.js'
import { noteHeader, noteOfCommit, packCommit, sealCommit, tailOfCommit } from './commit-message.js'
import type { SealedCommit } from './commit-message.js'

interface Known {
  /** Sequence of its last message in the stream. */
  readonly last: number
  readonly seq: number
  readonly epoch: number
  readonly born: number
  readonly root: string
}

/** A message whose mail is out, and that nothing says so yet. */
interface Unmarked {
  readonly head: Head
  readonly last: number
  /** Of the lease under which that is said: it may be a later one than the message's. */
  readonly epoch: number
}

/** Whether a lease that this process had is over. */
export type LeaseCheck = (partition: number, epoch: number) => boolean

type Sealing = Omit<Commit, 'sends'> & { readonly sends: readonly SealedCommit[]; readonly removed?: true }

const knownThreads = 20_000
const markAfterMs = 300
const againMs = 200
const lookMs = 50

export class Commits {
  readonly #ground: NatsContext
  readonly #mailbox: NatsMailbox
  readonly #over: LeaseCheck
  readonly #finishRemoval: (root: string) => Promise<void>
  readonly #known = new Map<string, Known>()
  readonly #chains = new SerialQueues()
  readonly #unmarked = new Map<string, Unmarked>()
  #marking: (() => void) | undefined
  /** The last one that was written here, for commits that write none. */
  #position = 0

  constructor(
    ground: NatsContext,
    mailbox: NatsMailbox,
    { over, finishRemoval }: { readonly over: LeaseCheck; readonly finishRemoval: (root: string) => Promise<void> },
  ) {
    this.#ground = ground
    this.#mailbox = mailbox
    this.#over = over
    this.#finishRemoval = finishRemoval
  }

  async commit(commit: Commit): Promise<CommitResult> {
    checkCommit(commit)
    const sealed: Sealing = { ...commit, sends: commit.sends.map(sealCommit) }
    return this.#chains.run(commit.thread, () => this.#write(sealed))
  }

  async #write(commit: Sealing): Promise<CommitResult> {
    const { thread, expected, epoch, entry, head, sends, done } = commit
    if (this.#over(this.#partition(thread), epoch)) return this.#refused(thread)
    // A thread that begins is not looked for: the server compares anyway. What is remembered may be of one that was
    // removed since.
    const remembered = this.#known.get(thread)
    const known =
      remembered?.seq === expected || (!remembered && expected === 0 && entry) ? remembered : await this.#look(thread)
    if ((known?.seq ?? 0) !== expected || epoch < (known?.epoch ?? 0)) return this.#refused(thread)
    const position = head ? await this.#append(commit, head, known) : this.#position
    if (position === undefined) return this.#refused(thread)
    this.#position = Math.max(this.#position, position)
    if (sends.length > 0) await this.#send(commit, head && { head, last: position, epoch })
    const finished = await this.#mailbox.finish(thread, done)
    return { ok: true, position, ...finished }
  }

  /** The message's sequence; undefined when the thread is elsewhere. */
  async #append(commit: Omit<Sealing, 'done'>, head: Head, known: Known | undefined): Promise<number | undefined> {
    const { link, reads, names, spill, blobs } = this.#ground
    const { thread, sends, expected, epoch, entry } = commit
    const { header, payload } = packCommit({ commit, head, sends, born: known?.born ?? 0 })
    const underWay = blobs.settled()
    if (underWay) await underWay // whoever sees the commit sees the blobs that were handed over before it
    const root = known?.root ?? head.root
    this.#known.delete(thread) // until it is sure again
    this.#unmarked.delete(thread)
    const spilt = await spill(payload, header.length * 2)
    const over = (): boolean => this.#over(this.#partition(thread), epoch)
    if (over()) return undefined
    const subject = names.log(this.#partition(thread), root, thread)
    const last = await publish(link, reads, {
      stream: names.streams.log,
      subject,
      payload: spilt.payload,
      headers: { ...spilt.headers, [noteHeader]: header },
      expected: known?.last ?? 0,
      over,
    })
    over() // asking tells those who hold it
    if (last !== undefined)
      this.#remember(thread, { last, seq: expected + (entry?.count ?? 0), epoch, born: known?.born || last, root })
    return last
  }

  /** Mail that cannot be sent now is sent before anything else of this thread is written (NC2). */
  async #send({ thread, epoch, sends }: Sealing, unmarked: Unmarked | undefined): Promise<void> {
    try {
      await this.#mailbox.post(sends)
      if (unmarked) this.#markSoon(thread, unmarked)
    } catch {
      void this.#chains.run(thread, () => this.#sendAgain({ thread, epoch, sends }, unmarked))
    }
  }

  async #sendAgain(
    { thread, epoch, sends }: Pick<Sealing, 'thread' | 'epoch' | 'sends'>,
    unmarked: Unmarked | undefined,
  ): Promise<void> {
    while (this.#open && !this.#over(this.#partition(thread), epoch)) {
      try {
        await this.#mailbox.post(sends)
        if (unmarked) this.#markSoon(thread, unmarked)
        return
      } catch {
        await sleep(againMs)
      }
    }
    // Whoever holds the thread next finds it in the journal.
  }

  get #open(): boolean {
    try {
      this.#ground.live()
      return true
    } catch {
      return false
    }
  }

  async #refused(thread: string): Promise<CommitResult> {
    this.#known.delete(thread)
    const known = await this.#look(thread)
    return { ok: false, seq: known?.seq ?? 0, epoch: known?.epoch ?? 0 }
  }

  async #look(thread: string): Promise<Known | undefined> {
    const message = await this.#last(thread)
    const known = message && knownFrom(message)
    if (known) this.#remember(thread, known)
    return known
  }

  async #last(thread: string): Promise<StreamMessage | undefined> {
    const { reads, names } = this.#ground
    const message = await reads.last(names.streams.log, names.logOf(this.#partition(thread), thread))
    if (!message || !noteOfCommit(message).removed) return message
    await this.#finishRemoval(thread)
    return undefined
  }

  #remember(thread: string, known: Known): void {
    if (this.#known.size >= knownThreads) {
      const oldest = this.#known.keys().next()
      if (!oldest.done) this.#known.delete(oldest.value)
    }
    this.#known.set(thread, known)
  }

  #partition(thread: string): number {
    return partitionOf(thread, this.#ground.partitions)
  }

  /** NC3 */
  #markSoon(thread: string, unmarked: Unmarked): void {
    this.#unmarked.set(thread, unmarked)
    this.#marking ??= after(markAfterMs, () => {
      this.#marking = undefined
      void this.mark()
    })
  }

  /** Says now of all threads that their mail is out. */
  async mark(): Promise<void> {
    const all = [...this.#unmarked]
    await Promise.allSettled(
      all.map(([thread, unmarked]) => this.#chains.run(thread, () => this.#mark(thread, unmarked))),
    )
  }

  /** Tried again until it is said, or somebody else's business. */
  async #mark(thread: string, unmarked: Unmarked): Promise<void> {
    const { head, last, epoch } = unmarked
    if (this.#unmarked.get(thread) !== unmarked) return
    this.#unmarked.delete(thread)
    try {
      const known = this.#known.get(thread) ?? (await this.#look(thread))
      if (known?.last === last) await this.#append({ thread, expected: known.seq, epoch, sends: [] }, head, known)
    } catch {
      if (this.#open && !this.#over(this.#partition(thread), epoch)) this.#markSoon(thread, unmarked)
    }
  }

  /** Which thread this is, in case another one had or will have the same id; undefined when there is none. */
  async identify(thread: string): Promise<Pick<Known, 'born' | 'root'> | undefined> {
    return this.#known.get(thread) ?? this.#look(thread)
  }

  /** Ends a root so that nobody writes to it any more; whoever did this removes the tree. */
  bury({ root, expected, epoch }: Removal): Promise<CommitResult> {
    return this.#chains.run(root, async () => {
      const message = await this.#last(root)
      const known = message && knownFrom(message)
      const head = message && (await this.#headIn(message))
      if (!known || !head || known.seq !== expected || epoch < known.epoch) return this.#refused(root)
      const position = await this.#append({ thread: root, expected, epoch, sends: [], removed: true }, head, known)
      this.#known.delete(root)
      return position === undefined ? this.#refused(root) : { ok: true, position }
    })
  }

  async #headIn(message: StreamMessage): Promise<Head | undefined> {
    const note = noteOfCommit(message)
    return note.head ?? tailOfCommit(note, await this.#ground.payloadOf(message)).head
  }

  forget(threads: Iterable<string>): void {
    for (const thread of threads) {
      this.#known.delete(thread)
      this.#unmarked.delete(thread)
    }
  }

  /** A new owner forgets what it knew and sends again what may not be out. */
  async takeOver(partition: number, epoch: number): Promise<void> {
    const { reads, names } = this.#ground
    for (const thread of this.#known.keys()) if (this.#partition(thread) === partition) this.#known.delete(thread)
    const unsure: number[] = []
    const dying: string[] = []
    const barrier = await raiseBarrier(this.#ground, partition)
    await reads.scan(
      { stream: names.streams.log, filter: names.logOfPartition(partition), last: true, headersOnly: true, ...barrier },
      (message) => {
        const { thread, sends, removed } = noteOfCommit(message)
        if (sends > 0) unsure.push(message.seq)
        if (removed) dying.push(thread)
      },
    )
    for (const root of dying) await this.#finishRemoval(root)
    await Promise.all(unsure.map((seq) => this.#resend(seq, epoch)))
  }

  async #resend(seq: number, epoch: number): Promise<void> {
    const { reads, names, payloadOf } = this.#ground
    const message = await reads.get(names.streams.log, { seq })
    if (!message) return
    const note = noteOfCommit(message)
    const { sends, head = note.head } = tailOfCommit(note, await payloadOf(message))
    this.#remember(note.thread, knownFrom(message))
    await this.#chains.run(note.thread, () =>
      this.#sendAgain({ thread: note.thread, epoch, sends }, head && { head, last: seq, epoch }),
    )
  }

  /** Resolves when the mail of all commits of a tree that can be read now is out. */
  async sent(root: string): Promise<void> {
    const { reads, names } = this.#ground
    const unsure: { readonly thread: string; readonly last: number }[] = []
    await reads.scan(
      { stream: names.streams.log, filter: names.logOfTree(root), last: true, headersOnly: true },
      (message) => {
        const { thread, sends } = noteOfCommit(message)
        if (sends > 0) unsure.push({ thread, last: message.seq })
      },
    )
    await Promise.all(unsure.map(({ thread, last }) => this.#out(thread, last)))
  }

  /**
   * Where the message was written here it is known when its mail is out; elsewhere the next message of the thread
   * says it (NC3).
   */
  async #out(thread: string, last: number): Promise<void> {
    const { reads, names } = this.#ground
    await this.#chains.after(thread)
    while (this.#unmarked.get(thread)?.last !== last) {
      const now = await reads.last(names.streams.log, names.logOf(this.#partition(thread), thread))
      if (now?.seq !== last) return
      await sleep(lookMs)
    }
  }

  /** Nothing is under way any more. */
  async settled(): Promise<void> {
    await this.#chains.settled()
    this.#marking?.()
    await this.mark()
  }
}

function knownFrom(message: StreamMessage): Known {
  const { seq, epoch, born } = noteOfCommit(message)
  // Its subject says the root: <namespace>.log.<partition>.<root>.<thread>.
  return { last: message.seq, seq, epoch, born: born || message.seq, root: rootIn(message.subject) }
}
