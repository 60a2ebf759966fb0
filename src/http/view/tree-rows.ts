/** What the page shows of a thread in a tree, and of a whole tree in a list. Made of entries of the directory alone. */
import type { ThreadCounts, ThreadInfo } from '../../index.js'
import { defined } from '../../core/defined.js'

/** A thread without any body: no message, no args, no result. */
export interface ThreadRow {
  readonly thread: string
  readonly parent?: string
  /** Of a fork: the thread whose past it began with. */
  readonly forkOf?: string
  readonly agent: string
  readonly status: string
  readonly reason?: string
  readonly reference?: string
  readonly name?: string
  readonly title?: string
  readonly says?: string
  readonly step?: number
  readonly turnAt?: number
  readonly rest?: true
  /** What it waits for people to decide or to give. */
  readonly waiting?: number
  readonly unknown?: number
  readonly dead?: number
  readonly queued?: number
  readonly error?: string
  readonly tokens?: number
  readonly costUsd?: number
  readonly createdAt: number
  readonly updatedAt: number
  readonly seq: number
}

export function toThreadRow(info: ThreadInfo): ThreadRow {
  const { thread, parent, agent, status, reason, reference, name, title, says, step, turnAt } = info
  const { unknown, dead, queued, error, usage, createdAt, updatedAt, seq, pending = [], rest } = info
  const forkOf = info.forkedFrom?.thread
  const waiting = pending.length > 0 ? pending.length : undefined
  const { tokens, costUsd } = usage ?? {}
  const texts = { parent, forkOf, reason, reference, name, title, says, error }
  const counts = { step, turnAt, unknown, dead, queued, waiting, tokens, costUsd, rest: rest ? rest : undefined }
  const row = { thread, agent, status, createdAt, updatedAt, seq }
  return Object.assign(row, defined(texts), defined(counts))
}

/** A root with the counts of all below it; `removed`: the tree is gone. */
export interface RootRow extends ThreadRow {
  readonly tags: readonly string[]
  readonly counts: Omit<ThreadCounts, 'position'>
  readonly left?: ThreadInfo['left']
  readonly removed?: true
}

export function toRootRow(info: ThreadInfo, counts: Omit<ThreadCounts, 'position'>): RootRow {
  const { threads, working, waiting, failed, unknown, dead, tokens, costUsd } = counts
  return {
    ...toThreadRow(info),
    tags: info.tags,
    ...defined({ left: info.left }),
    counts: { threads, working, waiting, failed, unknown, dead, tokens, costUsd },
  }
}
