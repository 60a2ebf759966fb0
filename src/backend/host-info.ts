/**
 * What a host publishes of itself in its store, and which of two hosts is newer. Owns no state.
 *
 * - A host is newer than another when it writes newer records, or the same ones with a newer version of the app. A host
 *   without a version is older than one that has one.
 */
import { z } from 'zod'
import type { Json } from '../core/json.js'
import { lazy } from '../core/schema.js'

/** The part that stays the same as long as the host lives. */
export interface HostProfile {
  /** Machine and process, for people. */
  readonly name: string
  /** When it began. */
  readonly since: number
  /** Version of Skein. */
  readonly skein: string
  /** Version of the records that it writes. */
  readonly records: number
  /** Name and version of its app, if it has them. */
  readonly app?: string
  readonly appVersion?: string
}

export interface HostWork {
  /** Threads in memory. */
  readonly awake: number
  /** How many of these are at work. */
  readonly busy: number
  /** Recent utilization of its main thread, 0 to 1. */
  readonly load: number
}

export interface HostInfo extends HostProfile, HostWork {
  /** The id under which it holds partitions; it gets another one when it was taken for dead. */
  readonly id: string
  readonly partitions: readonly number[]
}

/** What a backend knows of the host that opens it. */
export interface HostSelf {
  readonly profile: HostProfile
  work(): HostWork
  /** Something that an operator should know. */
  warn(what: string): void
  /** The server of the store is out of reach, or back. */
  reach(server: 'lost' | 'back'): void
}

const idle: HostWork = { awake: 0, busy: 0, load: 0 }

/** A host that publishes nothing of itself. */
export const anonymousHost: HostSelf = {
  profile: { name: '', since: 0, skein: '', records: 0 },
  work: () => idle,
  warn: (what) => process.emitWarning(what),
  reach: () => undefined,
}

const publishedSchema = lazy(() =>
  z.object({
    name: z.string(),
    since: z.number(),
    skein: z.string(),
    records: z.number(),
    app: z.string().exactOptional(),
    appVersion: z.string().exactOptional(),
    awake: z.number(),
    busy: z.number(),
    load: z.number(),
  }),
)
const infosSchema = lazy(() => z.array(publishedSchema().extend({ id: z.string(), partitions: z.array(z.number()) })))

export function encodeHost({ profile, work }: HostSelf): HostProfile & HostWork {
  return { ...profile, ...work() }
}

/** What another process has published; an anonymous host where this process does not understand it. */
export function decodeHost(text: string): HostProfile & HostWork {
  try {
    return publishedSchema().parse(JSON.parse(text))
  } catch (thrown) {
    if (thrown instanceof z.ZodError || thrown instanceof SyntaxError) return encodeHost(anonymousHost)
    throw thrown
  }
}

export function toHostInfos(value: Json): readonly HostInfo[] {
  return infosSchema().parse(value)
}

type Versions = Pick<HostProfile, 'records' | 'appVersion'>

/** Positive when the first is newer. */
export function compareHosts(one: Versions, other: Versions): number {
  return one.records - other.records || compareVersions(one.appVersion, other.appVersion)
}

/** By the rules of Semantic Versioning; parts that are no numbers are compared as text. */
export function compareVersions(one: string | undefined, other: string | undefined): number {
  if (one === undefined || other === undefined) return Number(one !== undefined) - Number(other !== undefined)
  const [[core = '', prerelease], [otherCore = '', otherPrerelease]] = [split(one), split(other)]
  return (
    compareLists(core, otherCore) ||
    Number(prerelease === undefined) - Number(otherPrerelease === undefined) ||
    compareLists(prerelease ?? '', otherPrerelease ?? '')
  )
}

/** The core and, if there is one, the prerelease; without the build. */
function split(version: string): readonly string[] {
  const [whole = ''] = version.split('+')
  const dash = whole.indexOf('-')
  return dash < 0 ? [whole] : [whole.slice(0, dash), whole.slice(dash + 1)]
}

function compareLists(one: string, other: string): number {
  const [list, otherList] = [one.split('.'), other.split('.')]
  for (let at = 0; at < Math.max(list.length, otherList.length); at++) {
    const [a = '', b = ''] = [list[at], otherList[at]]
    const numbers = /^\d+$/.test(a) && /^\d+$/.test(b)
    const order = numbers ? Number(a) - Number(b) : Number(a > b) - Number(a < b)
    if (order !== 0) return order
  }
  return 0
}
