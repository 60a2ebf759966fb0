/**
 * Which host holds which partition: one entry per partition that names its owner, changed by compare-and-set. The
 * sequence of that entry is the epoch. Owns the leases of this process.
 *
 * - A partition is taken only when its entry names nobody, or a host that is not alive any more.
 * - The entry of a partition is never removed, so its sequence grows for ever, and so do epochs.
 * - A lease is given when the mail of its partition is followed and mail that its last owner owed is out.
 * - Each host's share is decided by the list of those alive, so that the shares of all are all partitions. The
 *   newest hosts share them; any other has none, and gives back what it held.
 * - A partition that a host of newer records has held is for no host of older ones, ever.
 */
import { broken } from '../../../core/failure.js'
import { clientMayNot } from '../../checks.js'
import type { HostSelf } from '../../host-info.js'
import type { Lease, Leases, Survey } from '../../port.js'
import { tell } from '../../topics.js'
import { every } from '../connection/timers.js'
import type { Commits } from '../store/commits.js'
import { Semaphore } from '../../../core/async/semaphore.js'
import type { NatsContext } from '../context.js'
import type { NatsMailbox } from '../store/mailbox.js'
import { idIn, partitionOf } from '../subjects.js'
import { ownerOf } from './owner.js'
import type { Presence } from './presence.js'
import { publish } from '../connection/publish.js'
import type { StreamMessage } from '../connection/read.js'
import { newestOf } from './hosts.js'
import type { HostRegistry } from './hosts.js'

interface Held {
  readonly epoch: number
  readonly lost: AbortController
}

export interface LeaseOptions {
  readonly presence: () => Presence | undefined
  readonly leaseMs: number
  readonly self: HostSelf
  readonly roster: HostRegistry
}

const takenAtOnce = 32

export class NatsLeases implements Leases {
  readonly partitions: number
  readonly shared = true
  readonly leaseMs: number
  readonly #ground: NatsContext
  readonly #presence: () => Presence | undefined
  readonly #lookMs: number
  readonly #records: number
  readonly #roster: HostRegistry
  readonly #held = new Map<number, Held>()
  readonly #taking = new Set<number>()
  /** A thousand take-overs at once would keep the host's own renewal waiting. */
  readonly #gate = new Semaphore(takenAtOnce)
  /** The first and the last epoch of each partition that was held here. */
  readonly #epochs = new Map<number, readonly [number, number]>()
  #parts: { readonly mailbox: NatsMailbox; readonly commits: Commits } | undefined

  constructor(ground: NatsContext, { presence, leaseMs, self, roster }: LeaseOptions) {
    this.#ground = ground
    this.partitions = ground.partitions
    this.#presence = presence
    this.leaseMs = leaseMs
    this.#lookMs = leaseMs / 12
    this.#records = self.profile.records
    this.#roster = roster
  }

  /** What takes part in a hand-over. */
  join(parts: { readonly mailbox: NatsMailbox; readonly commits: Commits }): void {
    this.#parts = parts
  }

  partitionOf(thread: string): number {
    return partitionOf(thread, this.partitions)
  }

  /** Whether this epoch was ours and is not any more. */
  over(partition: number, epoch: number): boolean {
    const held = this.#held.get(partition)
    if (held?.epoch === epoch) return this.#presence()?.alive !== true
    const [first = Infinity, last = 0] = this.#epochs.get(partition) ?? []
    return epoch >= first && epoch <= last
  }

  async acquire(partition: number): Promise<Lease | undefined> {
    const { role, live } = this.#ground
    live()
    if (role === 'client') throw clientMayNot('acquire a lease')
    if (!Number.isInteger(partition) || partition < 0 || partition >= this.partitions)
      throw broken('NZ1', `there is no partition ${partition}; the namespace has ${this.partitions}`)
    if (this.#held.has(partition) || this.#taking.has(partition)) return undefined
    this.#taking.add(partition)
    try {
      return await this.#gate.run(() => this.#take(partition))
    } finally {
      this.#taking.delete(partition)
    }
  }

  async #take(partition: number): Promise<Lease | undefined> {
    const { reads, names } = this.#ground
    const me = this.#presence()
    if (!me?.alive) return undefined
    const { id } = me
    const last = await reads.last(names.streams.meta, names.owner(partition))
    if (last && (this.#isBarred(last) || (await this.#alive(last)))) return undefined
    const epoch = await this.#write(partition, id, last?.seq ?? 0)
    if (epoch === undefined || me.id !== id) return undefined
    const lost = new AbortController()
    this.#held.set(partition, { epoch, lost })
    this.#epochs.set(partition, [this.#epochs.get(partition)?.[0] ?? epoch, epoch])
    try {
      await this.#parts?.commits.takeOver(partition, epoch)
      // Last, so that what was owed within the partition is read, too
      await this.#parts?.mailbox.hold(partition, lost.signal)
    } catch (thrown) {
      await this.#release(partition, epoch)
      throw thrown
    }
    if (lost.signal.aborted) return undefined
    return { partition, epoch, lost: lost.signal, release: () => this.#release(partition, epoch) }
  }

  async #alive(owner: StreamMessage): Promise<boolean> {
    const { host } = ownerOf(owner)
    const { reads, names } = this.#ground
    return (
      host !== '' &&
      host !== this.#presence()?.id &&
      (await reads.last(names.streams.live, names.live(host))) !== undefined
    )
  }

  #isBarred(owner: StreamMessage): boolean {
    return ownerOf(owner).records > this.#records
  }

  #write(partition: number, host: string, expected: number): Promise<number | undefined> {
    const { link, reads, names } = this.#ground
    return publish(link, reads, {
      stream: names.streams.meta,
      subject: names.owner(partition),
      payload: JSON.stringify({ host, records: this.#records }),
      expected,
    })
  }

  async #release(partition: number, epoch: number): Promise<void> {
    const { link, names } = this.#ground
    if (this.#held.get(partition)?.epoch !== epoch) return
    await this.#parts?.commits.mark()
    await this.#parts?.mailbox.settled()
    if (!this.#lose(partition, epoch)) return
    await this.#write(partition, '', epoch)
    link.nc.publish(names.moved)
  }

  #lose(partition: number, epoch: number): boolean {
    const held = this.#held.get(partition)
    if (held?.epoch !== epoch) return false
    this.#held.delete(partition)
    this.#parts?.mailbox.drop(partition)
    held.lost.abort()
    return true
  }

  /** The server takes this host for dead, or soon will. */
  loseAll(): void {
    for (const [partition, { epoch }] of [...this.#held]) this.#lose(partition, epoch)
  }

  async releaseAll(): Promise<void> {
    await Promise.allSettled([...this.#held].map(([partition, { epoch }]) => this.#release(partition, epoch)))
  }

  async survey(): Promise<Survey> {
    const { names, reads, live } = this.#ground
    live()
    const alive = await this.#roster.alive()
    const peers = newestOf(alive)
    const rank = peers.indexOf(this.#presence()?.id ?? '')
    if (rank < 0) return { share: 0, free: [], barred: 0 }
    const share = Math.floor(this.partitions / peers.length) + (rank < this.partitions % peers.length ? 1 : 0)
    if (this.#held.size >= share) return { share, free: [], barred: 0 }
    const taken = new Set<number>(this.#held.keys())
    let barred = 0
    await reads.scan({ stream: names.streams.meta, filter: names.owners, last: true }, (message) => {
      const isBarred = this.#isBarred(message)
      if (isBarred) barred++
      if (isBarred || this.#isOthers(ownerOf(message), alive)) taken.add(Number(idIn(message.subject)))
    })
    return {
      share,
      free: Array.from({ length: this.partitions }, (_, partition) => partition).filter(
        (partition) => !taken.has(partition),
      ),
      barred,
    }
  }

  /** What names this host and is not held here was given up without a word. */
  #isOthers({ host }: { readonly host: string }, alive: { has(host: string): boolean }): boolean {
    return alive.has(host) && host !== this.#presence()?.id
  }

  watch(told: (survey: Survey) => void): () => void {
    const { link, names } = this.#ground
    let [looking, again, stopped] = [false, false, false]
    const look = async (): Promise<void> => {
      if (stopped || (again = looking)) return
      looking = true
      // A server that is away is asked again with the next beat.
      const survey = await this.survey().catch(() => undefined)
      looking = false
      if (stopped) return
      if (survey && (survey.share < this.#held.size || survey.free.length > 0 || survey.barred > 0))
        tell(() => told(survey))
      if (again) void look()
    }
    const stopLooking = every(this.#lookMs, () => void look())
    const subscription = link.subscribe(names.moved, () => void look())
    return () => {
      stopped = true
      stopLooking()
      subscription.unsubscribe()
    }
  }
}
