/**
 * What is known of a thread without reading it, and how threads are found. The public form of its entry in the index:
 * the store's own types stay with the store.
 */
import { z } from 'zod'
import { threadStatuses } from '../../../core/records/status.js'
import type { Status } from '../../../core/records/status.js'
import type { HeadFilter, HeadUsage, Pending, StoredHead } from '../../../backend/port.js'
import { toBudget } from '../../../core/budget.js'
import type { Budget } from '../../../core/budget.js'
import { defined } from '../../../core/defined.js'
import { lazy } from '../../../core/schema.js'

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
  /** The beginning of the first message that it was sent. */
  readonly title?: string
  /** What it has used; `tree`: with all below it, as far as they have reported. Absent where nothing was used. */
  readonly usage?: UsedAmounts & { readonly tree?: UsedAmounts }
  /** What is left of its budget; a kind without a limit is absent. */
  readonly left?: Budget
  /** Steps begun. */
  readonly step?: number
  /** When the running turn began. */
  readonly turnAt?: number
  /** Why its last turn failed: the code, and the beginning of the message. */
  readonly error?: string
  /** Calls that may have run already: someone must say whether they are run again. */
  readonly unknown?: number
  /** Calls of children that wait for room. */
  readonly queued?: number
  /** Messages that it has received and not read yet. */
  readonly unread?: number
  /** Messages that were edited, removed, or hidden from its model. */
  readonly edits?: number
  /** Of a fork: the thread whose past it began with, and the last record of it that it has. */
  readonly forkedFrom?: { readonly thread: string; readonly seq: number }
  /** The last record with which it was rewound. */
  readonly rewound?: number
  readonly createdAt: number
  readonly updatedAt: number
  /** The number of its last record. */
  readonly seq: number
  /** What is wrong with its entry in the index: nothing else here counts. It is made again from the journal. */
  readonly damaged?: string
}

export interface UsedAmounts {
  /** Input and output. */
  readonly tokens: number
  readonly costUsd: number
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

/** `created`: the oldest first; the others begin with the newest, the last updated, the most expensive tree. */
export type ThreadOrder = 'created' | 'newest' | 'updated' | 'cost'

export interface ThreadQuery extends ThreadFilter {
  /** Only threads without a parent. */
  readonly rootsOnly?: boolean
  /** Only threads whose title, id, name, agent, reference or tags have this text, in capitals or not. */
  readonly q?: string
  /** Default `created`. A cursor is of one order. */
  readonly sort?: ThreadOrder
}

const statuses: readonly string[] = [...threadStatuses, 'damaged']

function isStatus(status: string): status is ThreadStatus {
  return statuses.includes(status)
}

export function toThreadInfo(head: StoredHead): ThreadInfo {
  const { status, usage, left, ...rest } = head
  const info = { ...rest, ...(usage && { usage: usageOf(usage) }), ...(left && { left: toBudget(left) }) }
  if (isStatus(status)) return { ...info, status }
  return { ...info, status: 'damaged', damaged: `this Skein does not know the status ${JSON.stringify(status)}` }
}

function usageOf({ tree, ...own }: HeadUsage): NonNullable<ThreadInfo['usage']> {
  return { ...inDollars(own), ...(tree && { tree: inDollars(tree) }) }
}

function inDollars({ tokens, nanoUsd }: Omit<HeadUsage, 'tree'>): UsedAmounts {
  return { tokens, costUsd: nanoUsd / 1e9 }
}

const text = z.string().optional()

export const filterSchema = lazy(() =>
  z.strictObject({
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
  }),
)

/** Only the fields that the store knows. */
export function toHeadFilter(filter: ThreadFilter): HeadFilter {
  const { status, agent, tag, parent, root, pending, limit, cursor } = filter
  return defined({ status, agent, tag, parent, root, pending, limit, cursor })
}
