/**
 * The format of a commit as one message: the head and the numbers are in a header, so that a new owner reads them
 * without the payloads; the entry's text and the sends are in the payload. Owns that format.
 *
 * - One message is one commit; the last message of a thread has its head.
 * - A head that is too long for a header is in the payload; a payload that is too long for a message is in a blob.
 */
import { z } from 'zod'
import { defined } from '../../../core/defined.js'
import { SkeinError } from '../../../core/failure.js'
import type { Json } from '../../../core/json.js'
import { damagedHead, mailText } from '../../checks.js'
import { toStoredHead } from '../../head-schema.js'
import type { Commit, Entry, Head, Send, StoredEntry, StoredHead } from '../../port.js'
import { idIn, rootIn } from '../subjects.js'
import { bytesPerCharacter } from '../connection/encoding.js'
import type { StreamMessage } from '../connection/read.js'

/** Mail as text, so that a sender that changes its value later changes nothing here. */
export interface SerializedMail {
  readonly to: string
  readonly mail: string
}

/** The part of the payload after the entry's text. */
interface Tail {
  readonly sends: readonly SerializedMail[]
  readonly head?: Head
}

export interface PackedCommit {
  readonly header: string
  readonly payload: string
}

/** What the header of a commit says. */
export interface CommitNote {
  readonly thread: string
  /** Sequence of the thread's last record. */
  readonly seq: number
  readonly epoch: number
  /** Sequence in the stream of the thread's first message; 0 in that message itself. */
  readonly born: number
  /** The entry, without its text. */
  readonly entry?: Omit<Entry, 'body'> & { readonly bytes: number }
  /** How many mails it sends. */
  readonly sends: number
  /** Whether there may be a snapshot of the thread; absent in messages of earlier versions. */
  readonly snapshot?: boolean
  /** The thread is a root, and its tree is being removed. */
  readonly removed?: true
  /** Absent when it is in the payload. */
  readonly head?: Head
}

export const noteHeader = 'Skein-Commit'
/** The hash of the blob that holds the payload. */
export const blobHeader = 'Skein-Blob'
const longestHeader = 16 * 1024

const noteSchema: z.ZodType<CommitNote> = z.object({
  thread: z.string(),
  seq: z.number(),
  epoch: z.number(),
  born: z.number(),
  entry: z.object({ first: z.number(), count: z.number(), hash: z.string(), bytes: z.number() }).exactOptional(),
  sends: z.number(),
  snapshot: z.boolean().exactOptional(),
  removed: z.literal(true).exactOptional(),
  // J11: checked where heads are read.
  head: z.custom<Head>((value) => typeof value === 'object' && value !== null).exactOptional(),
})

export function serializeMail(send: Send): SerializedMail {
  return { to: send.to, mail: `{"id":${JSON.stringify(send.id)},"body":${mailText(send)}}` }
}

/** A commit without the mail that it finishes. */
export interface SerializedCommit extends Pick<Commit, 'thread' | 'expected' | 'epoch'>, Pick<CommitNote, 'removed'> {
  readonly entry?: Entry | undefined
  readonly sends: readonly SerializedMail[]
}

export interface PackOptions {
  readonly commit: SerializedCommit
  readonly head: Head
  readonly born: number
  readonly snapshot: boolean
}

export function packCommit({ commit, head, born, snapshot }: PackOptions): PackedCommit {
  const { thread, expected, epoch, entry, sends, removed } = commit
  const text = entry?.body ?? ''
  const bytes = Buffer.byteLength(text)
  // Fields without a value are left out of the text. No spread: this runs with every commit.
  const note = {
    thread,
    seq: expected + (entry?.count ?? 0),
    epoch,
    born,
    entry: entry && { first: entry.first, count: entry.count, hash: entry.hash, bytes },
    sends: sends.length,
    snapshot,
    removed,
  }
  const short = JSON.stringify(note)
  const headText = JSON.stringify(head)
  const length = headText.length + short.length
  const long = length * bytesPerCharacter > longestHeader && Buffer.byteLength(headText) + short.length > longestHeader
  const rest = sends.length > 0 || long ? tailText(sends, long ? headText : undefined) : ''
  return { header: long ? short : `${short.slice(0, -1)},"head":${headText}}`, payload: text + rest }
}

/** `{sends: [[to, mail], …], head}`, with mail that is JSON already. */
function tailText(sends: readonly SerializedMail[], headText: string | undefined): string {
  const mails = sends.map(({ to, mail }) => `[${JSON.stringify(to)},${mail}]`)
  return `{"sends":[${mails.join(',')}]${headText === undefined ? '' : `,"head":${headText}`}}`
}

export function noteOfCommit({ headers, subject, seq }: StreamMessage): CommitNote {
  try {
    return noteSchema.parse(JSON.parse(headers.get(noteHeader)))
  } catch (cause) {
    const thread = idIn(subject)
    throw new SkeinError(
      'JOURNAL_CORRUPT',
      `thread ${thread}: what message ${seq} of its stream says cannot be read. Restore the stream from a back-up.`,
      { cause, data: { thread } },
    )
  }
}

/** Undefined for a commit without records. */
export function entryOfCommit(note: CommitNote, { seq }: StreamMessage, payload: Uint8Array): StoredEntry | undefined {
  if (!note.entry) return undefined
  const { first, count, hash, bytes } = note.entry
  return {
    thread: note.thread,
    position: seq,
    first,
    count,
    hash,
    body: Buffer.from(payload.buffer, payload.byteOffset, bytes).toString(),
  }
}

export function tailOfCommit(note: CommitNote, payload: Uint8Array): Tail {
  const rest = payload.subarray(note.entry?.bytes ?? 0)
  if (rest.length === 0) return { sends: [] }
  const { sends, head }: { sends: [string, Json][]; head?: Head } = JSON.parse(Buffer.from(rest).toString())
  return { sends: sends.map(([to, mail]) => ({ to, mail: JSON.stringify(mail) })), ...defined({ head }) }
}

export function headOfNote(
  { thread, seq }: CommitNote,
  head: Head,
  { subject }: Pick<StreamMessage, 'subject'>,
): StoredHead {
  return toStoredHead(head, { thread, seq, root: rootIn(subject) })
}

/** J11: for a commit whose header cannot be read. */
function unreadableHead({ subject }: StreamMessage, thrown: unknown): StoredHead {
  return damagedHead({
    thread: idIn(subject),
    root: rootIn(subject),
    damaged: thrown instanceof Error ? thrown.message : String(thrown),
  })
}

/** A head; or, where it is too long for a header, the note that leads to it. */
export interface HeadRow {
  readonly note?: CommitNote
  readonly head?: StoredHead
  /** Subject and sequence of its message. */
  readonly subject: string
  readonly seq: number
}

/** The note and head in a header. Without a head it is in the payload; J11: one that cannot be read is damaged. */
export function readHeader(message: StreamMessage): { readonly note?: CommitNote; readonly head?: StoredHead } {
  try {
    const note = noteOfCommit(message)
    return { note, ...(note.head && { head: headOfNote(note, note.head, message) }) }
  } catch (thrown) {
    return { head: unreadableHead(message, thrown) }
  }
}
