/**
 * Calls with a side effect whose thread has left this host while their bodies ran: its lease was lost, a commit was
 * refused or failed. What a body did to the world is done, whoever has the thread now.
 *
 * OR1 A body is not ended because its thread has left. What comes of it goes to the thread's mailbox, as a receipt
 *     for that call.
 * OR2 If the thread comes back to this host before that, the call waits for its body instead of being taken for one
 *     that may have happened.
 * - A receipt is sent until the store has it; sent twice it is one, by its id. Where a thread can only come back
 *   here (a store with one host), none is sent.
 */
import type { Landing } from '../../../actors/thread/decide/landings.js'
import type { Mailbox } from '../../backend/port.js'
import type { Cancel } from '../../core/async/cancel.js'
import type { Clock } from '../../core/clock.js'
import { callKey } from '../../core/effect.js'
import { SkeinError, isSkeinError } from '../../core/failure.js'
import type { CallOutput } from './tool-job.js'
import { sealMail } from '../journal/mail.js'

/** A call under way, or one that has ended and is not durable. */
export interface OrphanedCall {
  readonly thread: string
  readonly step: number
  readonly index: number
  /** What it is known by outside: its idempotency key. */
  readonly key: string
  readonly work: Promise<Landing>
  readonly cancel: Cancel
  /** Of one under way. */
  readonly voice?: CallOutput
}

interface OrphansMeans {
  readonly mailbox: Mailbox
  readonly clock: Clock
  /** 0: threads come back here or nowhere. */
  readonly leaseMs: number
  readonly warn: (what: string, thrown: unknown) => void
}

const againMs = 1_000
/** Whose thread never comes back is forgotten at last. */
const mostLeft = 10_000

const idOf = (thread: string, key: string): string => `${thread}/${key}`

export class OrphanedCalls {
  readonly #means: OrphansMeans
  readonly #left = new Map<string, OrphanedCall>()
  #closed = false

  constructor(means: OrphansMeans) {
    this.#means = means
  }

  /** OR1 */
  leave(orphan: OrphanedCall): void {
    if (this.#closed) return orphan.cancel.abort(closing())
    const id = idOf(orphan.thread, callKey(orphan.step, orphan.index))
    this.#left.set(id, orphan)
    const [oldest] = this.#left.keys()
    if (this.#left.size > mostLeft && oldest !== undefined) this.#left.delete(oldest)
    orphan.work.then(
      (landing) => void this.#tell(id, orphan, landing),
      // Only the store can have failed: what came of it is not known.
      () => this.#left.get(id) === orphan && this.#left.delete(id),
    )
  }

  /** OR2: it is not an orphan any more. */
  adopt(thread: string, key: string): OrphanedCall | undefined {
    const id = idOf(thread, key)
    const orphan = this.#left.get(id)
    this.#left.delete(id)
    return orphan
  }

  async #tell(id: string, orphan: OrphanedCall, landing: Landing): Promise<void> {
    if (this.#means.leaseMs === 0) return
    const { thread, step, index, key } = orphan
    const here = (): boolean => this.#left.get(id) === orphan && !this.#closed
    // One that asks someone has no outcome: whoever has the thread decides what is to be done.
    if (landing.kind === 'returned' && here())
      await this.#send(
        thread,
        { id: `receipt-${key}`, body: sealMail({ kind: 'receipt', step, index, key, landed: landing.landed }) },
        here,
      )
    if (here()) this.#left.delete(id)
  }

  async #send(
    to: string,
    mail: { readonly id: string; readonly body: ReturnType<typeof sealMail> },
    wanted: () => boolean,
  ): Promise<void> {
    const { mailbox, clock, warn } = this.#means
    while (wanted()) {
      try {
        return await mailbox.put({ to, ...mail })
      } catch (thrown) {
        if (!isSkeinError(thrown) || !thrown.retry)
          return warn(`what came of a call of thread ${to} could not be told`, thrown)
        await new Promise<void>((resolve) => {
          clock.wakeAt(clock.now() + againMs, resolve)
        })
      }
    }
  }

  /** The host closes: nobody waits for them any more. */
  close(): void {
    this.#closed = true
    for (const { cancel } of this.#left.values()) cancel.abort(closing())
    this.#left.clear()
  }
}

function closing(): SkeinError {
  return new SkeinError('CANCELLED', 'the host is closing')
}
