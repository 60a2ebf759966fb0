/**
 * The life of a thread, as it is commanded: paused and resumed, alone or with all below it, terminated, deleted. What
 * goes to children goes out with the record that says so, to every child that is not over; they pass it on.
 *
 * LF1 A paused tree starts nothing anywhere: a paused thread calls no child, and one that it had called hears of the
 *     pause after its first message, because mail keeps its order.
 * - What is passed on by a parent is never refused: a child that is over, or stands like this already, has nothing
 *   to do.
 * - A thread that is to be deleted is terminated with all below it; it is removed when the whole tree rests,
 *   whoever hosts it then (outstanding.ts).
 */
import { defined } from '../../../src/core/defined.js'
import type { Command } from '../../../src/core/records/command.js'
import { failure } from '../../../src/core/failure.js'
import type { Failure } from '../../../src/core/failure.js'
import type { Fact, ThreadPaused, ThreadResumed, ThreadTerminated } from '../../../src/core/records/record.js'
import { abandonCalls } from '../children/children.js'
import { dropSchedules } from '../calls/calls.js'
import { mayResume, needsGrant } from '../budget/grants.js'
import { hasEnded, statusOf } from '../state.js'
import type { ThreadState } from '../state.js'

type Told = { readonly facts: readonly Fact[] } | { readonly refused: Failure }

const nothing: Told = { facts: [] }

export function pauseThread(
  state: ThreadState,
  { reason, tree, inherited }: Extract<Command, { kind: 'pause' }>,
): Told {
  if (hasEnded(state) || (state.position.gate === 'paused' && !tree)) return inherited ? nothing : unchanged(state)
  return { facts: [{ type: 'thread.paused', ...(reason && { reason }), ...defined({ tree }) }] }
}

/** `again` goes on with a turn that failed, or whose budget was spent, from where it stood. */
export function resumeThread(
  state: ThreadState,
  { tree, inherited }: Extract<Command, { kind: 'resume' }>,
  again: Fact,
): Told {
  if (hasEnded(state)) return inherited ? nothing : unchanged(state)
  const early = !inherited && !tree && state.position.gate === 'open' ? needsGrant(state) : undefined
  if (early) return { refused: early }
  const failed = state.position.gate === 'open' && !inherited && (state.position.work === 'failed' || mayResume(state))
  if (state.position.gate === 'open' && !tree && !failed) return inherited ? nothing : unchanged(state)
  const opened: Fact[] =
    state.position.gate === 'paused' || tree ? [{ type: 'thread.resumed', ...defined({ tree }) }] : []
  return { facts: failed ? [...opened, again] : opened }
}

export function terminateThread(
  state: ThreadState,
  { reason, inherited }: Extract<Command, { kind: 'terminate' }>,
): Told {
  if (state.position.work === 'terminated') return inherited ? nothing : unchanged(state)
  return { facts: [{ type: 'thread.terminated', ...(reason && { reason }), ...defined({ inherited }) }] }
}

export function removeThread(state: ThreadState, { terminate: first }: Extract<Command, { kind: 'delete' }>): Told {
  if (state.deleting) return nothing
  if (state.parent !== undefined)
    return refuse(`thread ${state.id} is a child: a tree is deleted as a whole, by its root ${state.path[0] ?? ''}`)
  const busy =
    state.turn ??
    (state.working > 0 ||
      (!hasEnded(state) && (state.queuedCalls.length > 0 || state.queue.some(({ delivery }) => delivery !== 'store'))))
  if (busy && !first)
    return refuse(
      `thread ${state.id} is ${statusOf(state)}, or children of it are at work; wait for them, or delete with ` +
        `\`terminate: true\``,
    )
  return { facts: [{ type: 'thread.terminated', reason: 'it is deleted', delete: true }] }
}

function refuse(message: string): Told {
  return { refused: failure('COMMAND_REFUSED', message) }
}

function unchanged(state: ThreadState): Told {
  return refuse(`thread ${state.id} is ${statusOf(state)} already; nothing was changed`)
}

export function crossesEnd(state: ThreadState, record: ThreadPaused | ThreadResumed): void {
  delete state.pausedFor
  if (record.type === 'thread.paused' && record.reason !== undefined) state.pausedFor = record.reason
}

/** Whatever was to come does not come any more. */
export function endThread(
  state: ThreadState,
  { reason, delete: deleting, inherited }: Omit<ThreadTerminated, 'type'> = {},
): void {
  if (reason !== undefined && !hasEnded(state)) state.endedFor = reason
  if (deleting) state.deleting = true
  delete state.pausedFor
  abandonCalls(state)
  dropSchedules(state)
  state.requests = {}
  // A parent that waits for nothing is told all the same, unless it was the parent that said so (F7), or the last
  // answer told it.
  const { child, parent, pendingReplies: owed, parentKnowsEnd: gone } = state
  if (child && parent !== undefined && !inherited && !gone && owed.length === 0 && !hasEnded(state))
    owed.push({ thread: parent, quiet: true, message: endNotice })
}

/** In place of a message that somebody waits for. */
export const endNotice = 'end'
