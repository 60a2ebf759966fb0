/**
 * Waiting until a thread, or a whole tree, is at rest: none of its threads has anything to do until mail from
 * outside arrives.
 *
 * - A tree is at rest when all its threads are and no mail is under way to one of them, or to one that the mail will
 *   create. Mailboxes are read between two equal readings of the heads, so that a child that is being called is not
 *   missed.
 * - A thread that is parked does not come to rest: whoever waits for it is told why.
 * - Between readings a wait costs one map look-up for each commit of the tree, however many threads it has.
 */
import type { Backend, StoredHead } from '../../backend/port.js'
import { fromFailure } from '../../core/failure.js'
import type { Json } from '../../core/json.js'
import { isObject } from '../../core/json.js'
import { eachHead } from '../journal/heads.js'
import { readMail } from '../journal/mail.js'
import { catchUpTopic, toTreeSignal, treeTopic } from './topics.js'
import type { ThreadParkedSignal } from './topics.js'
import { createQueue } from './async-queue.js'
import { skeinClosed } from './watch-errors.js'

export interface SettledOptions {
  readonly root: string
  /** The tree from this thread down. */
  readonly thread: string
  /** A thread that need not be at rest. */
  readonly but?: string
  /** A thread that is parked is waited for until it is mended; otherwise that is the end of waiting. */
  readonly patient?: true
}

export interface SettledServices {
  readonly backend: Backend
  /** Aborted when the skein is closed. */
  readonly closed: AbortSignal
  /** Ends the wait. */
  readonly signal?: AbortSignal
}

/** Stands for signals that were lost. */
const missed = 'missed'

/** Resolves when the thread is at rest. */
export async function threadSettled(
  services: SettledServices,
  root: string,
  readHead: () => Promise<StoredHead>,
): Promise<StoredHead> {
  return waitForSignals({ ...services, root }, async (next) => {
    let head = await readHead()
    if (!head.rest) services.backend.signals.publish(catchUpTopic, { root })
    for (; !head.rest; head = await readHead()) {
      const { thread } = head
      failParked(await next(), (parked) => parked.thread === thread)
    }
    return head
  })
}

/** Resolves when the tree is at rest. */
export async function treeSettled(services: SettledServices, options: SettledOptions): Promise<void> {
  const tree = new TreeWait(services.backend, options)
  return waitForSignals({ ...services, root: options.root }, async (next) => {
    await tree.readHeads()
    if (tree.busy) services.backend.signals.publish(catchUpTopic, { root: options.root })
    while (!(await tree.isAtRest())) {
      if (tree.unread) await new Promise((resolve) => setImmediate(resolve))
      for (let more = !tree.unread; more;) {
        tree.take(await next())
        more = tree.busy
      }
    }
  })
}

/** Runs a wait that is woken by every signal of a tree; it is subscribed before the wait first looks. */
export async function waitForSignals<Value>(
  { backend, closed, signal, root }: SettledServices & { readonly root: string },
  wait: (next: () => Promise<Json>) => Promise<Value>,
): Promise<Value> {
  signal?.throwIfAborted()
  const signals = createQueue<Json>(signal ? AbortSignal.any([closed, signal]) : closed)
  const stop = backend.signals.subscribe(
    treeTopic(root),
    (value) => signals.push(value),
    () => signals.push(missed),
  )
  try {
    return await wait(async () => {
      const value = await signals.next()
      signal?.throwIfAborted()
      if (value === undefined) throw skeinClosed()
      return value
    })
  } finally {
    stop()
    signals.close()
  }
}

/** Who waits for a thread that is parked waits in vain: throws why. */
export function failParked(value: Json, isAwaited: (parked: ThreadParkedSignal) => boolean): void {
  const signal = toTreeSignal(value)
  if (signal?.kind === 'parked' && isAwaited(signal)) throw fromFailure(signal.failure)
}

class TreeWait {
  /** Last known record of each thread. */
  private seqs = new Map<string, number>()
  private restless = new Set<string>()
  /** Signals were lost: only reading the heads tells. */
  private blind = false
  /**
   * The mailbox listed mail but reading it gave none: it is still arriving, or was just finished. No signal will say
   * which, so the mailbox must be read again.
   */
  unread = false
  private readonly backend: Backend
  private readonly options: SettledOptions

  constructor(backend: Backend, options: SettledOptions) {
    this.backend = backend
    this.options = options
  }

  /** Some thread of it is known not to be at rest. */
  get busy(): boolean {
    return !this.blind && this.restless.size > 0
  }

  take(value: Json): void {
    if (value === missed) this.blind = true
    if (!this.options.patient) failParked(value, ({ path }) => path.includes(this.options.thread))
    const signal = toTreeSignal(value)
    if (signal?.kind !== 'committed' || !isObject(value) || !signal.path.includes(this.options.thread)) return
    this.note(signal.thread, { seq: signal.records.at(-1)?.seq ?? 0, rest: value['rest'] === true })
  }

  private note(thread: string, { seq, rest }: { readonly seq: number; readonly rest: boolean }): void {
    if (seq < (this.seqs.get(thread) ?? 0)) return
    this.seqs.set(thread, seq)
    if (rest || thread === this.options.but) this.restless.delete(thread)
    else this.restless.add(thread)
  }

  /** Reads all heads; true when something has changed since the last reading. */
  async readHeads(): Promise<boolean> {
    const before = this.seqs
    this.seqs = new Map()
    this.restless = new Set()
    this.blind = false
    const { root, thread } = this.options
    for await (const head of eachHead(this.backend, { root }))
      if (head.path.includes(thread)) this.note(head.thread, head)
    return before.size !== this.seqs.size || [...this.seqs].some(([id, seq]) => before.get(id) !== seq)
  }

  async isAtRest(): Promise<boolean> {
    if (this.busy || (await this.awaitsMail())) return false
    await this.readHeads()
    if (this.restless.size > 0 || (await this.awaitsMail(this.options.root))) return false
    return !(await this.readHeads()) && this.restless.size === 0
  }

  /** With the root: also mail that is under way into a mailbox. */
  private async awaitsMail(root?: string): Promise<boolean> {
    this.unread = false
    for (const thread of await this.backend.mailbox.waiting(undefined, root))
      if (this.seqs.has(thread) || (await this.willBeCreated(thread))) return true
    return false
  }

  /** Whether a thread of the tree does not exist yet and will be created by its mail. */
  private async willBeCreated(thread: string): Promise<boolean> {
    const { heads, mailbox } = this.backend
    const head = await heads.get(thread)
    if (head) return head.path.includes(this.options.thread)
    const mails = await mailbox.read(thread, 0)
    this.unread = mails.length === 0
    for (const { body } of mails) {
      const command = readMail(body)
      if (command?.kind === 'create' && command.path.includes(this.options.thread)) return true
    }
    return this.unread
  }
}
