/** The values of a head for its row: those that every commit changes, and those that rarely change. */
import type { Head } from '../../port.js'
import type { Value } from './driver.js'

/** The fields that rarely change. */
export function steadyValues(head: Head): Value[] {
  const { rest, wakeAt, agent, parent, root, path, tags, createdAt, pending } = head
  return [
    rest ? 1 : 0,
    wakeAt ?? null,
    agent,
    parent ?? null,
    root,
    JSON.stringify(path),
    JSON.stringify(tags),
    createdAt,
    pending ? JSON.stringify(pending) : null,
  ]
}

/** Whether no steady field has changed. Compared one by one: most are the same object. */
export function isSteady(before: Head, head: Head): boolean {
  return (
    before.rest === head.rest &&
    before.wakeAt === head.wakeAt &&
    before.agent === head.agent &&
    before.parent === head.parent &&
    before.root === head.root &&
    before.createdAt === head.createdAt &&
    isSame(before.path, head.path) &&
    isSame(before.tags, head.tags) &&
    isSame(before.pending, head.pending)
  )
}

function isSame(before: unknown, now: unknown): boolean {
  return before === now || JSON.stringify(before) === JSON.stringify(now)
}

/** The fields that no query filters by, as one object. */
export function moreText(head: Head): string | null {
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
