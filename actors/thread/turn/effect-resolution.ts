/**
 * How an unknown effect is resolved: a person found out what became of the call. Of a call that waits for a decision
 * this is the decision, and its result; of one whose result is read already, the model is told by a silent message.
 *
 * - An effect is resolved once.
 */
import { defined } from '../../../src/core/defined.js'
import type { Outcome } from '../../../src/core/effect.js'
import { failure } from '../../../src/core/failure.js'
import type { Command } from '../../../src/core/records/command.js'
import { callId, parseCallId, resultText } from '../../../src/core/records/message.js'
import type { Message } from '../../../src/core/records/message.js'
import type { EffectResolved } from '../../../src/core/records/record.js'
import { withItem } from '../../../src/core/lists.js'
import { close } from '../calls/slots.js'
import type { Slot } from '../calls/slots.js'
import type { UnknownEffect } from '../calls/unknown-effects.js'
import { refuse } from '../decide/decision.js'
import type { Decision } from '../decide/decision.js'
import { hasEnded } from '../state.js'
import type { ThreadState } from '../state.js'
import { declineTexts, readQueued, takeResults } from './results.js'

type Resolution = EffectResolved & { readonly at: number }

export function resolveEffect(
  state: ThreadState,
  { call, happened, value, comment, by }: Extract<Command, { kind: 'resolve' }>,
): Decision {
  const position = parseCallId(call)
  const isOpen = position !== undefined && askingSlot(state, position) !== undefined
  if (!position || (!isOpen && !Object.hasOwn(state.unknownEffects, call)))
    return refuse(
      'COMMAND_REFUSED',
      `thread ${state.id} has no unknown effect ${JSON.stringify(call)}: its outcome is known, or was resolved before`,
    )
  return {
    facts: [{ type: 'effect.resolved', ...position, happened, ...defined({ value, comment, resolvedBy: by }) }],
  }
}

/** A call that may have happened, of which someone is asked whether to run it again. */
function askingSlot({ step, slots, turn }: ThreadState, of: Pick<Resolution, 'step' | 'index'>): Slot | undefined {
  const slot = turn && of.step === step ? slots.items[of.index] : undefined
  return slot?.began && slot.hold?.why === 'approval' && !slot.outcome ? slot : undefined
}

/** Calls of the step that is under way which ask so. */
export function askingCalls(state: ThreadState): readonly string[] {
  const { step, slots } = state
  return slots.items.flatMap((_, index) => (askingSlot(state, { step, index }) ? [callId(step, index)] : []))
}

export function effectResolved(state: ThreadState, record: Resolution): boolean {
  const slot = askingSlot(state, record)
  if (slot) {
    slot.endedAt = record.at
    close(state.slots, slot, outcomeOf(slot, record))
    takeResults(state, record.at)
    return true
  }
  const call = callId(record.step, record.index)
  const effect = Object.hasOwn(state.unknownEffects, call) ? state.unknownEffects[call] : undefined
  if (!effect) return false
  delete state.unknownEffects[call]
  if (hasEnded(state)) return true
  const message = resolutionMessage(effect, record, call)
  if (state.turn) state.queue = withItem(state.queue, { message, delivery: 'store' })
  else readQueued(state, { message })
  return true
}

function outcomeOf({ call: { tool } }: Slot, { happened, value, comment, resolvedBy }: Resolution): Outcome {
  const { who, why } = declineTexts({ comment, by: resolvedBy })
  const text = `${tool} ${happened ? 'has happened' : 'has not happened'}; this was found out${who}${why}`
  return happened ? { ok: true, value: value ?? text } : { ok: false, failure: failure('TOOL_DENIED', text) }
}

function resolutionMessage({ tool, side }: UnknownEffect, record: Resolution, call: string): Message {
  const { happened, value, comment, resolvedBy, step, index, at } = record
  const { who, why } = declineTexts({ comment, by: resolvedBy })
  const result = value === undefined ? '' : `\n\n${resultText(value)}`
  const what = happened ? 'it has happened' : 'it has not happened'
  return {
    id: `resolved_${step}_${index}`,
    role: 'system',
    text: `The outcome of ${call} (${tool}) was unknown. It was found out${who}: ${what}${why}.${result}`,
    at,
    silent: true,
    ...defined({ to: side }),
  }
}
