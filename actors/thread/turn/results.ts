/**
 * Results of calls: the messages of a step, and how they enter the transcript. Results enter in call order; messages
 * that arrived meanwhile follow between two steps (FO3: every call is followed by its results and nothing else).
 */
import { defined } from '../../../src/core/defined.js'
import type { Outcome } from '../../../src/core/effect.js'
import { failure } from '../../../src/core/failure.js'
import { callId, failureText, resultId, resultText, stepId } from '../../../src/core/records/message.js'
import type { ProviderParts } from '../../../src/core/records/provider-parts.js'
import { mediaAt } from '../../../src/core/media.js'
import type { Media } from '../../../src/core/media.js'
import type { Message, SideName } from '../../../src/core/records/message.js'
import type { CallDecided, RecordedCall, TurnEnded } from '../../../src/core/records/record.js'
import type { MessageRules } from '../../../src/core/records/stop.js'
import { noItems, withEntry, withItem } from '../../../src/core/lists.js'
import { receiveAnswer } from '../children/attachments.js'
import { stopAtLimit } from '../decide/limits.js'
import { noteRecent, stopAtRepetition } from '../decide/repetition.js'
import { wantLastAnswer } from './last-answer.js'
import { conclude, isFor } from './session.js'
import { awaitsHook, drain, firstUndrained } from '../calls/slots.js'
import type { Slot } from '../calls/slots.js'
import { noteUnknown } from '../calls/unknown-effects.js'
import { noteEffect } from '../budget/usage.js'
import type { QueuedMessage, ThreadState, Turn } from '../state.js'

/**
 * Moves finished results into the transcript; between two steps also queued messages. `cutOff`: the turn ended before
 * its calls.
 */
export function takeResults(state: ThreadState, at: number, cutOff = false): void {
  const { slots, step } = state
  drain(slots, (slot, index, landed) => {
    const { outcome, ...files } = receiveFiles(state, slot, landed)
    slot.outcome = outcome
    noteEffect(state, slot, landed)
    noteUnknown(state, slot, { call: callId(step, index), at, outcome })
    if (state.turn) noteRecent(state.turn, slot, outcome)
    if (state.child?.gives && state.turn)
      (state.turn.callResults ??= []).push({ tool: slot.call.tool, args: slot.call.args, outcome })
    if (outcome.ok && outcome.whole && slot.verdict !== 'cached') {
      state.values = withEntry(state.values, archiveKey(callId(step, index)), { value: outcome.whole, version: 1 })
      state.archived++
    }
    state.transcript.items.push(
      resultMessage(slot, outcome, { step, index, at, ...files, ...(slots.side && { side: slots.side }) }),
    )
  })
  if (slots.open > 0) {
    // Hooks are asked about the result whose turn has come (TS2: what is wanted has changed).
    if (awaitsHook(firstUndrained(slots))) state.effectsEpoch++
    return
  }
  if (slots.handoff !== undefined) state.agent = slots.handoff
  state.envOfStep = undefined
  if (!cutOff) conclude(state, at)
  stopAtLimit(state)
  stopAtRepetition(state)
  if (!cutOff) wantLastAnswer(state)
  takeQueued(state)
}

/** Where a thread keeps which blob holds the whole of a long result. */
const archiveKey = (call: string): string => `archive/${call}`

/** Files of a child's answer are taken at the call's turn, so that their names here are given in call order. */
function receiveFiles(
  state: ThreadState,
  { given }: Slot,
  outcome: Outcome,
): Pick<Result, 'below' | 'attachments' | 'media'> & { readonly outcome: Outcome } {
  if (!given?.attachments || !outcome.ok) return { outcome }
  const { value, below, paths } = receiveAnswer(state, { value: outcome.value, ...given }, state.updatedAt)
  const media = mediaAt(state.files, paths)
  return { outcome: { ...outcome, value }, below, attachments: paths, ...(media.length > 0 && { media }) }
}

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
    id: stepId(step),
    role: 'assistant',
    text,
    at,
    ...defined({ reasoning: reasoning || undefined, kept }),
    ...(calls.length > 0 && { calls: calls.map(({ tool, args }, index) => ({ id: callId(step, index), tool, args })) }),
    ...defined({ side, label }),
  }
}

/** The message with which a model is asked again, after a reply that the turn cannot end with. */
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
  /** What this thread adds below a child's answer. Default: the note that came with it. */
  readonly below?: readonly string[]
  readonly attachments?: readonly string[]
  /** Of these, what a model is shown. */
  readonly media?: readonly Media[]
}

function resultMessage(slot: Slot, outcome: Outcome, result: Result): Message {
  const { step, index, at, side, attachments } = result
  const media = slot.media && result.media ? [...slot.media, ...result.media] : (slot.media ?? result.media)
  return {
    id: resultId(step, index),
    role: 'tool',
    call: callId(step, index),
    tool: slot.call.tool,
    at,
    ...defined({ side }),
    text: textOf(slot, outcome, result.below),
    ...defined({ attachments, media, whole: slot.call.whole }),
    ...(!outcome.ok && { failed: outcome.failure }),
    ...(slot.verdict === 'cached' && { fromCache: true as const }),
  }
}

function textOf({ call, text, edited, given }: Slot, outcome: Outcome, below?: readonly string[]): string {
  const result = outcome.ok ? (text ?? resultText(outcome.value)) : failureText(outcome.failure)
  const whole = given ? withAdditions(result, given, below) : result
  return edited ? `(It was approved with other args: ${JSON.stringify(call.args)})\n${whole}` : whole
}

/** What came with a child's answer stands below it. */
function withAdditions(
  result: string,
  { note, reference }: NonNullable<Slot['given']>,
  below: readonly string[] = note === undefined ? [] : [note],
): string {
  return [result, ...below, ...(reference === undefined ? [] : [`[reference: ${reference}]`])].join('\n\n')
}

/** A message enters the transcript: its sender waits for the answer of this turn. */
export function readQueued(state: ThreadState, { message, rules }: Pick<QueuedMessage, 'message' | 'rules'>): void {
  const { transcript, pendingReplies, turn } = state
  transcript.items.push(message)
  if (message.role !== 'system' && (!message.silent || state.opening === undefined)) state.opening = message.text
  if (!state.title && message.role === 'user' && !message.silent) state.title = titleOf(message.id, message.text)
  if (rules && turn) turn.messageRules = joined(turn.messageRules, rules)
  if (pendingReplies.length === 0 || !turn) return
  for (const reply of pendingReplies) if (reply.message === message.id) reply.run ??= turn.run
}

const titleLength = 80

/** One line, so short that it can stand in a list. */
export function titleOf(id: string, text: string): NonNullable<ThreadState['title']> {
  // More than enough of a long text; half of a pair at the end is no character.
  const line = text
    .slice(0, 8 * titleLength)
    .replaceAll(/\s+/g, ' ')
    .trim()
  return { id, text: line.slice(0, titleLength).replace(/[\uD800-\uDBFF]$/, '') }
}

/** A further message adds conditions; of the rounds, the last word counts. */
function joined(before: MessageRules = {}, rules: MessageRules): MessageRules {
  const stopWhen = [...(before.stopWhen ?? []), ...(rules.stopWhen ?? [])]
  return { ...before, ...rules, ...(stopWhen.length > 0 && { stopWhen }) }
}

export function takeQueued(state: ThreadState): void {
  if (state.queue.length === 0) return
  let rest: QueuedMessage[] = noItems
  for (const queued of state.queue) {
    if (mustWait(state.turn, queued)) rest = withItem(rest, queued)
    else readQueued(state, queued)
  }
  state.queue = rest
}

/** Nobody would answer in a turn that is about to end; and each side is spoken to in its turn. */
function mustWait(turn: Turn | undefined, { delivery, message }: QueuedMessage): boolean {
  if (turn?.rewind) return true
  if (delivery === 'store') return false
  return delivery === 'new_turn' || turn?.stop !== undefined || !isFor(message, turn?.session)
}

/** What the model reads of a call that a person rejected. */
export function deniedOutcome(
  { call, began, hold }: Pick<Slot, 'call' | 'began' | 'hold'>,
  { comment, decidedBy }: CallDecided,
): Outcome {
  const { who, why } = declineTexts({ comment, by: decidedBy })
  const declined = (what: string): Outcome => ({ ok: false, failure: failure('TOOL_DENIED', `${call.tool} ${what}`) })
  if (hold?.why === 'person') return declined(`has no answer: it was declined${who}${why}; go on without it`)
  if (hold?.why === 'variables') return declined(`was not run: ${valuesDeclined(hold.missing ?? [])}${who}${why}`)
  const failed = began
    ? failure('EFFECT_UNKNOWN', `${call.tool} may already have happened; to run it again was declined${who}${why}`)
    : failure('TOOL_DENIED', `${call.tool} was not allowed${who}${why}; it was not run`)
  return { ok: false, failure: failed }
}

/** Why a call or child did not run, where a person declined the values. */
export const valuesDeclined = (missing: readonly string[]): string =>
  `the values that it needs (${missing.join(', ')}) were declined`

/** Who decided, and why; both follow the decision in a text. */
export function declineTexts({
  comment,
  by,
}: {
  readonly comment?: string | undefined
  readonly by?: string | undefined
}) {
  return {
    who: by === undefined ? '' : ` by ${by}`,
    why: comment === undefined ? '' : `: ${comment.replace(/\.\s*$/, '')}`,
  }
}

/** `unknown`: of a call that had begun to change the world. */
export function cutOutcome({ reason, detail }: Pick<TurnEnded, 'reason' | 'detail'>): {
  readonly outcome: Outcome
  readonly unknown: Outcome
} {
  const why = `the turn ended: ${reason}${detail ? ` (${detail})` : ''}`
  return {
    outcome: { ok: false, failure: failure('CANCELLED', `not finished: ${why}`) },
    unknown: {
      ok: false,
      failure: failure(
        'EFFECT_UNKNOWN',
        `not finished, and it may have happened all the same: ${why}; find out before you ask for it again`,
      ),
    },
  }
}
