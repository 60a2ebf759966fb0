/**
 * Orphaned calls: calls with a side effect whose thread has left this host while their bodies ran (its lease was lost,
 * a commit was refused or failed). What a body did to the world is done, whoever owns the thread now.
 *
 * OR1 A body is not ended because its thread has left. Its outcome goes to the thread's mailbox, as a receipt for that
 *     call.
 * OR2 If the thread comes back to this host before that, the call waits for its body instead of being taken for one
 *     that may have happened.
 * - A receipt is sent until the store has it; sent twice it is one, by its id. If a thread can only come back here (a
 *   store with one host), none is sent.
 */
import type { Landing } from '../../../actors/thread/decide/landings.js'
import type { Mailbox } from '../../backend/port.js'
import type { Cancel } from '../../core/async/cancel.js'
import type { Clock } from '../../core/clock.js'
import { callKey } from '../../core/effect.js'
import { SkeinError, isSkeinError } from '../../core/failure.js'
import type { CallOutput } from './tool-job.js'
import { sealMail } from '../journal/mail.js'
import type { Warn } from '../services.js'

/** A call under way, or one that has an outcome which no commit holds. */
export interface OrphanedCall {
  readonly thread: string
  readonly step: number
  readonly index: number
  /** Its idempotency key. */
  readonly key: string
  readonly work: Promise<Landing>
  readonly cancel: Cancel
  /** Of a call under way. */
  readonly output?: CallOutput
}

interface OrphanedCallsOptions {
  readonly mailbox: Mailbox
  readonly clock: Clock
  /** 0: the store has one host, so threads come back here or nowhere. */
  readonly leaseMs: number
  readonly warn: Warn
}

const sendAgainMs = 1_000
/** More are forgotten, the oldest first: their threads do not come back. */
const maxOrphans = 10_000

const idOf = (thread: string, key: string): string => `${thread}/${key}`

export class OrphanedCalls {
  readonly #options: OrphanedCallsOptions
  readonly #orphans = new Map<string, OrphanedCall>()
  #closed = false

  constructor(options: OrphanedCallsOptions) {
    this.#options = options
  }

  /** OR1: the body goes on, and its outcome is sent to the thread. */
  leave(orphan: OrphanedCall): void {
    if (this.#closed) return orphan.cancel.abort(closing())
    const id = idOf(orphan.thread, callKey(orphan.step, orphan.index))
    this.#orphans.set(id, orphan)
    const [oldest] = this.#orphans.keys()
    if (this.#orphans.size > maxOrphans && oldest !== undefined) this.#orphans.delete(oldest)
    orphan.work.then(
      (landing) => void this.#sendReceipt(id, orphan, landing),
      // Only the store can have failed: the outcome is not known.
      () => this.#orphans.get(id) === orphan && this.#orphans.delete(id),
    )
  }

  /** OR2: the thread is back, and waits for the body itself. */
  adopt(thread: string, key: string): OrphanedCall | undefined {
    const id = idOf(thread, key)
    const orphan = this.#orphans.get(id)
    this.#orphans.delete(id)
    return orphan
  }

  async #sendReceipt(id: string, orphan: OrphanedCall, landing: Landing): Promise<void> {
    if (this.#options.leaseMs === 0) return
    const { thread, step, index, key } = orphan
    const isOrphan = (): boolean => this.#orphans.get(id) === orphan && !this.#closed
    // A held call has no outcome to report; the new owner will ask for approval again.
    if (landing.kind === 'returned' && isOrphan())
      await this.#send(
        thread,
        { id: `receipt-${key}`, body: sealMail({ kind: 'receipt', step, index, key, landed: landing.landed }) },
        isOrphan,
      )
    if (isOrphan()) this.#orphans.delete(id)
  }

  async #send(
    to: string,
    mail: { readonly id: string; readonly body: ReturnType<typeof sealMail> },
    isOrphan: () => boolean,
  ): Promise<void> {
    const { mailbox, clock, warn } = this.#options
    while (isOrphan()) {
      try {
        return await mailbox.put({ to, ...mail })
      } catch (thrown) {
        if (!isSkeinError(thrown) || !thrown.retry)
          return warn(`what came of a call of thread ${to} could not be told`, thrown)
        await new Promise<void>((resolve) => {
          clock.wakeAt(clock.now() + sendAgainMs, resolve)
        })
      }
    }
  }

  /** The host closes: they are aborted. */
  close(): void {
    this.#closed = true
    for (const { cancel } of this.#orphans.values()) cancel.abort(closing())
    this.#orphans.clear()
  }
}

function closing(): SkeinError {
  return new SkeinError('CANCELLED', 'the host is closing')
}
