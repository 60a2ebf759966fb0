/**
 * The presence of this host, as the others see it: one entry on the server that lives as long as a lease and is renewed
 * three times in that time. All leases of a host depend on this one entry, so renewing costs the same for one partition
 * and for a thousand. Owns the entry and the leases that depend on it.
 *
 * - The host takes itself for dead before the server does: its time counts from before a renewal was sent, on a
 *   monotonic clock, and ends a fifth of a lease early.
 * - A host that was taken for dead comes back under another id, also when its late renewal was written after all. What
 *   the old id owned is free.
 * - What a host says of itself is the payload of this entry: it is at most a third of a lease old, and costs nothing.
 */
import { nuid } from '@nats-io/transport-node'
import { steadyClock } from '../../../core/clock.js'
import { encodeHost } from '../../host-info.js'
import type { HostSelf } from '../../host-info.js'
import { after } from '../connection/timers.js'
import { publish } from '../connection/publish.js'
import type { NatsContext } from '../context.js'
import { HeldLeases } from './held-leases.js'

export interface PresenceOptions extends Pick<NatsContext, 'connection' | 'reader' | 'subjects'> {
  readonly leaseMs: number
  readonly self: HostSelf
}

export class Presence {
  readonly held = new HeldLeases()
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
    presence.#renewLater()
    return presence
  }

  /** The id under which it owns partitions now; empty while it is taken for dead. */
  get id(): string {
    return this.#id
  }

  get isAlive(): boolean {
    return !this.#closed && this.#id !== '' && steadyClock.now() < this.#until
  }

  /** Whether this host holds the partition, so that nobody else writes to it. */
  mayWrite(partition: number): boolean {
    return this.held.has(partition) && this.isAlive
  }

  /** Whether this epoch was ours and may not write any more. The server judges epochs that were never ours. */
  isExpired(partition: number, epoch: number): boolean {
    return this.held.holds(partition, epoch) ? !this.isAlive : this.held.wasOurs(partition, epoch)
  }

  /**
   * Loses all leases if the presence has lapsed. To be called before and after every write: a process that was stopped
   * for a while learns of it here, before any of its timers runs.
   */
  expireIfDead(): void {
    if (!this.#closed && steadyClock.now() >= this.#until) this.#die()
  }

  /** Both: loses all leases if the presence has lapsed, and tells whether this epoch may not write any more. */
  hasExpired(partition: number, epoch: number): boolean {
    this.expireIfDead()
    return this.held.holds(partition, epoch) ? this.#closed || this.#id === '' : this.held.wasOurs(partition, epoch)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#cancelRenewal?.()
    this.#cancelEnd?.()
    await this.#removeEntry(this.#seq)
  }

  /** So that nobody has to wait until it expires. */
  async #removeEntry(seq: number | undefined): Promise<void> {
    const { connection, subjects } = this.#options
    if (seq === undefined) return
    await connection
      .ask(() => connection.jsm.streams.deleteMessage(subjects.streams.live, seq, false))
      .catch(() => undefined)
  }

  #renewLater(): void {
    this.#cancelRenewal = after(
      this.#options.leaseMs / 3,
      () => void this.#renew().finally(() => this.#closed || this.#renewLater()),
    )
  }

  async #renew(): Promise<void> {
    // A renewal that fails is tried again after the next interval; meanwhile the time runs out.
    if (this.isAlive) await this.#write(this.#id, this.#seq).catch(() => undefined)
    if (!this.isAlive && !this.#closed) await this.#appear().catch(() => undefined)
  }

  async #appear(): Promise<void> {
    this.#die()
    await this.#write(nuid.next(), 0)
  }

  async #write(id: string, expected: number): Promise<void> {
    const { connection, reader, subjects, leaseMs, self } = this.#options
    const sentAt = steadyClock.now()
    const before = this.#id
    const seq = await publish(connection, reader, {
      stream: subjects.streams.live,
      subject: subjects.live(id),
      payload: JSON.stringify(encodeHost(self)),
      expected,
      timeoutMs: leaseMs / 3,
      until: expected === 0 ? sentAt + leaseMs : Math.max(sentAt, this.#until),
    })
    if (this.#closed || this.#id !== before) return this.#removeEntry(seq)
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
    this.held.loseAll()
  }
}
