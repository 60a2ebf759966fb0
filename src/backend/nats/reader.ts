/**
 * Reading journals and heads. A thread's journal is the messages of its subject, a tree's those of all its threads in order
 * of the stream, and a head is what the last message of a subject says. Owns no state.
 *
 * NQ1 A position is the sequence in the stream of commits: it grows with every commit of the namespace (J5).
 * NQ2 Threads are listed in order of their first message.
 */
import { cursorNumber, listedAtOnce, matches } from '../checks.js'
import type { Head, HeadFilter, Heads, Journal, StoredEntry, StoredHead } from '../port.js'
import type { Ground } from './ground.js'
import { partitionOf } from './names.js'
import type { Message } from './read.js'
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
      const found: Message[] = []
      await reads.scan({ stream, filter: last.subject, from, ...(limit < Infinity && { about: limit }) }, (message) => {
        const note = noteOf(message)
        if (note.entry && note.seq > after) found.push(message)
        return found.length < limit
      })
      return entries(found)
    },
    async readTree(root, { after = 0, limit = listedAtOnce } = {}) {
      live()
      const found: Message[] = []
      if (limit <= 0) return []
      await reads.scan({ stream, filter: names.logOfTree(root), from: Math.max(1, after + 1), about: limit }, (message) => {
        if (noteOf(message).entry) found.push(message)
        return found.length < limit
      })
      return entries(found)
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
  async function scan(filter: string, wanted: (head: Head) => boolean): Promise<Found[]> {
    const found: Found[] = []
    const long: { readonly note: Note; readonly message: Message }[] = []
    await reads.scan({ stream, filter, last: true, headersOnly: true }, (message) => {
      const note = noteOf(message)
      if (!note.head) long.push({ note, message })
      else if (wanted(note.head)) found.push({ born: note.born || message.seq, head: headOf(note, note.head) })
    })
    for (const { note, message } of long) {
      const head = await stored(note, message)
      if (head && wanted(head)) found.push({ born: note.born || message.seq, head })
    }
    return found.sort((one, other) => one.born - other.born)
  }

  return {
    get: async (thread) => (live(), get(thread)),
    async list(filter: HeadFilter) {
      live()
      const after = cursorNumber(filter.cursor)
      const limit = filter.limit ?? listedAtOnce
      // Children share their parent's root; a parent that is gone costs a scan of all.
      const root = filter.root ?? (filter.parent === undefined ? undefined : (await get(filter.parent))?.root)
      const all = await scan(root === undefined ? names.logs : names.logOfTree(root), (head) => matches(head, filter))
      const rest = all.filter(({ born }) => born > after)
      const page = rest.slice(0, limit)
      const last = page.at(-1)
      return { heads: page.map(({ head }) => head), ...(rest.length > limit && last && { next: String(last.born) }) }
    },
    async restless(partition) {
      live()
      const filter = partition === undefined ? names.logs : names.logOfPartition(partition)
      const all = await scan(filter, (head) => !head.rest || head.wakeAt !== undefined)
      return all.map(({ head }) => head)
    },
  }
}
