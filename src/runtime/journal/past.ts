/**
 * Pasts: the records that a record stands on, packed when a thread is forked and attached when a journal is read. A
 * backend as the runtime uses it attaches them (`withPasts`), so every reader of a journal gets records that the fold
 * can take, and none of them knows of it.
 *
 * PA1 The past of a fork is checked as a journal is: order, chain of hashes up to `from.chain`, versions.
 * - Parts begin at entry 1, 257, 513, …: forks of one thread share all but the last part, by their hashes.
 * - A record of an unknown size is never copied: small pasts stand in the record, others in blobs.
 */
import { z } from 'zod'
import { blobsNamedIn } from '../../backend/checks.js'
import type { Backend, Blobs, Entry, Journal, StoredEntry } from '../../backend/port.js'
import { SkeinError } from '../../core/failure.js'
import type { ThreadRecord } from '../../core/records/record.js'
import { pastKey, standingOn, standsOnPast } from '../../core/records/travel.js'
import type { Past, PastEntry, ThreadBased } from '../../core/records/travel.js'
import { chainStart, createEntryReader, decode } from './journal.js'
import { lazy } from '../../core/schema.js'

/** Entries of a part. */
const partSize = 256
/** A past that is shorter stands in the record itself. */
const inlineBytes = 64 * 1024

const partSchema = lazy(() =>
  z.array(z.strictObject({ first: z.number().int(), count: z.number().int(), body: z.string(), hash: z.string() })),
)

type BlobReader = Pick<Blobs, 'get'>

export type PackedPast = Pick<ThreadBased, 'past' | 'blobs'>

/** The entries as a fork keeps them; parts are stored before it is told. */
export async function packPast(blobs: Blobs, entries: readonly StoredEntry[]): Promise<PackedPast> {
  const plain = entries.map(plainOf)
  let bytes = 0
  for (const { body } of plain) bytes += body.length
  if (bytes <= inlineBytes) return { past: { entries: plain }, blobs: [] }
  const named = new Set<string>()
  for (const { body } of plain) for (const hash of blobsNamedIn(body)) named.add(hash)
  const parts: { hash: string; size: number }[] = []
  for (let from = 0; from < plain.length; from += partSize)
    parts.push(await blobs.put(Buffer.from(JSON.stringify(plain.slice(from, from + partSize)))))
  return { past: { parts }, blobs: [...named] }
}

/** The records that a fork begins with. */
export async function loadPast(blobs: BlobReader, { from, past }: Pick<ThreadBased, 'from' | 'past'>): Promise<Past> {
  const entries =
    'entries' in past ? past.entries : (await Promise.all(past.parts.map((part) => loadPart(blobs, part)))).flat()
  const { records, chain } = await readWhole(blobs, from.thread, entries)
  const last = records.at(-1)?.seq ?? 0
  if (chain !== from.chain || last < from.seq) throw damaged(from, `it ends with record ${last}`)
  return { thread: from.thread, records: records.filter(({ seq }) => seq <= from.seq) }
}

async function loadPart(blobs: BlobReader, { hash }: { readonly hash: string }): Promise<readonly PastEntry[]> {
  const chunks: Uint8Array[] = []
  for await (const chunk of blobs.get(hash)) chunks.push(chunk)
  return partSchema().parse(JSON.parse(Buffer.concat(chunks).toString()))
}

/** The records of a whole journal, each with the past that it stands on. */
export async function readWhole(
  blobs: BlobReader,
  thread: string,
  entries: readonly Entry[],
): Promise<Past & { readonly chain: string }> {
  const reader = createEntryReader(thread, { seq: 0, chain: chainStart })
  const records: ThreadRecord[] = []
  for (const entry of entries)
    for (const record of reader.unpack({ thread, position: 0, ...plainOf(entry) })) {
      const past = await pastOf(blobs, record, { thread, records })
      records.push(past ? standingOn(record, past) : record)
    }
  return { thread, records, chain: reader.chain }
}

/** An entry of a store may be an object with a life of its own. */
function plainOf({ first, count, body, hash }: Entry): PastEntry {
  return { first, count, body, hash }
}

/** `own`: the records of the thread before it. */
async function pastOf(blobs: BlobReader, record: ThreadRecord, own: Past): Promise<Past | undefined> {
  if (record.type === 'thread.based') return loadPast(blobs, record)
  if (record.type !== 'thread.rewound') return undefined
  return { thread: own.thread, records: own.records.slice(0, record.to) }
}

/** The past of a thread up to one of its records. */
export async function ownPast(
  { journal, blobs }: { readonly journal: Pick<Journal, 'read'>; readonly blobs: BlobReader },
  thread: string,
  to: number,
): Promise<Past> {
  const { records } = await readWhole(blobs, thread, await journal.read(thread, { limit: to }))
  return { thread, records: records.slice(0, to) }
}

/** The backend, with a journal that attaches pasts. */
export function withPasts(backend: Backend): Backend {
  const { blobs } = backend
  const journal: Journal = {
    async read(thread, range) {
      const entries = await backend.journal.read(thread, range)
      return entries.some(namesPast) ? attach(backend, entries) : entries
    },
    async readTree(root, range) {
      const entries = await backend.journal.readTree(root, range)
      return entries.some(namesPast) ? attach(backend, entries) : entries
    },
  }
  return Object.freeze({
    name: backend.name,
    ...(backend.key && { key: backend.key }),
    keyCheck: backend.keyCheck,
    role: backend.role,
    hosted: () => backend.hosted(),
    hosts: () => backend.hosts(),
    commit: (commit) => backend.commit(commit),
    ...(backend.together && { together: backend.together }),
    journal,
    heads: backend.heads,
    mailbox: backend.mailbox,
    snapshots: backend.snapshots,
    signals: backend.signals,
    blobs,
    trees: backend.trees,
    leases: backend.leases,
    ...(backend.backup && { backup: (dir: string) => backend.backup?.(dir) ?? Promise.resolve() }),
    close: () => backend.close(),
  } satisfies Backend)
}

/** Whether one of its records may stand on a past: texts and args that look so are looked at more closely. */
function namesPast({ body }: StoredEntry): boolean {
  if (!body.includes('"type":"thread.')) return false
  return body.includes('"type":"thread.based"') || body.includes('"type":"thread.rewound"')
}

/** Of one thread or of several. */
async function attach(backend: Backend, entries: readonly StoredEntry[]): Promise<readonly StoredEntry[]> {
  const pasts = new Map<string, ReadonlyMap<number, Past>>()
  for (const { thread } of entries.filter(namesPast))
    if (!pasts.has(thread))
      pasts.set(
        thread,
        await pastsIn(
          backend,
          entries.filter((each) => each.thread === thread),
        ),
      )
  return entries.map((entry) => (namesPast(entry) ? addPasts(entry, pasts.get(entry.thread)) : entry))
}

function addPasts(entry: StoredEntry, pasts: ReadonlyMap<number, Past> | undefined): StoredEntry {
  const { thread, position } = entry
  return Object.assign({ thread, position, ...plainOf(entry) }, { pasts })
}

/** The pasts of the records of one thread; those of a thread that went back often have parts in common. */
async function pastsIn(
  { journal, blobs }: Backend,
  entries: readonly StoredEntry[],
): Promise<ReadonlyMap<number, Past>> {
  const standing = entries.filter(namesPast).flatMap((entry) => decode(entry.thread, entry).filter(standsOnPast))
  const last = standing.at(-1)
  const thread = entries[0]?.thread ?? ''
  // A fork that never went back: the rest of its journal is not needed.
  if (last?.type === 'thread.based') return new Map([[last.seq, await loadPast(blobs, last)]])
  const { records } = await readWhole(blobs, thread, await journal.read(thread, { limit: last?.seq ?? 0 }))
  return new Map(
    records.flatMap((record): [number, Past][] => {
      const past = record.type === 'thread.based' || record.type === 'thread.rewound' ? record[pastKey] : undefined
      return past ? [[record.seq, past]] : []
    }),
  )
}

function damaged({ thread, seq }: ThreadBased['from'], what: string): SkeinError {
  return new SkeinError(
    'JOURNAL_CORRUPT',
    `the past of a fork, records of thread ${thread} up to ${seq}, is damaged: ${what}. Restore it from a back-up.`,
    { data: { thread, seq } },
  )
}
