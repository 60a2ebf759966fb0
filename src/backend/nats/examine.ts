/**
 * Looking at a NATS server and a namespace on it: can Skein use them, and what should an operator know. Owns nothing.
 *
 * - It makes no stream and writes no message.
 */
import type { JetStreamAccountStats } from '@nats-io/jetstream'
import type { Clock } from '../../core/clock.js'
import { toFailure } from '../../core/failure.js'
import { finding, fullness } from '../../core/finding.js'
import type { Finding } from '../../core/finding.js'
import type { HostInfo } from '../host-info.js'
import type { OpenOptions } from './backend.js'
import { durabilityDoubt, serverTime } from './durability.js'
import { ServerConnection } from './connection/connection.js'
import { createSubjects } from './subjects.js'
import type { Subjects } from './subjects.js'
import { StreamReader } from './connection/read.js'
import { HostRegistry, isoTime } from './membership/hosts.js'
import { inspectStreams } from './streams.js'
import type { Inspection } from './streams.js'

/** A head, its header and its record go into one message; longer ones go into blobs. */
const leastPayload = { fail: 64 * 1024, warn: 1024 * 1024 }
const mostSkewMs = { warn: 1_000, fail: 10_000 }
const streamsNeeded = 6

export async function examineNats(opening: OpenOptions, clock: Clock): Promise<readonly Finding[]> {
  let link: ServerConnection
  try {
    link = await ServerConnection.open(opening)
  } catch (thrown) {
    return [finding('server', 'fail', toFailure(thrown, 'STORE_FAILED').message)]
  }
  try {
    const { info } = link.nc
    const names = createSubjects(opening.namespace)
    const account = await link.persist('looking at the account', () => link.jsm.getAccountInfo())
    const namespace = await inspectStreams(link, names).catch(
      (thrown: unknown) => toFailure(thrown, 'STORE_FAILED').message,
    )
    return [
      finding('server', 'ok', `nats-server ${info?.version ?? ''} at ${link.place}`),
      await examineSync(link, opening),
      examinePayload(info?.max_payload ?? 0),
      examineLimits(account, namespace !== undefined),
      ...(typeof namespace === 'string'
        ? [finding('namespace', 'fail', namespace)]
        : await examineNamespace(link, names, namespace)),
      await examineClock(link, { clock, monitor: opening.monitor, stream: names.streams.meta }),
    ]
  } catch (thrown) {
    return [finding('server', 'fail', toFailure(thrown, 'STORE_FAILED').message)]
  } finally {
    await link.close()
  }
}

async function examineSync(link: ServerConnection, { monitor, sync }: OpenOptions): Promise<Finding> {
  const doubt = sync === 'relaxed' ? undefined : await durabilityDoubt(link, monitor)
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

/** What is not as Skein needs it has failed before (NS1). */
async function examineNamespace(
  link: ServerConnection,
  names: Subjects,
  found: Inspection | undefined,
): Promise<readonly Finding[]> {
  const { namespace } = names
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
  const hosts = await new HostRegistry({ link, names, reads: new StreamReader(link, replicas) }).list()
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

/** By the middle of a request: what it took counts half. */
async function examineClock(
  link: ServerConnection,
  { clock, monitor, stream }: { readonly clock: Clock; readonly monitor: string | undefined; readonly stream: string },
): Promise<Finding> {
  const before = clock.now()
  const info = await link.ask(() => link.jsm.streams.info(stream)).catch(() => undefined)
  const stamp = isoTime.safeParse(info).data?.ts ?? (await serverTime(link, monitor))
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
