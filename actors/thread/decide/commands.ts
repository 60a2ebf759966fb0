/**
 * Decisions: what a thread makes of a command or of an outcome. A decision is a list of facts to commit, or a
 * refusal; it changes nothing itself.
 *
 * CO1 Facts that a decision gives can always be folded: commands may be refused, records may not.
 * CO2 An outcome for a step or call that is no longer wanted decides nothing.
 * CO3 A command that would change nothing is refused, so that a repeated id can never act later.
 * CO4 What follows from the state alone (a queued message starts a turn, a last answer ends it) is not part of a
 *     decision but of `due`: it is asked after every record and on waking, so a journal cut between any two
 *     records goes on the same way.
 */
import type { Amounts } from '../../../src/core/budget.js'
import { defined } from '../../../src/core/defined.js'
import { contextKey } from '../../../src/core/records/change.js'
import type { Changes } from '../../../src/core/records/change.js'
import type { Command } from '../../../src/core/records/command.js'
import { callDeadlineKey, turnDeadlineKey } from '../../../src/core/effect.js'
import { failure } from '../../../src/core/failure.js'
import type { Failure } from '../../../src/core/failure.js'
import { parseCallId } from '../../../src/core/records/message.js'
import { schedulesIn, schedulesKey } from '../../../src/core/records/schedule.js'
import { nodeAt, stale } from '../../../src/core/tree.js'
import type {
  Fact,
  HoldReason,
  Landed,
  ModelReplied,
  RecordedCall,
  TurnEnded,
} from '../../../src/core/records/record.js'
import { dueOfChildren, isRetried } from '../children/children.js'
import { dueOfVariables } from '../variables.js'
import type { Needs } from '../variables.js'
import { raiseBudget } from '../budget/grants.js'
import { pauseThread, removeThread, resumeThread, terminateThread } from './lifecycle.js'
import { limitReply, withinLimit } from './limits.js'
import { startable } from '../outstanding.js'
import { verdictOf } from './policy.js'
import { decline, dueOfRequests, provide } from '../children/deferred.js'
import { answerFiles, awaitsDescendants, dueReport } from '../children/reports.js'
import { firstSide, hasSpoken, isFinal, stepsOf } from '../turn/session.js'
import { firstUndrained } from '../calls/slots.js'
import type { HeldSlot, Slot } from '../calls/slots.js'
import { dueUsageReport } from '../budget/usage.js'
import { hasEnded, statusOf } from '../state.js'
import type { ThreadState, Turn } from '../state.js'
import { dueRestart, isAttempt } from '../children/supervision.js'

export type Decision = { readonly facts: readonly Fact[] } | { readonly refused: Failure }

/** What the host knows at the moment of the decision. */
export interface DecisionContext {
  readonly now: number
  /** How long a turn may take; its deadline is fixed when it starts. */
  readonly maxWallClockMs?: number
  /** What a turn may spend; fixed when it starts. */
  readonly limits?: Amounts
  /** Steps of a turn, those without a model included. */
  readonly maxSteps?: number
  /** Undefined where nothing that is defined needs a variable. */
  readonly needs?: Needs
  /** The thread's agent has two sides: a session begins with the turn. */
  readonly session?: { readonly maxTurns: number }
  /** Children that begin before the model is first asked. */
  immediate?(): readonly RecordedCall[]
  /** The host still starts effects: an intent without a start would look like an effect that may have happened. */
  readonly mayBegin: boolean
  /** Effects that may be under way at once: an intent is recorded only for one that can start. Default: any number. */
  readonly maxBegun?: number
}

export type Landing =
  | { readonly kind: 'reply'; readonly reply: Omit<ModelReplied, 'type'> }
  | { readonly kind: 'model_failed'; readonly step: number; readonly failure: Failure }
  | { readonly kind: 'returned'; readonly step: number; readonly index: number; readonly landed: Landed }
  /** Someone must be asked before it can go on. */
  | {
      readonly kind: 'held'
      readonly step: number
      readonly index: number
      readonly why: HoldReason
      readonly prompt?: string
    }
  /** Its body waits for its turn. */
  | { readonly kind: 'parked'; readonly step: number; readonly index: number }
  | { readonly kind: 'deadline'; readonly key: string }
  /** The time of a scheduled call has come; this is the call as its tool is defined now. */
  | { readonly kind: 'scheduled'; readonly id: string; readonly call: RecordedCall }

const nothing: Decision = { facts: [] }

/** A command whose definitions were asked: a call as it would be recorded. */
export type ResolvedCommand =
  | Exclude<Command, { readonly kind: 'call' | 'decide' }>
  | { readonly kind: 'call'; readonly call: RecordedCall }
  | (Omit<Extract<Command, { readonly kind: 'decide' }>, 'args' | 'call'> & {
      readonly call: string
      readonly edited?: RecordedCall
    })

/** Decides a command from outside; `id` is the command's own. */
export function obey(
  state: ThreadState,
  { id, command }: { id: string; command: ResolvedCommand },
  moment: DecisionContext,
): Decision {
  if (command.kind === 'create') return create(state, { id, command })
  if (state.seq === 0) return refuse('UNKNOWN_THREAD', `there is no thread ${state.id}; create it first`)
  switch (command.kind) {
    case 'message':
      return receive(state, { id, command })
    case 'edit': {
      const { message, text } = command
      if (hasEnded(state))
        return refuse('COMMAND_REFUSED', `thread ${state.id} is ${statusOf(state)} and is not changed any more`)
      return { facts: [{ type: 'message.edited', id: message, ...defined({ text }) }] }
    }
    case 'cancel':
      if (command.messages) return takeBack(state, command.messages, command.reason)
      if (!state.turn)
        return refuse('COMMAND_REFUSED', `thread ${state.id} has no turn to cancel: it is ${statusOf(state)}`)
      return {
        facts: [endTurn(state.turn, { reason: 'cancelled', ...(command.reason && { detail: command.reason }) })],
      }
    case 'pause':
      return pauseThread(state, command)
    case 'resume':
      return resumeThread(state, command, turnStarted(state, id, moment))
    case 'grant':
      return raiseBudget(state, command, turnStarted(state, id, moment))
    case 'terminate':
      return terminateThread(state, command)
    case 'delete':
      return removeThread(state, command)
    case 'decide':
      return decide(state, command)
    case 'answer':
      return answer(state, command)
    case 'call':
      if (hasEnded(state))
        return refuse('COMMAND_REFUSED', `thread ${state.id} is ${statusOf(state)} and makes no more calls`)
      return { facts: [{ type: 'call.queued', call: command.call, run: state.turn?.run ?? id }] }
    case 'report':
    case 'tell':
      return hear(state, command, moment)
    case 'receipt':
      return receipt(state, command, moment)
    case 'requeue':
    case 'drop':
      return letter(state, command)
    case 'env': {
      const { kind: _, ...change } = command
      // Its parent need not know yet that it is over.
      if (hasEnded(state))
        return change.level === 'inherited'
          ? nothing
          : refuse('COMMAND_REFUSED', `thread ${state.id} is ${statusOf(state)} and takes no more variables`)
      return { facts: [{ type: 'env.changed', ...change }] }
    }
    case 'provide':
      return hasEnded(state)
        ? refuse('COMMAND_REFUSED', `thread ${state.id} is ${statusOf(state)} and starts no more children`)
        : provide(state, command)
    case 'change':
      if (hasEnded(state))
        return refuse('COMMAND_REFUSED', `thread ${state.id} is ${statusOf(state)} and is not changed any more`)
      if (command.reads && stale(state.files, command.reads))
        return {
          refused: failure('COMMAND_REFUSED', `what was read of thread ${state.id} has changed since`, {
            retry: true,
            data: { stale: true },
          }),
        }
      if (unscheduling(state, command))
        return refuse(
          'COMMAND_REFUSED',
          `thread ${state.id} has no such schedule: its call was queued, or it was taken back`,
        )
      return { facts: [{ type: 'thread.changed', changes: command.changes }] }
  }
}

/** Whoever asked does not wait any more. What others began goes on. */
function takeBack({ turn, pendingReplies: owed }: ThreadState, messages: readonly string[], reason?: string): Decision {
  const meant = new Set(messages)
  const unread = owed
    .filter(({ message, run }) => run === undefined && meant.has(message))
    .map(({ message }) => message)
  const why = reason === undefined ? {} : { reason }
  const facts: Fact[] = unread.length > 0 ? [{ type: 'messages.withdrawn', messages: unread, ...why }] : []
  if (turn && meant.has(turn.run)) facts.push(endTurn(turn, { reason: 'cancelled', ...(reason && { detail: reason }) }))
  return { facts }
}

/** For a call that has begun and has no outcome; one that comes late changes nothing. */
function receipt(
  state: ThreadState,
  { step, index, landed }: Extract<Command, { kind: 'receipt' }>,
  moment: DecisionContext,
): Decision {
  const began = step === state.step && state.slots.items[index]?.began
  return began ? land(state, { kind: 'returned', step, index, landed }, moment) : nothing
}

function letter(state: ThreadState, { kind, reference }: Extract<Command, { kind: 'requeue' | 'drop' }>): Decision {
  if (!Object.hasOwn(state.dead, reference))
    return refuse('COMMAND_REFUSED', `thread ${state.id} has no dead letter ${reference}`)
  if (kind === 'drop') return { facts: [{ type: 'letter.dropped', reference }] }
  if (hasEnded(state))
    return refuse('COMMAND_REFUSED', `thread ${state.id} is ${statusOf(state)} and calls no more children`)
  return { facts: [{ type: 'letter.requeued', reference }] }
}

function hear(
  state: ThreadState,
  command: Extract<Command, { kind: 'report' | 'tell' }>,
  { now }: DecisionContext,
): Decision {
  const reference = referenceOf(state, command)
  if (reference === undefined) return refuse('COMMAND_REFUSED', `thread ${state.id} has no child ${command.reference}`)
  if (command.kind === 'tell') {
    const { kind: _, ...told } = command
    return { facts: [{ type: 'child.told', ...told }] }
  }
  const { kind: _, ...said } = command
  const report = { ...said, reference }
  return { facts: [{ type: 'child.reported', ...report, ...isRetried(state, report, now) }] }
}

/** A child that could not be made does not know what it is called. */
function referenceOf(
  { children }: ThreadState,
  { reference, child: id }: Extract<Command, { kind: 'report' | 'tell' }>,
): string | undefined {
  const child = children.get(reference)
  if (child && isAttempt(child, id)) return reference
  if (reference !== id) return undefined
  for (const [each, { id: known }] of children) if (known === id) return each
  return undefined
}

/** The call that someone speaks of, while it waits for that. */
function heldCall(
  state: ThreadState,
  call: string,
  why: readonly HoldReason[],
): { readonly place: { readonly step: number; readonly index: number }; readonly slot: Slot } | Failure {
  const place = parseCallId(call)
  const slot = place && place.step === state.step && state.turn ? state.slots.items[place.index] : undefined
  if (place && slot?.hold && why.includes(slot.hold.why) && !slot.outcome) return { place, slot }
  if (slot?.hold)
    return failure('COMMAND_REFUSED', `call ${call} of thread ${state.id} waits for ${waitedFor(slot.hold)}`)
  const done =
    place !== undefined &&
    (place.step < state.step ||
      slot !== undefined ||
      (place.step === state.step && place.index < state.slots.items.length))
  return failure(
    'COMMAND_REFUSED',
    done
      ? `call ${call} of thread ${state.id} waits for nothing: it was decided, answered or ended before`
      : `thread ${state.id} has no call ${call}`,
  )
}

function waitedFor({ why, missing = [] }: HeldSlot): string {
  if (why === 'variables') return `variables: set ${missing.join(', ')}`
  return why === 'approval' ? 'an approval: approve or reject it' : 'an output: answer it'
}

function decide(
  state: ThreadState,
  { call, decision, edited, comment, by }: Extract<ResolvedCommand, { kind: 'decide' }>,
): Decision {
  // Whatever someone was asked for may be declined.
  const said = { ...defined({ comment, by }) }
  const declined = decision === 'reject' && !hasEnded(state) ? decline(state, { call, ...said }) : undefined
  if (declined) return declined
  if (call === 'turn' && state.turn?.missingVariables) {
    const missing = state.turn.missingVariables.missing.join(', ')
    return refuse(
      'COMMAND_REFUSED',
      `the turn of thread ${state.id} waits for variables: set ${missing}, or cancel the turn`,
    )
  }
  const held = heldCall(state, call, decision === 'reject' ? ['approval', 'person', 'variables'] : ['approval'])
  if ('code' in held) return { refused: held }
  const decided = { decision, ...defined({ call: edited, comment, decidedBy: by }) }
  return { facts: [{ type: 'call.decided', ...held.place, ...decided }] }
}

function answer(state: ThreadState, { call, output, by }: Extract<ResolvedCommand, { kind: 'answer' }>): Decision {
  const held = heldCall(state, call, ['person'])
  if ('code' in held) return { refused: held }
  return { facts: [{ type: 'call.answered', ...held.place, output, ...defined({ answeredBy: by }) }] }
}

/** Decides what came of an effect. */
export function land(state: ThreadState, landing: Landing, moment: DecisionContext): Decision {
  if (landing.kind === 'scheduled') return scheduled(state, landing, moment)
  const { turn } = state
  if (!turn) return nothing
  switch (landing.kind) {
    case 'reply':
      if (state.position.work !== 'thinking' || landing.reply.step !== state.step + 1) return nothing
      return { facts: [{ type: 'model.replied', ...limitReply(state, landing.reply) }] }
    case 'model_failed':
      if (state.position.work !== 'thinking' || landing.step !== state.step + 1) return nothing
      return { facts: [endTurn(turn, { reason: 'failed', failure: landing.failure })] }
    case 'returned': {
      const slot = landing.step === state.step ? state.slots.items[landing.index] : undefined
      if (!slot || slot.outcome || landing.landed.again !== slot.again) return nothing
      const { step, index, landed } = landing
      const provisional =
        slot.call.policy ??
        landed.reads ??
        landed.changes ??
        landed.queued ??
        landed.messages ??
        landed.told ??
        landed.attached
      return {
        facts: [
          {
            type: 'call.returned',
            step,
            index,
            tool: slot.call.tool,
            ...landed,
            ...(provisional && { provisional: true }),
          },
        ],
      }
    }
    case 'held': {
      const { kind: _, ...held } = landing
      const slot = landing.step === state.step ? state.slots.items[landing.index] : undefined
      return slot && !slot.outcome && !slot.hold ? { facts: [{ type: 'call.held', ...held }] } : nothing
    }
    case 'parked':
      return parked(state, landing)
    case 'deadline':
      if (landing.key !== turnDeadlineKey(turn.run)) return undecided(state, landing.key, moment)
      return moment.now < (turn.deadlineAt ?? Infinity) ? nothing : { facts: [endTurn(turn, { reason: 'deadline' })] }
  }
}

/** A schedule is spent by the record that queues its call: it is made once. */
function scheduled(
  state: ThreadState,
  { id, call }: Extract<Landing, { kind: 'scheduled' }>,
  { now }: DecisionContext,
): Decision {
  const known = schedulesIn(state.values[schedulesKey]?.value).find((each) => each.id === id)
  if (!known || now < known.at) return nothing
  return { facts: [{ type: 'call.queued', call, run: state.turn?.run ?? id, schedule: id }] }
}

/** Whether a command takes back what is not there. */
function unscheduling({ values }: ThreadState, { changes }: Extract<Command, { kind: 'change' }>): boolean {
  const removed = changes.schedules?.filter(({ op }) => op === 'remove') ?? []
  return removed.some(({ id }) => !schedulesIn(values[schedulesKey]?.value).some((known) => known.id === id))
}

/** Told only where it changes something: behind a call that waits for someone. */
function parked({ slots, step }: ThreadState, { step: of, index }: Extract<Landing, { kind: 'parked' }>): Decision {
  const slot = of === step ? slots.items[index] : undefined
  if (!slot || slot.outcome || slot.hold || slot.parked || slots.held === 0) return nothing
  const behind = slots.items.slice(slots.drained, index).some(({ hold }) => hold)
  return behind ? { facts: [{ type: 'call.parked', step, index }] } : nothing
}

/** Nobody decided in time: what was said for that case is decided. */
function undecided({ slots, step }: ThreadState, key: string, { now }: DecisionContext): Decision {
  const index = Number(key.slice(key.lastIndexOf('/') + 1))
  if (callDeadlineKey(step, index) !== key) return nothing
  const hold = slots.items[index]?.hold
  if (!hold || now < (hold.deadlineAt ?? Infinity)) return nothing
  return {
    facts: [
      {
        type: 'call.decided',
        step,
        index,
        decision: hold.atDeadline ?? 'reject',
        comment: 'nobody decided in time',
        decidedBy: 'deadline',
      },
    ],
  }
}

/** The fact that the state itself calls for, if any (CO4). */
export function due(state: ThreadState, moment: DecisionContext): Fact | undefined {
  const { turn, slots } = state
  if (state.seq === 0) return undefined
  const report = dueReport(state)
  if (report) return report
  const boot = hasEnded(state) ? undefined : dueOfRequests(state)
  if (boot) return boot
  const again = hasEnded(state) ? undefined : dueRestart(state)
  if (again) return again
  if (!turn)
    return (
      dueOfChildren(state) ??
      (hasEnded(state) ? undefined : (leave(state) ?? nextTurn(state, moment))) ??
      dueUsageReport(state)
    )
  if (hasEnded(state))
    return endTurn(turn, { reason: 'terminated', ...(state.endedFor !== undefined && { detail: state.endedFor }) })
  const variables = dueOfVariables(state, moment.needs)
  if (variables) return variables
  if (slots.open > 0) return dueOfChildren(state) ?? dueOfCalls(state, moment)
  return dueWithoutModel(state, moment, turn) ?? dueEnd(turn)
}

/** A step that no model asks for: children that begin by themselves, else what was queued. */
function dueWithoutModel(state: ThreadState, moment: DecisionContext, turn: Turn): Fact | undefined {
  const { queuedCalls, step, position: place } = state
  if (place.work !== 'thinking') return undefined
  const session = turn.session && { side: turn.session.side }
  const first = turn.stop || hasSpoken(state) ? [] : (moment.immediate?.() ?? [])
  if (first.length > 0)
    return { type: 'calls.made', step: step + 1, calls: withinLimit(state, first), immediate: true, ...session }
  if (isFinal(turn) || !queuedCalls.some(({ notBefore }) => notBefore <= step)) return undefined
  const last = stepsOf(turn) + 1 >= (moment.maxSteps ?? Infinity)
  const side = turn.session && (queuedCalls.find((queued) => queued.side)?.side ?? turn.session.side)
  return {
    type: 'calls.made',
    step: step + 1,
    calls: withinLimit(
      state,
      queuedCalls.map(({ call }) => call),
    ),
    ...(last && { stop: 'max_steps' }),
    ...defined({ side }),
  }
}

function dueEnd(turn: Turn): Fact | undefined {
  return (
    turn.stop &&
    endTurn(turn, {
      reason: turn.stop,
      ...(turn.detail !== undefined && { detail: turn.detail }),
      ...turn.finalOutcome,
      ...outputOf(turn),
      ...answerFiles(turn),
    })
  )
}

/** A child that does not stay ends with its answer. */
function leave(state: ThreadState): Fact | undefined {
  const { child, lastTurn, pendingReplies: owed } = state
  return child && !child.lasting && lastTurn && owed.length === 0 && !awaitsDescendants(state)
    ? { type: 'thread.ended' }
    : undefined
}

function nextTurn(state: ThreadState, moment: DecisionContext): Fact | undefined {
  const { queue, queuedCalls } = state
  const next = queue.find(({ delivery }) => delivery !== 'store')
  if (next) return turnStarted(state, next.message.id, moment)
  const [queued] = queuedCalls
  return queued && turnStarted(state, queued.run, moment)
}

/**
 * What is to be said of the call whose turn it is; then the next intent: what changes the world is announced first
 * (T10).
 */
function dueOfCalls(state: ThreadState, { now, mayBegin, maxBegun = Infinity }: DecisionContext): Fact | undefined {
  const { step, slots, position: place } = state
  if (!slots.ordered && !firstUndrained(slots)?.landed) return undefined
  const verdict = verdictOf(state, now)
  if (verdict) return { type: 'call.settled', step, index: slots.drained, ...verdict }
  if (!mayBegin || place.gate !== 'open') return undefined
  let begun = 0
  for (const { slot, index } of startable(state)) {
    if (!slot.call.sideEffect || slot.answer) continue
    if (!slot.began) return { type: 'call.began', step, index }
    if (++begun >= maxBegun) return undefined
  }
  return undefined
}

function refuse(code: Failure['code'], message: string): Decision {
  return { refused: failure(code, message) }
}

type Said = Omit<Extract<Command, { kind: 'message' }>, 'kind'>

function create(
  state: ThreadState,
  { id, command }: { id: string; command: Extract<Command, { kind: 'create' }> },
): Decision {
  if (state.seq > 0) {
    return refuse('COMMAND_REFUSED', `thread ${state.id} exists already with agent ${state.agent}`)
  }
  const { agent, tags, path, parent, child, tree, env, message, budget } = command
  const changes = seeded(command.changes, command.context)
  const created: Fact = {
    type: 'thread.created',
    agent,
    tags,
    path,
    ...defined({ parent, changes, child, tree, env, budget }),
  }
  return { facts: message ? [created, received(state, { id, said: message })] : [created] }
}

function receive(
  state: ThreadState,
  { id, command }: { id: string; command: Extract<Command, { kind: 'message' }> },
): Decision {
  if (hasEnded(state))
    return refuse('COMMAND_REFUSED', `thread ${state.id} is ${statusOf(state)} and takes no more messages`)
  const absent = command.listed?.find((path) => path.startsWith('/') && !nodeAt(state.files, path))
  if (absent !== undefined)
    return refuse(
      'BAD_OPTION',
      `nothing was sent: thread ${state.id} has no file ${absent}; write it first, or attach it as { name, content }`,
    )
  const changes = seeded(undefined, command.context)
  return {
    facts: [...(changes ? [{ type: 'thread.changed' as const, changes }] : []), received(state, { id, said: command })],
  }
}

/** Contexts are values of the thread like others. */
function seeded(
  changes: Changes | undefined,
  context: Extract<Command, { kind: 'message' }>['context'],
): Changes | undefined {
  if (!context) return changes
  const values = Object.entries(context).map(([name, value]) => ({ key: contextKey(name), value }))
  return { ...changes, values: [...(changes?.values ?? []), ...values] }
}

function received(
  { turn }: ThreadState,
  { id, said: { text, role, delivery, silent, replyTo, attachments, listed, grant } }: { id: string; said: Said },
): Fact {
  const run = delivery === 'store' ? undefined : delivery === 'steer' && turn ? turn.run : id
  return {
    type: 'message.received',
    id,
    text,
    role,
    delivery,
    ...(run && { run }),
    ...defined({ silent }),
    ...(replyTo && { replyTo }),
    ...defined({ attachments, listed, grant }),
  }
}

/** Of two sides each has its own, which the other has read. */
function outputOf({ output, session }: Turn): Pick<TurnEnded, 'output'> {
  return output === undefined || session ? {} : { output }
}

function endTurn({ run }: Turn, end: Omit<TurnEnded, 'type' | 'run'>): Fact {
  return { type: 'turn.ended', run, ...end }
}

function turnStarted(state: ThreadState, run: string, { now, maxWallClockMs, limits, session }: DecisionContext): Fact {
  return {
    type: 'turn.started',
    run,
    ...(maxWallClockMs !== undefined && { deadlineAt: now + maxWallClockMs }),
    ...defined({ limits }),
    ...(session && { session: { side: firstSide(state, run), maxTurns: session.maxTurns } }),
  }
}
