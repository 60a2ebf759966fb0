/**
 * A local store as its owner has it: the folder's lock, the one writing connection, the socket for clients.
 * Owns the order in which these come up and go down.
 *
 * - Nothing is opened for writing before the lock is held, nothing is written after it is released.
 * - The socket listens before `open` returns: a client that sees no socket sees no host.
 */
import { join } from 'node:path'
import { systemClock } from '../../core/clock.js'
import { broken } from '../../core/failure.js'
import { checkCommit, mailText, oneLease, storeClosed } from '../checks.js'
import { encodeHost } from '../host-info.js'
import type { HostInfo, HostSelf } from '../host-info.js'
import type { Backend, Lease, Leases, Signals } from '../port.js'
import { createTopics, tell } from '../topics.js'
import type { Topics } from '../topics.js'
import { backUp } from './backup.js'
import { sweepParts } from './database/blob-files.js'
import { createBlobs } from './database/blobs.js'
import { createLocalKeyCheck } from './key-check.js'
import { OwnerLink } from './socket/owner-link.js'
import { folderInUse, keyFile, persist, prepareFolder, takeOwnership } from './owner.js'
import type { Ownership } from './owner.js'
import { createStoreReader } from './database/reader.js'
import type { Durability } from './database/schema.js'
import { OwnerServer } from './socket/server.js'
import { socketPath } from './socket/socket-path.js'
import { openLocalStore } from './store.js'
import type { LocalStore } from './store.js'
import { createTrees } from './database/sweep.js'
import type { Writes } from './database/write.js'
import type { Writer } from './database/writer.js'

/** A client that stores mail without a host holds the lock for a few milliseconds: worth waiting for. */
const patience = { tries: 50, pauseMs: 20 }

export async function openHost(dir: string, durability: Durability, self: HostSelf): Promise<Backend> {
  const folder = await prepareFolder(dir)
  const path = await socketPath(folder)
  const ownership = await persist(patience, async () => {
    const taken = await takeOwnership(folder)
    if (!taken && (await answers(path))) throw await folderInUse(folder)
    return taken
  })
  if (!ownership) throw await folderInUse(folder)
  const watchers = new Set<(thread: string) => void>()
  let store: LocalStore | undefined
  try {
    store = await openLocalStore(folder, durability, (threads) => {
      for (const thread of threads) for (const watcher of [...watchers]) tell(() => watcher(thread))
    })
    // What it leaves behind takes room, nothing else: no reason to refuse the folder.
    await sweepParts(folder, systemClock.now()).catch((error: unknown) =>
      process.emitWarning(`${folder}: ${String(error)}`),
    )
    return await host({ folder, path, ownership, store, watchers, self })
  } catch (error) {
    store?.close()
    await ownership.release()
    throw error
  }
}

/** Whether a host listens there. */
async function answers(path: string): Promise<boolean> {
  const link = new OwnerLink(path)
  const there = await link.connect()
  await link.close()
  return there
}

interface Held {
  readonly folder: string
  readonly path: string
  readonly ownership: Ownership
  readonly store: LocalStore
  readonly watchers: Set<(thread: string) => void>
  readonly self: HostSelf
}

async function host({ folder, path, ownership, store, watchers, self }: Held): Promise<Backend> {
  const { database, writes, writer } = store
  const topics = createTopics()
  let open = true
  const live = (): void => {
    if (!open) throw storeClosed('local')
  }
  const put: Backend['mailbox']['put'] = async (send) => {
    const body = mailText(send)
    return writer.add((arrived) => writes.putMail(send, body, arrived))
  }
  const putBlob = (hash: string, bytes: Uint8Array): Promise<void> =>
    writer.add(() => writes.putBlob(hash, bytes, systemClock.now()))
  const { leases, holds, release } = leasesOf(writer, writes, live)
  const hosts = (): readonly HostInfo[] => [
    { id: self.profile.name, ...encodeHost(self), partitions: holds() ? [0] : [] },
  ]
  const server = await OwnerServer.listen(path, { put, topics, hosts })
  const reader = createStoreReader(database, live)
  let closing: Promise<void> | undefined
  return {
    name: 'local',
    key: { file: join(folder, keyFile) },
    keyCheck: createLocalKeyCheck(database, live, writer),
    backup: async (dir) => (live(), backUp(folder, dir)),
    role: 'host',
    hosted: async () => (live(), true),
    hosts: async () => (live(), hosts()),
    commit: committing({ writer, writes, live }),
    journal: reader.journal,
    heads: reader.heads,
    mailbox: {
      ...reader.mailbox,
      put: async (send) => (live(), put(send)),
      watch: (arrived) => (live(), watchedBy(watchers, arrived)),
    },
    snapshots: {
      ...reader.snapshots,
      put: async (thread, snapshot) => (live(), writer.add(() => writes.putSnapshot(thread, snapshot))),
    },
    signals: signalsOf(topics, server, live),
    blobs: createBlobs(folder, { ...reader.blobs, put: putBlob }, live),
    trees: createTrees({ folder, writer, writes }, live),
    leases,
    close: () => {
      open = false
      closing ??= shutDown({ ownership, store, server, release })
      return closing
    },
  }
}

function watchedBy(watchers: Set<(thread: string) => void>, arrived: (thread: string) => void): () => void {
  const watcher = (thread: string): void => arrived(thread)
  watchers.add(watcher)
  return () => void watchers.delete(watcher)
}

interface Committing {
  readonly writer: Writer
  readonly writes: Writes
  readonly live: () => void
}

/** Not an async function: that would be a promise around a promise, for every commit. */
function committing({ writer, writes, live }: Committing): Backend['commit'] {
  return (commit) => {
    try {
      live()
      checkCommit(commit)
      const bodies = commit.sends.map(mailText)
      return writer.add((arrived) => writes.commit(commit, bodies, arrived))
    } catch (thrown) {
      return Promise.reject(thrown)
    }
  }
}

function signalsOf(topics: Topics, server: OwnerServer, live: () => void): Signals {
  return {
    publish: (topic, value, unheard) => {
      live()
      topics.publish(topic, value, server.heard(topic) ? undefined : unheard)
      server.forward(topic, value)
    },
    subscribe: (topic, heard) => (live(), topics.subscribe(topic, heard)),
    heard: (topic) => topics.heard(topic) || server.heard(topic),
  }
}

async function shutDown(parts: {
  readonly ownership: Ownership
  readonly store: LocalStore
  readonly server: OwnerServer
  readonly release: () => void
}): Promise<void> {
  parts.store.writer.flush()
  parts.release()
  try {
    await parts.server.close()
  } finally {
    try {
      parts.store.close()
    } finally {
      await parts.ownership.release()
    }
  }
}

function leasesOf(
  writer: Writer,
  writes: Writes,
  live: () => void,
): { leases: Leases; holds: () => boolean; release: () => void } {
  let held: AbortController | undefined
  const leases: Leases = {
    ...oneLease,
    survey: async () => ({ share: 1, free: held ? [] : [0], barred: 0 }),
    acquire: async (partition) => {
      live()
      if (partition !== 0) throw broken('LH1', `there is no partition ${partition}; a local store has one`)
      if (held) return undefined
      const lost = new AbortController()
      held = lost
      const release = (): void => {
        if (held === lost) held = undefined
        lost.abort()
      }
      try {
        const epoch = await writer.add(() => writes.nextEpoch())
        const lease: Lease = { partition, epoch, lost: lost.signal, release: async () => release() }
        return lease
      } catch (error) {
        release()
        throw error
      }
    },
  }
  return { leases, holds: () => held !== undefined, release: () => held?.abort() }
}
