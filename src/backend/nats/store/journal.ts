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

type Wanted = JournalRange & { readonly limit: number }

/** A range of the stream up to this length is read, a longer one is searched first. */
const shortRange = 256

export function createNatsJournal({ reader, subjects, partitions, payloadOf, assertOpen }: NatsContext): Journal {
  const stream = subjects.streams.log

  async function entries(messages: readonly StreamMessage[]): Promise<StoredEntry[]> {
    const all = await Promise.all(
      messages.map(async (message) => entryOfCommit(noteOfCommit(message), message, await payloadOf(message))),
    )
    return all.filter((entry) => entry !== undefined)
  }

  /** Messages with records after a sequence of their thread; none that was acknowledged is missing. */
  async function collect(scan: Scan, { limit, bytes = Infinity, after = 0 }: Wanted): Promise<StreamMessage[]> {
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
  async function search(subject: string, after: number, [low, high]: readonly [number, number]): Promise<number> {
    let [from, to] = [low, high]
    while (to - from > shortRange) {
      const middle = Math.floor((from + to) / 2)
      const message = await reader.get(stream, { seq: middle, next_by_subj: subject })
      if (message && noteOfCommit(message).seq <= after) from = message.seq + 1
      else to = middle
    }
    return from
  }

  return {
    async read(thread, { after = 0, limit = Infinity, bytes } = {}) {
      assertOpen()
      const last = await reader.last(stream, subjects.logOf(partitionOf(thread, partitions), thread))
      if (!last || limit <= 0) return []
      const { seq, born, entry } = noteOfCommit(last)
      if (seq <= after) return []
      if (entry && entry.first <= after + 1) return entries([last])
      const first = born || last.seq
      const from = after === 0 ? first : await search(last.subject, after, [first, last.seq])
      const about = limit < Infinity ? limit : undefined
      const scan = { stream, filter: last.subject, from, ...defined({ about }) }
      return entries(await collect(scan, { limit, after, ...defined({ bytes }) }))
    },
    async readTree(root, { after = 0, limit = listedAtOnce, bytes } = {}) {
      assertOpen()
      if (limit <= 0) return []
      const scan = { stream, filter: subjects.logOfTree(root), from: Math.max(1, after + 1), about: limit }
      return entries(await collect(scan, { limit, ...defined({ bytes }) }))
    },
  }
}
