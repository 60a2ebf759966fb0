/**
 * Dead letters: children that failed for good, with what they were asked. Each is kept by its parent, so the list is
 * as durable as threads are and the same in every process.
 *
 * - A letter is there until someone has it tried again or drops it; both are commands to the parent.
 */
import type { StoredHead } from '../../backend/port.js'
import { defined } from '../../core/defined.js'
import { SkeinError } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import { sendCommand } from './send-command.js'
import type { ThreadServices } from './thread.js'
import { wake } from '../journal/wake.js'

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

export function createDeadLetters({ backend, clock, random }: ThreadServices): DeadLetters {
  const say = async (id: string, kind: 'requeue' | 'drop'): Promise<void> => {
    const { thread, reference } = parseId(id)
    await sendCommand(backend, clock, { thread, id: random.id(), command: { kind, reference } })
  }
  return {
    async list({ root } = {}) {
      const letters: DeadLetter[] = []
      for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
        const { heads, next } = await backend.heads.list({ ...defined({ root, cursor }) })
        for (const head of heads)
          if (head.dead) letters.push(...lettersOf(head, (await wake(backend, head.thread)).state.dead))
        cursor = next
      }
      return letters.sort((a, b) => a.at - b.at)
    },
    requeue: (id) => say(id, 'requeue'),
    drop: (id) => say(id, 'drop'),
  }
}

type Kept = Awaited<ReturnType<typeof wake>>['state']['dead']

function lettersOf({ thread, path }: StoredHead, dead: Kept): DeadLetter[] {
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
