/**
 * The life of a thread, as it is commanded: paused and resumed, alone or with all below it, terminated, deleted. Mail
 * to children goes out with the record, to every child that has not ended; they pass it on.
 *
 * LF1 A paused tree starts nothing anywhere: a paused thread calls no child, and one that it had called hears of the
 *     pause after its first message, because mail keeps its order.
 * - What a parent passes on is never refused: a child that has ended, or stands like this already, has nothing to do.
 * - A thread that is to be deleted is terminated with all below it; it is removed when the whole tree rests,
 *   whoever hosts it then (outstanding.ts).
 */
import { defined } from '../../../src/core/defined.js'
import type { Command } from '../../../src/core/records/command.js'
import type { Fact, ThreadPaused, ThreadResumed, ThreadTerminated } from '../../../src/core/records/record.js'
import { noEntries, withItem } from '../../../src/core/lists.js'
import { stopChildren } from '../children/children.js'
import { runningBelow } from '../children/running-below.js'
import { dropSchedules } from '../calls/calls.js'
import { mayResume, needsGrant } from '../budget/grants.js'
import { noFacts, refuse } from './decision.js'
import type { Decision } from './decision.js'
import { hasEnded, statusOf } from '../state.js'
import { treeCopied } from '../travel/copy.js'
import type { ThreadState } from '../state.js'

export function pauseThread(
  state: ThreadState,
  { reason, tree, inherited }: Extract<Command, { kind: 'pause' }>,
): Decision {
  if (hasEnded(state) || (state.position.gate === 'paused' && !tree)) return changesNothing(state, inherited)
  return { facts: [{ type: 'thread.paused', ...defined({ reason: reason || undefined, tree }) }] }
}

/** `again` starts a turn that takes up one that failed, was cut off, or whose budget was spent, where it stood. */
export function resumeThread(
  state: ThreadState,
  { tree, inherited }: Extract<Command, { kind: 'resume' }>,
  again: Fact,
): Decision {
  if (hasEnded(state)) return changesNothing(state, inherited)
  const resumed: Fact = { type: 'thread.resumed', ...defined({ tree }) }
  if (state.position.gate === 'paused') return { facts: [resumed] }
  const tooEarly = inherited || tree ? undefined : needsGrant(state)
  if (tooEarly) return { refused: tooEarly }
  const stopped = !inherited && (state.position.work === 'failed' || mayResume(state) || wasCutOff(state))
  if (!tree && !stopped) return changesNothing(state, inherited)
  return { facts: [...(tree ? [resumed] : []), ...(stopped ? [again] : [])] }
}

/** The last reply was cut at its limit, or paused by the provider: its model can go on with it. */
export function wasCutOff({ turn, position, lastTurn }: ThreadState): boolean {
  const { reason } = lastTurn ?? {}
  return !turn && position.work === 'idle' && (reason === 'reply_cut' || reason === 'reply_paused')
}

export function terminateThread(
  state: ThreadState,
  { reason, inherited }: Extract<Command, { kind: 'terminate' }>,
): Decision {
  if (state.position.work === 'terminated') return changesNothing(state, inherited)
  return { facts: [{ type: 'thread.terminated', ...defined({ reason: reason || undefined, inherited }) }] }
}

export function removeThread(
  state: ThreadState,
  { terminate, createdAt }: Extract<Command, { kind: 'delete' }>,
): Decision {
  const { id, parent, path } = state
  if (createdAt !== undefined && createdAt !== state.createdAt)
    return refuse('COMMAND_REFUSED', `thread ${id} is another one than the one that was to be deleted`)
  if (state.deleting) return noFacts
  if (parent !== undefined)
    return refuse(
      'COMMAND_REFUSED',
      `thread ${id} is a child: a tree is deleted as a whole, by its root ${path[0] ?? ''}`,
    )
  if (isBusy(state) && !terminate)
    return refuse(
      'COMMAND_REFUSED',
      `thread ${id} is ${statusOf(state)}, or children of it are at work; wait for them, or delete with ` +
        `\`terminate: true\``,
    )
  return { facts: [{ type: 'thread.terminated', reason: 'it is deleted', delete: true }] }
}

/** The thread or a child of it works, or would begin to. */
function isBusy(state: ThreadState): boolean {
  const { turn, working, queuedCalls, queue } = state
  if (turn || working > 0) return true
  return !hasEnded(state) && (queuedCalls.length > 0 || queue.some(({ delivery }) => delivery !== 'store'))
}

function changesNothing(state: ThreadState, inherited: true | undefined): Decision {
  if (inherited) return noFacts
  return refuse('COMMAND_REFUSED', `thread ${state.id} is ${statusOf(state)} already; nothing was changed`)
}

export function noteGate(state: ThreadState, record: ThreadPaused | ThreadResumed): true {
  delete state.pausedFor
  const { holds: _, ...lineage } = state.lineage
  state.lineage = lineage
  if (record.type === 'thread.paused' && record.reason !== undefined) state.pausedFor = record.reason
  return true
}

/** Nothing that was scheduled, requested or waited for happens any more. */
export function endThread(
  state: ThreadState,
  { reason, delete: deleting, inherited }: Omit<ThreadTerminated, 'type'> = {},
): true {
  if (reason !== undefined && !hasEnded(state)) state.endedFor = reason
  if (deleting) state.deleting = true
  if (state.lineage.copying) treeCopied(state)
  delete state.pausedFor
  noteEndedWith(state)
  stopChildren(state)
  dropSchedules(state)
  state.requests = noEntries
  // A parent that waits for nothing is told too, unless it ended this thread itself (F7), or the last answer said so.
  const { child, parent, pendingReplies, parentKnowsEnd } = state
  if (child && parent !== undefined && !inherited && !parentKnowsEnd && pendingReplies.length === 0 && !hasEnded(state))
    state.pendingReplies = withItem(pendingReplies, { thread: parent, quiet: true, message: endNotice })
  return true
}

/** Its answer is there and waits for what it started: whoever reads it is told what became of that. */
function noteEndedWith(state: ThreadState): void {
  if (state.turn || hasEnded(state) || state.pendingReplies.length === 0) return
  const below = runningBelow(state)
  if (below.length > 0) state.endedWith = below
}

/** Stands for the message in a pending reply that no message asked for. */
export const endNotice = 'end'
