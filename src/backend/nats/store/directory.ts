/**
 * The heads of all threads of a namespace, followed: read once, when someone lists them, then kept up with what is
 * written, for as long as lists are asked for. A list is two requests and a look through memory then, not a scan of
 * the stream. Owns that memory.
 *
 * - A list has every commit that was acknowledged before it was asked for.
 * - What was removed is not in it: as many subjects are known here as the stream has, or everything is read again.
 * - Where nobody lists for a while, nothing is kept and nothing is followed.
 */
import { after, sleep } from '../connection/timers.js'
import type { NatsContext } from '../context.js'
import { rootIn } from '../subjects.js'
import type { StreamMessage } from '../connection/read.js'
import { StreamTail } from '../connection/tail.js'
import type { StoredHead } from '../../port.js'
import { noteHeader, readable } from './commit-message.js'
import type { CommitNote } from './commit-message.js'

/** A head, or where it is too long for a header the note that leads to it (J11). */
export interface DirectoryRow {
  readonly note?: CommitNote
  readonly head?: StoredHead
  /** Of the message in the stream. */
  readonly subject: string
  readonly seq: number
}

const keptMs = 30_000
const lookMs = 20
/** A subject may come or go between two answers of the server. */
const looks = 3

interface Following {
  readonly tail: Promise<StreamTail>
  /** By subject. */
  readonly rows: Map<string, DirectoryRow>
  /** Subjects that hold no head: barriers, and what nobody of ours wrote. */
  readonly others: Set<string>
  /** Roots of trees that are being removed. */
  readonly dying: Set<string>
}

export class Directory {
  readonly #context: NatsContext
  #following: Following | undefined
  #forget: (() => void) | undefined

  constructor(context: NatsContext) {
    this.#context = context
  }

  /** Undefined: it cannot be known here, the stream must be read. */
  async rows(): Promise<Iterable<DirectoryRow> | undefined> {
    for (let tries = 0; tries < looks; tries++) {
      const following = (this.#following ??= this.#follow())
      this.#forget?.()
      this.#forget = after(keptMs, () => this.close())
      try {
        const tail = await following.tail
        await this.#catchUp(tail)
        if (await this.#isWhole(following)) return following.rows.values()
      } catch (thrown) {
        this.#drop(following)
        throw thrown
      }
      this.#drop(following)
    }
    return undefined
  }

  close(): void {
    this.#forget?.()
    if (this.#following) this.#drop(this.#following)
  }

  #drop(following: Following): void {
    if (this.#following === following) this.#following = undefined
    following.tail.then(
      (tail) => tail.stop(),
      () => undefined,
    )
  }

  #follow(): Following {
    const { connection, subjects } = this.#context
    const rows = new Map<string, DirectoryRow>()
    const others = new Set<string>()
    const dying = new Set<string>()
    const each = (message: StreamMessage): void => {
      const { subject, seq } = message
      // A message that nobody of ours wrote is no head.
      if (!message.headers.has(noteHeader)) {
        rows.delete(subject)
        return void others.add(subject)
      }
      others.delete(subject)
      const read = readable(message)
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

  /** Until the last message that is there was given. */
  async #catchUp(tail: StreamTail): Promise<void> {
    const { reader, subjects, assertOpen } = this.#context
    for (;;) {
      assertOpen()
      const last = await reader.last(subjects.streams.log, subjects.everyLog)
      if (tail.last >= (last?.seq ?? 0)) return
      await sleep(lookMs)
    }
  }

  async #isWhole(following: Following): Promise<boolean> {
    const { connection, subjects } = this.#context
    for (let look = 0; look < looks; look++) {
      const { state } = await connection.persist('listing threads', () =>
        connection.jsm.streams.info(subjects.streams.log),
      )
      const { rows, others } = following
      if (rows.size + others.size === (state.num_subjects ?? 0)) return true
      forgetDying(following)
      if (rows.size + others.size === (state.num_subjects ?? 0)) return true
      await this.#catchUp(await following.tail)
    }
    return false
  }
}

/** Trees whose end was told are taken for removed when there are fewer subjects than rows. */
function forgetDying({ rows, dying }: Following): void {
  if (dying.size === 0) return
  for (const subject of rows.keys()) if (dying.has(rootIn(subject))) rows.delete(subject)
  dying.clear()
}
