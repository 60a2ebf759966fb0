/**
 * Records as the journal stores them: packed per commit, versioned, and chained by hash.
 *
 * - The hash of an entry covers the hash before it and its own text, so a changed, missing or reordered entry
 *   is found when it is read (P2).
 * - A record of a newer version is refused, an older one is lifted step by step in `upcast`.
 */
import { hash } from 'node:crypto'
import type { Entry, StoredEntry } from '../../backend/port.js'
import { SkeinError } from '../../core/failure.js'
import { recordVersion } from '../../core/records/record.js'
import type { ThreadRecord } from '../../core/records/record.js'
import { standingOn } from '../../core/records/travel.js'
import type { Past } from '../../core/records/travel.js'

/** The hash before the first entry. */
export const chainStart = ''

/** Where an entry follows on: the entry before it, or its hash. */
export type Chain = Entry | string

export function pack(records: readonly ThreadRecord[], before: Chain): PackedEntry {
  const [first] = records
  if (!first) throw new RangeError('an entry has at least one record')
  return new PackedEntry(first.seq, records, before)
}

export function chainHash(chain: Chain): string {
  return typeof chain === 'string' ? chain : chain.hash
}

/** Text and hash are made when they are first asked for: a store in memory may never be read. */
export class PackedEntry implements Entry {
  readonly first: number
  readonly count: number
  readonly isPlain = true
  #records: readonly ThreadRecord[] | undefined
  #before: Chain
  #body: string | undefined
  #hash: string | undefined

  constructor(first: number, records: readonly ThreadRecord[], before: Chain) {
    this.first = first
    this.count = records.length
    this.#records = records
    this.#before = before
  }

  /** Whether its text is made. */
  get isMade(): boolean {
    return this.#body !== undefined
  }

  get body(): string {
    this.#body ??= JSON.stringify({ v: recordVersion, r: this.#records })
    this.#records = undefined
    return this.#body
  }

  get hash(): string {
    if (this.#hash !== undefined) return this.#hash
    // A loop: a chain of entries that nobody has read may be longer than the stack.
    const unread: PackedEntry[] = [this]
    let before = this.#before
    while (before instanceof PackedEntry && before.#hash === undefined) {
      unread.push(before)
      before = before.#before
    }
    let last = chainHash(before)
    for (let entry = unread.pop(); entry; entry = unread.pop()) {
      last = link(last, entry.body)
      entry.#hash = last
      entry.#before = last
    }
    return last
  }
}

/** The entry, after an entry with this hash. */
export function relink<Linked extends Entry>(entry: Linked, before: string): Linked {
  return { ...entry, hash: link(before, entry.body) }
}

function link(before: string, body: string): string {
  return hash('sha256', before + body, 'base64url').slice(0, 22)
}

/** An entry, with the pasts that its records stand on, by their numbers (past.ts). */
interface ReadEntry extends StoredEntry {
  readonly pasts?: ReadonlyMap<number, Past>
}

/** Reads entries in order: `unpack` is called once for each. Throws at the first that does not follow. */
export function createEntryReader(thread: string, from: { readonly seq: number; readonly chain: Chain }) {
  let { seq } = from
  let chain = chainHash(from.chain)
  return {
    get chain() {
      return chain
    },
    unpack(entry: ReadEntry): readonly ThreadRecord[] {
      if (entry.first !== seq + 1)
        throw corrupt(thread, seq + 1, `record ${seq + 1} is missing; ${entry.first} follows`)
      if (link(chain, entry.body) !== entry.hash)
        throw corrupt(thread, entry.first, 'its text does not match the hash chain')
      const records = decode(thread, entry)
      if (records.length !== entry.count)
        throw corrupt(thread, entry.first, `${entry.count} records were promised, ${records.length} are there`)
      seq += entry.count
      chain = entry.hash
      return records
    },
  }
}

/** The records of an entry, without a look at the hash chain: that is checked elsewhere. */
export function decode(thread: string, { first, body, pasts }: ReadEntry): readonly ThreadRecord[] {
  const { v, r } = parse(thread, first, body)
  if (v > recordVersion) {
    throw new SkeinError(
      'RECORD_FROM_FUTURE',
      `thread ${thread}: record ${first} has version ${v}, this Skein knows up to ${recordVersion}; upgrade Skein ` +
        `to go on with it`,
      { data: { thread, seq: first, version: v } },
    )
  }
  const records = v === recordVersion ? r : upcast(r, v)
  return pasts ? records.map((record) => withPast(record, pasts.get(record.seq))) : records
}

function withPast(record: ThreadRecord, past: Past | undefined): ThreadRecord {
  return past ? standingOn(record, past) : record
}

function parse(thread: string, seq: number, body: string): { v: number; r: readonly ThreadRecord[] } {
  try {
    const value: { v: number; r: ThreadRecord[] } = JSON.parse(body)
    if (Number.isInteger(value.v) && Array.isArray(value.r)) return value
  } catch (thrown) {
    throw corrupt(thread, seq, `its text is not JSON (${String(thrown)})`)
  }
  throw corrupt(thread, seq, 'its text is not a list of records')
}

function upcast(records: readonly ThreadRecord[], version: number): readonly ThreadRecord[] {
  if (version < 1) throw new SkeinError('JOURNAL_CORRUPT', `there never was a record version ${version}`)
  return records
}

function corrupt(thread: string, seq: number, detail: string): SkeinError {
  return new SkeinError(
    'JOURNAL_CORRUPT',
    `the journal of thread ${thread} is damaged at record ${seq}: ${detail}. The thread is parked; other threads ` +
      `go on. Restore it from a back-up.`,
    { data: { thread, seq } },
  )
}
