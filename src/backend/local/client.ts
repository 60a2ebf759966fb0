/**
 * A local store as another process sees it (the CLI, a script): reads the file itself, speaks to the owner
 * over the socket. Owns its read-only connection and its link.
 *
 * - A put resolves when the mail is durable, whether an owner took it or nobody was there.
 * - The client outlives owners: without one it still reads, and finds the next one by itself.
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
import { createStoreReader } from './database/reader.js'
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
  let open = true
  const live = (): void => {
    if (!open) throw storeClosed('local')
  }
  const refuse = async (what: string): Promise<never> => {
    live()
    throw clientMayNot(what)
  }
  const reader = createStoreReader(database, live)
  return {
    name: 'local',
    key: { file: join(folder, keyFile) },
    keyCheck: createLocalKeyCheck(database, live),
    backup: async (to) => (live(), backUp(folder, to)),
    role: 'client',
    hosted: async () => (live(), link.connect()),
    hosts: async () => (live(), link.hosts()),
    commit: () => refuse('commit'),
    journal: reader.journal,
    heads: reader.heads,
    mailbox: {
      ...reader.mailbox,
      put: async (send) => (live(), putMail({ folder, durability, link }, send)),
      // Mail is the owner's business; nobody waits for it here.
      watch: () => () => undefined,
    },
    snapshots: { ...reader.snapshots, put: () => refuse('put a snapshot') },
    signals: {
      publish: (topic, value) => (live(), link.publish(topic, value)),
      subscribe: (topic, heard, missed) => (live(), link.subscribe(topic, heard, missed)),
      heard: (topic) => link.heard(topic),
    },
    blobs: createBlobs(folder, reader.blobs, live),
    trees: { remove: () => refuse('remove a tree'), sweep: () => refuse('sweep') },
    leases: {
      ...oneLease,
      acquire: () => refuse('acquire a lease'),
      survey: async () => ({ share: 0, free: [], barred: 0 }),
    },
    close: async () => {
      if (!open) return
      open = false
      await link.close()
      database.close()
    },
  }
}

interface Around {
  readonly folder: string
  readonly durability: Durability
  readonly link: OwnerLink
}

/** By the owner, else by ourselves under its lock; between the two a host may come or go, so in turns. */
async function putMail({ folder, durability, link }: Around, send: Send): Promise<void> {
  const body = mailText(send)
  const stored = await persist(patience, async () => {
    const answer = await link.put(send, body)
    if (answer?.ok) return true
    // An owner that is closing refuses; the next turn finds its successor or the lock.
    if (answer && answer.error.code !== 'STORE_CLOSED') throw answer.error
    return (await putAlone({ folder, durability }, send, body)) ? true : undefined
  })
  if (!stored) throw await folderInUse(folder)
}

/** False while someone holds the lock. */
async function putAlone(place: Omit<Around, 'link'>, send: Send, body: string): Promise<boolean> {
  const ownership = await takeOwnership(place.folder)
  if (!ownership) return false
  try {
    const { writer, writes, close } = await openLocalStore(place.folder, place.durability, () => undefined)
    try {
      const stored = writer.add((arrived) => writes.putMail(send, body, arrived))
      writer.flush()
      await stored
    } finally {
      close()
    }
    return true
  } finally {
    await ownership.release()
  }
}
