/**
 * Reading heads: a head is what the last message of a thread's subject says. Owns no state.
 *
 * - Threads are listed in order of their first message.
 */
import { cursorNumber, isRestless, listedAtOnce, matches } from '../../checks.js'
import type { Head, HeadFilter, Heads, StoredHead } from '../../port.js'
import type { Scan, StreamMessage } from '../connection/read.js'
import type { NatsContext } from '../context.js'
import { idIn, partitionOf } from '../subjects.js'
import { lastBarrier } from './barrier.js'
import { headOfNote, readHeader, tailOfCommit } from './commit-message.js'
import type { CommitNote, HeadRow } from './commit-message.js'
import type { Directory } from './directory.js'
import { NatsHeadFollower } from './follow-heads.js'

/** A head and the sequence of its thread's first message, by which heads are listed. */
interface FoundHead {
  readonly born: number
  readonly head: StoredHead
}

type Wanted = (head: Head) => boolean

function createHeadReader({ reader, subjects, payloadOf }: NatsContext) {
  const stream = subjects.streams.log

  async function stored(
    note: CommitNote,
    message: Pick<StreamMessage, 'seq' | 'subject'>,
  ): Promise<StoredHead | undefined> {
    const head = note.head ?? (await longHead(note, message))
    return head && headOfNote(note, head, message)
  }

  /** A head that was too long for a header is in the payload, which a scan leaves out. */
  async function longHead(note: CommitNote, { seq }: Pick<StreamMessage, 'seq'>): Promise<Head | undefined> {
    const message = await reader.get(stream, { seq })
    return message && tailOfCommit(note, await payloadOf(message)).head
  }

  async function scan(filter: string, wanted: Wanted, upTo: Pick<Scan, 'upTo'> = {}): Promise<FoundHead[]> {
    // By thread: one that was written while the scan was cut off is given again (read.ts).
    const found = new Map<string, FoundHead>()
    const long = new Map<string, { readonly note: CommitNote; readonly message: StreamMessage }>()
    await reader.scan({ stream, filter, last: true, headersOnly: true, ...upTo }, (message) => {
      const { note, head } = readHeader(message)
      const thread = idIn(message.subject)
      for (const seen of [found, long]) seen.delete(thread)
      if (head && wanted(head)) found.set(thread, { born: note?.born || message.seq, head })
      else if (!head && note) long.set(thread, { note, message })
    })
    for (const { note, message } of long.values()) {
      const head = await stored(note, message)
      if (head && wanted(head)) found.set(note.thread, { born: note.born || message.seq, head })
    }
    return inOrder([...found.values()])
  }

  async function foundIn(rows: Iterable<HeadRow>, wanted: Wanted): Promise<FoundHead[]> {
    const found: FoundHead[] = []
    for (const row of rows) {
      const { note, seq } = row
      const head = row.head ?? (note && (await stored(note, row)))
      if (head && wanted(head)) found.push({ born: note?.born || seq, head })
    }
    return inOrder(found)
  }

  return { stored, scan, foundIn }
}

export function createNatsHeads(context: NatsContext, directory: Directory): Heads {
  const { reader, subjects, partitions, assertOpen } = context
  const { stored, scan, foundIn } = createHeadReader(context)

  async function get(thread: string): Promise<StoredHead | undefined> {
    const message = await reader.last(subjects.streams.log, subjects.logOf(partitionOf(thread, partitions), thread))
    if (!message) return undefined
    const { note, head } = readHeader(message)
    return head ?? (note && stored(note, message))
  }

  async function listAll(wanted: Wanted): Promise<FoundHead[]> {
    // With replicas the one that is followed may be behind without knowing it.
    const rows = reader.replicated ? undefined : await directory.rows()
    return rows ? foundIn(rows, wanted) : scan(subjects.logs, wanted)
  }

  /** The subjects that can hold what a filter finds; undefined: all. */
  async function subjectsOf(filter: HeadFilter, partition: number | undefined): Promise<string | undefined> {
    // Children share their parent's root; where the parent is gone, all threads are looked at.
    const root = filter.root ?? (filter.parent === undefined ? undefined : (await get(filter.parent))?.root)
    if (root !== undefined) return subjects.logOfTree(root)
    return partition === undefined ? undefined : subjects.logOfPartition(partition)
  }

  return {
    async get(thread) {
      assertOpen()
      return get(thread)
    },
    async list(filter: HeadFilter, partition) {
      assertOpen()
      const after = cursorNumber(filter.cursor)
      const limit = filter.limit ?? listedAtOnce
      const where = await subjectsOf(filter, partition)
      const wanted: Wanted = (head) => matches(head, filter)
      const all = where === undefined ? await listAll(wanted) : await scan(where, wanted)
      const rest = all.filter(({ born }) => born > after)
      const page = rest.slice(0, limit)
      const last = page.at(-1)
      const heads = page.map(({ head }) => head)
      return rest.length > limit && last ? { heads, next: String(last.born) } : { heads }
    },
    async restless(partition) {
      assertOpen()
      const all =
        partition === undefined
          ? await scan(subjects.logs, isRestless)
          : await scan(subjects.logOfPartition(partition), isRestless, await lastBarrier(context, partition))
      return all.map(({ head }) => head)
    },
    follow: (told) => new NatsHeadFollower(context, told),
  }
}

function inOrder(heads: FoundHead[]): FoundHead[] {
  return heads.sort((one, other) => one.born - other.born)
}
