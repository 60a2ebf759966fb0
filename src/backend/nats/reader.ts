/**
 * Reading journals and heads. A thread's journal is the messages of its subject, a tree's those of all its threads in order
 * of the stream, and a head is what the last message of a subject says. Owns no state.
 *
 * NQ1 A position is the sequence in the stream of commits: it grows with every commit of the namespace (J5).
 * NQ2 Threads are listed in order of their first message.
 */
import { cursorNumber, listedAtOnce, matches } from '../checks.js'
import type { Head, HeadFilter, Heads, Journal, StoredEntry, StoredHead } from '../port.js'
import { lastBarrier } from './barrier.js'
import type { Ground } from './ground.js'
import { partitionOf } from './names.js'
import type { Message, Scan } from './read.js'
import { entryOf, headOf, noteOf, tailOf } from './wire.js'
import type { Note } from './wire.js'

interface Found {
  readonly born: number
  readonly head: StoredHead
}

/** A range of the stream that is read rather than searched. */
const worthReading = 256

export function createJournal(ground: Ground): Journal {
  const { reads, names, partitions, payloadOf, live } = ground
  const stream = names.streams.log

  async function entries(messages: readonly Message[]): Promise<StoredEntry[]> {
    const all = await Promise.all(messages.map(async (message) => entryOf(noteOf(message), message, await payloadOf(message))))
    return all.filter((entry) => entry !== undefined)
  }

  /** Messages with records after a sequence of their thread; all that were acknowledged (NR4). */
  async function collect(scan: Scan, limit: number, after = 0): Promise<Message[]> {
    const found: Message[] = []
    let last = (scan.from ?? 1) - 1
    const each = (message: Message): boolean => {
      const note = noteOf(message)
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
      if (message && noteOf(message).seq <= after) from = message.seq + 1
      else to = middle
    }
    return from
  }

  return {
    async read(thread, { after = 0, limit = Infinity } = {}) {
      live()
      const last = await reads.last(stream, names.logOf(partitionOf(thread, partitions), thread))
      if (!last || limit <= 0) return []
      const { seq, born, entry } = noteOf(last)
      if (seq <= after) return []
      if (entry && entry.first <= after + 1) return entries([last])
      const first = born || last.seq
      const from = after === 0 ? first : await search(last.subject, after, [first, last.seq])
      return entries(await collect({ stream, filter: last.subject, from, ...(limit < Infinity && { about: limit }) }, limit, after))
    },
    async readTree(root, { after = 0, limit = listedAtOnce } = {}) {
      live()
      return limit <= 0 ? [] : entries(await collect({ stream, filter: names.logOfTree(root), from: Math.max(1, after + 1), about: limit }, limit))
    },
  }
}

export function createHeads(ground: Ground): Heads {
  const { reads, names, partitions, payloadOf, live } = ground
  const stream = names.streams.log

  async function stored(note: Note, message: Message): Promise<StoredHead | undefined> {
    const head = note.head ?? (await longHead(note, message))
    return head && headOf(note, head)
  }

  /** A head that was too long for a header (NF2 in wire.ts); a scan left its payload out. */
  async function longHead(note: Note, { seq }: Message): Promise<Head | undefined> {
    const message = await reads.get(stream, { seq })
    return message && tailOf(note, await payloadOf(message)).head
  }

  async function get(thread: string): Promise<StoredHead | undefined> {
    const message = await reads.last(stream, names.logOf(partitionOf(thread, partitions), thread))
    return message && stored(noteOf(message), message)
  }

  /** NQ2 */
  async function scan(filter: string, wanted: (head: Head) => boolean, upTo: Pick<Scan, 'upTo'> = {}): Promise<Found[]> {
    // By thread: one that was written while the scan was cut off is given again (NR3 in read.ts).
    const found = new Map<string, Found>()
    const long = new Map<string, { readonly note: Note; readonly message: Message }>()
    await reads.scan({ stream, filter, last: true, headersOnly: true, ...upTo }, (message) => {
      const note = noteOf(message)
      found.delete(note.thread)
      long.delete(note.thread)
      if (!note.head) long.set(note.thread, { note, message })
      else if (wanted(note.head)) found.set(note.thread, { born: note.born || message.seq, head: headOf(note, note.head) })
    })
    for (const { note, message } of long.values()) {
      const head = await stored(note, message)
      if (head && wanted(head)) found.set(note.thread, { born: note.born || message.seq, head })
    }
    return [...found.values()].sort((one, other) => one.born - other.born)
  }

  return {
    get: async (thread) => (live(), get(thread)),
    async list(filter: HeadFilter, partition) {
      live()
      const after = cursorNumber(filter.cursor)
      const limit = filter.limit ?? listedAtOnce
      // Children share their parent's root; a parent that is gone costs a scan of all.
      const root = filter.root ?? (filter.parent === undefined ? undefined : (await get(filter.parent))?.root)
      const where = root !== undefined ? names.logOfTree(root) : partition !== undefined ? names.logOfPartition(partition) : names.logs
      const all = await scan(where, (head) => matches(head, filter))
      const rest = all.filter(({ born }) => born > after)
      const page = rest.slice(0, limit)
      const last = page.at(-1)
      return { heads: page.map(({ head }) => head), ...(rest.length > limit && last && { next: String(last.born) }) }
    },
    async restless(partition) {
      live()
      const filter = partition === undefined ? names.logs : names.logOfPartition(partition)
      const all = await scan(filter, (head) => !head.rest || head.wakeAt !== undefined, partition === undefined ? {} : await lastBarrier(ground, partition))
      return all.map(({ head }) => head)
    },
  }
}
