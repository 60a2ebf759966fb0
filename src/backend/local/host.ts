/**
 * A local store as its owner opens it: the folder's lock, the one writing connection, the socket for clients.
 * Owns the order in which these come up and go down.
 *
 * - Nothing is opened for writing before the lock is held, and nothing is written after it is released.
 * - The socket listens before `open` returns: a client that sees no socket sees no host.
 */
import { join } from 'node:path'
import { systemClock } from '../../core/clock.js'
import { checkCommit, checkPartition, mailText, mailTexts, oneLease, storeClosed } from '../checks.js'
import { encodeHost } from '../host-info.js'
import type { HostInfo, HostSelf } from '../host-info.js'
import type { Backend, CommitResult, Lease, Leases, Mailbox, Signals } from '../port.js'
import { createTopics, tell } from '../topics.js'
import type { Topics } from '../topics.js'
import { backUp } from './backup.js'
import { sweepParts } from './database/blob-files.js'
import { createBlobs } from './database/blobs.js'
import type { BlobRows } from './database/blobs.js'
import { createLocalKeyCheck } from './key-check.js'
import { OwnerLink } from './socket/owner-link.js'
import { folderInUse, keyFile, persist, prepareFolder, takeOwnership } from './owner.js'
import type { Ownership } from './owner.js'
import { headsTopic } from './database/follow-heads.js'
import type { Bell } from './database/follow-heads.js'
import { PartRefused } from './database/rows.js'
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
  const folder = prepareFolder(dir)
  const path = await socketPath(folder)
  const ownership = await persist(patience, async () => {
    const taken = await takeOwnership(folder)
    if (!taken && (await isServed(path))) throw await folderInUse(folder)
    return taken
  })
  if (!ownership) throw await folderInUse(folder)
  const watchers = new Set<(thread: string) => void>()
  const rings = new Set<() => void>()
  let store: LocalStore | undefined
  try {
    store = await openLocalStore(folder, durability, {
      arrived: (threads) => {
        for (const thread of threads) for (const watcher of [...watchers]) tell(() => watcher(thread))
      },
      committed: () => {
        for (const ring of rings) ring()
      },
    })
    // Parts that cannot be removed take room, nothing else: no reason to refuse the folder.
    await sweepParts(folder, systemClock.now()).catch((error: unknown) =>
      process.emitWarning(`${folder}: ${String(error)}`),
    )
    return await createHost({ folder, path, ownership, store, watchers, rings, self })
  } catch (error) {
    await store?.close()
    await ownership.release()
    throw error
  }
}

/** Whether a host listens at the socket. */
async function isServed(path: string): Promise<boolean> {
  const link = new OwnerLink(path)
  const connected = await link.connect()
  await link.close()
  return connected
}

interface HostParts {
  readonly folder: string
  readonly path: string
  readonly ownership: Ownership
  readonly store: LocalStore
  readonly watchers: Set<(thread: string) => void>
  /** Called after every transaction. */
  readonly rings: Set<() => void>
  readonly self: HostSelf
}

async function createHost({ folder, path, ownership, store, watchers, rings, self }: HostParts): Promise<Backend> {
  const { database, writes, writer } = store
  const topics = createTopics()
  let open = true
  const assertOpen = (): void => {
    if (!open) throw storeClosed('local')
  }
  const { leases, holds, release } = createLeases(writer, writes, assertOpen)
  const hosts = (): readonly HostInfo[] => [
    { id: self.profile.name, ...encodeHost(self), partitions: holds() ? [0] : [] },
  ]
  const put = createPut(writer, writes)
  const server = await OwnerServer.listen(path, { put, topics, hosts })
  rings.add(() => server.forward(headsTopic, null))
  const reader = createStoreReader(database, createBell(rings), assertOpen)
  const putBlob: BlobRows['put'] = (hash, bytes) => writer.add(() => writes.putBlob(hash, bytes, systemClock.now()))
  let closing: Promise<void> | undefined
  return {
    name: 'local',
    key: { file: join(folder, keyFile) },
    keyCheck: createLocalKeyCheck(database, assertOpen, writer),
    role: 'host',
    async backup(dir) {
      assertOpen()
      return backUp(folder, dir)
    },
    async hosted() {
      assertOpen()
      return true
    },
    async hosts() {
      assertOpen()
      return hosts()
    },
    commit: createCommit({ writer, writes, assertOpen }),
    together: true,
    journal: reader.journal,
    heads: reader.heads,
    mailbox: { ...reader.mailbox, ...createMailWrites({ put, watchers, assertOpen }) },
    snapshots: {
      ...reader.snapshots,
      async put(thread, snapshot) {
        assertOpen()
        return writer.add(() => writes.putSnapshot(thread, snapshot))
      },
    },
    signals: createSignals(topics, server, assertOpen),
    blobs: createBlobs(folder, { ...reader.blobs, put: putBlob }, assertOpen),
    trees: createTrees({ folder, writer, writes }, assertOpen),
    leases,
    close() {
      open = false
      closing ??= shutDown({ ownership, store, server, release })
      return closing
    },
  }
}

function createBell(rings: Set<() => void>): Bell {
  return (ring) => {
    rings.add(ring)
    return () => void rings.delete(ring)
  }
}

function createPut(writer: Writer, writes: Writes): Mailbox['put'] {
  return async (send) => {
    const body = mailText(send)
    return writer.add((arrived) => writes.putMail(send, body, arrived), { isLong: body.length > longText })
  }
}

interface MailServices {
  readonly put: Mailbox['put']
  readonly watchers: Set<(thread: string) => void>
  readonly assertOpen: () => void
}

function createMailWrites({ put, watchers, assertOpen }: MailServices): Pick<Mailbox, 'put' | 'watch'> {
  return {
    async put(send) {
      assertOpen()
      return put(send)
    },
    watch(arrived) {
      assertOpen()
      // A wrapper of its own, so that the same function may watch twice.
      const watcher = (thread: string): void => arrived(thread)
      watchers.add(watcher)
      return () => void watchers.delete(watcher)
    },
  }
}

interface CommitServices {
  readonly writer: Writer
  readonly writes: Writes
  readonly assertOpen: () => void
}

/** Characters of a text that is made in one turn of the event loop, and written in the next. */
const longText = 256 * 1024

/** Makes its text and hash before the transaction: of what is long that takes as long as writing it. */
function isLong({ entry }: Parameters<Backend['commit']>[0]): boolean {
  return entry !== undefined && entry.hash.length + entry.body.length > longText
}

/** Not an async function: that would be a promise around a promise, for every commit. */
function createCommit({ writer, writes, assertOpen }: CommitServices): Backend['commit'] {
  return (commit) => {
    try {
      assertOpen()
      checkCommit(commit)
      const texts = mailTexts(commit)
      const committed = writer.add((arrived) => writes.commit(commit, texts, arrived), {
        isLong: isLong(commit),
        alone: () => writes.commitAlone(commit),
      })
      return commit.also ? committed.catch(refusalIn) : committed
    } catch (thrown) {
      return Promise.reject(thrown)
    }
  }
}

function refusalIn(thrown: unknown): CommitResult {
  if (thrown instanceof PartRefused) return thrown.result
  throw thrown
}

function createSignals(topics: Topics, server: OwnerServer, assertOpen: () => void): Signals {
  return {
    publish: (topic, value, unheard) => {
      assertOpen()
      topics.publish(topic, value, server.heard(topic) ? undefined : unheard)
      server.forward(topic, value)
    },
    subscribe(topic, listener) {
      assertOpen()
      return topics.subscribe(topic, listener)
    },
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
      await parts.store.close()
    } finally {
      await parts.ownership.release()
    }
  }
}

function createLeases(
  writer: Writer,
  writes: Writes,
  assertOpen: () => void,
): { leases: Leases; holds: () => boolean; release: () => void } {
  let held: AbortController | undefined
  const leases: Leases = {
    ...oneLease,
    survey: async () => ({ share: 1, free: held ? [] : [0], barred: 0 }),
    acquire: async (partition) => {
      assertOpen()
      checkPartition(partition, oneLease.partitions)
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
