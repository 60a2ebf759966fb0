/**
 * A NATS backend as one process opens it: the parts of this folder, put together. Owns the order in which they come up
 * and go down.
 *
 * - A host is seen as alive before `open` returns, and has gone for the others when `close` does.
 * - `close` waits for what was handed over before it.
 */
import type { NodeConnectionOptions } from '@nats-io/transport-node'
import { defined } from '../../core/defined.js'
import { clientMayNot, storeClosed } from '../checks.js'
import type { HostSelf } from '../host-info.js'
import type { Backend, Mailbox, StoreRole } from '../port.js'
import { ServerConnection } from './connection/connection.js'
import { StreamReader } from './connection/read.js'
import { createNatsContext } from './context.js'
import type { NatsContext } from './context.js'
import { durabilityDoubt } from './examine.js'
import { createNatsKeyCheck } from './key-check.js'
import { claimApp } from './membership/claim-app.js'
import { HostRegistry } from './membership/hosts.js'
import { NatsLeases } from './membership/leases.js'
import type { Handover } from './membership/leases.js'
import { Presence } from './membership/presence.js'
import { NatsBlobs } from './store/blobs.js'
import { Commits } from './store/commits.js'
import { Directory } from './store/directory.js'
import { createNatsHeads } from './store/heads.js'
import { createClientInterest, createInterest } from './store/interest.js'
import { createNatsJournal } from './store/journal.js'
import { NatsMailbox } from './store/mailbox.js'
import { createSignals } from './store/signals.js'
import { createSnapshots } from './store/snapshots.js'
import { NatsTrees } from './store/trees.js'
import { findStreams, prepareStreams } from './streams.js'
import type { StreamSettings, StreamPlan } from './streams.js'
import { createSubjects } from './subjects.js'

export interface OpenOptions {
  readonly transport: NodeConnectionOptions
  /** The servers without what is secret in their URLs, for messages. */
  readonly address: string
  readonly namespace: string
  readonly plan: StreamPlan
  readonly patienceMs: number
  readonly monitor?: string
  readonly sync: 'checked' | 'relaxed'
}

export async function openNats(options: OpenOptions, role: StoreRole, self: HostSelf): Promise<Backend> {
  const connection = await ServerConnection.open({ ...options, reach: (server) => self.reach(server) })
  try {
    const subjects = createSubjects(options.namespace)
    const settings = await (role === 'host' ? prepareStreams : findStreams)(connection, subjects, options.plan)
    if (role === 'host' && options.sync === 'checked')
      void durabilityDoubt(connection, options.monitor).then((doubt) => doubt !== undefined && self.warn(doubt))
    let open = true
    const assertOpen = (): void => {
      if (!open) throw storeClosed('nats')
    }
    const reader = new StreamReader(connection, settings.replicas)
    if (role === 'host') await claimApp({ connection, reader, subjects }, self.profile)
    const blobs = new NatsBlobs({ connection, reader, subjects, assertOpen })
    const { partitions } = settings
    const context = createNatsContext({ role, connection, reader, subjects, partitions, blobs, assertOpen })
    return await assemble(context, { ...settings, self }, () => (open = false))
  } catch (thrown) {
    await connection.close()
    throw thrown
  }
}

async function assemble(
  context: NatsContext,
  { leaseMs, self }: StreamSettings & { readonly self: HostSelf },
  refuseLater: () => void,
): Promise<Backend> {
  const { connection, subjects, role, assertOpen, blobs } = context
  const hosts = new HostRegistry(context)
  const presence = role === 'host' ? await Presence.open({ ...context, leaseMs, self }) : undefined
  const mailbox = new NatsMailbox(context)
  const commits = new Commits(context, mailbox, presence)
  const handover = createHandover(commits, mailbox)
  const leases = new NatsLeases(context, { presence, leaseMs, self, hostsAlive: () => hosts.alive(), handover })
  const directory = new Directory(context)
  const interest = (role === 'host' ? createInterest : createClientInterest)(connection, subjects)
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    refuseLater()
    interest.stop()
    directory.close()
    await commits.settled()
    await mailbox.settled()
    await leases.releaseAll()
    await presence?.close()
    await blobs.settled()
    await connection.close()
  }
  return {
    name: 'nats',
    keyCheck: createNatsKeyCheck(context),
    role,
    async hosted() {
      assertOpen()
      return hosts.isHosted(leaseMs)
    },
    async hosts() {
      assertOpen()
      return hosts.list()
    },
    async commit(commit) {
      assertOpen()
      if (role === 'client') throw clientMayNot('commit')
      return commits.commit(commit)
    },
    journal: createNatsJournal(context, (thread) => commits.recall(thread)),
    heads: createNatsHeads(context, directory),
    mailbox: { ...mailbox, waiting: createWaiting(context, commits, mailbox) },
    snapshots: createSnapshots(context, commits),
    signals: createSignals({ connection, subjects, assertOpen, interest }),
    blobs,
    trees: new NatsTrees(context, commits),
    leases,
    close: () => (closing ??= close()),
  }
}

function createHandover(commits: Commits, mailbox: NatsMailbox): Handover {
  return {
    async takeOver({ partition, epoch, lost, wasReleased }) {
      const [left] = await Promise.all([commits.takeOver(partition), wasReleased && mailbox.follow(partition, lost)])
      const isComplete = left.unsent.length === 0 && left.removedRoots.length === 0
      if (wasReleased && isComplete) return defined({ restless: left.restless })
      await commits.complete(left, epoch)
      // After it, so that mail that was owed within the partition is read, too. What is unfinished is read after both:
      // the last owner may not know yet that it is taken for dead, and commits until it does (the mail that such a
      // commit finishes is found here, or its record there).
      await mailbox.follow(partition, lost)
      return {}
    },
    async settle(partition) {
      await commits.settle(partition)
      await mailbox.removed(partition)
    },
  }
}

/** Mail that a commit sends is in no mailbox until it is out: whoever asks for a tree waits for it. */
function createWaiting({ assertOpen }: NatsContext, commits: Commits, mailbox: NatsMailbox): Mailbox['waiting'] {
  return async (partition, root) => {
    assertOpen()
    if (root !== undefined) await commits.mailSent(root)
    return mailbox.waiting(partition)
  }
}
