/** A store as a crash would leave it: its first records, and the mail that they do not finish. */
import type { Backend, Store } from '../../src/backend/port.js'
import type { Command } from '../../src/core/records/command.js'
import type { ThreadRecord } from '../../src/core/records/record.js'
import { chainStart, decode, pack } from '../../src/runtime/journal/journal.js'
import { sealMail } from '../../src/runtime/journal/mail.js'

export async function recordsOf(source: Store, thread: string): Promise<ThreadRecord[]> {
  const backend = await source.open('client')
  const records = (await backend.journal.read(thread)).flatMap((entry) => decode(thread, entry))
  await backend.close()
  return records
}

export interface Planted {
  readonly thread: string
  readonly agent: string
  readonly kept: readonly ThreadRecord[]
  /** Commands that were sent, by id. */
  readonly sent: readonly { readonly id: string; readonly command: Command }[]
}

/** The first records of a thread, as its only commit. */
export async function commitKept(
  backend: Backend,
  epoch: number,
  { thread, agent, kept }: Pick<Planted, 'thread' | 'agent' | 'kept'>,
): Promise<void> {
  const head = {
    agent,
    status: 'thinking',
    root: thread,
    path: [thread],
    tags: [],
    rest: false,
    createdAt: 0,
    updatedAt: 0,
  }
  await backend.commit({ thread, expected: 0, epoch, entry: pack(kept, chainStart), head, sends: [], done: [] })
}

export async function plant(source: Store, { thread, agent, kept, sent }: Planted): Promise<void> {
  const backend = await source.open('host')
  const lease = await backend.leases.acquire(0)
  const accepted = new Set(kept.map(({ by }) => by))
  if (kept.length > 0) {
    await commitKept(backend, lease?.epoch ?? 0, { thread, agent, kept })
    for (const { id, command } of sent)
      if (!accepted.has(id)) await backend.mailbox.put({ to: thread, id, body: sealMail(command) })
  }
  await lease?.release()
  await backend.close()
}
