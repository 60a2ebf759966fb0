/**
 * A NATS backend as one instance has it: the parts of this folder, put together, and its end. Owns the order in which
 * they come up and go down.
 *
 * - A host is seen as alive before `open` returns, and is gone for the others when `close` does.
 * - `close` waits for what was handed over before it.
 */
import type { NodeConnectionOptions } from '@nats-io/transport-node'
import { clientMayNot, storeClosed } from '../checks.js'
import type { HostSelf } from '../host-info.js'
import type { Backend, StoreRole } from '../port.js'
import { claimApp } from './membership/claim-app.js'
import { NatsBlobs } from './store/blobs.js'
import { Commits } from './store/commits.js'
import { Directory } from './store/directory.js'
import { durabilityDoubt } from './durability.js'
import { createNatsContext } from './context.js'
import type { NatsContext } from './context.js'
import { createNatsKeyCheck } from './key-check.js'
import { NatsLeases } from './membership/leases.js'
import { ServerConnection } from './connection/connection.js'
import { NatsMailbox } from './store/mailbox.js'
import { createSubjects } from './subjects.js'
import { Presence } from './membership/presence.js'
import { StreamReader } from './connection/read.js'
import { createNatsHeads, createNatsJournal } from './store/journal.js'
import { HostRegistry } from './membership/hosts.js'
import { createSignals } from './store/signals.js'
import { findStreams, prepareStreams } from './streams.js'
import type { StreamSettings, StreamPlan } from './streams.js'
import { createSnapshots } from './store/snapshots.js'
import { NatsTrees } from './store/trees.js'

export interface OpenOptions {
  readonly connection: NodeConnectionOptions
  readonly place: string
  readonly namespace: string
  readonly wanted: StreamPlan
  readonly patienceMs: number
  readonly monitor?: string
  readonly sync: 'checked' | 'relaxed'
}

export async function openNats(opening: OpenOptions, role: StoreRole, self: HostSelf): Promise<Backend> {
  const link = await ServerConnection.open({ ...opening, reach: (server) => self.reach(server) })
  try {
    const names = createSubjects(opening.namespace)
    const settings = await (role === 'host' ? prepareStreams : findStreams)(link, names, opening.wanted)
    if (role === 'host' && opening.sync === 'checked')
      void durabilityDoubt(link, opening.monitor).then((doubt) => doubt !== undefined && self.warn(doubt))
    let open = true
    const live = (): void => {
      if (!open) throw storeClosed('nats')
    }
    const reads = new StreamReader(link, settings.replicas)
    if (role === 'host') await claimApp({ link, reads, names }, self.profile)
    const blobs = new NatsBlobs({ link, reads, names, live })
    const ground = createNatsContext({ role, link, reads, names, partitions: settings.partitions, blobs, live })
    return await assemble(ground, { ...settings, self }, () => (open = false))
  } catch (thrown) {
    await link.close()
    throw thrown
  }
}

async function assemble(
  ground: NatsContext,
  { leaseMs, self }: StreamSettings & { readonly self: HostSelf },
  end: () => void,
): Promise<Backend> {
  const { link, reads, names, role, live, blobs } = ground
  let presence: Presence | undefined
  const mailbox = new NatsMailbox(ground)
  const roster = new HostRegistry(ground)
  const leases = new NatsLeases(ground, { presence: () => presence, leaseMs, self, roster })
  const commits: Commits = new Commits(ground, mailbox, {
    over: (partition, epoch) => leases.over(partition, epoch),
    finishRemoval: (root) => trees.finish(root),
  })
  const trees = new NatsTrees(ground, { commits, mailbox })
  leases.join({ mailbox, commits })
  if (role === 'host')
    presence = await Presence.open({ link, reads, names, leaseMs, self, died: () => leases.loseAll() })
  const directory = new Directory(ground)
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    end()
    directory.close()
    await commits.settled()
    await mailbox.settled()
    await leases.releaseAll()
    await presence?.close()
    await blobs.settled()
    await link.close()
  }
  return {
    name: 'nats',
    keyCheck: createNatsKeyCheck(ground),
    role,
    hosted: async () => (live(), roster.isHosted(leaseMs)),
    hosts: async () => (live(), roster.list()),
    commit: async (commit) => {
      live()
      if (role === 'client') throw clientMayNot('commit')
      return commits.commit(commit)
    },
    journal: createNatsJournal(ground),
    heads: createNatsHeads(ground, directory),
    mailbox: {
      put: (send) => mailbox.put(send),
      read: (thread, after) => mailbox.read(thread, after),
      waiting: async (partition, root) => (
        live(),
        root === undefined || (await commits.sent(root)),
        mailbox.waiting(partition)
      ),
      watch: (arrived) => mailbox.watch(arrived),
    },
    snapshots: createSnapshots(ground, (thread) => commits.identify(thread)),
    signals: createSignals(link, names, live),
    blobs: { put: (bytes) => blobs.put(bytes), get: (hash) => blobs.get(hash), has: (hash) => blobs.has(hash) },
    trees: { remove: (removal) => trees.remove(removal), sweep: (options) => trees.sweep(options) },
    leases: {
      partitions: leases.partitions,
      shared: leases.shared,
      leaseMs: leases.leaseMs,
      partitionOf: (thread) => leases.partitionOf(thread),
      acquire: (partition) => leases.acquire(partition),
      survey: () => leases.survey(),
      watch: (told) => leases.watch(told),
    },
    close: () => (closing ??= close()),
  }
}
