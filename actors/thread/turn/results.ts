/**
 * Results on their way into the transcript, in call order; what arrived meanwhile follows between two steps (FO3).
 */
import { defined } from '../../../src/core/defined.js'
import type { Outcome } from '../../../src/core/effect.js'
import { callId, failureText, resultText } from '../../../src/core/records/message.js'
import type { ProviderParts } from '../../../src/core/records/provider-parts.js'
import { mediaAt } from '../../../src/core/media.js'
import type { Media } from '../../../src/core/media.js'
import type { Message, SideName } from '../../../src/core/records/message.js'
import type { RecordedCall } from '../../../src/core/records/record.js'
import { receiveAnswer } from '../children/attachments.js'
import { stopAtLimit } from '../decide/limits.js'
import { conclude, isFor } from './session.js'
import { drain } from '../calls/slots.js'
import type { Slot } from '../calls/slots.js'
import { noteEffect } from '../budget/usage.js'
import type { ThreadState } from '../state.js'

/**
 * Moves finished results into the transcript; between two steps also what arrived meanwhile. `cutOff`: the turn has
 * ended before its calls.
 */
export function takeResults(state: ThreadState, at: number, cutOff = false): void {
  const { slots, step } = state
  drain(slots, (slot, index, landed) => {
    const { outcome, ...here } = broughtHere(state, slot, landed)
    slot.outcome = outcome
    noteEffect(state, slot, landed)
    if (state.child?.gives && state.turn)
      (state.turn.callResults ??= []).push({ tool: slot.call.tool, args: slot.call.args, outcome })
    if (outcome.ok && outcome.whole && slot.verdict !== 'cached') {
      state.values[archiveKey(callId(step, index))] = { value: outcome.whole, version: 1 }
      state.archived++
    }
    state.transcript.items.push(
      resultMessage(slot, outcome, { step, index, at, ...here, ...(slots.side && { side: slots.side }) }),
    )
  })
  if (slots.open > 0) return
  if (slots.handoff !== undefined) state.agent = slots.handoff
  state.envOfStep = undefined
  if (!cutOff) conclude(state, at)
  stopAtLimit(state)
  takeQueued(state)
}

/** Where a thread keeps which blob holds the whole of a long result. */
const archiveKey = (call: string): string => `archive/${call}`

/** What came with a child's answer is taken at the call's turn, so that names are given in call order. */
function broughtHere(
  state: ThreadState,
  { given }: Slot,
  outcome: Outcome,
): Pick<Result, 'below' | 'attachments' | 'media'> & { readonly outcome: Outcome } {
  if (!given?.attachments || !outcome.ok) return { outcome }
  const { value, below, paths } = receiveAnswer(state, { value: outcome.value, ...given }, state.updatedAt)
  const media = mediaAt(state.files, paths)
  return { outcome: { ...outcome, value }, below, attachments: paths, ...(media.length > 0 && { media }) }
}

const nothing: readonly string[] = []

export interface StepSpeech {
  readonly step: number
  readonly at: number
  readonly text: string
  readonly calls: readonly RecordedCall[]
  readonly reasoning?: string
  readonly kept?: ProviderParts
  readonly side?: SideName
  readonly label?: string
}

/** A model's reply as the transcript has it. */
export function stepMessage({ step, at, text, calls, reasoning, kept, side, label }: StepSpeech): Message {
  return {
    id: `step_${step}`,
    role: 'assistant',
    text,
    at,
    ...defined({ reasoning: reasoning || undefined }),
    ...defined({ kept }),
    ...(calls.length > 0 && { calls: calls.map(({ tool, args }, index) => ({ id: callId(step, index), tool, args })) }),
    ...defined({ side }),
    ...defined({ label }),
  }
}

/** What the model is told after a reply that the turn cannot end with. */
export function retryRequest({
  step,
  at,
  asks,
  side,
}: Pick<StepSpeech, 'step' | 'at' | 'side'> & { readonly asks?: string }): Message | undefined {
  return asks === undefined
    ? undefined
    : { id: `asked_${step}`, role: 'system', text: asks, at, silent: true, ...defined({ to: side }) }
}

interface Result {
  readonly step: number
  readonly index: number
  readonly at: number
  readonly side?: SideName
  /** What the model reads below it. */
  readonly below?: readonly string[]
  readonly attachments?: readonly string[]
  /** Of these, what a model is shown. */
  readonly media?: readonly Media[]
}

function resultMessage(
  { call, text, media, verdict, edited, given }: Slot,
  outcome: Outcome,
  {
    step,
    index,
    at,
    side,
    below = given?.note === undefined ? nothing : [given.note],
    attachments,
    media: brought,
  }: Result,
): Message {
  const named = given?.reference !== undefined ? [`[reference: ${given.reference}]`] : nothing
  const result = outcome.ok ? (text ?? resultText(outcome.value)) : failureText(outcome.failure)
  const said = below.length + named.length === 0 ? result : [result, ...below, ...named].join('\n\n')
  return {
    id: `result_${step}_${index}`,
    role: 'tool',
    call: callId(step, index),
    tool: call.tool,
    at,
    ...defined({ side }),
    text: edited ? `(It was approved with other args: ${JSON.stringify(call.args)})\n${said}` : said,
    ...defined({ attachments }),
    ...((media ?? brought) && { media: [...(media ?? []), ...(brought ?? [])] }),
    ...(!outcome.ok && { failed: outcome.failure }),
    ...(verdict === 'cached' && { fromCache: true as const }),
  }
}

/** A message enters the transcript: whoever waits for an answer to it waits for this turn's. */
export function readQueued(state: ThreadState, message: Message): void {
  const { transcript, pendingReplies: owed, turn } = state
  transcript.items.push(message)
  if (message.role !== 'system' && (!message.silent || state.opening === undefined)) state.opening = message.text
  if (owed.length === 0 || !turn) return
  for (const each of owed) if (each.message === message.id) each.run ??= turn.run
}

function takeQueued(state: ThreadState): void {
  if (state.queue.length === 0) return
  const rest = []
  for (const queued of state.queue) {
    // Nobody would answer in a turn that is about to end; and each side is spoken to in its turn.
    if (
      queued.delivery === 'new_turn' ||
      (queued.delivery === 'steer' && (state.turn?.stop || !isFor(queued.message, state.turn?.session)))
    )
      rest.push(queued)
    else readQueued(state, queued.message)
  }
  state.queue = rest
}
