/**
 * Landings: what a thread decides when an effect is over, a model call, a tool call or a timer.
 *
 * CO2 An outcome for a step or call that is no longer wanted decides nothing.
 */
import { defined } from '../../../src/core/defined.js'
import { callDeadlineKey, turnDeadlineKey } from '../../../src/core/effect.js'
import type { Failure } from '../../../src/core/failure.js'
import type { ContextReduced } from '../../../src/core/records/context.js'
import type { HookDecided } from '../../../src/core/records/hook.js'
import type { Fact, HoldReason, Landed, ModelReplied, RecordedCall } from '../../../src/core/records/record.js'
import type { Past, TreeCopied } from '../../../src/core/records/travel.js'
import { schedulesIn, schedulesKey } from '../../../src/core/records/schedule.js'
import { noFacts, turnEnded } from './decision.js'
import type { Decision, DecisionContext } from './decision.js'
import { limitReply } from './limits.js'
import { meaningOf } from './replies.js'
import type { ReplyRules } from './replies.js'
import type { Slot } from '../calls/slots.js'
import { isTooLong } from '../turn/context.js'
import type { ThreadState, Turn } from '../state.js'
import { nextHook } from '../turn/hooks.js'
import { decideCopied } from '../travel/copy.js'
import { joinableRun, pastRead } from '../travel/rewind.js'

export type Landing =
  /** `rules`: what the agent's definitions say about it. */
  | { readonly kind: 'reply'; readonly reply: Omit<ModelReplied, 'type'>; readonly rules?: ReplyRules }
  /** What its model reads was reduced. */
  | { readonly kind: 'reduced'; readonly reduced: Omit<ContextReduced, 'type'> }
  | { readonly kind: 'model_failed'; readonly step: number; readonly failure: Failure }
  | { readonly kind: 'returned'; readonly step: number; readonly index: number; readonly landed: Landed }
  /** The body cannot continue before someone has decided or answered. */
  | {
      readonly kind: 'held'
      readonly step: number
      readonly index: number
      readonly why: HoldReason
      readonly prompt?: string
    }
  /** The body waits until the calls before it are settled. */
  | { readonly kind: 'parked'; readonly step: number; readonly index: number }
  /** What hooks decided; `key`: of the effect that asked them. */
  | { readonly kind: 'hook'; readonly key: string; readonly decided: HookDecision }
  | { readonly kind: 'deadline'; readonly key: string }
  /** The other threads of a forked tree were copied; `failure`: why that cannot be. */
  | { readonly kind: 'copied'; readonly copied: Omit<TreeCopied, 'type'> | { readonly failure: string } }
  /** The past that the thread goes back to was read. */
  | { readonly kind: 'past'; readonly key: string; readonly past: Past }
  /** The time of a scheduled call has come; `call` is made with the tool as it is defined now. */
  | { readonly kind: 'scheduled'; readonly id: string; readonly call: RecordedCall }

export type HookDecision = Omit<HookDecided, 'type' | 'point' | 'run' | 'step' | 'index'>

type LandingOf<Kind extends Landing['kind']> = Extract<Landing, { readonly kind: Kind }>

export function land(state: ThreadState, landing: Landing, context: DecisionContext): Decision {
  if (landing.kind === 'scheduled') return scheduled(state, landing, context)
  if (landing.kind === 'copied') return decideCopied(state, landing.copied)
  const { turn } = state
  if (!turn) return noFacts
  switch (landing.kind) {
    case 'reply':
      return replied(state, turn, landing)
    case 'reduced':
      return reduced(state, landing)
    case 'model_failed':
      if (!awaitsReply(state, landing.step)) return noFacts
      return { facts: [modelFailed(turn, landing.failure)] }
    case 'returned':
      return returned(state, landing)
    case 'held':
      return held(state, landing)
    case 'parked':
      return parked(state, landing)
    case 'hook':
      return decidedByHooks(state, turn, landing)
    case 'past':
      return pastRead(state, turn, landing)
    case 'deadline':
      return deadlinePassed(state, landing, context)
  }
}

function deadlinePassed(state: ThreadState, { key }: LandingOf<'deadline'>, context: DecisionContext): Decision {
  const { turn } = state
  if (!turn || key !== turnDeadlineKey(turn.run)) return approvalExpired(state, key, context)
  return context.now < (turn.deadlineAt ?? Infinity) ? noFacts : { facts: [turnEnded(turn, { reason: 'deadline' })] }
}

/** A turn that has stopped keeps its reason where the last answer fails: it has all but that. */
function modelFailed(turn: Turn, failed: Failure): Fact {
  const { stop, last, detail } = turn
  if (!stop || last !== 'wanted') return turnEnded(turn, { reason: 'failed', failure: failed })
  const without = `the last answer failed: ${failed.message}`
  return turnEnded(turn, { reason: stop, detail: detail === undefined ? without : `${detail}; ${without}` })
}

function reduced(state: ThreadState, { reduced: reduction }: LandingOf<'reduced'>): Decision {
  const isWanted = awaitsReply(state, reduction.step) && isTooLong(state)
  return isWanted ? { facts: [{ type: 'context.reduced', ...reduction }] } : noFacts
}

function awaitsReply({ position, step: done }: ThreadState, step: number): boolean {
  return position.work === 'thinking' && step === done + 1
}

function replied(state: ThreadState, turn: Turn, { reply, rules = {} }: LandingOf<'reply'>): Decision {
  if (!awaitsReply(state, reply.step)) return noFacts
  // A reply that a hook has blocked means nothing else.
  const meaning = reply.stop === 'hook_blocked' ? {} : meaningOf(turn, reply, rules)
  return { facts: [{ type: 'model.replied', ...limitReply(state, { ...reply, ...meaning }) }] }
}

function decidedByHooks(state: ThreadState, { run }: Turn, { key, decided }: LandingOf<'hook'>): Decision {
  const effect = nextHook(state)
  if (effect?.key !== key) return noFacts
  const { point, step, index } = effect
  return { facts: [{ type: 'hook.decided', point, run, step, ...defined({ index }), ...decided }] }
}

/** The slot of a call that has no outcome yet. */
function openSlot({ step: current, slots }: ThreadState, step: number, index: number): Slot | undefined {
  const slot = step === current ? slots.items[index] : undefined
  return slot?.outcome ? undefined : slot
}

function returned(state: ThreadState, { step, index, landed }: LandingOf<'returned'>): Decision {
  const slot = openSlot(state, step, index)
  if (!slot || landed.again !== slot.again) return noFacts
  const { tool, policy } = slot.call
  const { reads, changes, queued, messages, told, attached } = landed
  // Whether an outcome with any of these counts is decided when the turn of the call comes (T3).
  const provisional = policy ?? reads ?? changes ?? queued ?? messages ?? told ?? attached
  return {
    facts: [{ type: 'call.returned', step, index, tool, ...landed, ...(provisional && { provisional: true }) }],
  }
}

function held(state: ThreadState, { kind: _, ...hold }: LandingOf<'held'>): Decision {
  const slot = openSlot(state, hold.step, hold.index)
  return slot && !slot.hold ? { facts: [{ type: 'call.held', ...hold }] } : noFacts
}

/** Recorded only where it changes something: behind a call that is held. */
function parked(state: ThreadState, { step, index }: LandingOf<'parked'>): Decision {
  const { slots } = state
  const slot = openSlot(state, step, index)
  if (!slot || slot.hold || slot.parked || slots.held === 0) return noFacts
  const behind = slots.items.slice(slots.drained, index).some(({ hold }) => hold)
  return behind ? { facts: [{ type: 'call.parked', step, index }] } : noFacts
}

/** A schedule is spent by the record that queues its call: the call is made once. */
function scheduled(state: ThreadState, { id, call }: LandingOf<'scheduled'>, { now }: DecisionContext): Decision {
  const known = schedulesIn(state.values[schedulesKey]?.value).find((each) => each.id === id)
  if (!known || now < known.at) return noFacts
  return { facts: [{ type: 'call.queued', call, run: joinableRun(state) ?? id, schedule: id }] }
}

/** The approval deadline passed: apply the tool's default decision, or reject. */
function approvalExpired({ slots, step }: ThreadState, key: string, { now }: DecisionContext): Decision {
  const index = Number(key.slice(key.lastIndexOf('/') + 1))
  if (callDeadlineKey(step, index) !== key) return noFacts
  const hold = slots.items[index]?.hold
  if (!hold || now < (hold.deadlineAt ?? Infinity)) return noFacts
  const decision = hold.atDeadline ?? 'reject'
  return {
    facts: [{ type: 'call.decided', step, index, decision, comment: 'nobody decided in time', decidedBy: 'deadline' }],
  }
}
