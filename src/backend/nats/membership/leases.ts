/**
 * Which host holds which partition: one entry per partition that names its owner, changed by compare-and-set. The
 * sequence of that entry is the epoch. Owns these entries; what must happen to the data of a partition when it changes
 * hands is the `Handover`.
 *
 * - A partition is taken only when its entry names nobody, or a host that is not alive any more.
 * - The entry of a partition is never removed, so its sequence grows for ever, and so do epochs.
 * - A lease is given when its take-over is complete.
 * - Every host computes the shares of all from the list of hosts alive; together they cover all partitions. The newest
 *   hosts share them; an older one has a share of none, and gives back what it held.
 * - A partition that was held by a host with newer records is never taken by one with older records.
 */
import { z } from 'zod'
import { Semaphore } from '../../../core/async/semaphore.js'
import { checkPartition, clientMayNot } from '../../checks.js'
import { compareHosts } from '../../host-info.js'
import type { HostProfile, HostSelf } from '../../host-info.js'
import type { Lease, Leases, Survey } from '../../port.js'
import { tell } from '../../topics.js'
import { publish } from '../connection/publish.js'
import type { StreamMessage } from '../connection/read.js'
import { every } from '../connection/timers.js'
import type { NatsContext } from '../context.js'
import { idIn, partitionOf } from '../subjects.js'
import type { Presence } from './presence.js'

/** What happens to the data of a partition when it changes hands. */
export interface Handover {
  /** Before a lease is given: completes what the last owner left undone, and follows the mail until `lost` aborts. */
  takeOver(taken: TakenPartition): Promise<Pick<Lease, 'restless'>>
  /** Before a lease is given back: completes what this host has under way in the partition. */
  settle(partition: number): Promise<void>
}

export interface TakenPartition {
  readonly partition: number
  readonly epoch: number
  readonly lost: AbortSignal
  /** Its last owner gave it back, and nothing of that owner is under way. Otherwise it may not know that it is dead. */
  readonly wasReleased: boolean
}

export interface LeaseOptions {
  /** Absent for a client, which holds nothing. */
  readonly presence: Presence | undefined
  readonly leaseMs: number
  readonly self: HostSelf
  /** The profiles of the hosts alive, by id, in order of their ids. */
  readonly hostsAlive: () => Promise<ReadonlyMap<string, HostProfile>>
  readonly handover: Handover
}

type Alive = ReadonlyMap<string, HostProfile>

/** A thousand take-overs at once would delay the renewal of the host's own presence. */
const takenAtOnce = 32

const ownerSchema = z.object({ host: z.string(), records: z.number().default(0) })
/** What is told of a partition that was given back: its entry now. */
const releasedSchema = z.object({ partition: z.number(), seq: z.number(), records: z.number() })
type Released = z.infer<typeof releasedSchema>

/** The entry of a partition: who holds it, and the newest records that any of its holders may have written. */
export type PartitionOwner = z.infer<typeof ownerSchema>

export function ownerOf({ data }: StreamMessage): PartitionOwner {
  return ownerSchema.parse(JSON.parse(Buffer.from(data).toString()))
}

export class NatsLeases implements Leases {
  readonly partitions: number
  readonly shared = true
  readonly leaseMs: number
  readonly #context: NatsContext
  readonly #options: LeaseOptions
  readonly #records: number
  readonly #taking = new Set<number>()
  /** Partitions that were just given back, as it was told. */
  readonly #released = new Map<number, Released>()
  /** How many partitions it should hold, as of the last survey. */
  #share = 0
  readonly #takeOvers = new Semaphore(takenAtOnce)

  constructor(context: NatsContext, options: LeaseOptions) {
    this.#context = context
    this.#options = options
    this.partitions = context.partitions
    this.leaseMs = options.leaseMs
    this.#records = options.self.profile.records
  }

  readonly partitionOf = (thread: string): number => partitionOf(thread, this.partitions)

  readonly acquire = async (partition: number): Promise<Lease | undefined> => {
    const { role, assertOpen } = this.#context
    const { presence } = this.#options
    assertOpen()
    if (role === 'client' || !presence) throw clientMayNot('acquire a lease')
    checkPartition(partition, this.partitions)
    if (presence.held.has(partition) || this.#taking.has(partition)) return undefined
    this.#taking.add(partition)
    try {
      return await this.#takeOvers.run(() => this.#take(partition, presence))
    } finally {
      this.#taking.delete(partition)
    }
  }

  readonly survey = async (): Promise<Survey> => {
    this.#context.assertOpen()
    const alive = await this.#options.hostsAlive()
    const peers = newestOf(alive)
    const { presence } = this.#options
    const rank = presence ? peers.indexOf(presence.id) : -1
    const share = rank < 0 ? 0 : shareOf(this.partitions, { hosts: peers.length, rank })
    this.#share = share
    if ((presence?.held.size ?? 0) === share) return { share, free: [], barred: 0 }
    const { free, barred } = await this.#findFree(alive)
    return { share, free, barred: rank < 0 ? 0 : barred }
  }

  readonly watch = (changed: (survey: Survey) => void): (() => void) => {
    const { connection, subjects } = this.#context
    let [looking, again, stopped] = [false, false, false]
    const look = async (): Promise<void> => {
      again = looking
      if (stopped || looking) return
      looking = true
      // Where the server is away, the next interval asks again.
      const survey = await this.survey().catch(() => undefined)
      looking = false
      if (stopped) return
      if (survey && this.#wantsChange(survey)) tell(() => changed(survey))
      if (again) void look()
    }
    const stopLooking = every(this.leaseMs / 12, () => void look())
    const subscription = connection.subscribe(subjects.moved, ({ data }) => {
      // Whoever lacks partitions takes what is free without looking around first: its threads wait.
      const free = this.#noteReleased(data)
      if (free !== undefined && !stopped) tell(() => changed({ share: this.#share, free: [free], barred: 0 }))
      void look()
    })
    this.#tellMove() // a host has come
    return () => {
      stopped = true
      stopLooking()
      subscription.unsubscribe()
    }
  }

  async releaseAll(): Promise<void> {
    const { presence } = this.#options
    if (!presence) return
    await Promise.allSettled(presence.held.list().map(([partition, epoch]) => this.#release(partition, epoch)))
  }

  async #take(partition: number, presence: Presence): Promise<Lease | undefined> {
    const { id, held } = presence
    if (!presence.isAlive) return undefined
    const free = await this.#freeEntry(partition)
    const epoch = free && (await this.#write(partition, id, free.seq))
    if (!free || epoch === undefined || presence.id !== id) return undefined
    const { wasReleased } = free
    const lost = held.add(partition, epoch)
    try {
      const found = await this.#options.handover.takeOver({ partition, epoch, lost, wasReleased })
      if (lost.aborted) return undefined
      this.#tellMove()
      return { partition, epoch, lost, ...found, release: () => this.#release(partition, epoch) }
    } catch (thrown) {
      await this.#release(partition, epoch)
      throw thrown
    }
  }

  /** The entry of a partition that may be taken: as it was told, or as it is. */
  async #freeEntry(
    partition: number,
  ): Promise<(Pick<TakenPartition, 'wasReleased'> & { readonly seq: number }) | undefined> {
    const { reader, subjects } = this.#context
    const told = this.#released.get(partition)
    this.#released.delete(partition)
    if (told) return { seq: told.seq, wasReleased: true }
    const last = await reader.last(subjects.streams.meta, subjects.owner(partition))
    if (!last) return { seq: 0, wasReleased: false }
    if (this.#isBarred(last) || (await this.#isHeldElsewhere(last))) return undefined
    return { seq: last.seq, wasReleased: ownerOf(last).host === '' }
  }

  async #release(partition: number, epoch: number): Promise<void> {
    const { presence, handover } = this.#options
    if (!presence?.held.holds(partition, epoch)) return
    await handover.settle(partition)
    if (!presence.held.lose(partition, epoch)) return
    const seq = await this.#write(partition, '', epoch)
    this.#tellMove(seq === undefined ? undefined : { partition, seq, records: this.#records })
  }

  /** All hosts look at once: who has too few partitions takes what is free, who has too many gives some back. */
  #tellMove(released?: Released): void {
    const { connection, subjects } = this.#context
    connection.nc.publish(subjects.moved, released ? JSON.stringify(released) : '')
  }

  /** A partition that this host may take. */
  #noteReleased(told: Uint8Array): number | undefined {
    const { success, data } = releasedSchema.safeParse(parsed(told))
    const held = this.#options.presence?.held.size ?? 0
    if (!success || data.records > this.#records || held + this.#taking.size >= this.#share) return undefined
    this.#released.set(data.partition, data)
    return data.partition
  }

  #write(partition: number, host: string, expected: number): Promise<number | undefined> {
    const { connection, reader, subjects } = this.#context
    return publish(connection, reader, {
      stream: subjects.streams.meta,
      subject: subjects.owner(partition),
      payload: JSON.stringify({ host, records: this.#records }),
      expected,
    })
  }

  async #isHeldElsewhere(owner: StreamMessage): Promise<boolean> {
    const { reader, subjects } = this.#context
    const { host } = ownerOf(owner)
    if (host === '' || host === this.#options.presence?.id) return false
    return (await reader.last(subjects.streams.live, subjects.live(host))) !== undefined
  }

  #isBarred(owner: StreamMessage): boolean {
    return ownerOf(owner).records > this.#records
  }

  async #findFree(alive: Alive): Promise<Pick<Survey, 'free' | 'barred'>> {
    const { subjects, reader } = this.#context
    const { presence } = this.#options
    const taken = new Set<number>(presence?.held.list().map(([partition]) => partition))
    let barred = 0
    await reader.scan({ stream: subjects.streams.meta, filter: subjects.owners, last: true }, (message) => {
      const isBarred = this.#isBarred(message)
      if (isBarred) barred++
      const { host } = ownerOf(message)
      // An entry that names this host, of a partition that is not held here, is left from a lease that was lost.
      const isOthers = alive.has(host) && host !== presence?.id
      if (isBarred || isOthers) taken.add(Number(idIn(message.subject)))
    })
    const all = Array.from({ length: this.partitions }, (_, partition) => partition)
    return { free: all.filter((partition) => !taken.has(partition)), barred }
  }

  #wantsChange({ share, free, barred }: Survey): boolean {
    return share < (this.#options.presence?.held.size ?? 0) || free.length > 0 || barred > 0
  }
}

/** The shares of all differ by one at most. */
function shareOf(partitions: number, { hosts, rank }: { readonly hosts: number; readonly rank: number }): number {
  return Math.floor(partitions / hosts) + (rank < partitions % hosts ? 1 : 0)
}

/** The hosts that share the partitions: no other is newer than they are. */
function newestOf(alive: Alive): readonly string[] {
  const all = [...alive]
  let newest = all[0]?.[1]
  for (const [, profile] of all) if (newest && compareHosts(profile, newest) > 0) newest = profile
  return all.filter(([, profile]) => newest && compareHosts(profile, newest) >= 0).map(([id]) => id)
}

/** Undefined for what is no JSON. */
function parsed(data: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(data).toString())
  } catch {
    return undefined
  }
}
