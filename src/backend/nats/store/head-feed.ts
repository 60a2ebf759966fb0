/**
 * One reading of the heads of a namespace: the last message of every subject, then all that is new, by one consumer
 * that leaves payloads out. Owns that consumer and the count of subjects that it has seen.
 *
 * - Changes are given in order of the stream; one whose head is too long for a header holds up those after it.
 * - A tree is gone from the moment its root says that it is being removed. What its threads still write is not told;
 *   a root of that id that begins again is another tree.
 * - The count of subjects says whether something was purged unseen (`isWhole`).
 */
import { StreamTail } from '../connection/tail.js'
import type { StreamMessage } from '../connection/read.js'
import { sleep } from '../connection/timers.js'
import type { NatsContext } from '../context.js'
import type { HeadChange, StoredHead } from '../../port.js'
import { rootIn } from '../subjects.js'
import { headOfNote, noteHeader, readHeader, tailOfCommit } from './commit-message.js'
import type { CommitNote } from './commit-message.js'

/** Births that are remembered, to know how many subjects there were a moment ago. */
const mostBirths = 4_096
const pollMs = 5

export class HeadFeed {
  readonly #context: NatsContext
  readonly #give: (change: HeadChange) => void
  /** Threads that were told, by the root of their tree. */
  readonly #trees = new Map<string, number>()
  /** Trees that are being removed, and how many subjects of them there were. */
  readonly #dying = new Map<string, number>()
  /** Subjects without a head: barriers, and messages that Skein did not write. */
  readonly #others = new Set<string>()
  /** Sequences of the last first messages. */
  #births: number[] = []
  #total = 0
  /** Subjects that were seen, until all that existed have been read. */
  #seen: Set<string> | undefined = new Set()
  #last = 0
  /** Changes that wait for a long head. */
  #pending: Promise<void> | undefined
  #isBroken = false
  readonly #tail: Promise<StreamTail>
  readonly ready: Promise<void>

  constructor(context: NatsContext, give: (change: HeadChange) => void) {
    this.#context = context
    this.#give = give
    const { connection, subjects } = context
    this.#tail = StreamTail.open(connection, {
      stream: subjects.streams.log,
      filter: subjects.everyLog,
      each: (message) => this.#take(message),
      last: true,
      headersOnly: true,
    })
    this.ready = this.#tail.then(async () => {
      this.#seen = undefined
      await this.settled()
    })
    this.ready.catch(() => undefined) // whoever waits for it hears of it
  }

  stop(): void {
    this.#tail.then(
      (tail) => tail.stop(),
      () => undefined,
    )
  }

  /** Sequence of the last message that was taken. */
  get last(): number {
    return this.#last
  }

  /** How many threads of a tree were told. */
  sizeOf(root: string): number {
    return this.#trees.get(root) ?? 0
  }

  get roots(): readonly string[] {
    return [...this.#trees.keys()]
  }

  /** Resolves when what was taken has been told. */
  async settled(): Promise<void> {
    while (this.#pending) await this.#pending
  }

  /** Resolves when every message that is stored now has been taken and told; false: something was purged unseen. */
  async catchUp(): Promise<boolean> {
    const { connection, reader, subjects, assertOpen } = this.#context
    const stream = subjects.streams.log
    const { state } = await connection.persist('following threads', () => connection.jsm.streams.info(stream))
    let target = state.last_seq
    while (this.#last < target) {
      assertOpen()
      await sleep(pollMs)
      // The last message may have been purged: then it is never given.
      if (this.#last < target) target = (await reader.last(stream, subjects.everyLog))?.seq ?? 0
    }
    await this.settled()
    return !this.#isBroken && this.#isWhole(state.last_seq, state.num_subjects ?? 0)
  }

  #isWhole(seq: number, subjects: number): boolean {
    const later = this.#births.filter((born) => born > seq).length
    if (later >= mostBirths) return true // too long ago to say
    const missing = subjects - (this.#total - later)
    if (missing === 0) this.#dying.clear()
    let dying = 0
    for (const size of this.#dying.values()) dying += size
    return missing >= 0 && missing <= dying
  }

  #take(message: StreamMessage): void {
    const { subject, seq } = message
    this.#last = seq
    // A message without a note was not written by Skein.
    if (!message.headers.has(noteHeader)) {
      if (!this.#others.has(subject)) this.#count(seq, 1)
      return void this.#others.add(subject)
    }
    const { note, head } = readHeader(message)
    const root = rootIn(subject)
    if (!this.#isOfLivingTree(message, root, note)) return
    if (note?.removed) this.#removed(root, seq)
    else if (head) this.#tell({ position: seq, born: note?.born || seq, head })
    else if (note) this.#tell(this.#withLongHead(note, message))
  }

  /** Counts the subject where it is new. */
  #isOfLivingTree({ subject, seq }: StreamMessage, root: string, note: CommitNote | undefined): boolean {
    const isFirst = this.#isFirst(subject, note)
    if (isFirst && note?.thread === root && note.born === 0) this.#begins(root, seq)
    const dying = this.#dying.get(root)
    if (isFirst && dying !== undefined) this.#dying.set(root, dying + 1)
    if (isFirst && dying === undefined) {
      this.#count(seq, 1)
      this.#trees.set(root, this.sizeOf(root) + 1)
    }
    return dying === undefined
  }

  #isFirst(subject: string, note: CommitNote | undefined): boolean {
    if (!this.#seen) return note?.born === 0
    if (this.#seen.has(subject)) return false
    this.#seen.add(subject)
    return true
  }

  /** A root's first message: whatever was known by its id is no more. */
  #begins(root: string, seq: number): void {
    this.#dying.delete(root)
    if (this.#trees.has(root) && !this.#seen) this.#removed(root, seq)
    this.#dying.delete(root)
  }

  #removed(root: string, position: number): void {
    const size = this.sizeOf(root)
    this.#trees.delete(root)
    this.#dying.set(root, size)
    this.#count(position, -size)
    this.#tell({ position, removed: root })
  }

  #count(seq: number, change: number): void {
    this.#total += change
    if (change !== 1 || this.#seen) return
    if (this.#births.length === 2 * mostBirths) this.#births = this.#births.slice(mostBirths)
    this.#births.push(seq)
  }

  #tell(change: HeadChange | Promise<HeadChange | undefined>): void {
    if (!this.#pending && !(change instanceof Promise)) return this.#give(change)
    const told = (this.#pending ?? Promise.resolve()).then(async () => {
      try {
        const found = await change
        if (found) this.#give(found)
      } catch {
        this.#isBroken = true // read again, with the next look
      }
      if (this.#pending === told) this.#pending = undefined
    })
    this.#pending = told
  }

  /** A head that was too long for a header is in the payload. */
  async #withLongHead(note: CommitNote, { seq, subject }: StreamMessage): Promise<HeadChange | undefined> {
    const { reader, subjects, payloadOf } = this.#context
    const message = await reader.get(subjects.streams.log, { seq })
    const head = message && tailOfCommit(note, await payloadOf(message)).head
    const stored: StoredHead | undefined = head && headOfNote(note, head, { subject })
    return stored && { position: seq, born: note.born || seq, head: stored }
  }
}
