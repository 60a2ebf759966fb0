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
import type { TurnEnded, TurnStarted } from '../../../src/core/records/record.js'
import { attachmentsOf, messageOf } from '../../../src/core/records/session.js'
import type { SessionRole } from '../../../src/core/records/session.js'
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

/** What a turn came to by a call, and not by the words of a reply. */
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

/** The side that answers it: whoever speaks from outside plays the other one. */
function readerOf({ to, role }: Message): SideName {
  return to ?? (role === 'assistant' ? 'b' : 'a')
}

export function isFor(message: Message, session: Session | undefined): boolean {
  return !session || message.role === 'system' || readerOf(message) === session.side
}

/** The side that begins the turn of this message, of this call, or that goes on after a failure. */
export function firstSide({ queue, queuedCalls, position: place, lastTurn }: ThreadState, run: string): SideName {
  const own = queue.find(({ message }) => message.id === run)
  if (own) return readerOf(own.message)
  return (
    queuedCalls.find((queued) => queued.run === run)?.side ??
    (place.work === 'failed' || lastTurn?.reason === 'budget_spent' ? lastTurn?.side : undefined) ??
    'a'
  )
}

function voiceOf({ agent }: ThreadState, side: SideName | undefined): string {
  return side === undefined ? agent : `${agent}/${side}`
}

/** Whoever is to speak next has spoken here before. */
export function hasSpoken(state: ThreadState): boolean {
  return state.voices.includes(voiceOf(state, state.turn?.session?.side))
}

export function noteVoice(state: ThreadState, side: SideName | undefined): void {
  const voice = voiceOf(state, side)
  if (!state.voices.includes(voice)) state.voices.push(voice)
}

/** Steps of the turn; of the side's turn, where there are two. */
export function stepsOf({ session, steps }: Turn): number {
  return session?.steps ?? steps
}

/** The side has said what it had to say. */
export function endSide(turn: Turn): void {
  const { session } = turn
  if (!session) {
    turn.stop = 'completed'
    return
  }
  session.turns[session.side]++
  turn.asked = 0
  turn.relaxed = undefined
  session.side = otherSide(session.side)
  session.steps = 0
  if (Math.min(session.turns.a, session.turns.b) >= session.maxTurns) turn.stop = 'max_session_turns'
}

interface Decisive {
  readonly role: SessionRole
  readonly message: string | undefined
  readonly attachments: readonly string[]
}

const order = ['fail', 'stop', 'pass'] as const

/** Undefined when the calls of the step decide nothing. */
function decisiveOf({ items, said }: Slots): Decisive | undefined {
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

/** What the other side reads of a stop tool, where that is not the text of the reply itself. */
function passedOn(slots: Slots, { step, at }: { readonly step: number; readonly at: number }): Message | undefined {
  const { side, label, said } = slots
  const decisive = side && decisiveOf(slots)
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

/** What calls tell the parent of how far it is (S7). */
function statusesOf({ items }: Slots): readonly { readonly status: string }[] {
  return items.flatMap(({ call, outcome }) => {
    const role = call.session
    if (role?.does !== 'status' || !outcome?.ok) return []
    return [{ status: messageOf({ role, args: call.args, value: outcome.value }) ?? resultText(outcome.value) }]
  })
}

/** All calls of the step are settled. */
export function conclude(state: ThreadState, at: number): void {
  const { turn, slots, step } = state
  if (!turn || !slots.decides) return
  slots.decides = false
  if (state.child) state.outbox.push(...statusesOf(slots))
  const decisive = decisiveOf(slots)
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
    // It has ended in time.
    if (turn.stop === 'max_steps') turn.stop = undefined
    if (!turn.stop) endSide(turn)
  }
}

/** Reasons after which nothing more is done in the turn, also what was queued. */
const final: ReadonlySet<TurnEnded['reason'] | undefined> = new Set([
  'max_steps',
  'max_session_turns',
  'session_stopped',
  'session_failed',
] as const)

export function isFinal({ stop }: Turn): boolean {
  return final.has(stop)
}
