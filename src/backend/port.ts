/**
 * The backend port: one bundle of what must agree (journal, mailboxes, heads, snapshots, signals, blobs, leases). It
 * stores and compares; it never looks inside a record. Suite of all: test/contract/backend.ts. J9, J10: trees.ts;
 * J11: head-schema.ts.
 *
 * J1  There is one write to a thread: `commit`. It is atomic: records, head, sends and finished mail, or none; what is
 *     left of one when a process dies (`nats`) is done before the next holder of its lease gets it.
 * J2  A commit with a stale `expected` or an older `epoch` is refused and changes nothing.
 * J3  A commit is acknowledged only when it is durable; commits of one thread become durable in order.
 * J4  Mail is numbered in order of arrival per thread and stays until a commit names it in `done`.
 * J5  Positions grow over the whole backend; reading after a position misses nothing committed later.
 * J6  A snapshot is a cache: losing one changes no result.
 * J7  Signals are best effort; one publisher's signals on one topic keep their order.
 * J8  A blob is named by the sha256 of its bytes; reading one gives these bytes or fails.
 */
import type { Clock } from '../core/clock.js'
import type { Finding } from '../core/finding.js'
import type { Json } from '../core/json.js'
import type { HoldReason } from '../core/records/record.js'
import type { HostInfo, HostSelf } from './host-info.js'
import type { Trees } from './trees.js'

/** Something that a thread waits for someone to decide or to give. */
export interface Pending {
  /** The call's id in its thread; `turn` where the agent itself waits for variables. */
  readonly call: string
  readonly why: HoldReason
  readonly tool: string
  readonly args: Json
  readonly requestedAt: number
  /** Variables that have no value: `thread.env.set` gives them one. */
  readonly missing?: readonly string[]
  /** A child could not begin without them: `skein.variables.provide` takes this. */
  readonly request?: string
  readonly prompt?: string
  readonly defaults?: Json
  readonly deadlineAt?: number
  /** What is decided when the deadline comes. */
  readonly atDeadline?: 'approve' | 'reject'
  /** It may already have happened: the question is whether to do it again. */
  readonly unknown?: true
}

/** The thread's entry in the index; derived by its owner, written with every commit. */
export interface Head {
  readonly agent: string
  readonly status: string
  readonly parent?: string
  readonly root: string
  readonly path: readonly string[]
  readonly tags: readonly string[]
  /** Nothing to do until mail comes. A new owner activates every thread that is not at rest. */
  readonly rest: boolean
  /** The earliest deadline that the thread waits for. */
  readonly wakeAt?: number
  readonly pending?: readonly Pending[]
  /** What its parent calls it. */
  readonly reference?: string
  /** For people. */
  readonly name?: string
  /** What it says that it is doing. */
  readonly says?: string
  /** Why it is paused or terminated, or rests because its budget is spent. */
  readonly reason?: string
  /** How many of its children failed for good. */
  readonly dead?: number
  readonly createdAt: number
  readonly updatedAt: number
}

export interface StoredHead extends Head {
  readonly thread: string
  readonly seq: number
  /**
   * What is wrong with what is stored (J11): nothing else of this head counts. Its next owner makes it again from the
   * journal.
   */
  readonly damaged?: string
}

/** Some records of one thread, packed; `hash` chains them to what was before. */
export interface Entry {
  /** Sequence of its first record. */
  readonly first: number
  readonly count: number
  /** Any text without a NUL character. */
  readonly body: string
  /** Plain ASCII without spaces. */
  readonly hash: string
}

export interface StoredEntry extends Entry {
  readonly thread: string
  /** Place in the whole backend, for cursors over many threads. */
  readonly position: number
}

export interface Mail {
  readonly id: string
  readonly body: Json
}

export interface StoredMail extends Mail {
  readonly number: number
  /** What is wrong with what is stored: nobody knows what it asked for. */
  readonly damaged?: string
}

export interface Send extends Mail {
  readonly to: string
}

export interface Commit {
  readonly thread: string
  /** Sequence of the last record that the writer has folded; 0 for a new thread. */
  readonly expected: number
  /** The writer's lease. */
  readonly epoch: number
  /** Absent when a commit only finishes mail. */
  readonly entry?: Entry
  /**
   * Absent only for a thread that does not exist (refused mail). A thread begins with its first entry, not with a head.
   */
  readonly head?: Head
  readonly sends: readonly Send[]
  /** Numbers of our own mail that this commit finishes. */
  readonly done: readonly number[]
}

export type CommitResult =
  /** `position` is the entry's; without an entry, the last one of the backend. */
  | {
      readonly ok: true
      readonly position: number
      /**
       * Resolves when the mail that it finishes is not `waiting` any more; absent: it is not. A holder does not read
       * it again in any case.
       */
      readonly finished?: Promise<void>
    }
  | { readonly ok: false; readonly seq: number; readonly epoch: number }

export interface HeadFilter {
  readonly status?: string
  readonly agent?: string
  readonly tag?: string
  readonly parent?: string
  readonly root?: string
  /** Only threads that wait for someone. */
  readonly pending?: true
  /** 1,000 unless given; `next` of the answer says that there is more. */
  readonly limit?: number
  /** `next` of an earlier answer. */
  readonly cursor?: string
}

export interface Journal {
  /** Entries with a record after sequence `after`, oldest first, `limit` (default: all) at most. */
  read(thread: string, range?: { readonly after?: number; readonly limit?: number }): Promise<readonly StoredEntry[]>
  /** Entries of a whole tree after a position, in order of position, `limit` (default 1,000) at most. */
  readTree(root: string, range?: { readonly after?: number; readonly limit?: number }): Promise<readonly StoredEntry[]>
}

export interface Heads {
  get(thread: string): Promise<StoredHead | undefined>
  /** In order of creation; of one partition, or of all. */
  list(
    filter: HeadFilter,
    partition?: number,
  ): Promise<{ readonly heads: readonly StoredHead[]; readonly next?: string }>
  /** Every thread that is not at rest or has a `wakeAt`; of one partition, or of all. */
  restless(partition?: number): Promise<readonly StoredHead[]>
}

export interface Mailbox {
  /** Durable when it resolves. The same id twice for one thread is one mail while it is not done. */
  put(send: Send): Promise<void>
  /** Where a lease is held: what `watch` has told of, or could have. */
  read(thread: string, after: number): Promise<readonly StoredMail[]>
  /**
   * Threads that have mail; of one partition, or of all. With the root of a tree: also mail that a commit of it sends
   * which can be read now (J1).
   */
  waiting(partition?: number, root?: string): Promise<readonly string[]>
  /**
   * Told of every thread of the partitions that are held here that gets mail from now on, by whatever process, once
   * it is durable and can be read. Returns what stops it.
   */
  watch(arrived: (thread: string) => void): () => void
}

export interface Snapshots {
  get(thread: string): Promise<Uint8Array | undefined>
  put(thread: string, snapshot: Uint8Array): Promise<void>
}

export interface Signals {
  /**
   * Of a host: `unheard` is called when nobody listens, in whatever process; a moment later where that has to be
   * asked for.
   */
  publish(topic: string, value: Json, unheard?: () => void): void
  /**
   * `missed` is called when signals may have been lost: the subscription took effect late, a connection broke; or now
   * and then, where they are lost unseen.
   */
  subscribe(topic: string, heard: (value: Json) => void, missed?: () => void): () => void
  /** Cheap: lets a publisher skip making what nobody hears. May answer true too often, never false. */
  heard(topic: string): boolean
}

export interface Blobs {
  /** Stores the bytes and gives their sha256 in hex; durable when it resolves. */
  put(bytes: Uint8Array | AsyncIterable<Uint8Array>): Promise<{ readonly hash: string; readonly size: number }>
  /** Fails with BLOB_MISSING, at the end of the stream too when the bytes are not those of the hash. */
  get(hash: string): AsyncIterable<Uint8Array>
  has(hash: string): Promise<boolean>
}

export interface Lease {
  readonly partition: number
  /** Grows with every acquisition, for ever. */
  readonly epoch: number
  /** Aborted when the lease is gone. */
  readonly lost: AbortSignal
  release(): Promise<void>
}

export interface Leases {
  readonly partitions: number
  /** Whether several hosts may have a part each. Where not, a host without the lease is of no use. */
  readonly shared: boolean
  /**
   * How long a host that is not heard of keeps what it holds, and may still be at work on it. 0: one that lost it is
   * dead.
   */
  readonly leaseMs: number
  partitionOf(thread: string): number
  /**
   * Undefined while someone else holds it. What it was owed by the last holder is there: mail is read, sends are out.
   */
  acquire(partition: number): Promise<Lease | undefined>
  survey(): Promise<Survey>
  /** Told when this host has more than its share, or could have more. Returns what stops it. */
  watch(told: (survey: Survey) => void): () => void
}

/** Which part of the partitions is this host's. */
export interface Survey {
  /** How many it should hold; over all hosts, all of them. */
  readonly share: number
  /** Partitions that nobody holds; only looked for while it holds less than its share. */
  readonly free: readonly number[]
  /** Partitions that hosts of a newer Skein have written and nobody holds: they are not for this one. */
  readonly barred: number
}

/** A text by which a key for secrets is told apart from another: the first one that is kept stays, for ever. */
export interface KeyCheck {
  read(): Promise<string | undefined>
  /** Of a host: gives the one that is there, which is this one where there was none. Plain ASCII. */
  keep(text: string): Promise<string>
}

export interface Backend {
  readonly name: string
  /**
   * Where the master key for secrets is, unless one is given: a file, made on first use, or the key itself. Absent:
   * it must be given.
   */
  readonly key?: { readonly file: string } | { readonly text: string }
  readonly keyCheck: KeyCheck
  /** A host may hold leases; a client reads, puts mail and listens. */
  readonly role: StoreRole
  /** Whether a host that would answer mail is known to be there. */
  hosted(): Promise<boolean>
  /** The hosts that are there, in the order in which they began. */
  hosts(): Promise<readonly HostInfo[]>
  commit(commit: Commit): Promise<CommitResult>
  readonly journal: Journal
  readonly heads: Heads
  readonly mailbox: Mailbox
  readonly snapshots: Snapshots
  readonly signals: Signals
  readonly blobs: Blobs
  readonly trees: Trees
  readonly leases: Leases
  /** A copy of the whole store as one that can be opened, made while it is in use; only where it is a folder. */
  backup?(dir: string): Promise<void>
  close(): Promise<void>
}

export type StoreRole = 'host' | 'client'

/** What `memory()`, `local(dir)` and `nats(…)` give: opened by createSkein, closed with it. */
export interface Store {
  /** `self`: what a host says of itself. */
  open(role: StoreRole, self?: HostSelf): Promise<Backend>
  /** Looks whether it could be opened, and what an operator should know of it; changes nothing. */
  examine?(clock: Clock): Promise<Examination>
}

export interface Examination {
  readonly findings: readonly Finding[]
  /** It keeps the key for secrets itself, where none is given. */
  readonly keepsKey: boolean
}
