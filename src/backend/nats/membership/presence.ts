/**
 * That this host is alive, as the others see it: one entry that lives as long as a lease and is renewed three times
 * in that time. All partitions of a host hang on this one entry, so renewing costs the same for one partition and for
 * a thousand.
 *
 * - The host takes itself for dead before the server does: its time runs from before a renewal was sent, by a clock
 *   that nobody sets, and ends a fifth of a lease early.
 * - Whoever was taken for dead comes back under another name, also when the renewal that came too late was written
 *   after all. What the old name owned is free.
 * - What a host says of itself is what it writes here anyway: it is as old as a third of a lease, and costs nothing.
 */
import { nuid } from '@nats-io/transport-node'
import { steadyClock } from '../../../core/clock.js'
import { encodeHost } from '../../host-info.js'
import type { HostSelf } from '../../host-info.js'
import { after } from '../connection/timers.js'
import type { ServerConnection } from '../connection/connection.js'
import type { Subjects } from '../subjects.js'
import { publish } from '../connection/publish.js'
import type { StreamReader } from '../connection/read.js'

export interface PresenceOptions {
  readonly link: ServerConnection
  readonly reads: StreamReader
  readonly names: Subjects
  readonly leaseMs: number
  readonly self: HostSelf
  /** Everything that this host held is lost. */
  readonly died: () => void
}

export class Presence {
  readonly #options: PresenceOptions
  #id = ''
  #seq = 0
  #until = 0
  #cancelRenewal: (() => void) | undefined
  #cancelEnd: (() => void) | undefined
  #closed = false

  private constructor(options: PresenceOptions) {
    this.#options = options
  }

  static async open(options: PresenceOptions): Promise<Presence> {
    const presence = new Presence(options)
    await presence.#appear()
    presence.#again()
    return presence
  }

  /** The name under which it owns partitions now. */
  get id(): string {
    return this.#id
  }

  /**
   * PS1; asked before and after every write, since a process that was stopped learns of it by this, before any timer
   * of its.
   */
  get alive(): boolean {
    if (!this.#closed && steadyClock.now() >= this.#until) this.#die()
    return !this.#closed && this.#id !== ''
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#cancelRenewal?.()
    this.#cancelEnd?.()
    await this.#forget(this.#seq)
  }

  /** Nobody has to wait until it expires. */
  async #forget(seq: number | undefined): Promise<void> {
    const { link, names } = this.#options
    if (seq !== undefined)
      await link.ask(() => link.jsm.streams.deleteMessage(names.streams.live, seq, false)).catch(() => undefined)
  }

  #again(): void {
    this.#cancelRenewal = after(
      this.#options.leaseMs / 3,
      () => void this.#renew().finally(() => this.#closed || this.#again()),
    )
  }

  async #renew(): Promise<void> {
    // What fails is tried again with the next beat; meanwhile the time runs out.
    if (this.alive) await this.#write(this.#id, this.#seq).catch(() => undefined)
    if (!this.alive && !this.#closed) await this.#appear().catch(() => undefined)
  }

  async #appear(): Promise<void> {
    this.#die()
    await this.#write(nuid.next(), 0)
  }

  async #write(id: string, expected: number): Promise<void> {
    const { link, reads, names, leaseMs, self } = this.#options
    const sentAt = steadyClock.now()
    const before = this.#id
    const seq = await publish(link, reads, {
      stream: names.streams.live,
      subject: names.live(id),
      payload: JSON.stringify(encodeHost(self)),
      expected,
      timeoutMs: leaseMs / 3,
      until: expected === 0 ? sentAt + leaseMs : Math.max(sentAt, this.#until),
    })
    if (this.#closed || this.#id !== before) return this.#forget(seq)
    if (seq === undefined) return this.#die()
    this.#id = id
    this.#seq = seq
    this.#until = sentAt + leaseMs * 0.8
    this.#cancelEnd?.()
    this.#cancelEnd = steadyClock.wakeAt(this.#until, () => this.#die())
  }

  #die(): void {
    if (this.#id === '') return
    this.#id = ''
    this.#until = 0
    this.#cancelEnd?.()
    this.#options.died()
  }
}
