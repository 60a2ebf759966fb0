/**
 * What the backends have in common: checks before a write is queued, so that a bad write cannot harm the others that
 * share its transaction; errors that all of them word alike; filters and cursors of lists. Owns no state.
 */
import { broken, SkeinError } from '../core/failure.js'
import type { Commit, Head, HeadFilter, Leases, Mail, StoredHead } from './port.js'

export function checkCommit(commit: Commit): void {
  checkOne(commit)
  for (const other of commit.also ?? []) {
    checkOne(other)
    if (other.also) throw broken('J1', `the commit to thread ${other.thread} is part of another and has parts itself`)
  }
}

function checkOne({ entry, head, thread, expected }: Commit): void {
  if (entry && !head) throw broken('J1', `a commit to thread ${thread} has records but no head`)
  if (head && !entry && expected === 0)
    throw broken('J1', `a commit gives a head to thread ${thread}, which has no record`)
  if (entry && (entry.first !== expected + 1 || entry.count < 1)) {
    throw broken(
      'J1',
      `a commit to thread ${thread} expects ${expected} but has ${entry.count} records from ${entry.first} on`,
    )
  }
  if (entry && !entry.isPlain && (entry.body.includes('\0') || !/^[\x21-\x7e]*$/.test(entry.hash))) {
    throw broken('J1', `a commit to thread ${thread} has a body with a NUL character or a hash that is not plain ASCII`)
  }
}

const noTexts: readonly string[] = []

/** The texts of all mail that a commit sends: of its own, then of each of `also`. */
export function mailTexts(commit: Commit): readonly (readonly string[])[] {
  const texts = ({ sends }: Commit): readonly string[] => (sends.length === 0 ? noTexts : sends.map(mailText))
  return commit.also ? [texts(commit), ...commit.also.map(texts)] : [texts(commit)]
}

/** The body as text, so that a sender that changes its value later changes nothing that is stored. */
export function mailText(mail: Mail): string {
  const text: string | undefined = JSON.stringify(mail.body)
  if (text === undefined)
    throw new SkeinError('BAD_OPTION', `mail ${mail.id} has a body that is not JSON; give it a JSON value`)
  return text
}

export function storeClosed(name: string): SkeinError {
  return new SkeinError('STORE_CLOSED', `the ${name} store is closed; open it again to go on`)
}

export function clientMayNot(action: string): SkeinError {
  return broken('J1', `a client tried to ${action}, which only a host may do`)
}

/** Asking for a partition that does not exist is a bug of the caller. */
export function checkPartition(partition: number, partitions: number): void {
  if (Number.isInteger(partition) && partition >= 0 && partition < partitions) return
  throw broken('J1', `there is no partition ${partition}; the store has ${partitions}`)
}

function badCursor(cursor: string): SkeinError {
  return new SkeinError(
    'BAD_OPTION',
    `cursor ${JSON.stringify(cursor)} is not one that a list gave; pass its \`next\` unchanged`,
  )
}

export function blobMissing(hash: string, why: string): SkeinError {
  return new SkeinError('BLOB_MISSING', `blob ${hash} ${why}; put it again or restore it from a backup`, {
    data: { hash },
  })
}

const hashLength = 64
const noBlobs: readonly string[] = []

/**
 * J10: the blobs that a text names, also within JSON that is quoted in JSON. One character of a name stands at a
 * multiple of its length, so that only one in 64 is looked at: this is asked of every commit, and few name a blob.
 */
export function blobsNamedIn(text: string): readonly string[] {
  let named: string[] | undefined
  for (let at = hashLength; at < text.length; at += hashLength) {
    if (!isHexDigit(text.charCodeAt(at))) continue
    let first = at
    while (at - first < hashLength && isHexDigit(text.charCodeAt(first - 1))) first--
    const quoted = text.slice(first - 1, first + hashLength + 1)
    if (quotedHash.test(quoted)) (named ??= []).push(quoted.slice(1, -1))
  }
  return named ?? noBlobs
}

const quotedHash = /^"[0-9a-f]{64}["\\]$/

function isHexDigit(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 97 && code <= 102)
}

/** The number in a cursor of `heads.list`; 0 without one. */
export function cursorNumber(cursor: string | undefined): number {
  if (cursor === undefined) return 0
  if (!/^\d{1,15}$/.test(cursor)) throw badCursor(cursor)
  return Number(cursor)
}

/** The limit of `heads.list` and `journal.readTree`, unless the caller gives one. */
export const listedAtOnce = 1000

/** J11: stands for a head that cannot be read; the next owner of the thread writes it anew from the journal. */
export function damagedHead({
  thread,
  root,
  damaged,
}: Required<Pick<StoredHead, 'thread' | 'root' | 'damaged'>>): StoredHead {
  return {
    thread,
    seq: 0,
    status: 'damaged',
    agent: '?',
    root,
    path: [thread],
    tags: [],
    rest: false,
    createdAt: 0,
    updatedAt: 0,
    damaged,
  }
}

/** What a host that takes a partition must look at. */
export function isRestless({ rest, wakeAt, status }: Pick<Head, 'rest' | 'wakeAt' | 'status'>): boolean {
  return !rest || wakeAt !== undefined || status === 'awaiting_variables'
}

export function matches(head: Head, filter: HeadFilter): boolean {
  return (
    (filter.status === undefined || head.status === filter.status) &&
    (filter.agent === undefined || head.agent === filter.agent) &&
    (filter.tag === undefined || head.tags.includes(filter.tag)) &&
    (filter.parent === undefined || head.parent === filter.parent) &&
    (filter.root === undefined || head.root === filter.root) &&
    (filter.pending === undefined || head.pending !== undefined)
  )
}

/** The leases of a store with one host at a time: a single partition, which holds every thread. */
export const oneLease: Pick<Leases, 'partitions' | 'shared' | 'leaseMs' | 'partitionOf' | 'watch'> = {
  partitions: 1,
  shared: false,
  leaseMs: 0,
  partitionOf: () => 0,
  // The share of its one host never changes.
  watch: () => () => undefined,
}
