/**
 * Waiting until a thread, or a whole tree, is at rest: nothing to do for any of its threads until someone from
 * outside speaks.
 *
 * - A tree is at rest when all its threads are, and no mail is on its way to one of them or to one that is yet to
 *   be made. Both are looked at between two equal looks at the heads, so a child that is just being called is not
 *   missed.
 * - A thread that is parked does not come to rest: whoever waits for it is told why.
 * - Between looks it costs one look-up for each commit of the tree, however many threads there are.
 */
import type { Backend, StoredHead } from '../../backend/port.js'
import { defined } from '../../core/defined.js'
import { fromFailure } from '../../core/failure.js'
import type { Json } from '../../core/json.js'
import { isObject } from '../../core/json.js'
import { readMail } from '../journal/mail.js'
import { catchUpTopic, toTreeSignal, treeTopic } from './topics.js'
import type { ThreadParkedSignal } from './topics.js'
import { createQueue } from './async-queue.js'
import { skeinClosed } from './watch.js'

export interface SettledOptions {
  readonly root: string
  /** The tree from this thread down. */
  readonly thread: string
  /** Need not rest. */
  readonly but?: string
  /** A thread that is parked is waited for until it is mended; otherwise that is the end of waiting. */
  readonly patient?: true
}

/** What was lost may be anything. */
const missed = 'missed'

/** Resolves when the thread is at rest. */
export async function threadSettled(
  { backend, closed }: { readonly backend: Backend; readonly closed: AbortSignal },
  root: string,
  info: () => Promise<StoredHead>,
): Promise<StoredHead> {
  return ringing({ backend, closed, root }, async (next) => {
    let head = await info()
    if (!head.rest) backend.signals.publish(catchUpTopic, { root })
    for (; !head.rest; head = await info()) {
      const { thread } = head
      failParked(await next(), (parked) => parked.thread === thread)
    }
    return head
  })
}

/** Resolves when the tree is at rest. */
export async function treeSettled(
  { backend, closed }: { readonly backend: Backend; readonly closed: AbortSignal },
  resting: SettledOptions,
): Promise<void> {
  const tree = new Tree(backend, resting)
  return ringing({ backend, closed, root: resting.root }, async (next) => {
    await tree.look()
    if (tree.busy) backend.signals.publish(catchUpTopic, { root: resting.root })
    while (!(await tree.rests())) {
      if (tree.unread) await new Promise((resolve) => setImmediate(resolve))
      for (let more = !tree.unread; more;) {
        tree.hear(await next())
        more = tree.busy
      }
    }
  })
}

/** Waits with a bell that rings for all news of a tree, from before the first look on. */
export async function ringing<Value>(
  { backend, closed, root }: { readonly backend: Backend; readonly closed: AbortSignal; readonly root: string },
  wait: (next: () => Promise<Json>) => Promise<Value>,
): Promise<Value> {
  const bell = createQueue<Json>(closed)
  const stop = backend.signals.subscribe(
    treeTopic(root),
    (value) => bell.push(value),
    () => bell.push(missed),
  )
  try {
    return await wait(async () => {
      const value = await bell.next()
      if (value === undefined) throw skeinClosed()
      return value
    })
  } finally {
    stop()
    bell.close()
  }
}

/** Who waits for a thread that is parked waits in vain: throws why. */
export function failParked(value: Json, isAwaited: (parked: ThreadParkedSignal) => boolean): void {
  const news = toTreeSignal(value)
  if (news?.kind === 'parked' && isAwaited(news)) throw fromFailure(news.failure)
}

class Tree {
  /** Last known record of each thread. */
  private seqs = new Map<string, number>()
  private restless = new Set<string>()
  /** Signals were lost: only a look will tell. */
  private blind = false
  /**
   * Mail was there and could not be read: it is on its way to its reader, or was just finished. Nobody may tell of
   * that here.
   */
  unread = false
  private readonly backend: Backend
  private readonly resting: SettledOptions

  constructor(backend: Backend, resting: SettledOptions) {
    this.backend = backend
    this.resting = resting
  }

  /** Some thread of it is known not to rest. */
  get busy(): boolean {
    return !this.blind && this.restless.size > 0
  }

  hear(value: Json): void {
    if (value === missed) this.blind = true
    if (!this.resting.patient) failParked(value, ({ path }) => path.includes(this.resting.thread))
    const news = toTreeSignal(value)
    if (news?.kind !== 'committed' || !isObject(value) || !news.path.includes(this.resting.thread)) return
    this.note(news.thread, { seq: news.records.at(-1)?.seq ?? 0, rest: value['rest'] === true })
  }

  private note(thread: string, { seq, rest }: { readonly seq: number; readonly rest: boolean }): void {
    if (seq < (this.seqs.get(thread) ?? 0)) return
    this.seqs.set(thread, seq)
    if (rest || thread === this.resting.but) this.restless.delete(thread)
    else this.restless.add(thread)
  }

  /** Looks at all heads; whether something is otherwise than before. */
  async look(): Promise<boolean> {
    const before = this.seqs
    this.seqs = new Map()
    this.restless = new Set()
    this.blind = false
    const { root, thread } = this.resting
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const page = await this.backend.heads.list({ root, ...defined({ cursor }) })
      for (const head of page.heads) if (head.path.includes(thread)) this.note(head.thread, head)
      cursor = page.next
    }
    return before.size !== this.seqs.size || [...this.seqs].some(([id, seq]) => before.get(id) !== seq)
  }

  async rests(): Promise<boolean> {
    if (this.busy || (await this.awaitsMail())) return false
    await this.look()
    if (this.restless.size > 0 || (await this.awaitsMail(this.resting.root))) return false
    return !(await this.look()) && this.restless.size === 0
  }

  /** With the root, also mail that is on its way into a box. */
  private async awaitsMail(root?: string): Promise<boolean> {
    this.unread = false
    for (const thread of await this.backend.mailbox.waiting(undefined, root))
      if (this.seqs.has(thread) || (await this.isToBe(thread))) return true
    return false
  }

  /** A thread that is not there yet, and that its mail makes. */
  private async isToBe(thread: string): Promise<boolean> {
    const { heads, mailbox } = this.backend
    const head = await heads.get(thread)
    if (head) return head.path.includes(this.resting.thread)
    const mails = await mailbox.read(thread, 0)
    this.unread = mails.length === 0
    for (const { body } of mails) {
      const command = readMail(body)
      if (command?.kind === 'create' && command.path.includes(this.resting.thread)) return true
    }
    return this.unread
  }
}
