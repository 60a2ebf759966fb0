/**
 * What a host says of itself to all who look at its store, and which of two hosts goes first. Owns no state.
 *
 * - A host is newer than another when it writes newer records, or the same and has a newer version of the app. One
 *   that says no version is older than one that does.
 */
import { z } from 'zod'
import type { Json } from '../core/json.js'

/** What stays the same as long as the host lives. */
export interface HostProfile {
  /** Machine and process, for people. */
  readonly name: string
  /** When it began. */
  readonly since: number
  /** Version of Skein. */
  readonly skein: string
  /** Version of the records that it writes. */
  readonly records: number
  /** Name and version of its app, where it has any. */
  readonly app?: string
  readonly appVersion?: string
}

export interface HostWork {
  /** Threads in memory. */
  readonly awake: number
  /** Of these, at work. */
  readonly busy: number
  /** Part of the last moments, 0 to 1, in which its main thread was at work. */
  readonly load: number
}

export interface HostInfo extends HostProfile, HostWork {
  /** Under which it holds partitions; another one after it was taken for dead. */
  readonly id: string
  readonly partitions: readonly number[]
}

/** The host that opens a backend, as the backend knows it. */
export interface HostSelf {
  readonly profile: HostProfile
  work(): HostWork
  /** Something that an operator should know. */
  warn(what: string): void
  /** The server of the store is out of reach, or back. */
  reach(server: 'lost' | 'back'): void
}

const idle: HostWork = { awake: 0, busy: 0, load: 0 }

/** One that says nothing of itself. */
export const anonymousHost: HostSelf = {
  profile: { name: '', since: 0, skein: '', records: 0 },
  work: () => idle,
  warn: (what) => process.emitWarning(what),
  reach: () => undefined,
}

const saidSchema = z.object({
  name: z.string(),
  since: z.number(),
  skein: z.string(),
  records: z.number(),
  app: z.string().exactOptional(),
  appVersion: z.string().exactOptional(),
  awake: z.number(),
  busy: z.number(),
  load: z.number(),
})
const infosSchema = z.array(saidSchema.extend({ id: z.string(), partitions: z.array(z.number()) }))

export function encodeHost({ profile, work }: HostSelf): HostProfile & HostWork {
  return { ...profile, ...work() }
}

/** What another process has written; a stranger where it is nothing that this one understands. */
export function decodeHost(text: string): HostProfile & HostWork {
  try {
    return saidSchema.parse(JSON.parse(text))
  } catch (thrown) {
    if (thrown instanceof z.ZodError || thrown instanceof SyntaxError) return encodeHost(anonymousHost)
    throw thrown
  }
}

export function toHostInfos(value: Json): readonly HostInfo[] {
  return infosSchema.parse(value)
}

type Versions = Pick<HostProfile, 'records' | 'appVersion'>

/** HI1; positive when the first is newer. */
export function compareHosts(one: Versions, other: Versions): number {
  return one.records - other.records || compareVersions(one.appVersion, other.appVersion)
}

/** As Semantic Versioning has it; what is none is compared as text. */
export function compareVersions(one: string | undefined, other: string | undefined): number {
  if (one === undefined || other === undefined) return Number(one !== undefined) - Number(other !== undefined)
  const [[core = '', before], [otherCore = '', otherBefore]] = [halves(one), halves(other)]
  return (
    compareLists(core, otherCore) ||
    Number(before === undefined) - Number(otherBefore === undefined) ||
    compareLists(before ?? '', otherBefore ?? '')
  )
}

/** Without what names the build; a version before another one has a second half. */
function halves(version: string): readonly string[] {
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
