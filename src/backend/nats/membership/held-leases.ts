/**
 * The leases that this process holds, and those it has held. Owns the abort signals of its leases; knows neither the
 * server nor the time.
 */
interface HeldLease {
  readonly epoch: number
  readonly lost: AbortController
}

export class HeldLeases {
  readonly #held = new Map<number, HeldLease>()
  /** The first and the last epoch of each partition that was ever held here. */
  readonly #epochs = new Map<number, readonly [first: number, last: number]>()

  get size(): number {
    return this.#held.size
  }

  /** Partition and epoch of each. */
  list(): readonly (readonly [partition: number, epoch: number])[] {
    return [...this.#held].map(([partition, { epoch }]) => [partition, epoch])
  }

  has(partition: number): boolean {
    return this.#held.has(partition)
  }

  holds(partition: number, epoch: number): boolean {
    return this.#held.get(partition)?.epoch === epoch
  }

  /** Whether this epoch was ours, held or lost since. */
  wasOurs(partition: number, epoch: number): boolean {
    const [first = Infinity, last = 0] = this.#epochs.get(partition) ?? []
    return epoch >= first && epoch <= last
  }

  /** The signal is aborted when the lease is lost. */
  add(partition: number, epoch: number): AbortSignal {
    const lost = new AbortController()
    this.#held.set(partition, { epoch, lost })
    this.#epochs.set(partition, [this.#epochs.get(partition)?.[0] ?? epoch, epoch])
    return lost.signal
  }

  /** False when it was lost before. */
  lose(partition: number, epoch: number): boolean {
    const held = this.#held.get(partition)
    if (held?.epoch !== epoch) return false
    this.#held.delete(partition)
    held.lost.abort()
    return true
  }

  loseAll(): void {
    for (const [partition, epoch] of this.list()) this.lose(partition, epoch)
  }
}
