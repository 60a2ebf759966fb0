/**
 * How an unknown effect is resolved: a person found out what became of the call, and its model is told by a silent
 * message.
 *
 * - An effect is resolved once. One that is held for an approval is decided there.
 */
import { defined } from '../../../src/core/defined.js'
import type { Command } from '../../../src/core/records/command.js'
import { callId, parseCallId, resultText } from '../../../src/core/records/message.js'
import type { Message } from '../../../src/core/records/message.js'
import type { EffectResolved } from '../../../src/core/records/record.js'
import type { UnknownEffect } from '../calls/unknown-effects.js'
import { refuse } from '../decide/decision.js'
import type { Decision } from '../decide/decision.js'
import { hasEnded } from '../state.js'
import type { ThreadState } from '../state.js'
import { declineTexts, readQueued } from './results.js'

type Resolution = EffectResolved & { readonly at: number }

export function resolveEffect(
  state: ThreadState,
  { call, happened, value, comment, by }: Extract<Command, { kind: 'resolve' }>,
): Decision {
  const position = parseCallId(call)
  const { id, step, slots, turn } = state
  const open = turn && position?.step === step ? slots.items[position.index] : undefined
  if (open?.began && open.hold?.why === 'approval')
    return refuse(
      'COMMAND_REFUSED',
      `call ${call} of thread ${id} waits for a decision: approve it to run it again, or reject it`,
    )
  if (!position || !Object.hasOwn(state.unknownEffects, call))
    return refuse(
      'COMMAND_REFUSED',
      `thread ${id} has no unknown effect ${JSON.stringify(call)}: its outcome is known, or was resolved before`,
    )
  return {
    facts: [{ type: 'effect.resolved', ...position, happened, ...defined({ value, comment, resolvedBy: by }) }],
  }
}

export function effectResolved(state: ThreadState, record: Resolution): boolean {
  const call = callId(record.step, record.index)
  const effect = Object.hasOwn(state.unknownEffects, call) ? state.unknownEffects[call] : undefined
  if (!effect) return false
  delete state.unknownEffects[call]
  if (hasEnded(state)) return true
  const message = resolutionMessage(effect, record, call)
  if (state.turn) state.queue.push({ message, delivery: 'store' })
  else readQueued(state, { message })
  return true
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
