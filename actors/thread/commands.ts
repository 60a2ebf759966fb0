/**
 * Decisions: what a thread makes of a command or of an outcome. A decision is a list of facts to commit, or a
 * refusal; it changes nothing itself.
 *
 * CO1 Facts that a decision gives can always be folded: commands may be refused, records may not.
 * CO2 An outcome for a step or call that is no longer wanted decides nothing.
 * CO3 A command that would change nothing is refused, so that a repeated id can never act later (CM1).
 */
import type { Command } from '../../src/core/command.js'
import { turnDeadlineKey } from '../../src/core/effect.js'
import type { Outcome } from '../../src/core/effect.js'
import { failure } from '../../src/core/failure.js'
import type { Failure } from '../../src/core/failure.js'
import type { Fact, ModelReplied, StopReason, TurnEnded, TurnStarted } from '../../src/core/record.js'
import { isOver, statusOf } from './state.js'
import type { ThreadState } from './state.js'

export type Decision = { readonly facts: readonly Fact[] } | { readonly refused: Failure }

/** What the host knows at the moment of the decision. */
export interface Moment {
  readonly now: number
  /** How long a turn may take; its deadline is fixed when it starts. */
  readonly maxWallClockMs?: number
}

export type Landing =
  | { readonly kind: 'reply'; readonly reply: Omit<ModelReplied, 'type'> }
  | { readonly kind: 'model_failed'; readonly step: number; readonly failure: Failure }
  | { readonly kind: 'returned'; readonly step: number; readonly index: number; readonly outcome: Outcome }
  | { readonly kind: 'deadline'; readonly key: string }

const nothing: Decision = { facts: [] }

/** Decides a command from outside; `id` is the command's own. */
export function obey(state: ThreadState, { id, command }: { id: string; command: Command }, moment: Moment): Decision {
  if (command.kind === 'create') return create(state, command)
  if (state.seq === 0) return refuse('UNKNOWN_THREAD', `there is no thread ${state.id}; create it first`)
  switch (command.kind) {
    case 'message':
      return receive(state, { id, command }, moment)
    case 'cancel':
      if (!state.turn) return refuse('COMMAND_REFUSED', `thread ${state.id} has no turn to cancel: it is ${statusOf(state)}`)
      return { facts: endTurn(state, { reason: 'cancelled', ...(command.reason && { detail: command.reason }) }, moment) }
    case 'pause':
      if (isOver(state) || state.place.gate === 'paused') return unchanged(state)
      return { facts: [{ type: 'thread.paused', ...(command.reason && { reason: command.reason }) }] }
    case 'resume':
      if (!isOver(state) && state.place.gate === 'paused') return { facts: [{ type: 'thread.resumed' }] }
      // A failed turn is tried again from where it stood.
      if (state.place.work === 'failed') return { facts: [turnStarted(id, moment)] }
      return unchanged(state)
    case 'terminate':
      if (state.place.work === 'terminated') return unchanged(state)
      return { facts: terminate(state, command.reason) }
  }
}

/** Decides what came of an effect. */
export function land(state: ThreadState, landing: Landing, moment: Moment): Decision {
  const { turn } = state
  if (!turn) return nothing
  switch (landing.kind) {
    case 'reply': {
      const { reply } = landing
      if (state.place.work !== 'thinking' || reply.step !== state.step + 1) return nothing
      const replied: Fact = { type: 'model.replied', ...reply }
      const waits = reply.calls.some((call) => !call.refused)
      return { facts: waits ? [replied] : [replied, ...afterStep(state, reply, moment)] }
    }
    case 'model_failed':
      if (state.place.work !== 'thinking' || landing.step !== state.step + 1) return nothing
      return { facts: endTurn(state, { reason: 'failed', failure: landing.failure }, moment) }
    case 'returned': {
      const slot = landing.step === state.step ? state.slots.items[landing.index] : undefined
      if (!slot || slot.outcome) return nothing
      const { step, index, outcome } = landing
      const returned: Fact = { type: 'call.returned', step, index, outcome }
      const last = state.slots.open === 1 && turn.stop !== undefined
      return { facts: last ? [returned, ...endTurn(state, { reason: turn.stop ?? 'completed' }, moment)] : [returned] }
    }
    case 'deadline':
      if (landing.key !== turnDeadlineKey(turn.run) || moment.now < (turn.deadlineAt ?? Infinity)) return nothing
      return { facts: endTurn(state, { reason: 'deadline' }, moment) }
  }
}

function refuse(code: Failure['code'], message: string): Decision {
  return { refused: failure(code, message) }
}

function unchanged(state: ThreadState): Decision {
  return refuse('COMMAND_REFUSED', `thread ${state.id} is ${statusOf(state)} already; nothing was changed`)
}

function create(state: ThreadState, command: Extract<Command, { kind: 'create' }>): Decision {
  if (state.seq > 0) {
    return refuse('COMMAND_REFUSED', `thread ${state.id} exists already with agent ${state.agent}`)
  }
  const { agent, tags, path, parent } = command
  return { facts: [{ type: 'thread.created', agent, tags, path, ...(parent !== undefined && { parent }) }] }
}

function receive(
  state: ThreadState,
  { id, command }: { id: string; command: Extract<Command, { kind: 'message' }> },
  moment: Moment,
): Decision {
  if (isOver(state)) return refuse('COMMAND_REFUSED', `thread ${state.id} is ${statusOf(state)} and takes no more messages`)
  const { text, role, delivery, silent } = command
  const run = delivery === 'store' ? undefined : delivery === 'steer' && state.turn ? state.turn.run : id
  const received: Fact = { type: 'message.received', id, text, role, delivery, ...(run && { run }), ...(silent && { silent }) }
  const starts = delivery !== 'store' && !state.turn
  return { facts: starts ? [received, turnStarted(id, moment)] : [received] }
}

/** What follows a step whose calls are all answered: another step, or the end of the turn. */
function afterStep(state: ThreadState, reply: Omit<ModelReplied, 'type'>, moment: Moment): Fact[] {
  if (reply.calls.length > 0) return reply.stop ? endTurn(state, { reason: reply.stop }, moment) : []
  if (state.queue.some(({ delivery }) => delivery === 'steer')) return []
  const reason: StopReason = reply.stop ?? (reply.text === '' ? 'empty_reply' : 'completed')
  return endTurn(state, { reason }, moment)
}

/** Ends the running turn and begins the next one that was asked for. */
function endTurn(state: ThreadState, end: Omit<TurnEnded, 'type' | 'run'>, moment: Moment): Fact[] {
  const facts: Fact[] = [{ type: 'turn.ended', run: state.turn?.run ?? '', ...end }]
  const next = state.queue.find(({ delivery }) => delivery === 'new_turn')
  if (next) facts.push(turnStarted(next.message.id, moment))
  return facts
}

function terminate({ turn }: ThreadState, reason: string | undefined): Fact[] {
  const terminated: Fact = { type: 'thread.terminated', ...(reason && { reason }) }
  return turn ? [{ type: 'turn.ended', run: turn.run, reason: 'terminated', ...(reason && { detail: reason }) }, terminated] : [terminated]
}

function turnStarted(run: string, { now, maxWallClockMs }: Moment): TurnStarted {
  return { type: 'turn.started', run, ...(maxWallClockMs !== undefined && { deadlineAt: now + maxWallClockMs }) }
}
