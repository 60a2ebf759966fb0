/**
 * A thread as one JSON value that can leave its store: its journal as it is stored, its head, and the images and
 * documents that its model was shown. With `tree`, the threads below it too.
 *
 * EP1 An export holds no sealed value and no key. An entry that held one is written anew without it, and the chain of
 *     hashes goes on from there; every other entry is as it is stored.
 * - A journal that is damaged is not exported.
 * - Blobs past the limit are left out and named.
 */
import { z } from 'zod'
import { fold } from '../../../actors/thread/fold.js'
import { createState } from '../../../actors/thread/state.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { Backend, Entry, Head, StoredHead } from '../../backend/port.js'
import type { Media } from '../../core/media.js'
import { SkeinError } from '../../core/failure.js'
import { checkOptions } from '../../core/options.js'
import type { ThreadRecord } from '../../core/records/record.js'
import { replaceSealed } from '../../core/records/sealed.js'
import { pastKey } from '../../core/records/travel.js'
import type { ToolSpec } from '../../models/port.js'
import { eachHead } from '../journal/heads.js'
import { chainStart, createEntryReader, pack, relink } from '../journal/journal.js'
import type { TreeOption } from './options.js'
import type { ThreadServices } from './services.js'
import { lazy } from '../../core/schema.js'

export interface ExportOptions extends TreeOption {
  /** Images and documents beyond this many bytes are left out. Default 32 MiB. */
  readonly maxBlobBytes?: number
}

/** Plain JSON: `JSON.stringify` makes a file of it. */
export interface ThreadExport {
  readonly format: 'skein-thread'
  readonly version: 1
  /** The thread that was asked for; with `tree`, there are others. */
  readonly thread: string
  readonly exportedAt: number
  readonly threads: readonly ExportedThread[]
  /** Base64, by hash. */
  readonly blobs: Readonly<Record<string, string>>
  readonly leftOut: {
    readonly blobs: readonly Pick<Media, 'hash' | 'size'>[]
    /** Entries that held sealed values. */
    readonly sealedEntries: number
  }
  /** What models are asked on the definitions that it was pinned to (`pinRequests` of `skein/testing`). */
  readonly requests?: readonly PinnedRequest[]
}

/** Of this step and of all after it, up to the next that is pinned. */
export interface PinnedRequest {
  readonly thread: string
  readonly step: number
  readonly system: string
  readonly tools: readonly ToolSpec[]
}

export interface ExportedThread {
  readonly thread: string
  readonly head: Head
  readonly entries: readonly Entry[]
}

const optionsSchema = lazy(() =>
  z.strictObject({
    tree: z.boolean().exactOptional(),
    maxBlobBytes: z.number().min(0).exactOptional(),
  }),
)

const defaultBlobBytes = 32 * 1024 * 1024

export async function exportThread(
  { backend, clock }: ThreadServices,
  head: StoredHead,
  options: ExportOptions,
): Promise<ThreadExport> {
  const { tree, maxBlobBytes = defaultBlobBytes } = checkOptions(optionsSchema(), options, 'export')
  const media = new Map<string, Media>()
  const threads: ExportedThread[] = []
  let sealedEntries = 0
  for (const each of tree ? await below(backend, head) : [head]) {
    const copied = await copyThread(backend, each)
    threads.push(copied.exported)
    sealedEntries += copied.sealedEntries
    for (const shown of copied.media) media.set(shown.hash, shown)
  }
  const { blobs, leftOut } = await readBlobs(backend, [...media.values()], maxBlobBytes)
  return {
    format: 'skein-thread',
    version: 1,
    thread: head.thread,
    exportedAt: clock.now(),
    threads,
    blobs,
    leftOut: { blobs: leftOut, sealedEntries },
  }
}

async function below(backend: Backend, top: StoredHead): Promise<readonly StoredHead[]> {
  const found: StoredHead[] = []
  for await (const head of eachHead(backend, { root: top.root })) if (head.path.includes(top.thread)) found.push(head)
  return found
}

interface CopiedThread {
  readonly exported: ExportedThread
  readonly sealedEntries: number
  readonly media: readonly Media[]
}

const noValues = { keys: [], value: () => '' }

async function copyThread(backend: Backend, { thread, seq: _, damaged, ...head }: StoredHead): Promise<CopiedThread> {
  if (damaged !== undefined)
    throw new SkeinError(
      'JOURNAL_CORRUPT',
      `the head of thread ${thread} is damaged (${damaged}); nothing was exported`,
    )
  const reader = createEntryReader(thread, { seq: 0, chain: chainStart })
  const state = createState(thread)
  const entries: Entry[] = []
  let sealedEntries = 0
  for (const entry of await backend.journal.read(thread)) {
    const records = reader.unpack(entry)
    for (const record of records) fold(state, record)
    const clean = records.map(withoutSealed)
    const before = entries.at(-1)?.hash ?? chainStart
    const isClean = clean.every((record, index) => record === records[index])
    entries.push(plainEntry(isClean ? relink(entry, before) : pack(clean, before)))
    if (!isClean) sealedEntries++
  }
  return { exported: { thread, head, entries }, sealedEntries, media: mediaOf(state) }
}

/** A fork takes its past along: it may be read where there are no blobs. */
function withoutSealed(record: ThreadRecord): ThreadRecord {
  const clean = replaceSealed(record, noValues)
  const past = record.type === 'thread.based' ? record[pastKey] : undefined
  if (record.type !== 'thread.based' || !past) return clean
  const entry = pack(past.records.map(withoutSealed), chainStart)
  const { from } = record
  return { ...record, from: { ...from, chain: entry.hash }, past: { entries: [plainEntry(entry)] }, blobs: [] }
}

function plainEntry({ first, count, body, hash }: Entry): Entry {
  return { first, count, body, hash }
}

function mediaOf({ transcript }: ThreadState): readonly Media[] {
  return transcript.items.flatMap(({ media = [] }) => media)
}

async function readBlobs(
  { blobs: stored }: Backend,
  media: readonly Media[],
  maxBytes: number,
): Promise<{ readonly blobs: Readonly<Record<string, string>>; readonly leftOut: ThreadExport['leftOut']['blobs'] }> {
  const blobs: Record<string, string> = {}
  const leftOut: Pick<Media, 'hash' | 'size'>[] = []
  let left = maxBytes
  for (const { hash, size } of media) {
    if (size > left || !(await stored.has(hash))) {
      leftOut.push({ hash, size })
      continue
    }
    const chunks: Uint8Array[] = []
    for await (const chunk of stored.get(hash)) chunks.push(chunk)
    blobs[hash] = Buffer.concat(chunks).toString('base64')
    left -= size
  }
  return { blobs, leftOut }
}
