/**
 * Examining a NATS server and a namespace on it: whether Skein can use them, and what an operator should know. Owns no
 * state.
 *
 * - It makes no stream and writes no message.
 * - Whether the server writes to the disk before it acknowledges is known only from its monitoring port.
 */
import type { JetStreamAccountStats } from '@nats-io/jetstream'
import { z } from 'zod'
import type { Clock } from '../../core/clock.js'
import { toFailure } from '../../core/failure.js'
import { finding, fullness } from '../../core/finding.js'
import type { Finding } from '../../core/finding.js'
import type { HostInfo } from '../host-info.js'
import type { OpenOptions } from './backend.js'
import { ServerConnection } from './connection/connection.js'
import { createSubjects } from './subjects.js'
import type { Subjects } from './subjects.js'
import { StreamReader } from './connection/read.js'
import { HostRegistry, isoTime } from './membership/hosts.js'
import { inspectStreams } from './streams.js'
import type { Inspection } from './streams.js'

/** A record and its head go into one message; longer ones go into blobs. */
const leastPayload = { fail: 64 * 1024, warn: 1024 * 1024 }
const mostSkewMs = { warn: 1_000, fail: 10_000 }
const streamsNeeded = 6

export async function examineNats(options: OpenOptions, clock: Clock): Promise<readonly Finding[]> {
  let connection: ServerConnection
  try {
    connection = await ServerConnection.open(options)
  } catch (thrown) {
    return [finding('server', 'fail', toFailure(thrown, 'STORE_FAILED').message)]
  }
  try {
    const { info } = connection.nc
    const subjects = createSubjects(options.namespace)
    const account = await connection.persist('looking at the account', () => connection.jsm.getAccountInfo())
    const namespace = await inspectStreams(connection, subjects).catch(
      (thrown: unknown) => toFailure(thrown, 'STORE_FAILED').message,
    )
    return [
      finding('server', 'ok', `nats-server ${info?.version ?? ''} at ${connection.address}`),
      await examineSync(connection, options),
      examinePayload(info?.max_payload ?? 0),
      examineLimits(account, namespace !== undefined),
      ...(typeof namespace === 'string'
        ? [finding('namespace', 'fail', namespace)]
        : await examineNamespace(connection, subjects, namespace)),
      await examineClock(connection, { clock, monitor: options.monitor, stream: subjects.streams.meta }),
    ]
  } catch (thrown) {
    return [finding('server', 'fail', toFailure(thrown, 'STORE_FAILED').message)]
  } finally {
    await connection.close()
  }
}

async function examineSync(connection: ServerConnection, { monitor, sync }: OpenOptions): Promise<Finding> {
  const doubt = sync === 'relaxed' ? undefined : await durabilityDoubt(connection, monitor)
  return doubt === undefined
    ? finding(
        'sync',
        'ok',
        sync === 'relaxed' ? 'not asked for (relaxed)' : 'it writes to the disk before it acknowledges',
      )
    : finding('sync', 'warn', doubt)
}

function examinePayload(bytes: number): Finding {
  const says = `a message may have ${bytes} bytes (max_payload)`
  if (bytes >= leastPayload.warn) return finding('payload', 'ok', says)
  if (bytes >= leastPayload.fail)
    return finding(
      'payload',
      'warn',
      says,
      `what is longer goes into blobs, which is slower; set it to ${leastPayload.warn}`,
    )
  return finding(
    'payload',
    'fail',
    says,
    `that is too little for a record and its head; set max_payload to ${leastPayload.warn} in the server's ` +
      `configuration`,
  )
}

/** -1 is no limit. */
function examineLimits({ limits, storage, streams, consumers }: JetStreamAccountStats, made: boolean): Finding {
  const { max_storage: room, max_streams: mostStreams, max_consumers: mostConsumers } = limits
  const advice = "raise the limits of the account in the server's configuration"
  if (room === 0) return finding('limits', 'fail', 'the account may keep nothing on the disk', advice)
  const used = room > 0 ? storage / room : 0
  if (fullness(used) !== 'ok')
    return finding(
      'limits',
      fullness(used),
      `${Math.round(used * 100)} % of the ${room} bytes that the account may keep are used; writes are refused ` +
        `when they are full`,
      `${advice}, or let retention remove old trees`,
    )
  if (!made && mostStreams >= 0 && mostStreams - streams < streamsNeeded)
    return finding(
      'limits',
      'fail',
      `the account may have ${mostStreams} streams and has ${streams}; a namespace needs ${streamsNeeded}`,
      advice,
    )
  if (mostConsumers >= 0 && fullness(consumers / Math.max(1, mostConsumers)) !== 'ok')
    return finding(
      'limits',
      'warn',
      `the account has ${consumers} of ${mostConsumers} consumers; a host needs one for each partition and some ` +
        `for reading`,
      advice,
    )
  return finding(
    'limits',
    'ok',
    room > 0
      ? `${Math.round(used * 100)} % of what the account may keep are used`
      : 'the account has no limit of its own',
  )
}

/** Streams that are not as Skein needs them (NS1) have thrown before. */
async function examineNamespace(
  connection: ServerConnection,
  subjects: Subjects,
  found: Inspection | undefined,
): Promise<readonly Finding[]> {
  const { namespace } = subjects
  if (!found) return [finding('namespace', 'ok', `${namespace} is not there yet; the first host makes it`)]
  const { streams, partitions, replicas } = found
  const missing = streams.filter(({ info }) => !info).map(({ name }) => name)
  if (missing.length > 0)
    return [
      finding(
        'namespace',
        'fail',
        `${namespace} lacks the streams ${missing.join(', ')}`,
        'restore them from a back-up, or start a host: it makes them anew, empty',
      ),
    ]
  const hosts = await new HostRegistry({ connection, subjects, reader: new StreamReader(connection, replicas) }).list()
  return [examineRoom(namespace, streams), examineHosts(hosts, partitions)]
}

function examineRoom(namespace: string, streams: Inspection['streams']): Finding {
  for (const { name, info } of streams) {
    const { max_bytes: bytes = -1, max_msgs: messages = -1 } = info?.config ?? {}
    const used = Math.max(
      bytes > 0 ? (info?.state.bytes ?? 0) / bytes : 0,
      messages > 0 ? (info?.state.messages ?? 0) / messages : 0,
    )
    if (fullness(used) !== 'ok')
      return finding(
        'namespace',
        fullness(used),
        `the stream ${name} is ${Math.round(used * 100)} % full; writes are refused then, nothing old is dropped`,
        `raise its limit with \`nats stream edit ${name}\`, or let retention remove old trees`,
      )
  }
  return finding('namespace', 'ok', `${namespace} has its ${streams.length} streams, as Skein needs them`)
}

function examineHosts(hosts: readonly HostInfo[], partitions: number): Finding {
  if (hosts.length === 0) return finding('hosts', 'ok', 'no host serves it now')
  const held = hosts.reduce((sum, host) => sum + host.partitions.length, 0)
  const who = hosts.length === 1 ? 'a host serves' : `${hosts.length} hosts serve`
  if (held === partitions) return finding('hosts', 'ok', `${who} its ${partitions} partitions`)
  return finding(
    'hosts',
    'warn',
    `${who} ${held} of its ${partitions} partitions`,
    'if that stays so, the others were written by a newer Skein: start a host of that version',
  )
}

/** The server's time is compared with the middle of the request. */
async function examineClock(
  connection: ServerConnection,
  { clock, monitor, stream }: { readonly clock: Clock; readonly monitor: string | undefined; readonly stream: string },
): Promise<Finding> {
  const before = clock.now()
  const info = await connection.ask(() => connection.jsm.streams.info(stream)).catch(() => undefined)
  const stamp = isoTime.safeParse(info).data?.ts ?? (await serverTime(connection, monitor))
  if (stamp === undefined)
    return finding('clock', 'warn', 'the time of the server is not known', 'name its monitoring port with --monitor')
  const skewMs = Math.round(Date.parse(stamp) - (before + clock.now()) / 2)
  const says = `the clock of the server is ${Math.abs(skewMs)} ms ${skewMs < 0 ? 'behind' : 'ahead of'} the one here`
  if (Math.abs(skewMs) < mostSkewMs.warn) return finding('clock', 'ok', says)
  return finding(
    'clock',
    Math.abs(skewMs) < mostSkewMs.fail ? 'warn' : 'fail',
    says,
    'deadlines and schedules come by the clock of each host: set all of them by NTP',
  )
}

const varzSchema = z.object({
  server_id: z.string(),
  now: z.iso.datetime({ offset: true }).optional(),
  jetstream: z.object({ config: z.object({ sync_always: z.boolean().optional() }).optional() }).optional(),
})
const monitorMs = 1_000

function monitorOf({ nc }: ServerConnection): string {
  return `http://${(nc.getServer().split(':')[0] ?? '') || '127.0.0.1'}:8222`
}

async function readVarz(base: string): Promise<z.infer<typeof varzSchema>> {
  const answer = await fetch(new URL('/varz', base), { signal: AbortSignal.timeout(monitorMs) })
  return varzSchema.parse(await answer.json())
}

/** Undefined where the monitoring port cannot be read. */
async function serverTime(connection: ServerConnection, monitor = monitorOf(connection)): Promise<string | undefined> {
  const { server_id, now } = await readVarz(monitor).catch(() => ({ server_id: undefined, now: undefined }))
  return server_id === connection.nc.info?.server_id ? now : undefined
}

/** Undefined: the server writes to the disk before it acknowledges. */
export async function durabilityDoubt(
  connection: ServerConnection,
  monitor: string | undefined,
): Promise<string | undefined> {
  const { nc, address } = connection
  const connected = nc.info?.server_id
  const base = monitor ?? monitorOf(connection)
  const hint =
    "Set `sync_interval: always` in its `jetstream` block (see nats.conf), or give nats({ sync: 'relaxed' }) " +
    'where replicas in separate places make up for it.'
  try {
    const { server_id, jetstream } = await readVarz(base)
    if (server_id !== connected)
      return (
        `the monitoring port ${base} is that of another server than ${address}, so whether that one writes to ` +
        `the disk before it acknowledges is not known. ${hint}`
      )
    return jetstream?.config?.sync_always
      ? undefined
      : `the NATS server at ${address} acknowledges records before they are on the disk: a loss of power can lose ` +
          `the last minutes. ${hint}`
  } catch {
    return (
      `whether the NATS server at ${address} writes to the disk before it acknowledges could not be read from ` +
      `${base}; name its monitoring port with nats({ monitor }). ${hint}`
    )
  }
}
