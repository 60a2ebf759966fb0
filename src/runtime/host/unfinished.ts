/**
 * What a host that takes a partition finds unfinished there: threads with work or mail, alarms, and threads that wait
 * for variables.
 *
 * - A host may be told to go on with some trees only. It leaves the rest as it is and says how much that is; a tree
 *   of which a thread gets mail while the host is there is taken up whole, because someone asked.
 */
import type { Backend, StoredHead } from '../../backend/port.js'
import { defined } from '../../core/defined.js'
import { readMail } from '../journal/mail.js'

/** Which unfinished trees a host goes on with when it opens a store: all, or those with these roots. */
export type Resuming = 'all' | readonly string[]

export interface Unfinished {
  /** To be woken now. */
  readonly due: readonly string[]
  readonly alarms: readonly { readonly thread: string; readonly at: number }[]
  /** Threads whose heads cannot be read, and why. */
  readonly damaged: readonly { readonly thread: string; readonly why: string }[]
  /** Threads with work or mail that are left as they are, and the roots of their trees. */
  readonly left: readonly { readonly thread: string; readonly root: string | undefined }[]
}

export async function findUnfinished(backend: Backend, partition: number, resuming: Resuming): Promise<Unfinished> {
  const { heads, mailbox } = backend
  const wanted = (root: string | undefined): boolean =>
    resuming === 'all' || (root !== undefined && resuming.includes(root))
  const due = new Set<string>()
  const left = new Map<string, string | undefined>()
  const alarms: { thread: string; at: number }[] = []
  const bad: { thread: string; why: string }[] = []
  for (const { thread, root, rest, wakeAt, damaged } of await heads.restless(partition)) {
    if (damaged !== undefined) bad.push({ thread, why: damaged })
    else if (!wanted(root)) left.set(thread, root)
    else if (!rest) due.add(thread)
    else if (wakeAt !== undefined) alarms.push({ thread, at: wakeAt })
  }
  for (const thread of await mailbox.waiting(partition)) {
    if (due.has(thread) || left.has(thread)) continue
    const root = resuming === 'all' ? undefined : await rootOf(backend, thread)
    if (resuming === 'all' || wanted(root)) due.add(thread)
    else left.set(thread, root)
  }
  // Definitions and options may give them their values now.
  for await (const { thread, root } of awaitingVariables(backend, partition)) if (wanted(root)) due.add(thread)
  return { due: [...due], alarms, damaged: bad, left: [...left].map(([thread, root]) => ({ thread, root })) }
}

/** Of a thread that is not made yet, the mail that makes it says so. */
export async function rootOf({ heads, mailbox }: Backend, thread: string): Promise<string | undefined> {
  const head = await heads.get(thread)
  if (head) return head.root
  for (const { body } of await mailbox.read(thread, 0)) {
    const command = readMail(body)
    if (command?.kind === 'create') return command.path[0]
  }
  return undefined
}

async function* awaitingVariables({ heads }: Backend, partition: number): AsyncGenerator<StoredHead> {
  for (let cursor: string | undefined, more = true; more;) {
    const page = await heads.list({ status: 'awaiting_variables', ...defined({ cursor }) }, partition)
    yield* page.heads
    cursor = page.next
    more = cursor !== undefined
  }
}
