/**
 * The backend port: one bundle of what must agree. It stores and compares, and never looks inside a record.
 * J1  `commit`, the one write to a thread, is atomic: records, head, sends and finished mail, or none of them.
 * J2  A commit with a stale `expected` or an older `epoch` is refused and changes nothing.
 * J3  A commit is acknowledged only when it is durable; commits of one thread become durable in order.
 * J4  Mail is numbered in order of arrival per thread and stays until a commit names it in `done`.
 * J5  Positions grow over the whole backend; reading after a position misses nothing committed later.
 * J6  A snapshot is a cache: losing one changes no result.
 * J7  Signals are best effort; one publisher's signals on one topic keep their order.
 * J8  A blob is named by the sha256 of its bytes; reading one gives these bytes or fails.
 * J9  A tree is removed whole and in one instant: readers see all of it or nothing, also after a crash.
 * J10 A blob is collected only when no journal and no mail names it, and nobody has put it for a while.
 * J12 Who follows heads is told each thread's last head and each removed tree, in order of position, without a hole.
 */
import type { Amounts } from '../core/budget.js'
import type { Clock } from '../core/clock.js'
import type { Finding } from '../core/finding.js'
import type { Json } from '../core/json.js'
import type { HoldReason } from '../core/records/record.js'
import type { HostInfo, HostSelf } from './host-info.js'

/** A decision or a value that a thread waits for. */
export interface Pending {
  /** The call's id in its thread; `turn` where the agent itself waits for variables. */
  readonly call: string
  readonly why: HoldReason
  readonly tool: string
  readonly args: Json
  readonly requestedAt: number
  /** Variables that have no value yet: `thread.env.set` gives them one. */
  readonly missing?: readonly string[]
  /** Set when a child could not begin without them: the id that `skein.variables.provide` takes. */
  readonly request?: string
  readonly prompt?: string
  readonly defaults?: Json
  readonly deadlineAt?: number
  /** The decision that is taken at the deadline. */
  readonly atDeadline?: 'approve' | 'reject'
  /** The call may already have run: the question is whether to run it again. */
  readonly unknown?: true
}

/** The entry of a thread in the index; derived by its owner, written with every commit. */
export interface Head {
  readonly agent: string
  readonly status: string
  readonly parent?: string
  readonly root: string
  readonly path: readonly string[]
  readonly tags: readonly string[]
  /** It has nothing to do until mail comes. A new owner activates every thread that is not at rest. */
  readonly rest: boolean
  /** The earliest deadline that the thread waits for. */
  readonly wakeAt?: number
  readonly pending?: readonly Pending[]
  /** What its parent calls it. */
  readonly reference?: string
  /** For people. */
  readonly name?: string
  /** Its own words for what it is doing. */
  readonly says?: string
  /** Why it is paused or terminated, or rests because its budget is spent. */
  readonly reason?: string
  /** How many of its children failed for good. */
  readonly dead?: number
  /** The beginning of the first message that it was sent. */
  readonly title?: string
  readonly usage?: HeadUsage
  /** Of its budget; a kind without a limit is absent. */
  readonly left?: Amounts
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
  /** Messages that read otherwise than they were recorded. */
  readonly edits?: number
  /** The thread whose past it began with, and the last record of it that it has. */
  readonly forkedFrom?: { readonly thread: string; readonly seq: number }
  /** The last record with which it went back. */
  readonly rewound?: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** Tokens, and cost in billionths of a dollar. */
export interface HeadUsage {
  readonly tokens: number
  readonly nanoUsd: number
  /** With all below it, as far as they have reported; absent where that is the same. */
  readonly tree?: { readonly tokens: number; readonly nanoUsd: number }
}

export interface StoredHead extends Head {
  readonly thread: string
  readonly seq: number
  /** What is wrong with it (J11): no other field counts, and the thread's next owner writes it anew. */
  readonly damaged?: string
}

/** Some records of one thread, packed; `hash` chains them to the entries before. */
export interface Entry {
  /** Sequence of its first record. */
  readonly first: number
  readonly count: number
  /** Any text without a NUL character. */
  readonly body: string
  /** Plain ASCII without spaces. */
  readonly hash: string
  /** Text and hash are made so that they need no check; whoever does not need them yet leaves them unmade. */
  readonly isPlain?: true
}

export interface StoredEntry extends Entry {
  readonly thread: string
  /** Order in the whole backend, for cursors over many threads. */
  readonly position: number
}

export interface Mail {
  readonly id: string
  readonly body: Json
}

export interface StoredMail extends Mail {
  readonly number: number
  /** What is wrong with the stored mail: its content is not known. */
  readonly damaged?: string
}

export interface Send extends Mail {
  readonly to: string
}

export interface Commit {
  readonly thread: string
  /** Sequence of the last record that the writer has folded; 0 for a new thread. */
  readonly expected: number
  /** Of the writer's lease. */
  readonly epoch: number
  /** Absent when a commit only finishes mail. */
  readonly entry?: Entry
  /** Absent only for a thread that does not exist (refused mail): a thread begins with its first entry. */
  readonly head?: Head
  readonly sends: readonly Send[]
  /** Numbers of our own mail that this commit finishes. */
  readonly done: readonly number[]
  /** Commits of other threads that stand or fall with this one; only where the backend has `together`. */
  readonly also?: readonly Commit[]
}

/** Where an entry stands. */
export interface Placed {
  /** Without an entry, the last one of the backend. */
  readonly position: number
  /** The position of the entry before it in its tree, 0 for the first; absent where the store does not know it. */
  readonly follows?: number | undefined
}

export type CommitResult =
  | (Placed & {
      readonly ok: true
      readonly also?: readonly Placed[]
      /** Resolves when the mail that the commit finishes is not `waiting` any more; absent: that is so already. */
      readonly finished?: Promise<void>
    })
  | { readonly ok: false; readonly seq: number; readonly epoch: number }

export interface HeadFilter {
  readonly status?: string
  readonly agent?: string
  readonly tag?: string
  readonly parent?: string
  readonly root?: string
  /** Only threads that wait for a decision or a value. */
  readonly pending?: true
  /** 1,000 by default; there is more when the answer has `next`. */
  readonly limit?: number
  /** `next` of an earlier answer. */
  readonly cursor?: string
}

/** Which entries are read, and how much of them at once. */
export interface JournalRange {
  readonly after?: number
  readonly limit?: number
  /** Ends with the entry that brings the bodies to this length, in bytes or characters. Default: none. */
  readonly bytes?: number
}

export interface Journal {
  /** Entries with a record after sequence `after`, oldest first, `limit` (default: all) at most. */
  read(thread: string, range?: JournalRange): Promise<readonly StoredEntry[]>
  /** Entries of a whole tree after a position, in order of position, `limit` (default 1,000) at most. */
  readTree(root: string, range?: JournalRange): Promise<readonly StoredEntry[]>
}

export interface Heads {
  get(thread: string): Promise<StoredHead | undefined>
  /** In the order of their first commits; of one partition, or of all. */
  list(
    filter: HeadFilter,
    partition?: number,
  ): Promise<{ readonly heads: readonly StoredHead[]; readonly next?: string }>
  /** Every thread that is not at rest, has a `wakeAt` or awaits variables; of one partition, or of all. */
  restless(partition?: number): Promise<readonly StoredHead[]>
  /**
   * Tells all heads that there are, then every change (J12). Of several commits to a thread the last may stand for all.
   * A loss that the store notices late is made up by telling trees as removed and heads again.
   */
  follow(told: (change: HeadChange) => void): HeadFollower
}

/** A change of the index: a thread has another head, or a tree is no more. */
export type HeadChange =
  | {
      readonly position: number
      readonly head: StoredHead
      /** Its place in the order of first commits, in which `list` gives threads; the number in its cursors. */
      readonly born: number
    }
  | { readonly position: number; readonly removed: string }

export interface HeadFollower {
  /** Resolves when the heads that there were have been told: what was told is true for this position. */
  readonly ready: Promise<number>
  /** Resolves when all that was acknowledged before has been told, with the position that this is true for. */
  current(): Promise<number>
  stop(): void
}

export interface Mailbox {
  /**
   * Resolves when it is durable, and no attempt to write it is under way any more: no copy of it comes later. Two with
   * the same id for one thread are one mail while it is not done.
   */
  put(send: Send): Promise<void>
  /** Mail with greater numbers. Where a lease is held: the mail that `watch` has reported, or could have. */
  read(thread: string, after: number): Promise<readonly StoredMail[]>
  /**
   * Threads that have mail; of one partition, or of all. With the root of a tree: also mail that a commit of it sends
   * which can be read now (J1).
   */
  waiting(partition?: number, root?: string): Promise<readonly string[]>
  /**
   * Calls `arrived` for every thread of the partitions held here that gets mail from now on, from whatever process,
   * once the mail is durable and can be read. Returns what stops it.
   */
  watch(arrived: (thread: string) => void): () => void
}

export interface Snapshots {
  get(thread: string): Promise<Uint8Array | undefined>
  put(thread: string, snapshot: Uint8Array): Promise<void>
}

export interface Signals {
  /** For a host: `unheard` is called when no process has a listener, a moment later where that must be found out. */
  publish(topic: string, value: Json, unheard?: () => void): void
  /**
   * `missed` is called when signals may have been lost: the subscription took effect late, or a connection broke; and
   * from time to time where losses go unnoticed.
   */
  subscribe(topic: string, listener: (value: Json) => void, missed?: () => void): () => void
  /** Cheap, so that a publisher need not make signals that nobody hears. False only if there is no listener. */
  heard(topic: string): boolean
}

export interface Blobs {
  /** Gives the sha256 of the bytes in hex; resolves when they are durable. Parts may follow in the same memory. */
  put(bytes: Uint8Array | AsyncIterable<Uint8Array>): Promise<{ readonly hash: string; readonly size: number }>
  /** Fails with BLOB_MISSING; also at the end of the stream, when the bytes do not have the hash. */
  get(hash: string): AsyncIterable<Uint8Array>
  has(hash: string): Promise<boolean>
}

export interface Removal {
  readonly root: string
  /** As in a commit (J2): the last record of the root that the remover has folded, and its lease. */
  readonly expected: number
  readonly epoch: number
}

export type RemovalResult = { readonly ok: true } | { readonly ok: false; readonly seq: number; readonly epoch: number }

/** Removal of whole trees: their journals, heads, mail and snapshots, and later the blobs that only they named. */
export interface Trees {
  /**
   * From the instant of removal (J9) nothing of the tree is seen and its ids are free; mail that comes later is mail
   * to a thread that does not exist. `sweep` frees the room that it took.
   */
  remove(removal: Removal): Promise<RemovalResult>
  /**
   * Frees a slice of the room that removed trees took, in a few milliseconds, so that other users of the store are not
   * held up. J10: a text names the blobs whose hashes it has between quotation marks; blobs that were put less than
   * `olderThanMs` ago stay.
   */
  sweep(options: { readonly olderThanMs: number }): Promise<{ readonly more: boolean }>
}

export interface Lease {
  readonly partition: number
  /** Grows with every acquisition, for ever. */
  readonly epoch: number
  /** Aborted when the lease is lost or released. */
  readonly lost: AbortSignal
  /** What `heads.restless` gives, where the take-over has read it and nobody can have written since. */
  readonly restless?: readonly StoredHead[]
  release(): Promise<void>
}

export interface Leases {
  readonly partitions: number
  /** Whether several hosts may hold partitions at once. Where not, a host without the lease has nothing to do. */
  readonly shared: boolean
  /**
   * How long a silent host keeps its leases, and may still be at work under them. 0: a host that lost its lease is
   * dead.
   */
  readonly leaseMs: number
  partitionOf(thread: string): number
  /** Undefined while another host holds it. What the last holder left undone has been done: its mail is out. */
  acquire(partition: number): Promise<Lease | undefined>
  survey(): Promise<Survey>
  /** Calls `changed` when this host has more than its share, or could take more. Returns what stops it. */
  watch(changed: (survey: Survey) => void): () => void
}

/** Which of the partitions this host should hold. */
export interface Survey {
  /** How many it should hold; the shares of all hosts cover all partitions. */
  readonly share: number
  /** Partitions that nobody holds; only looked for while this host does not hold its share. */
  readonly free: readonly number[]
  /** How many partitions this host may not take, because a newer Skein has written to them. */
  readonly barred: number
}

/** A text that tells the master key for secrets from another one: the first that is kept stays for ever. */
export interface KeyCheck {
  read(): Promise<string | undefined>
  /** For a host: keeps this text (plain ASCII) if there is none yet, and gives the one that is kept. */
  keep(text: string): Promise<string>
}

export interface Backend {
  readonly name: string
  /** The default master key for secrets: a file, made on first use, or the key itself. Absent: it must be an option. */
  readonly key?: { readonly file: string } | { readonly text: string }
  readonly keyCheck: KeyCheck
  /** A host may hold leases; a client reads, puts mail and listens. */
  readonly role: StoreRole
  /** Whether there is a host that would answer mail. */
  hosted(): Promise<boolean>
  /** The hosts, in the order in which they began. */
  hosts(): Promise<readonly HostInfo[]>
  /**
   * Where a commit takes several writes (`nats`), what a dead process left undone of one is done before the lease of
   * its thread is given to anyone else (J1).
   */
  commit(commit: Commit): Promise<CommitResult>
  /** Several threads can be written by one commit (`also`). */
  readonly together?: true
  readonly journal: Journal
  readonly heads: Heads
  readonly mailbox: Mailbox
  readonly snapshots: Snapshots
  readonly signals: Signals
  readonly blobs: Blobs
  readonly trees: Trees
  readonly leases: Leases
  /** Copies the whole store, while it is in use, to a folder that can be opened; only where the store is a folder. */
  backup?(dir: string): Promise<void>
  close(): Promise<void>
}

export type StoreRole = 'host' | 'client'

/** What `memory()`, `local(dir)` and `nats(…)` return: opened by createSkein, closed with it. */
export interface Store {
  /** `self`: what a host publishes of itself. */
  open(role: StoreRole, self?: HostSelf): Promise<Backend>
  /** Checks whether it could be opened, and what an operator should know of it; changes nothing. */
  examine?(clock: Clock): Promise<Examination>
}

export interface Examination {
  readonly findings: readonly Finding[]
  /** It has a default master key for secrets. */
  readonly keepsKey: boolean
}
