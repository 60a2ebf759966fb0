/**
 * A local store as another process sees it (the CLI, a script): it reads the file itself and speaks to the owner over
 * the socket. Owns its read-only connection to the database and its link to the owner.
 *
 * - A put resolves when the mail is durable, whether the owner stored it or, where there is none, the client did.
 * - The client outlives owners: without one it still reads, and it finds the next one by itself.
 */
import { existsSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { clientMayNot, mailText, oneLease, storeClosed } from '../checks.js'
import type { Backend, Send } from '../port.js'
import { backUp } from './backup.js'
import { createBlobs } from './database/blobs.js'
import { createLocalKeyCheck } from './key-check.js'
import { OwnerLink } from './socket/owner-link.js'
import { refuseEmptied } from './files/mark.js'
import { folderInUse, keyFile, persist, takeOwnership } from './owner.js'
import type { Database } from './database/driver.js'
import { headsTopic } from './database/follow-heads.js'
import type { Bell } from './database/follow-heads.js'
import { createStoreReader } from './database/reader.js'
import type { StoreReader } from './database/reader.js'
import { noStore, openForReading } from './database/schema.js'
import type { Durability } from './database/schema.js'
import { socketPath } from './socket/socket-path.js'
import { openLocalStore } from './store.js'

/** An owner that is starting or stopping holds the lock without listening, for at most this long. */
const patience = { tries: 250, pauseMs: 20 }

export async function openClient(dir: string, durability: Durability): Promise<Backend> {
  const file = join(dir, 'skein.db')
  // Opening would create it. Not by reading it: closing a handle of ours would drop SQLite's locks.
  refuseEmptied(dir)
  if (!existsSync(file)) throw noStore(dir)
  const folder = await realpath(dir)
  const link = new OwnerLink(await socketPath(folder))
  const database = await openForReading(file)
  await link.connect()
  return createClient({ folder, durability, link, database })
}

interface ClientParts {
  readonly folder: string
  readonly durability: Durability
  readonly link: OwnerLink
  readonly database: Database
}

function createClient(parts: ClientParts): Backend {
  const { folder, link, database } = parts
  let open = true
  const assertOpen = (): void => {
    if (!open) throw storeClosed('local')
  }
  const refuse = async (action: string): Promise<never> => {
    assertOpen()
    throw clientMayNot(action)
  }
  const bell: Bell = (ring) => link.subscribe(headsTopic, ring, ring)
  const reader = createStoreReader(database, bell, assertOpen)
  return {
    name: 'local',
    key: { file: join(folder, keyFile) },
    keyCheck: createLocalKeyCheck(database, assertOpen),
    role: 'client',
    async backup(to) {
      assertOpen()
      return backUp(folder, to)
    },
    async hosted() {
      assertOpen()
      return link.connect()
    },
    async hosts() {
      assertOpen()
      return link.hosts()
    },
    commit: () => refuse('commit'),
    journal: reader.journal,
    heads: reader.heads,
    mailbox: createClientMailbox(reader.mailbox, parts, assertOpen),
    snapshots: { ...reader.snapshots, put: () => refuse('put a snapshot') },
    signals: createClientSignals(link, assertOpen),
    blobs: createBlobs(folder, reader.blobs, assertOpen),
    trees: { remove: () => refuse('remove a tree'), sweep: () => refuse('sweep') },
    leases: {
      ...oneLease,
      acquire: () => refuse('acquire a lease'),
      survey: async () => ({ share: 0, free: [], barred: 0 }),
    },
    async close() {
      if (!open) return
      open = false
      await link.close()
      database.close()
    },
  }
}

function createClientMailbox(
  reader: StoreReader['mailbox'],
  parts: ClientParts,
  assertOpen: () => void,
): Backend['mailbox'] {
  return {
    ...reader,
    async put(send) {
      assertOpen()
      return putMail(parts, send)
    },
    // Only the owner reads mail; nobody waits for it here.
    watch: () => () => undefined,
  }
}

function createClientSignals(link: OwnerLink, assertOpen: () => void): Backend['signals'] {
  return {
    publish(topic, value) {
      assertOpen()
      link.publish(topic, value)
    },
    subscribe(topic, listener, missed) {
      assertOpen()
      return link.subscribe(topic, listener, missed)
    },
    heard: (topic) => link.heard(topic),
  }
}

/** By the owner, else by ourselves under its lock; a host may come or go between the two, so they alternate. */
async function putMail({ folder, durability, link }: ClientParts, send: Send): Promise<void> {
  const body = mailText(send)
  const stored = await persist(patience, async () => {
    const answer = await link.put(send, body)
    if (answer?.ok) return true
    // An owner that is closing refuses; the next attempt finds its successor or the lock.
    if (answer && answer.error.code !== 'STORE_CLOSED') throw answer.error
    return (await putAlone({ folder, durability }, send, body)) ? true : undefined
  })
  if (!stored) throw await folderInUse(folder)
}

/** Nobody listens in this process. */
const alone = { arrived: () => undefined, committed: () => undefined }

/** False while someone holds the lock. */
async function putAlone(
  { folder, durability }: Pick<ClientParts, 'folder' | 'durability'>,
  send: Send,
  body: string,
): Promise<boolean> {
  const ownership = await takeOwnership(folder)
  if (!ownership) return false
  try {
    const { writer, writes, close } = await openLocalStore(folder, durability, alone)
    try {
      const stored = writer.add((arrived) => writes.putMail(send, body, arrived))
      writer.flush()
      await stored
    } finally {
      await close()
    }
    return true
  } finally {
    await ownership.release()
  }
}
