/**
 * Decisions: what a thread makes of a command or of an outcome. A decision is a list of facts to commit, or a
 * refusal; it changes nothing itself.
 *
 * CO1 Facts that a decision gives can always be folded: commands may be refused, records may not.
 * CO2 An outcome for a step or call that is no longer wanted decides nothing.
 * CO3 A command that would change nothing is refused, so that a repeated id can never act later (CM1).
 * CO4 What follows from the state alone (a queued message starts a turn, a last answer ends it) is not part of a
 *     decision but of `due`: it is asked after every record and on waking, so a journal cut between any two
 *     records goes on the same way.
 */
import type { Command } from '../../src/core/command.js'
import { turnDeadlineKey } from '../../src/core/effect.js'
import type { Outcome } from '../../src/core/effect.js'
import { failure } from '../../src/core/failure.js'
import type { Failure } from '../../src/core/failure.js'
import type { Fact, ModelReplied, TurnEnded } from '../../src/core/record.js'
import { barrier } from './slots.js'
import { isOver, statusOf } from './state.js'
import type { ThreadState, Turn } from './state.js'

export type Decision = { readonly facts: readonly Fact[] } | { readonly refused: Failure }

/** What the host knows at the moment of the decision. */
export interface Moment {
  readonly now: number
  /** How long a turn may take; its deadline is fixed when it starts. */
  readonly maxWallClockMs?: number
  /** The host still starts effects: an intent without a start would look like an effect that may have happened. */
  readonly mayBegin: boolean
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
      return receive(state, { id, command })
    case 'cancel':
      if (!state.turn) return refuse('COMMAND_REFUSED', `thread ${state.id} has no turn to cancel: it is ${statusOf(state)}`)
      return { facts: [endTurn(state.turn, { reason: 'cancelled', ...(command.reason && { detail: command.reason }) })] }
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
      return { facts: [{ type: 'thread.terminated', ...(command.reason && { reason: command.reason }) }] }
  }
}

/** Decides what came of an effect. */
export function land(state: ThreadState, landing: Landing, moment: Moment): Decision {
  const { turn } = state
  if (!turn) return nothing
  switch (landing.kind) {
    case 'reply':
      if (state.place.work !== 'thinking' || landing.reply.step !== state.step + 1) return nothing
      return { facts: [{ type: 'model.replied', ...landing.reply }] }
    case 'model_failed':
      if (state.place.work !== 'thinking' || landing.step !== state.step + 1) return nothing
      return { facts: [endTurn(turn, { reason: 'failed', failure: landing.failure })] }
    case 'returned': {
      const slot = landing.step === state.step ? state.slots.items[landing.index] : undefined
      if (!slot || slot.outcome) return nothing
      const { step, index, outcome } = landing
      return { facts: [{ type: 'call.returned', step, index, tool: slot.call.tool, outcome }] }
    }
    case 'deadline':
      if (landing.key !== turnDeadlineKey(turn.run) || moment.now < (turn.deadlineAt ?? Infinity)) return nothing
      return { facts: [endTurn(turn, { reason: 'deadline' })] }
  }
}

/** The fact that the state itself calls for, if any (CO4). */
export function due(state: ThreadState, moment: Moment): Fact | undefined {
  const { turn, queue, slots } = state
  if (state.seq === 0) return undefined
  if (!turn) {
    const next = isOver(state) ? undefined : queue.find(({ delivery }) => delivery !== 'store')
    return next && turnStarted(next.message.id, moment)
  }
  if (isOver(state)) return endTurn(turn, { reason: 'terminated' })
  if (turn.stop && slots.open === 0) return endTurn(turn, { reason: turn.stop })
  return moment.mayBegin ? intent(state) : undefined
}

/** T10: what changes the world is announced first. */
function intent({ step, slots, place }: ThreadState): Fact | undefined {
  const index = place.gate === 'open' ? barrier(slots) : undefined
  if (index === undefined || slots.items[index]?.began) return undefined
  return { type: 'call.began', step, index }
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

function receive(state: ThreadState, { id, command }: { id: string; command: Extract<Command, { kind: 'message' }> }): Decision {
  if (isOver(state)) return refuse('COMMAND_REFUSED', `thread ${state.id} is ${statusOf(state)} and takes no more messages`)
  const { text, role, delivery, silent } = command
  const run = delivery === 'store' ? undefined : delivery === 'steer' && state.turn ? state.turn.run : id
  return { facts: [{ type: 'message.received', id, text, role, delivery, ...(run && { run }), ...(silent && { silent }) }] }
}

function endTurn({ run }: Turn, end: Omit<TurnEnded, 'type' | 'run'>): Fact {
  return { type: 'turn.ended', run, ...end }
}

function turnStarted(run: string, { now, maxWallClockMs }: Moment): Fact {
  return { type: 'turn.started', run, ...(maxWallClockMs !== undefined && { deadlineAt: now + maxWallClockMs }) }
}
