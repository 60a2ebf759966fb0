/**
 * Reading journals: a thread's journal is the messages of its subject, a tree's those of all its threads in order of
 * the stream. Owns no state.
 *
 * - A position is the sequence in the stream of commits: it grows with every commit of the namespace (J5).
 */
import { defined } from '../../../core/defined.js'
import { listedAtOnce } from '../../checks.js'
import type { Journal, JournalRange, StoredEntry } from '../../port.js'
import type { Scan, StreamMessage } from '../connection/read.js'
import type { NatsContext } from '../context.js'
import { partitionOf } from '../subjects.js'
import { entryOfCommit, noteOfCommit } from './commit-message.js'
import type { KnownThread } from './left-behind.js'

type Wanted = JournalRange & { readonly limit: number }

/** A range of the stream up to this length is read, a longer one is searched first. */
const shortRange = 256

/** What the holder of a thread's partition knows of its last message without asking. */
type Recall = (thread: string) => Pick<KnownThread, 'seq' | 'born' | 'root'> | undefined

export function createNatsJournal(context: NatsContext, recall: Recall): Journal {
  const { subjects, assertOpen } = context
  const ranges = new Ranges(context, recall)
  return {
    async read(thread, { after = 0, limit = Infinity, bytes } = {}) {
      assertOpen()
      if (limit <= 0) return []
      return ranges.ofThread(thread, { after, limit, ...defined({ bytes }) })
    },
    async readTree(root, { after = 0, limit = listedAtOnce, bytes } = {}) {
      assertOpen()
      if (limit <= 0) return []
      const { stream } = ranges
      const scan = { stream, filter: subjects.logOfTree(root), from: Math.max(1, after + 1), about: limit }
      return ranges.entries(scan, { limit, ...defined({ bytes }) })
    },
  }
}

class Ranges {
  readonly stream: string
  readonly #context: NatsContext
  readonly #recall: Recall

  constructor(context: NatsContext, recall: Recall) {
    this.stream = context.subjects.streams.log
    this.#context = context
    this.#recall = recall
  }

  async ofThread(thread: string, wanted: Wanted & { readonly after: number }): Promise<StoredEntry[]> {
    const { subjects, partitions, reader } = this.#context
    const { after, limit } = wanted
    const { stream } = this
    const partition = partitionOf(thread, partitions)
    const known = this.#recall(thread)
    if (known && known.seq <= after) return []
    if (known && after === 0 && limit === Infinity)
      return this.entries({ stream, filter: subjects.log(partition, known.root, thread), from: known.born }, wanted)
    const last = await reader.last(stream, subjects.logOf(partition, thread))
    if (!last) return []
    const { seq, born, entry } = noteOfCommit(last)
    if (seq <= after) return []
    if (entry && entry.first <= after + 1) return this.#unpack([last])
    const first = born || last.seq
    const from = after === 0 ? first : await this.#search(last.subject, after, [first, last.seq])
    return this.entries({ stream, filter: last.subject, from, ...(limit < Infinity && { about: limit }) }, wanted)
  }

  async entries(scan: Scan, wanted: Wanted): Promise<StoredEntry[]> {
    return this.#unpack(await this.#collect(scan, wanted))
  }

  async #unpack(messages: readonly StreamMessage[]): Promise<StoredEntry[]> {
    const { payloadOf } = this.#context
    const all = await Promise.all(
      messages.map(async (message) => entryOfCommit(noteOfCommit(message), message, await payloadOf(message))),
    )
    return all.filter((entry) => entry !== undefined)
  }

  /** Messages with records after a sequence of their thread; none that was acknowledged is missing. */
  async #collect(scan: Scan, { limit, bytes = Infinity, after = 0 }: Wanted): Promise<StreamMessage[]> {
    const { reader } = this.#context
    const found: StreamMessage[] = []
    let left = bytes
    let last = (scan.from ?? 1) - 1
    const each = (message: StreamMessage): boolean => {
      const note = noteOfCommit(message)
      if (note.entry && note.seq > after) {
        found.push(message)
        left -= note.entry.bytes
      }
      last = message.seq
      return found.length < limit && left > 0
    }
    await reader.scan(scan, each)
    if (found.length < limit && left > 0) await reader.rest(scan, last, each)
    return found
  }

  /** A place in the stream at or before the first entry with a record after `after`, by binary search. */
  async #search(subject: string, after: number, [low, high]: readonly [number, number]): Promise<number> {
    const { reader } = this.#context
    let [from, to] = [low, high]
    while (to - from > shortRange) {
      const middle = Math.floor((from + to) / 2)
      const message = await reader.get(this.stream, { seq: middle, next_by_subj: subject })
      if (message && noteOfCommit(message).seq <= after) from = message.seq + 1
      else to = middle
    }
    return from
  }
}
