/**
 * The hosts of a namespace: who is alive, and what each says of itself. Owns what it knows of others.
 *
 * - Seeing who is alive is one request; what a host says of its versions is read once, when it is first seen.
 * - Where nobody has renewed its entry in time, the last host may be dead: it is waited until one is renewed or all
 *   are gone.
 */
import { z } from 'zod'
import { steadyClock } from '../../../core/clock.js'
import { compareHosts, decodeHost } from '../../host-info.js'
import type { HostInfo, HostProfile } from '../../host-info.js'
import { sleep } from '../connection/timers.js'
import type { NatsContext } from '../context.js'
import { idIn } from '../subjects.js'
import { ownerOf } from './owner.js'

type Means = Pick<NatsContext, 'link' | 'names' | 'reads'>

/** Part of a lease; an entry is renewed three times in one. */
const renewedWithin = 0.45

const sameMomentMs = 200

/** What the server says with every answer, and its client does not type. */
export const isoTime = z.object({ ts: z.iso.datetime() })

export class HostRegistry {
  readonly #ground: Means
  #known: ReadonlyMap<string, HostProfile> = new Map()
  #asking: Promise<boolean> | undefined
  /** When a host was last seen to be there. */
  #seenAt = -Infinity

  constructor(ground: Means) {
    this.#ground = ground
  }

  /** RR1; in order of their ids. */
  async alive(): Promise<ReadonlyMap<string, HostProfile>> {
    const { link, names, reads } = this.#ground
    const { state } = await link.persist('looking for hosts', () =>
      link.jsm.streams.info(names.streams.live, { subjects_filter: names.lives }),
    )
    const ids = Object.keys(state.subjects ?? {})
      .map(idIn)
      .sort()
    const profiles = await Promise.all(
      ids.map(async (id): Promise<readonly [string, HostProfile][]> => {
        const known = this.#known.get(id)
        if (known) return [[id, known]]
        const entry = await reads.last(names.streams.live, names.live(id))
        return entry ? [[id, decodeHost(Buffer.from(entry.data).toString())]] : [] // it has just gone
      }),
    )
    this.#known = new Map(profiles.flat())
    return this.#known
  }

  /**
   * Asked once for all who ask meanwhile: they go on in the order in which they came, which answers of the server do
   * not keep. And not again in the same moment: where hosts are away, many wait for one.
   */
  async isHosted(leaseMs: number): Promise<boolean> {
    if (steadyClock.now() - this.#seenAt < sameMomentMs && !this.#asking) return true
    this.#asking ??= this.#lookForHost(leaseMs).finally(() => (this.#asking = undefined))
    const there = await this.#asking
    if (there) this.#seenAt = steadyClock.now()
    return there
  }

  async #lookForHost(leaseMs: number): Promise<boolean> {
    const { link, names } = this.#ground
    for (const until = steadyClock.now() + leaseMs; ;) {
      const info = await link.persist('looking for hosts', () => link.jsm.streams.info(names.streams.live))
      if (info.state.messages === 0) return false
      // Both by the clock of the server.
      const now = isoTime.safeParse(info).data?.ts
      const ageMs = now === undefined ? 0 : Date.parse(now) - Date.parse(info.state.last_ts)
      if (ageMs < leaseMs * renewedWithin || steadyClock.now() >= until) return true
      await sleep(leaseMs / 12)
    }
  }

  /** All that is known of them. */
  async list(): Promise<readonly HostInfo[]> {
    const { names, reads } = this.#ground
    const partitions = new Map<string, number[]>()
    await reads.scan({ stream: names.streams.meta, filter: names.owners, last: true }, (message) => {
      const { host } = ownerOf(message)
      partitions.set(host, [...(partitions.get(host) ?? []), Number(idIn(message.subject))])
    })
    const hosts: HostInfo[] = []
    await reads.scan({ stream: names.streams.live, filter: names.lives, last: true }, ({ subject, data }) => {
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

/** Those that are served first: no other is newer than they are. */
export function newestOf(alive: ReadonlyMap<string, HostProfile>): readonly string[] {
  const all = [...alive]
  let newest = all[0]?.[1]
  for (const [, profile] of all) if (newest && compareHosts(profile, newest) > 0) newest = profile
  return all.filter(([, profile]) => newest && compareHosts(profile, newest) >= 0).map(([id]) => id)
}
