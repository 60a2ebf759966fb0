/**
 * What a host finds unfinished in a partition that it takes: threads with work or mail, alarms, and threads that wait
 * for variables.
 *
 * - A host may be told to resume some trees only. It leaves the others as they are and tells how many threads that is;
 *   as soon as a thread of such a tree gets mail, the whole tree is resumed, because someone wants it.
 */
import type { Backend, Lease, StoredHead } from '../../backend/port.js'
import { readMail } from '../journal/mail.js'

/** Which unfinished trees a host resumes when it opens a store: all, or those with these roots. */
export type Resuming = 'all' | readonly string[]

export interface Unfinished {
  /** Threads that are to be woken now. */
  readonly due: readonly string[]
  readonly alarms: readonly { readonly thread: string; readonly at: number }[]
  /** Threads whose heads cannot be read, and why. */
  readonly damaged: readonly { readonly thread: string; readonly why: string }[]
  /** Threads with work or mail that are not resumed, and the roots of their trees. */
  readonly leftAlone: readonly { readonly thread: string; readonly root: string | undefined }[]
}

/** `restless`: what a lease that was just given says of it. */
export async function findUnfinished(
  backend: Backend,
  lease: Pick<Lease, 'partition' | 'restless'>,
  resuming: Resuming,
): Promise<Unfinished> {
  const { mailbox } = backend
  const { partition } = lease
  const isResumed = (root: string | undefined): boolean =>
    resuming === 'all' || (root !== undefined && resuming.includes(root))
  const due = new Set<string>()
  const leftAlone = new Map<string, string | undefined>()
  const alarms: { thread: string; at: number }[] = []
  const damaged: { thread: string; why: string }[] = []
  for (const { thread, root, rest, wakeAt, status, damaged: damage } of await restlessIn(backend, lease)) {
    // The definitions and options of this host may have the variables that it awaits.
    const isDue = !rest || status === 'awaiting_variables'
    if (damage !== undefined) damaged.push({ thread, why: damage })
    else if (isResumed(root) && isDue) due.add(thread)
    else if (isResumed(root) && wakeAt !== undefined) alarms.push({ thread, at: wakeAt })
    else if (!rest || wakeAt !== undefined) leftAlone.set(thread, root)
  }
  for (const thread of await mailbox.waiting(partition)) {
    if (due.has(thread) || leftAlone.has(thread)) continue
    const root = resuming === 'all' ? undefined : await rootOf(backend, thread)
    if (isResumed(root)) due.add(thread)
    else leftAlone.set(thread, root)
  }
  return { due: [...due], alarms, damaged, leftAlone: [...leftAlone].map(([thread, root]) => ({ thread, root })) }
}

async function restlessIn(
  { heads }: Backend,
  { partition, restless }: Pick<Lease, 'partition' | 'restless'>,
): Promise<readonly StoredHead[]> {
  return restless ?? heads.restless(partition)
}

/** The root of a thread; if it is not created yet, the one that the `create` in its mailbox names. */
export async function rootOf({ heads, mailbox }: Backend, thread: string): Promise<string | undefined> {
  const head = await heads.get(thread)
  if (head) return head.root
  for (const { body } of await mailbox.read(thread, 0)) {
    const command = readMail(body)
    if (command?.kind === 'create') return command.path[0]
  }
  return undefined
}
