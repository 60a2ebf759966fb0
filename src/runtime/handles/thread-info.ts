/**
 * What is known of a thread without reading it, and how threads are found. The public form of its entry in the index:
 * the store's own types stay with the store.
 */
import { z } from 'zod'
import { threadStatuses } from '../../core/records/status.js'
import type { Status } from '../../core/records/status.js'
import type { HeadFilter, Pending, StoredHead } from '../../backend/port.js'
import { defined } from '../../core/defined.js'

/** What a thread does; `damaged` where its entry in the index cannot be read. */
export type ThreadStatus = Status | 'damaged'

export interface ThreadInfo {
  /** Its id. */
  readonly thread: string
  readonly agent: string
  readonly status: ThreadStatus
  /** Why it is paused or terminated, or rests because its budget is spent. */
  readonly reason?: string
  readonly tags: readonly string[]
  /** The thread that called it; absent of a root. */
  readonly parent?: string
  /** The first thread of its tree: its own id where it has no parent. */
  readonly root: string
  /** Ids from the root down to the thread. */
  readonly path: readonly string[]
  /** Of a child: what its parent calls it. */
  readonly reference?: string
  /** Of a child: its name for people. */
  readonly name?: string
  /** Of a child: what it says that it is doing. */
  readonly says?: string
  /** Nothing happens until someone sends it something, decides, or a time comes. */
  readonly rest: boolean
  /** The earliest time that it waits for. */
  readonly wakeAt?: number
  /** What it waits for people to decide or to give: the same as in the inbox. */
  readonly pending?: readonly Pending[]
  /** How many of its children failed for good: its dead letters. */
  readonly dead?: number
  /** How many of its calls may have changed the world, and nobody knows: see `thread.effects()`. */
  readonly unknown?: number
  readonly createdAt: number
  readonly updatedAt: number
  /** The number of its last record. */
  readonly seq: number
  /** What is wrong with its entry in the index: nothing else here counts. It is made again from the journal. */
  readonly damaged?: string
}

export interface ThreadFilter {
  readonly status?: ThreadStatus
  readonly agent?: string
  readonly tag?: string
  /** Only children of this thread. */
  readonly parent?: string
  /** Only threads of this tree. */
  readonly root?: string
  /** Only threads that wait for someone. */
  readonly pending?: true
  /** How many at most. Default 1,000; `next` of the answer says that there are more. */
  readonly limit?: number
  /** `next` of an earlier answer. */
  readonly cursor?: string
}

const statuses: readonly string[] = [...threadStatuses, 'damaged']

function isStatus(status: string): status is ThreadStatus {
  return statuses.includes(status)
}

export function toThreadInfo(head: StoredHead): ThreadInfo {
  const { status, ...info } = head
  if (isStatus(status)) return { ...info, status }
  return { ...info, status: 'damaged', damaged: `this Skein does not know the status ${JSON.stringify(status)}` }
}

const text = z.string().optional()

export const filterSchema = z.strictObject({
  status: z
    .custom<ThreadStatus>((value) => typeof value === 'string' && isStatus(value), {
      error: ({ input }) => `there is no status ${JSON.stringify(input)}; there are: ${statuses.join(', ')}`,
    })
    .optional(),
  agent: text,
  tag: text,
  parent: text,
  root: text,
  pending: z.literal(true).optional(),
  limit: z.number().int().positive().optional(),
  cursor: text,
})

/** Only the fields that the store knows. */
export function toHeadFilter(filter: ThreadFilter): HeadFilter {
  const { status, agent, tag, parent, root, pending, limit, cursor } = filter
  return defined({ status, agent, tag, parent, root, pending, limit, cursor })
}
