/**
 * A copy of the heads of all threads of a namespace: read when someone lists them, then kept up to date by following
 * the stream for as long as lists are asked for. A list is then two requests and a look through memory, not a scan of
 * the stream. Owns that copy.
 *
 * - A list has every commit that was acknowledged before it was asked for.
 * - It has no removed thread: either the copy has as many subjects as the stream, or everything is read again.
 * - When nobody has listed for a while, the copy is dropped and the stream is no longer followed.
 */
import { after, sleep } from '../connection/timers.js'
import type { NatsContext } from '../context.js'
import { rootIn } from '../subjects.js'
import type { StreamMessage } from '../connection/read.js'
import { StreamTail } from '../connection/tail.js'
import { noteHeader, readHeader } from './commit-message.js'
import type { HeadRow } from './commit-message.js'

const keepMs = 30_000
const pollMs = 20
/** A subject may come or go between two answers of the server. */
const mostTries = 3

interface Copy {
  readonly tail: Promise<StreamTail>
  /** By subject. */
  readonly rows: Map<string, HeadRow>
  /** Subjects without a head: barriers, and messages that Skein did not write. */
  readonly others: Set<string>
  /** Roots of trees that are being removed. */
  readonly dying: Set<string>
}

export class Directory {
  readonly #context: NatsContext
  #copy: Copy | undefined
  #cancelDrop: (() => void) | undefined

  constructor(context: NatsContext) {
    this.#context = context
  }

  /** Undefined: no copy could be completed, the stream must be scanned. */
  async rows(): Promise<Iterable<HeadRow> | undefined> {
    for (let tries = 0; tries < mostTries; tries++) {
      const copy = (this.#copy ??= this.#follow())
      this.#cancelDrop?.()
      this.#cancelDrop = after(keepMs, () => this.close())
      try {
        const tail = await copy.tail
        await this.#catchUp(tail)
        if (await this.#isWhole(copy)) return copy.rows.values()
      } catch (thrown) {
        this.#drop(copy)
        throw thrown
      }
      this.#drop(copy)
    }
    return undefined
  }

  close(): void {
    this.#cancelDrop?.()
    if (this.#copy) this.#drop(this.#copy)
  }

  #drop(copy: Copy): void {
    if (this.#copy === copy) this.#copy = undefined
    copy.tail.then(
      (tail) => tail.stop(),
      () => undefined,
    )
  }

  #follow(): Copy {
    const { connection, subjects } = this.#context
    const rows = new Map<string, HeadRow>()
    const others = new Set<string>()
    const dying = new Set<string>()
    const each = (message: StreamMessage): void => {
      const { subject, seq } = message
      // A message without a note was not written by Skein.
      if (!message.headers.has(noteHeader)) {
        rows.delete(subject)
        return void others.add(subject)
      }
      others.delete(subject)
      const read = readHeader(message)
      rows.set(subject, { ...read, subject, seq })
      if (read.note?.removed) dying.add(read.note.thread)
    }
    return {
      rows,
      others,
      dying,
      tail: StreamTail.open(connection, {
        stream: subjects.streams.log,
        filter: subjects.everyLog,
        each,
        last: true,
        headersOnly: true,
      }),
    }
  }

  /** Resolves when the copy has the last message of the stream. */
  async #catchUp(tail: StreamTail): Promise<void> {
    const { reader, subjects, assertOpen } = this.#context
    for (;;) {
      assertOpen()
      const last = await reader.last(subjects.streams.log, subjects.everyLog)
      if (tail.last >= (last?.seq ?? 0)) return
      await sleep(pollMs)
    }
  }

  async #isWhole(copy: Copy): Promise<boolean> {
    const { connection, subjects } = this.#context
    for (let tries = 0; tries < mostTries; tries++) {
      const { state } = await connection.persist('listing threads', () =>
        connection.jsm.streams.info(subjects.streams.log),
      )
      const { rows, others } = copy
      if (rows.size + others.size === (state.num_subjects ?? 0)) return true
      forgetDying(copy)
      if (rows.size + others.size === (state.num_subjects ?? 0)) return true
      await this.#catchUp(await copy.tail)
    }
    return false
  }
}

/** When the numbers of subjects differ, trees whose root is marked as removed are taken for purged. */
function forgetDying({ rows, dying }: Copy): void {
  if (dying.size === 0) return
  for (const subject of rows.keys()) if (dying.has(rootIn(subject))) rows.delete(subject)
  dying.clear()
}
