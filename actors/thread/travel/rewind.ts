/**
 * Rewinding: how a thread decides to go back. Where effects on the world are to be undone first, that is a turn of its
 * own: one call for each effect, newest first, each a barrier with intent and receipt like any call with a side effect.
 *
 * RV1 Nothing of the thread changes before every effect is undone: the turn of the reverts ends, and only then the
 *     thread goes back. A revert that fails ends the turn where it stands.
 */
import { defined } from '../../../src/core/defined.js'
import { rewindKey } from '../../../src/core/effect.js'
import type { RewindEffect } from '../../../src/core/effect.js'
import { failure } from '../../../src/core/failure.js'
import type { Failure } from '../../../src/core/failure.js'
import { failureText, revertedBy } from '../../../src/core/records/message.js'
import type { Fact } from '../../../src/core/records/record.js'
import { pastKey } from '../../../src/core/records/travel.js'
import type { Past } from '../../../src/core/records/travel.js'
import type { Slot } from '../calls/slots.js'
import { noFacts, refuse, turnEnded } from '../decide/decision.js'
import type { Decision, ResolvedCommand } from '../decide/decision.js'
import { hasEnded, statusOf } from '../state.js'
import type { ThreadState, Turn } from '../state.js'

type Rewind = Extract<ResolvedCommand, { readonly kind: 'rewind' }>

export function decideRewind(state: ThreadState, command: Rewind, id: string): Decision {
  const { to, seen, forced, past, reverts = [] } = command
  if (hasEnded(state)) return refuse('COMMAND_REFUSED', `thread ${state.id} is ${statusOf(state)} and goes nowhere`)
  if (state.turn)
    return refuse('COMMAND_REFUSED', `thread ${state.id} is ${statusOf(state)}: cancel its turn first, then rewind it`)
  if (state.child && state.pendingReplies.length > 0)
    return refuse('COMMAND_REFUSED', `thread ${state.id} is a child whose parent waits for its answer`)
  if (state.seq !== seen || to >= seen) {
    const why = `thread ${state.id} has changed since record ${seen}; nothing was changed`
    return { refused: failure('COMMAND_REFUSED', why, { retry: true, data: { stale: true } }) }
  }
  if (reverts.length > 0)
    return {
      facts: [
        { type: 'turn.started', run: id, rewind: { to } },
        { type: 'calls.made', step: state.step + 1, calls: reverts },
      ],
    }
  return past ? { facts: [rewound(to, past, forced)] } : noFacts
}

function rewound(to: number, past: Past, forced?: true): Fact {
  return { type: 'thread.rewound', to, ...defined({ forced }), [pastKey]: past }
}

/** The turn that takes what comes now: one that undoes effects takes nothing, and what comes waits for its end. */
export function joinableRun({ turn }: ThreadState): string | undefined {
  return turn?.rewind ? undefined : turn?.run
}

/** Everything is undone: the past is to be read. */
export function rewindEffect({ run, rewind }: Turn): RewindEffect | undefined {
  return rewind && { kind: 'rewind', key: rewindKey(run), to: rewind.to }
}

/** The past was read: the turn is over, and the thread goes back. */
export function pastRead(
  state: ThreadState,
  turn: Turn,
  { key, past }: { readonly key: string; readonly past: Past },
): Decision {
  const wanted = rewindEffect(turn)
  if (!wanted || wanted.key !== key || state.slots.open > 0 || failedRevert(state)) return noFacts
  return { facts: [turnEnded(turn, { reason: 'completed' }), rewound(wanted.to, past)] }
}

/** A revert failed: nothing more is undone, and the thread stands where it stood. */
export function dueRevertEnd(state: ThreadState): Fact | undefined {
  const { turn } = state
  const failed = turn?.rewind && failedRevert(state)
  return turn && failed ? turnEnded(turn, { reason: 'failed', failure: revertFailed(state, failed) }) : undefined
}

function failedRevert({ slots }: ThreadState): Slot | undefined {
  return slots.items.slice(0, slots.drained).find(({ outcome }) => outcome && !outcome.ok)
}

function revertFailed({ id, slots }: ThreadState, { call, outcome }: Slot): Failure {
  const undone = slots.items.flatMap((slot) => (slot.outcome?.ok ? [nameOf(slot)] : []))
  const why = outcome && !outcome.ok ? failureText(outcome.failure) : ''
  const before = undone.length === 0 ? 'nothing was undone' : `undone before that: ${undone.join(', ')}`
  return failure(
    'REVERT_FAILED',
    `thread ${id} was not rewound: the effect of ${call.tool} (${revertedBy(call)}) could not be undone: ${why}; ` +
      before,
  )
}

function nameOf({ call }: Slot): string {
  return `${call.tool} (${revertedBy(call)})`
}
