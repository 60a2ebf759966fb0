/**
 * The data of the memory backend: journals, heads, mailboxes and snapshots as maps, with the same rules as the tables
 * of `local`. Synchronous; when a write is applied is decided in memory.ts.
 *
 * - `commit` compares before it writes anything, so that a refusal changes nothing (J1, J2).
 * - Bodies of mail are stored as text: a sender that changes its value later changes nothing here.
 */
import { blobsNamedIn, cursorNumber, isRestless, listedAtOnce, matches } from '../checks.js'
import type { Json } from '../../core/json.js'
import { tell } from '../topics.js'
import type {
  Commit,
  CommitResult,
  Entry,
  Head,
  HeadChange,
  HeadFilter,
  HeadFollower,
  JournalRange,
  Placed,
  Removal,
  RemovalResult,
  Send,
  StoredEntry,
  StoredHead,
  StoredMail,
} from '../port.js'

/** An entry as it was given: its text is made when somebody reads it. */
interface KeptEntry {
  readonly thread: string
  readonly position: number
  readonly entry: Entry
}

interface Thread {
  readonly number: number
  readonly entries: KeptEntry[]
  head: Head
  seq: number
  epoch: number
}

interface Box {
  /** In order of number, since a Map keeps the order of insertion. */
  readonly mail: Map<number, { readonly id: string; readonly body: string }>
  readonly ids: Set<string>
}

/** A thread that is not there. */
const none = { seq: 0, epoch: 0 }

export class MemoryStore {
  readonly snapshots = new Map<string, Uint8Array>()
  private readonly threads = new Map<string, Thread>()
  private readonly trees = new Map<string, KeptEntry[]>()
  private readonly boxes = new Map<string, Box>()
  private readonly followers = new Set<(change: HeadChange) => void>()
  private position = 0
  private threadNumber = 0
  private mailNumber = 0

  commit(commit: Commit, texts: readonly (readonly string[])[], arrived: Set<string>): CommitResult {
    const { also } = commit
    const refused = this.refusal(commit)
    if (refused) return refused
    if (!also) return { ok: true, ...this.write(commit, texts[0], arrived) }
    for (const other of also) {
      const refusedToo = this.refusal(other)
      if (refusedToo) return refusedToo
    }
    const first = this.write(commit, texts[0], arrived)
    return { ok: true, ...first, also: also.map((other, index) => this.write(other, texts[index + 1], arrived)) }
  }

  private refusal({ thread, expected, epoch: under }: Commit): Extract<CommitResult, { ok: false }> | undefined {
    const { seq, epoch } = this.threads.get(thread) ?? none
    return seq !== expected || under < epoch ? { ok: false, seq, epoch } : undefined
  }

  private write(commit: Commit, texts: readonly string[] | undefined, arrived: Set<string>): Placed {
    const follows = this.append(commit, this.threads.get(commit.thread))
    if (this.followers.size > 0 && commit.head) this.tellHead(commit.thread, [...this.followers])
    this.finish(commit.thread, commit.done)
    commit.sends.forEach((send, index) => this.putMail(send, texts?.[index] ?? 'null', arrived))
    return { position: this.position, follows }
  }

  putMail(send: Send, body: string, arrived: Set<string>): void {
    const box = this.boxes.get(send.to) ?? { mail: new Map(), ids: new Set() }
    if (box.ids.has(send.id)) return
    this.boxes.set(send.to, box)
    this.mailNumber += 1
    box.mail.set(this.mailNumber, { id: send.id, body })
    box.ids.add(send.id)
    arrived.add(send.to)
  }

  read(thread: string, range: JournalRange = {}): StoredEntry[] {
    const entries = this.threads.get(thread)?.entries ?? []
    const after = range.after ?? 0
    const from = firstWhere(entries, ({ entry }) => entry.first + entry.count - 1 > after)
    return cut(entries, [from, range.limit === undefined ? entries.length : from + range.limit], range.bytes)
  }

  readTree(root: string, range: JournalRange = {}): StoredEntry[] {
    const entries = this.trees.get(root) ?? []
    const from = firstWhere(entries, (entry) => entry.position > (range.after ?? 0))
    return cut(entries, [from, from + (range.limit ?? listedAtOnce)], range.bytes)
  }

  head(id: string): StoredHead | undefined {
    const thread = this.threads.get(id)
    return thread && { ...thread.head, thread: id, seq: thread.seq }
  }

  list(filter: HeadFilter): { heads: StoredHead[]; next?: string } {
    return listHeads(this.threads, filter)
  }

  restless(): StoredHead[] {
    return [...this.threads]
      .filter(([, { head }]) => isRestless(head))
      .map(([id, { head, seq }]) => ({ ...head, thread: id, seq }))
  }

  follow(told: (change: HeadChange) => void): HeadFollower {
    // A wrapper of its own, so that the same function may follow twice.
    const follower = (change: HeadChange): void => told(change)
    for (const id of this.threads.keys()) this.tellHead(id, [follower])
    this.followers.add(follower)
    const current = async (): Promise<number> => this.position
    return { ready: current(), current, stop: () => void this.followers.delete(follower) }
  }

  private tellHead(id: string, followers: Iterable<(change: HeadChange) => void>): void {
    const thread = this.threads.get(id)
    if (!thread) return
    const { position } = this
    const change = { position, born: thread.number, head: { ...thread.head, thread: id, seq: thread.seq } }
    for (const follower of followers) tell(() => follower(change))
  }

  readMail(thread: string, after: number): StoredMail[] {
    const found: StoredMail[] = []
    for (const [number, { id, body }] of this.boxes.get(thread)?.mail ?? []) {
      if (number > after) found.push({ number, id, body: parsed(body) })
    }
    return found
  }

  waiting(): string[] {
    return [...this.boxes.keys()]
  }

  remove({ root, expected, epoch }: Removal): RemovalResult {
    const top = this.threads.get(root)
    const found = { seq: top?.seq ?? 0, epoch: top?.epoch ?? 0 }
    if (!top || found.seq !== expected || epoch < found.epoch) return { ok: false, ...found }
    for (const [id, { head }] of this.threads) {
      if (head.root !== root) continue
      this.threads.delete(id)
      this.boxes.delete(id)
      this.snapshots.delete(id)
    }
    this.trees.delete(root)
    for (const follower of [...this.followers]) tell(() => follower({ position: this.position, removed: root }))
    return { ok: true }
  }

  /** Every blob that a journal or a mail names (J10). */
  namedBlobs(): Set<string> {
    const names = new Set<string>()
    const addFrom = (texts: Iterable<{ readonly body: string }>): void => {
      for (const { body } of texts) for (const hash of blobsNamedIn(body)) names.add(hash)
    }
    for (const { entries } of this.threads.values()) addFrom(entries.map(({ entry }) => entry))
    for (const { mail } of this.boxes.values()) addFrom(mail.values())
    return names
  }

  private finish(thread: string, done: readonly number[]): void {
    const box = this.boxes.get(thread)
    if (!box) return
    for (const number of done) {
      const mail = box.mail.get(number)
      if (mail && box.mail.delete(number)) box.ids.delete(mail.id)
    }
    if (box.mail.size === 0) this.boxes.delete(thread)
  }

  /** The position of the entry that a new one follows in its tree; undefined where there is no new one. */
  private append(commit: Commit, thread: Thread | undefined): number | undefined {
    const { entry, head } = commit
    if (!head) {
      if (thread) thread.epoch = commit.epoch
      return undefined
    }
    const stored = thread ?? { number: ++this.threadNumber, entries: [], head, seq: 0, epoch: commit.epoch }
    stored.head = head
    stored.epoch = commit.epoch
    this.threads.set(commit.thread, stored)
    if (!entry) return undefined
    this.position += 1
    const added: KeptEntry = { thread: commit.thread, position: this.position, entry }
    stored.seq += entry.count
    stored.entries.push(added)
    const tree = this.trees.get(head.root) ?? []
    const follows = tree.at(-1)?.position ?? 0
    tree.push(added)
    this.trees.set(head.root, tree)
    return follows
  }
}

/** From the first place to before the second, as far as the bytes go. */
function cut(entries: readonly KeptEntry[], [from, end]: readonly [number, number], bytes = Infinity): StoredEntry[] {
  const found: StoredEntry[] = []
  let left = bytes
  for (const entry of entries.slice(from, end)) {
    const stored = toStored(entry)
    found.push(stored)
    left -= stored.body.length
    if (left <= 0) break
  }
  return found
}

function toStored({ thread, position, entry }: KeptEntry): StoredEntry {
  const { first, count, body, hash } = entry
  return { thread, position, first, count, body, hash }
}

function parsed(text: string): Json {
  const value: Json = JSON.parse(text)
  return value
}

function listHeads(threads: ReadonlyMap<string, Thread>, filter: HeadFilter): { heads: StoredHead[]; next?: string } {
  const after = cursorNumber(filter.cursor)
  const limit = filter.limit ?? listedAtOnce
  const heads: StoredHead[] = []
  let last = after
  for (const [id, { number, head, seq }] of threads) {
    if (number <= after || !matches(head, filter)) continue
    if (heads.length === limit) return { heads, next: String(last) }
    heads.push({ ...head, thread: id, seq })
    last = number
  }
  return { heads }
}

/** Index of the first entry for which `holds` is true, when it is false before and true after. */
function firstWhere(entries: readonly KeptEntry[], holds: (entry: KeptEntry) => boolean): number {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const entry = entries[middle]
    if (entry && holds(entry)) high = middle
    else low = middle + 1
  }
  return low
}
