/**
 * Reading journals: a thread's journal is the messages of its subject, a tree's those of all its threads in order of
 * the stream. Owns no state.
 *
 * - A position is the sequence in the stream of commits: it grows with every commit of the namespace (J5).
 */
import { defined } from '../../../core/defined.js'
import { listedAtOnce } from '../../checks.js'
import type { Journal, StoredEntry } from '../../port.js'
import type { Scan, StreamMessage } from '../connection/read.js'
import type { NatsContext } from '../context.js'
import { partitionOf } from '../subjects.js'
import { entryOfCommit, noteOfCommit } from './commit-message.js'
import type { KnownThread } from './left-behind.js'

/** A range of the stream up to this length is read, a longer one is searched first. */
const shortRange = 256

/** `recall`: what the holder of a thread's partition knows of its last message without asking. */
export function createNatsJournal(
  { reader, subjects, partitions, payloadOf, assertOpen }: NatsContext,
  recall: (thread: string) => Pick<KnownThread, 'seq' | 'born' | 'root'> | undefined,
): Journal {
  const stream = subjects.streams.log

  const entries = (messages: readonly StreamMessage[]): Promise<StoredEntry[]> => entriesIn(messages, payloadOf)

  /** Messages with records after a sequence of their thread; none that was acknowledged is missing. */
  async function collect(scan: Scan, limit: number, after = 0): Promise<StreamMessage[]> {
    const found: StreamMessage[] = []
    let last = (scan.from ?? 1) - 1
    const each = (message: StreamMessage): boolean => {
      const note = noteOfCommit(message)
      if (note.entry && note.seq > after) found.push(message)
      last = message.seq
      return found.length < limit
    }
    await reader.scan(scan, each)
    if (found.length < limit) await reader.rest(scan, last, each)
    return found
  }

  /** What can be read without asking for the last message of the thread first. */
  async function readKnown(
    thread: string,
    { after, limit }: { readonly after: number; readonly limit: number },
  ): Promise<readonly StoredEntry[] | undefined> {
    const known = recall(thread)
    if (known && known.seq <= after) return []
    if (!known || after > 0 || limit < Infinity) return undefined
    const filter = subjects.log(partitionOf(thread, partitions), known.root, thread)
    return entries(await collect({ stream, filter, from: known.born }, limit))
  }

  return {
    async read(thread, { after = 0, limit = Infinity } = {}) {
      assertOpen()
      const known = await readKnown(thread, { after, limit })
      if (known) return known
      const last = await reader.last(stream, subjects.logOf(partitionOf(thread, partitions), thread))
      if (!last || limit <= 0) return []
      const { seq, born, entry } = noteOfCommit(last)
      if (seq <= after) return []
      if (entry && entry.first <= after + 1) return entries([last])
      const first = born || last.seq
      const from =
        after === 0 ? first : await search({ reader, subjects }, { subject: last.subject, after }, [first, last.seq])
      const about = limit < Infinity ? limit : undefined
      return entries(await collect({ stream, filter: last.subject, from, ...defined({ about }) }, limit, after))
    },
    async readTree(root, { after = 0, limit = listedAtOnce } = {}) {
      assertOpen()
      if (limit <= 0) return []
      const scan = { stream, filter: subjects.logOfTree(root), from: Math.max(1, after + 1), about: limit }
      return entries(await collect(scan, limit))
    },
  }
}

async function entriesIn(
  messages: readonly StreamMessage[],
  payloadOf: NatsContext['payloadOf'],
): Promise<StoredEntry[]> {
  const all = await Promise.all(
    messages.map(async (message) => entryOfCommit(noteOfCommit(message), message, await payloadOf(message))),
  )
  return all.filter((entry) => entry !== undefined)
}

/** A place in the stream at or before the first entry with a record after `after`, by binary search. */
async function search(
  { reader, subjects }: Pick<NatsContext, 'reader' | 'subjects'>,
  { subject, after }: { readonly subject: string; readonly after: number },
  [low, high]: readonly [number, number],
): Promise<number> {
  let [from, to] = [low, high]
  while (to - from > shortRange) {
    const middle = Math.floor((from + to) / 2)
    const message = await reader.get(subjects.streams.log, { seq: middle, next_by_subj: subject })
    if (message && noteOfCommit(message).seq <= after) from = message.seq + 1
    else to = middle
  }
  return from
}
