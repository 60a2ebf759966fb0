/**
 * A commit as the columns of `threads` and `journal`: those that every commit changes, those that say what a thread
 * waits for, and those that say which thread it is. Owns no statement.
 */
import type { Commit, Entry, Head } from '../../port.js'
import type { Value } from './driver.js'

/** seq, epoch, status, updated, more: every commit changes some of them. */
export function movingValues({ expected, epoch, entry }: Commit, head: Head): Value[] {
  return [expected + (entry?.count ?? 0), epoch, head.status, head.updatedAt, moreText(head)]
}

/** rest, wake, pending */
export function waitingValues({ rest, wakeAt, pending }: Head): Value[] {
  return [rest ? 1 : 0, wakeAt ?? null, pending ? JSON.stringify(pending) : null]
}

/** agent, parent, root, path, tags, created */
export function lastingValues({ agent, parent, root, path, tags, createdAt }: Head): Value[] {
  return [agent, parent ?? null, root, JSON.stringify(path), JSON.stringify(tags), createdAt]
}

/** first, count, hash, body */
export function entryValues({ first, count, hash, body }: Entry): Value[] {
  return [first, count, hash, body]
}

/** Whether no value but the moving ones has changed. Compared one by one: most are the same object. */
export function isSteady(before: Head, head: Head): boolean {
  return (
    before.rest === head.rest &&
    before.wakeAt === head.wakeAt &&
    isSame(before.pending, head.pending) &&
    isSameThread(before, head)
  )
}

/** Whether no lasting value has changed. */
export function isSameThread(before: Head, head: Head): boolean {
  return (
    before.agent === head.agent &&
    before.parent === head.parent &&
    before.root === head.root &&
    before.createdAt === head.createdAt &&
    isSame(before.path, head.path) &&
    isSame(before.tags, head.tags)
  )
}

function isSame(before: unknown, now: unknown): boolean {
  return before === now || JSON.stringify(before) === JSON.stringify(now)
}

/** The fields that no query filters by, as one object. */
function moreText(head: Head): string | null {
  const { reference, name, says, reason, dead, title, usage, left, step, turnAt, error, unknown, queued } = head
  const { unread, edits, forkedFrom, rewound } = head
  // One literal without a spread: this is made for every commit.
  const names = {
    reference,
    name,
    says,
    reason,
    dead,
    title,
    usage,
    left,
    step,
    turnAt,
    error,
    unknown,
    queued,
    unread,
  }
  const isPlain = edits === undefined && forkedFrom === undefined && rewound === undefined
  const text = JSON.stringify(isPlain ? names : { ...names, edits, forkedFrom, rewound })
  return text === '{}' ? null : text
}
