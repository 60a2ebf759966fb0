/**
 * The streams of a namespace: made by the first host, checked by everyone. Owns their configuration and the settings
 * that a namespace has for ever.
 *
 * NS1 The configuration that the server made is read back: old servers silently ignore options that they do not know.
 * NS2 No full stream drops old messages: a write is refused instead.
 * - The number of partitions is fixed by the first host; another number is refused.
 */
import { nanos } from '@nats-io/transport-node'
import { DiscardPolicy, RetentionPolicy, StorageType } from '@nats-io/jetstream'
import type { StreamConfig, StreamInfo } from '@nats-io/jetstream'
import { z } from 'zod'
import { defined } from '../../core/defined.js'
import { SkeinError } from '../../core/failure.js'
import { apiCode } from './connection/connection.js'
import type { ServerConnection } from './connection/connection.js'
import type { Subjects, StreamKind } from './subjects.js'
import { publish } from './connection/publish.js'
import { StreamReader } from './connection/read.js'

export interface StreamSettings {
  readonly partitions: number
  readonly leaseMs: number
  readonly replicas: number
}

export interface StreamPlan {
  readonly partitions?: number
  readonly leaseMs?: number
  readonly replicas?: number
}

const version = 1
const settingsSchema = z.object({
  version: z.number(),
  partitions: z.number().int().positive(),
  leaseMs: z.number().positive(),
})
const streamNotFound = 10_059
const nameInUse = 10_058
/** One for each partition that is followed and for each scan under way; servers since 2.12 allow 1,000 by default. */
const mostConsumers = 10_000

function configs(
  { streams, mails, namespace }: Subjects,
  { leaseMs, replicas }: StreamSettings,
): Readonly<Record<StreamKind, Partial<StreamConfig> & { name: string }>> {
  const common = {
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: DiscardPolicy.New,
    num_replicas: replicas,
    allow_direct: true,
    max_consumers: mostConsumers,
  }
  const lastOnly = { max_msgs_per_subject: 1, discard: DiscardPolicy.Old }
  const of = (kind: string): string[] => [`${namespace}.${kind}.>`]
  return {
    log: { ...common, name: streams.log, subjects: of('log') },
    mail: { ...common, name: streams.mail, subjects: [mails] },
    // A message replaces the one before on its subject; nothing else is ever dropped.
    snapshots: { ...common, ...lastOnly, name: streams.snapshots, subjects: of('snapshot') },
    blobs: { ...common, ...lastOnly, name: streams.blobs, subjects: [...of('blob'), ...of('chunk')] },
    meta: { ...common, ...lastOnly, name: streams.meta, subjects: of('meta') },
    live: { ...common, ...lastOnly, name: streams.live, subjects: of('live'), max_age: nanos(leaseMs) },
  }
}

/** For a host: makes the streams that are missing. */
export async function prepareStreams(
  connection: ServerConnection,
  subjects: Subjects,
  plan: StreamPlan,
): Promise<StreamSettings> {
  const found = await findMeta(connection, subjects)
  const initial: StreamSettings = {
    partitions: plan.partitions ?? 64,
    leaseMs: plan.leaseMs ?? 3_000,
    replicas: found?.config.num_replicas ?? plan.replicas ?? 1,
  }
  await ensure(connection, configs(subjects, initial).meta)
  const settings = { ...initial, ...(await fixSettings(connection, subjects, initial)) }
  checkPlan(subjects, plan, settings)
  const { meta: _, ...others } = configs(subjects, settings)
  await Promise.all(Object.values(others).map((config) => ensure(connection, config)))
  return settings
}

/** For a client, which makes no stream. */
export async function findStreams(
  connection: ServerConnection,
  subjects: Subjects,
  plan: StreamPlan,
): Promise<StreamSettings> {
  const found = await findMeta(connection, subjects)
  const replicas = found?.config.num_replicas ?? 1
  const settings = found && (await readSettings(new StreamReader(connection, replicas), subjects))
  if (!settings)
    throw new SkeinError(
      'BAD_OPTION',
      `there is no Skein in the namespace ${subjects.namespace} of NATS (${connection.address}); start a host on it ` +
        `first, or name the namespace of one`,
      { data: { missing: 'namespace', namespace: subjects.namespace } },
    )
  checkPlan(subjects, plan, { ...settings, replicas })
  return { ...settings, replicas }
}

interface InspectedStream {
  readonly name: string
  /** Absent: it does not exist. */
  readonly info?: StreamInfo
}

export interface Inspection extends StreamSettings {
  readonly streams: readonly InspectedStream[]
}

/** The streams of a namespace as they are; undefined where it was never made. Throws if one is not as needed (NS1). */
export async function inspectStreams(
  connection: ServerConnection,
  subjects: Subjects,
): Promise<Inspection | undefined> {
  const found = await findMeta(connection, subjects)
  const replicas = found?.config.num_replicas ?? 1
  const settings = found && (await readSettings(new StreamReader(connection, replicas), subjects))
  if (!settings) return undefined
  const needed = Object.values(configs(subjects, { ...settings, replicas }))
  const streams = await Promise.all(
    needed.map(async (config) => {
      const info = await infoOf(connection, config.name)
      if (info) check(config, info.config)
      return { name: config.name, ...defined({ info }) }
    }),
  )
  return { ...settings, replicas, streams }
}

function findMeta(connection: ServerConnection, { streams }: Subjects): Promise<StreamInfo | undefined> {
  return infoOf(connection, streams.meta)
}

function infoOf(connection: ServerConnection, name: string): Promise<StreamInfo | undefined> {
  return connection.persist('looking for the namespace', () =>
    connection.jsm.streams.info(name).catch((thrown: unknown) => {
      if (apiCode(thrown) === streamNotFound) return undefined
      throw thrown
    }),
  )
}

async function readSettings(
  reader: StreamReader,
  subjects: Subjects,
): Promise<{ partitions: number; leaseMs: number } | undefined> {
  const stored = await reader.last(subjects.streams.meta, subjects.settings)
  if (!stored) return undefined
  const { version: found, partitions, leaseMs } = settingsSchema.parse(JSON.parse(Buffer.from(stored.data).toString()))
  if (found > version)
    throw new SkeinError(
      'RECORD_FROM_FUTURE',
      `the namespace ${subjects.namespace} was made by a newer Skein (version ${found}; this one knows up to ` +
        `${version}). Update Skein, or use another namespace.`,
      { data: { version: found } },
    )
  return { partitions, leaseMs }
}

/** The settings of the first host count for all. */
async function fixSettings(
  connection: ServerConnection,
  subjects: Subjects,
  { partitions, leaseMs, replicas }: StreamSettings,
): Promise<{ partitions: number; leaseMs: number }> {
  const reader = new StreamReader(connection, replicas)
  const fixed = await readSettings(reader, subjects)
  if (fixed) return fixed
  await publish(connection, reader, {
    stream: subjects.streams.meta,
    subject: subjects.settings,
    payload: JSON.stringify({ version, partitions, leaseMs }),
    expected: 0,
  })
  return (await readSettings(reader, subjects)) ?? { partitions, leaseMs }
}

function checkPlan({ namespace }: Subjects, plan: StreamPlan, settings: StreamSettings): void {
  for (const key of ['partitions', 'leaseMs', 'replicas'] as const) {
    if (plan[key] === undefined || plan[key] === settings[key]) continue
    throw new SkeinError(
      'BAD_OPTION',
      `the namespace ${namespace} has ${key}: ${settings[key]}, fixed when it was made; ${plan[key]} was given. ` +
        `Leave the option out, or use another namespace.`,
    )
  }
}

/** Looks first: where an operator has made the streams, this user needs no permission to make them. */
async function ensure(connection: ServerConnection, config: Partial<StreamConfig> & { name: string }): Promise<void> {
  const made =
    (await infoOf(connection, config.name)) ??
    (await connection.persist(`making the stream ${config.name}`, () =>
      connection.jsm.streams.add(config).catch((thrown: unknown) => {
        // Another host has just made it.
        if (apiCode(thrown) === nameInUse) return connection.jsm.streams.info(config.name)
        throw thrown
      }),
    ))
  check(config, made.config)
}

/** NS1: only options on which correctness depends; limits are the operator's. */
function check(config: Partial<StreamConfig> & { name: string }, made: StreamConfig): void {
  for (const key of ['storage', 'retention', 'discard', 'max_msgs_per_subject', 'max_age', 'allow_direct'] as const) {
    const needed = config[key]
    if (needed === undefined || needed === made[key]) continue
    throw new SkeinError(
      'BAD_OPTION',
      `the stream ${config.name} has ${key}: ${String(made[key])}, and Skein needs ${String(needed)}; a server ` +
        `that is too old leaves options out, and an operator may have changed them. Mend it with \`nats stream ` +
        `edit\`, or use another namespace.`,
    )
  }
}
