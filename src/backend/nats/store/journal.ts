/**
 * Reading journals and heads. A thread's journal is the messages of its subject, a tree's those of all its threads in
 * order of the stream, and a head is what the last message of a subject says. Owns no state.
 *
 * - A position is the sequence in the stream of commits: it grows with every commit of the namespace (J5).
 * - Threads are listed in order of their first message.
 */
import { cursorNumber, listedAtOnce, matches } from '../../checks.js'
import type { Head, HeadFilter, Heads, Journal, StoredEntry, StoredHead } from '../../port.js'
import { lastBarrier } from './barrier.js'
import type { Directory } from './directory.js'
import type { NatsContext } from '../context.js'
import { idIn, partitionOf } from '../subjects.js'
import type { StreamMessage, Scan } from '../connection/read.js'
import { entryOfCommit, headOfNote, noteOfCommit, readable, tailOfCommit } from './commit-message.js'
import type { CommitNote } from './commit-message.js'

interface Found {
  readonly born: number
  readonly head: StoredHead
}

/** A range of the stream that is read rather than searched. */
const worthReading = 256

export function createNatsJournal(ground: NatsContext): Journal {
  const { reads, names, partitions, payloadOf, live } = ground
  const stream = names.streams.log

  async function entries(messages: readonly StreamMessage[]): Promise<StoredEntry[]> {
    const all = await Promise.all(
      messages.map(async (message) => entryOfCommit(noteOfCommit(message), message, await payloadOf(message))),
    )
    return all.filter((entry) => entry !== undefined)
  }

  /** Messages with records after a sequence of their thread; all that were acknowledged. */
  async function collect(scan: Scan, limit: number, after = 0): Promise<StreamMessage[]> {
    const found: StreamMessage[] = []
    let last = (scan.from ?? 1) - 1
    const each = (message: StreamMessage): boolean => {
      const note = noteOfCommit(message)
      if (note.entry && note.seq > after) found.push(message)
      last = message.seq
      return found.length < limit
    }
    await reads.scan(scan, each)
    if (found.length < limit) await reads.rest(scan, last, each)
    return found
  }

  /** Where the first entry with a record after `after` may be found: not later than there. */
  async function search(subject: string, after: number, [low, high]: readonly [number, number]): Promise<number> {
    let [from, to] = [low, high]
    while (to - from > worthReading) {
      const middle = Math.floor((from + to) / 2)
      const message = await reads.get(stream, { seq: middle, next_by_subj: subject })
      if (message && noteOfCommit(message).seq <= after) from = message.seq + 1
      else to = middle
    }
    return from
  }

  return {
    async read(thread, { after = 0, limit = Infinity } = {}) {
      live()
      const last = await reads.last(stream, names.logOf(partitionOf(thread, partitions), thread))
      if (!last || limit <= 0) return []
      const { seq, born, entry } = noteOfCommit(last)
      if (seq <= after) return []
      if (entry && entry.first <= after + 1) return entries([last])
      const first = born || last.seq
      const from = after === 0 ? first : await search(last.subject, after, [first, last.seq])
      return entries(
        await collect({ stream, filter: last.subject, from, ...(limit < Infinity && { about: limit }) }, limit, after),
      )
    },
    async readTree(root, { after = 0, limit = listedAtOnce } = {}) {
      live()
      return limit <= 0
        ? []
        : entries(
            await collect({ stream, filter: names.logOfTree(root), from: Math.max(1, after + 1), about: limit }, limit),
          )
    },
  }
}

/** Heads as messages hold them. */
function createHeadReader({ reads, names, payloadOf }: NatsContext) {
  const stream = names.streams.log

  async function stored(
    note: CommitNote,
    message: Pick<StreamMessage, 'seq' | 'subject'>,
  ): Promise<StoredHead | undefined> {
    const head = note.head ?? (await longHead(note, message))
    return head && headOfNote(note, head, message)
  }

  /** A head that was too long for a header (NF2 in wire.ts); a scan left its payload out. */
  async function longHead(note: CommitNote, { seq }: Pick<StreamMessage, 'seq'>): Promise<Head | undefined> {
    const message = await reads.get(stream, { seq })
    return message && tailOfCommit(note, await payloadOf(message)).head
  }

  async function scan(
    filter: string,
    wanted: (head: Head) => boolean,
    upTo: Pick<Scan, 'upTo'> = {},
  ): Promise<Found[]> {
    // By thread: one that was written while the scan was cut off is given again (NR3 in read.ts).
    const found = new Map<string, Found>()
    const long = new Map<string, { readonly note: CommitNote; readonly message: StreamMessage }>()
    await reads.scan({ stream, filter, last: true, headersOnly: true, ...upTo }, (message) => {
      const { note, head } = readable(message)
      const thread = idIn(message.subject)
      for (const seen of [found, long]) seen.delete(thread)
      if (head && wanted(head)) found.set(thread, { born: note?.born || message.seq, head })
      else if (!head && note) long.set(thread, { note, message })
    })
    for (const { note, message } of long.values()) {
      const head = await stored(note, message)
      if (head && wanted(head)) found.set(note.thread, { born: note.born || message.seq, head })
    }
    return [...found.values()].sort((one, other) => one.born - other.born)
  }

  return { stored, scan }
}

export function createNatsHeads(ground: NatsContext, directory: Directory): Heads {
  const { reads, names, partitions, live } = ground
  const { stored, scan } = createHeadReader(ground)

  async function get(thread: string): Promise<StoredHead | undefined> {
    const message = await reads.last(names.streams.log, names.logOf(partitionOf(thread, partitions), thread))
    if (!message) return undefined
    const { note, head } = readable(message)
    return head ?? (note && stored(note, message))
  }

  async function listed(wanted: (head: Head) => boolean): Promise<Found[]> {
    // A replica that is behind could not tell that it is.
    const rows = reads.replicated ? undefined : await directory.rows()
    if (!rows) return scan(names.logs, wanted)
    const found: Found[] = []
    for (const row of rows) {
      const { note, seq } = row
      const head = row.head ?? (note && (await stored(note, row)))
      if (head && wanted(head)) found.push({ born: note?.born || seq, head })
    }
    return found.sort((one, other) => one.born - other.born)
  }

  return {
    get: async (thread) => (live(), get(thread)),
    async list(filter: HeadFilter, partition) {
      live()
      const after = cursorNumber(filter.cursor)
      const limit = filter.limit ?? listedAtOnce
      // Children share their parent's root; a parent that is gone costs a look at all.
      const root = filter.root ?? (filter.parent === undefined ? undefined : (await get(filter.parent))?.root)
      const where =
        root !== undefined
          ? names.logOfTree(root)
          : partition !== undefined
            ? names.logOfPartition(partition)
            : undefined
      const wanted = (head: Head): boolean => matches(head, filter)
      const all = where === undefined ? await listed(wanted) : await scan(where, wanted)
      const rest = all.filter(({ born }) => born > after)
      const page = rest.slice(0, limit)
      const last = page.at(-1)
      return { heads: page.map(({ head }) => head), ...(rest.length > limit && last && { next: String(last.born) }) }
    },
    async restless(partition) {
      live()
      const filter = partition === undefined ? names.logs : names.logOfPartition(partition)
      const all = await scan(
        filter,
        (head) => !head.rest || head.wakeAt !== undefined,
        partition === undefined ? {} : await lastBarrier(ground, partition),
      )
      return all.map(({ head }) => head)
    },
  }
}
