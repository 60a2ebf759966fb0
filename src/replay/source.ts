/**
 * What is replayed: a thread of an open store, an export, or a file of one. A file comes from anywhere: its form, its
 * version and its chain of hashes are checked before anything of it is used.
 *
 * - Whatever is wrong with it is `BAD_OPTION`, and says where.
 */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { SkeinError, isSkeinError } from '../core/failure.js'
import { isObject } from '../core/json.js'
import type { ThreadRecord } from '../core/records/record.js'
import type { ExportedThread, ThreadExport } from '../runtime/handles/thread-export.js'
import type { Thread } from '../runtime/handles/thread.js'
import { readWhole } from '../runtime/journal/past.js'

/** A thread, an export of one, or the path or URL of a file that holds an export. */
export type ReplaySource = Pick<Thread, 'export'> | ThreadExport | URL | string

/** One thread of it, ready to be walked through. */
export interface Recording {
  readonly thread: string
  readonly records: readonly ThreadRecord[]
}

const jsonObject = z.record(z.string(), z.json())

const exportSchema = z.object({
  format: z.literal('skein-thread', { error: 'is not "skein-thread"' }),
  version: z.literal(1, { error: ({ input }) => `is ${String(input)}; this Skein reads version 1` }),
  thread: z.string(),
  exportedAt: z.number(),
  threads: z
    .array(
      z.object({
        thread: z.string(),
        head: z.custom<ExportedThread['head']>(isObject, 'is not an object'),
        entries: z
          .array(z.object({ first: z.number().int(), count: z.number().int(), body: z.string(), hash: z.string() }))
          .min(1, 'the journal is empty'),
      }),
    )
    .min(1, 'there is no thread in it'),
  blobs: z.record(z.string(), z.base64()),
  leftOut: z.object({
    blobs: z.array(z.object({ hash: z.string(), size: z.number() })),
    sealedEntries: z.number(),
  }),
  requests: z
    .array(
      z.object({
        thread: z.string(),
        step: z.number().int(),
        system: z.string(),
        tools: z.array(z.object({ name: z.string(), description: z.string(), parameters: jsonObject })),
      }),
    )
    .exactOptional(),
})

/** The export, checked but for its journals. */
export async function readSource(source: ReplaySource): Promise<ThreadExport> {
  if (typeof source === 'string' || source instanceof URL) return checked(await readJson(source), `the file ${source}`)
  return 'export' in source ? source.export() : checked(source, 'the export')
}

function checked(value: unknown, what: string): ThreadExport {
  const parsed = exportSchema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new SkeinError(
    'BAD_OPTION',
    `${what} is no exported thread (skein export <thread> makes one):\n${z.prettifyError(parsed.error)}`,
  )
}

async function readJson(source: URL | string): Promise<unknown> {
  const path = /^file:/i.test(String(source)) ? fileURLToPath(source) : String(source)
  const text = await readFile(path, 'utf8').catch((thrown: unknown) => {
    const why = thrown instanceof Error ? thrown.message : String(thrown)
    throw new SkeinError('BAD_OPTION', `the file ${path} cannot be read: ${why}`, { cause: thrown })
  })
  if (text.trim() === '') throw new SkeinError('BAD_OPTION', `the file ${path} is empty`)
  try {
    return JSON.parse(text)
  } catch (thrown) {
    throw new SkeinError('BAD_OPTION', `the file ${path} is not JSON: ${String(thrown)}`, { cause: thrown })
  }
}

export async function recordingOf(exported: ThreadExport, thread: string): Promise<Recording> {
  const found = exported.threads.find((each) => each.thread === thread)
  if (!found) {
    const known = exported.threads.map((each) => each.thread).join(', ')
    throw new SkeinError('BAD_OPTION', `the export has no thread ${JSON.stringify(thread)}; it has: ${known}`)
  }
  try {
    return await readWhole(noBlobs, thread, found.entries)
  } catch (thrown) {
    throw unreadable(thread, thrown)
  }
}

/** A fork that was exported has its past with it. */
const noBlobs = {
  get(hash: string): never {
    throw new SkeinError('BLOB_MISSING', `the export does not have the blob ${hash}`)
  },
}

/** What the store would say of it (park the thread, restore a back-up) is no advice for a file. */
function unreadable(thread: string, thrown: unknown): unknown {
  if (!isSkeinError(thrown)) return thrown
  if (thrown.code !== 'JOURNAL_CORRUPT') return new SkeinError('BAD_OPTION', thrown.message, { cause: thrown })
  const seq = isObject(thrown.data) ? String(thrown.data['seq']) : '?'
  return new SkeinError(
    'BAD_OPTION',
    `the exported journal of thread ${thread} is damaged at record ${seq}: it is not as it was written. Export the ` +
      `thread again`,
    { cause: thrown, data: { thread, seq } },
  )
}
