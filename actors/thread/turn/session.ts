/**
 * Sessions: how the two sides of a thread take turns, and what calls decide about the turn that they are part of. A
 * session is a turn of the thread; within it each side has turns of its own.
 *
 * - A step belongs to the side of the session; that changes only when a side has ended its turn. So whose step is
 *   next follows from the records alone.
 * - What the calls of a step decide is looked at once, when all of them are settled, and only those that succeeded
 *   decide: first fail, then stop, then the end of the side's turn (S11).
 * - A message is read when the side that it is for speaks next; until then it waits in the queue.
 * - Children that begin by themselves do so once for each voice, before it first speaks: an agent, or a side of one
 *   (S4).
 */
import { defined } from '../../../src/core/defined.js'
import { failure } from '../../../src/core/failure.js'
import type { Failure } from '../../../src/core/failure.js'
import { resultText } from '../../../src/core/records/message.js'
import type { Message, SideName } from '../../../src/core/records/message.js'
import type { StopReason, TurnEnded, TurnStarted } from '../../../src/core/records/record.js'
import { attachmentsOf, messageOf } from '../../../src/core/records/session.js'
import type { SessionRole } from '../../../src/core/records/session.js'
import { withItem } from '../../../src/core/lists.js'
import type { Slots } from '../calls/slots.js'
import type { ThreadState, Turn } from '../state.js'

/** The session of a turn of two sides. */
export interface Session {
  side: SideName
  readonly maxTurns: number
  /** Replies of the side in its turn. */
  steps: number
  /** Turns that each side has ended. */
  readonly turns: Record<SideName, number>
}

/** The outcome of a turn that a call decided, and not the text of a reply. */
export interface FinalOutcome {
  readonly text?: string
  readonly failure?: Failure
}

export function createSession({ side, maxTurns }: NonNullable<TurnStarted['session']>): Session {
  return { side, maxTurns, steps: 0, turns: { a: 0, b: 0 } }
}

function otherSide(side: SideName): SideName {
  return side === 'a' ? 'b' : 'a'
}

/** The side that answers a message: one from outside speaks for the other side. */
function readerOf({ to, role }: Message): SideName {
  return to ?? (role === 'assistant' ? 'b' : 'a')
}

export function isFor(message: Message, session: Session | undefined): boolean {
  return !session || message.role === 'system' || readerOf(message) === session.side
}

/** The side that begins a turn: the reader of its message, the caller of its call, or whose turn it was. */
export function firstSide({ queue, queuedCalls, position, lastTurn }: ThreadState, run: string): SideName {
  const own = queue.find(({ message }) => message.id === run)
  if (own) return readerOf(own.message)
  return (
    queuedCalls.find((queued) => queued.run === run)?.side ??
    (position.work === 'failed' || isResumable(lastTurn?.reason) ? lastTurn?.side : undefined) ??
    'a'
  )
}

/** Reasons after which `resume` goes on with the turn, besides a failure: there is more to say. */
const resumable: ReadonlySet<StopReason | undefined> = new Set(['budget_spent', 'reply_cut', 'reply_paused'] as const)

export function isResumable(reason: StopReason | undefined): boolean {
  return resumable.has(reason)
}

function voiceOf({ agent }: ThreadState, side: SideName | undefined): string {
  return side === undefined ? agent : `${agent}/${side}`
}

/** Whether the agent, or side, that is to speak next has spoken in this thread before. */
export function hasSpoken(state: ThreadState): boolean {
  return state.voices.includes(voiceOf(state, state.turn?.session?.side))
}

export function noteSpeaker(state: ThreadState, side: SideName | undefined): void {
  const voice = voiceOf(state, side)
  if (!state.voices.includes(voice)) state.voices = withItem(state.voices, voice)
}

/** Steps of the turn; of the side's own turn in a session. */
export function stepsOf({ session, steps }: Turn): number {
  return session?.steps ?? steps
}

/** The side has ended its turn: the other one is next. Without sides the turn is completed. */
export function endSide(turn: Turn): void {
  const { session } = turn
  if (!session) {
    turn.stop = 'completed'
    return
  }
  session.turns[session.side]++
  turn.asked = 0
  turn.rounds = 0
  turn.relaxed = undefined
  session.side = otherSide(session.side)
  session.steps = 0
  if (Math.min(session.turns.a, session.turns.b) >= session.maxTurns) turn.stop = 'max_session_turns'
}

interface DecisiveCall {
  readonly role: SessionRole
  readonly message: string | undefined
  readonly attachments: readonly string[]
}

const order = ['fail', 'stop', 'pass'] as const

/** Undefined when the calls of the step decide nothing. */
function decisiveCall({ items, said }: Slots): DecisiveCall | undefined {
  for (const does of order) {
    for (const { call, outcome } of items) {
      const role = call.session
      if (role?.does !== does || !outcome?.ok) continue
      const done = { role, args: call.args, value: outcome.value }
      return {
        role,
        message: messageOf(done) ?? (said || (outcome.value === null ? undefined : resultText(outcome.value))),
        attachments: attachmentsOf(done),
      }
    }
  }
  return undefined
}

/** The message that a stop tool passes to the other side, where that is not the text of the reply itself. */
function passedOn(slots: Slots, { step, at }: { readonly step: number; readonly at: number }): Message | undefined {
  const { side, label, said } = slots
  const decisive = side && decisiveCall(slots)
  if (!decisive || decisive.role.does !== 'pass' || decisive.message === undefined || decisive.message === said)
    return undefined
  return {
    id: `passed_${step}`,
    role: 'assistant',
    text: decisive.message,
    at,
    side,
    ...defined({ label }),
    to: otherSide(side),
  }
}

/** Status texts of calls, for the parent (S7). */
function statusesOf({ items }: Slots): readonly { readonly status: string }[] {
  return items.flatMap(({ call, outcome }) => {
    const role = call.session
    if (role?.does !== 'status' || !outcome?.ok) return []
    return [{ status: messageOf({ role, args: call.args, value: outcome.value }) ?? resultText(outcome.value) }]
  })
}

/** Applies what the calls of a step decide about the turn, when all of them are settled. */
export function conclude(state: ThreadState, at: number): void {
  const { turn, slots, step } = state
  if (!turn || !slots.decides) return
  slots.decides = false
  if (state.child) state.outbox = statusesOf(slots).reduce(withItem, state.outbox)
  const decisive = decisiveCall(slots)
  if (!decisive) return
  const { role, message, attachments } = decisive
  if (role.does === 'fail') {
    turn.stop = 'session_failed'
    turn.finalOutcome = { failure: failure('SESSION_FAILED', message ?? turn.text) }
    return
  }
  const passed = passedOn(slots, { step, at })
  if (passed) state.transcript.items.push(passed)
  if (message !== undefined) {
    turn.text = message
    if (message !== slots.said) turn.finalOutcome = { text: message }
  }
  if (attachments.length > 0) turn.attachments = [...new Set([...(turn.attachments ?? []), ...attachments])]
  if (role.does === 'stop') turn.stop = 'session_stopped'
  else {
    // The side ended its turn within the limit.
    if (turn.stop === 'max_steps') turn.stop = undefined
    if (!turn.stop) endSide(turn)
  }
}

/** Reasons after which not even queued calls are made in the turn. */
const final: ReadonlySet<TurnEnded['reason'] | undefined> = new Set([
  'max_steps',
  'max_tool_rounds',
  'stop_when',
  'repetition',
  'hook_blocked',
  'max_session_turns',
  'session_stopped',
  'session_failed',
] as const)

export function isFinal({ stop }: Turn): boolean {
  return final.has(stop)
}
