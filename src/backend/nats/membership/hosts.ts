/**
 * The hosts of a namespace: who is alive, and what each says of itself. Owns a cache of their profiles.
 *
 * - Listing who is alive is one request; the profile of a host is read once, when it is first seen.
 * - Where no entry was renewed in time, the last host may be dead: `isHosted` waits until one is renewed or all have
 *   expired.
 */
import { z } from 'zod'
import { steadyClock } from '../../../core/clock.js'
import { decodeHost } from '../../host-info.js'
import type { HostInfo, HostProfile } from '../../host-info.js'
import { sleep } from '../connection/timers.js'
import type { NatsContext } from '../context.js'
import { idIn } from '../subjects.js'
import { ownerOf } from './leases.js'

type HostServices = Pick<NatsContext, 'connection' | 'subjects' | 'reader'>

/** As a part of a lease: within this an entry is renewed, unless its host is late or dead. */
const renewedWithin = 0.45
/** For so long the answer that there is a host counts. */
const hostedForMs = 200

/** The time of the server, which comes with every answer; its client has no type for it. */
export const isoTime = z.object({ ts: z.iso.datetime() })

export class HostRegistry {
  readonly #services: HostServices
  #known: ReadonlyMap<string, HostProfile> = new Map()
  #asking: Promise<boolean> | undefined
  /** When a host was last seen to be there. */
  #seenAt = -Infinity

  constructor(services: HostServices) {
    this.#services = services
  }

  /** In order of their ids. */
  async alive(): Promise<ReadonlyMap<string, HostProfile>> {
    const { connection, subjects, reader } = this.#services
    const { state } = await connection.persist('looking for hosts', () =>
      connection.jsm.streams.info(subjects.streams.live, { subjects_filter: subjects.lives }),
    )
    const ids = Object.keys(state.subjects ?? {})
      .map(idIn)
      .sort()
    const profiles = await Promise.all(
      ids.map(async (id): Promise<readonly [string, HostProfile][]> => {
        const known = this.#known.get(id)
        if (known) return [[id, known]]
        const entry = await reader.last(subjects.streams.live, subjects.live(id))
        return entry ? [[id, decodeHost(Buffer.from(entry.data).toString())]] : [] // absent: it has just expired
      }),
    )
    this.#known = new Map(profiles.flat())
    return this.#known
  }

  /**
   * Callers that come while a request is under way share its answer, so that they resume in the order in which they
   * came (answers of the server do not keep it). A positive answer is reused for a moment: where hosts are away, many
   * callers wait for one.
   */
  async isHosted(leaseMs: number): Promise<boolean> {
    if (steadyClock.now() - this.#seenAt < hostedForMs && !this.#asking) return true
    this.#asking ??= this.#lookForHost(leaseMs).finally(() => (this.#asking = undefined))
    const hosted = await this.#asking
    if (hosted) this.#seenAt = steadyClock.now()
    return hosted
  }

  async #lookForHost(leaseMs: number): Promise<boolean> {
    const { connection, subjects } = this.#services
    for (const until = steadyClock.now() + leaseMs; ;) {
      const info = await connection.persist('looking for hosts', () =>
        connection.jsm.streams.info(subjects.streams.live),
      )
      if (info.state.messages === 0) return false
      // Both times are by the clock of the server.
      const now = isoTime.safeParse(info).data?.ts
      const ageMs = now === undefined ? 0 : Date.parse(now) - Date.parse(info.state.last_ts)
      if (ageMs < leaseMs * renewedWithin || steadyClock.now() >= until) return true
      await sleep(leaseMs / 12)
    }
  }

  /** Profile, work and partitions of each, in the order in which they began. */
  async list(): Promise<readonly HostInfo[]> {
    const { subjects, reader } = this.#services
    const partitions = new Map<string, number[]>()
    await reader.scan({ stream: subjects.streams.meta, filter: subjects.owners, last: true }, (message) => {
      const { host } = ownerOf(message)
      partitions.set(host, [...(partitions.get(host) ?? []), Number(idIn(message.subject))])
    })
    const hosts: HostInfo[] = []
    await reader.scan({ stream: subjects.streams.live, filter: subjects.lives, last: true }, ({ subject, data }) => {
      const id = idIn(subject)
      hosts.push({
        id,
        ...decodeHost(Buffer.from(data).toString()),
        partitions: (partitions.get(id) ?? []).sort((one, other) => one - other),
      })
    })
    return hosts.sort((one, other) => one.since - other.since || (one.id < other.id ? -1 : 1))
  }
}
