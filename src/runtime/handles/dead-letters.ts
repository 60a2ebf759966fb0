/**
 * Dead letters: children that failed for good, with the message that they failed on. Each is part of its parent's
 * state, so the list is as durable as threads are and the same in every process.
 *
 * - A letter stays until it is requeued or dropped; both are commands to the parent.
 */
import { z } from 'zod'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { StoredHead } from '../../backend/port.js'
import { defined } from '../../core/defined.js'
import { SkeinError } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import { checkOptions } from '../../core/options.js'
import { sendCommand } from './send-command.js'
import type { ThreadServices } from './services.js'
import { eachHead } from '../journal/heads.js'
import { wake } from '../journal/wake.js'
import { lazy } from '../../core/schema.js'

export interface DeadLetter {
  /** `<parent>/<reference>`: what `requeue` and `drop` take. */
  readonly id: string
  /** The parent. */
  readonly thread: string
  readonly path: readonly string[]
  readonly reference: string
  readonly agent: string
  /** What it was asked. */
  readonly text: string
  readonly failure: Failure
  readonly attempts: number
  readonly at: number
}

export interface DeadLetters {
  /** Oldest first; of one tree, or of all. */
  list(filter?: { readonly root?: string }): Promise<readonly DeadLetter[]>
  /** Tries it again, as another thread; its answer comes to the parent as a message. */
  requeue(id: string): Promise<void>
  drop(id: string): Promise<void>
}

const filterSchema = lazy(() => z.strictObject({ root: z.string().optional() }))

export function createDeadLetters({ backend, clock, random }: ThreadServices): DeadLetters {
  const send = async (id: string, kind: 'requeue' | 'drop'): Promise<void> => {
    const { thread, reference } = parseId(id)
    await sendCommand(backend, clock, { thread, id: random.id(), command: { kind, reference } })
  }
  return {
    async list(filter = {}) {
      checkOptions(filterSchema(), filter, 'deadLetters.list')
      const { root } = filter
      const letters: DeadLetter[] = []
      for await (const head of eachHead(backend, defined({ root })))
        if (head.dead) letters.push(...lettersOf(head, (await wake(backend, head.thread)).state.dead))
      return letters.sort((a, b) => a.at - b.at)
    },
    requeue: (id) => send(id, 'requeue'),
    drop: (id) => send(id, 'drop'),
  }
}

function lettersOf({ thread, path }: StoredHead, dead: ThreadState['dead']): DeadLetter[] {
  return Object.entries(dead).map(([reference, { charge, failure, at }]) => ({
    id: `${thread}/${reference}`,
    thread,
    path,
    reference,
    agent: charge.call.agent,
    text: charge.call.text,
    failure,
    attempts: charge.attempt,
    at,
  }))
}

function parseId(id: string): { readonly thread: string; readonly reference: string } {
  const slash = id.lastIndexOf('/')
  if (slash > 0) return { thread: id.slice(0, slash), reference: id.slice(slash + 1) }
  throw new SkeinError(
    'BAD_OPTION',
    `${JSON.stringify(id)} is no id of a dead letter; one looks like <thread>/writer-1 (see deadLetters.list())`,
  )
}
