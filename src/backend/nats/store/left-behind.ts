/**
 * What is known of threads by their last messages, and what a partition has when it changes hands: mail that may not be
 * out, trees that are being removed, threads that are not at rest. Owns no state.
 */
import { isRestless } from '../../checks.js'
import type { StoredHead } from '../../port.js'
import type { StreamMessage } from '../connection/read.js'
import type { NatsContext } from '../context.js'
import { rootIn } from '../subjects.js'
import { raiseBarrier } from './barrier.js'
import { noteOfCommit, readHeader } from './commit-message.js'

export interface KnownThread {
  /** Sequence in the stream of the thread's last message. */
  readonly last: number
  readonly seq: number
  readonly epoch: number
  readonly born: number
  readonly root: string
  /** Whether there may be a snapshot of it. */
  readonly snapshot: boolean
}

/** What a partition has that changes hands. */
export interface LeftBehind {
  /** Messages whose mail may not be out. */
  readonly unsent: readonly number[]
  /** Trees that are being removed. */
  readonly removedRoots: readonly string[]
  /** Absent where not all heads could be read. */
  readonly restless?: readonly StoredHead[]
}

/** `remember`: of threads that are woken next, nobody need ask for the last message. */
export async function readLeftBehind(
  context: NatsContext,
  partition: number,
  remember: (thread: string, known: KnownThread) => void,
): Promise<LeftBehind> {
  const { reader, subjects } = context
  const unsent: number[] = []
  const removedRoots: string[] = []
  let restless: Map<string, StoredHead> | undefined = new Map()
  const barrier = await raiseBarrier(context, partition)
  await reader.scan(
    {
      stream: subjects.streams.log,
      filter: subjects.logOfPartition(partition),
      last: true,
      headersOnly: true,
      ...barrier,
    },
    (message) => {
      const { note, head } = readHeader(message)
      if (!head) restless = undefined // it is in the payload
      else if (isRestless(head)) restless?.set(head.thread, head)
      else restless?.delete(head.thread)
      if (!note) return
      if (note.sends > 0) unsent.push(message.seq)
      if (note.removed) removedRoots.push(note.thread)
      else if (!head || isRestless(head)) remember(note.thread, knownFrom(message))
    },
  )
  return { unsent, removedRoots, ...(restless && { restless: [...restless.values()] }) }
}

export function knownFrom(message: StreamMessage): KnownThread {
  const { seq, epoch, born, snapshot = true } = noteOfCommit(message)
  // The subject has the root: <namespace>.log.<partition>.<root>.<thread>.
  return { last: message.seq, seq, epoch, born: born || message.seq, root: rootIn(message.subject), snapshot }
}
