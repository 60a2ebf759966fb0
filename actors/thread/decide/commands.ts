/**
 * Commands: what a thread decides when it is told something from outside, by a person or by another thread.
 *
 * CO3 A command that would change nothing is refused, so that a repeated id can never act later. What another thread
 *     passes on (a parent's `pause`, a late receipt) is not refused then, and decides nothing.
 */
import { brokenText, collectAttachments } from '../../../src/core/attachments.js'
import { defined } from '../../../src/core/defined.js'
import { contextKey } from '../../../src/core/records/change.js'
import type { Changes } from '../../../src/core/records/change.js'
import { failure } from '../../../src/core/failure.js'
import type { Failure } from '../../../src/core/failure.js'
import { parseCallId } from '../../../src/core/records/message.js'
import { schedulesIn, schedulesKey } from '../../../src/core/records/schedule.js'
import { pastKey } from '../../../src/core/records/travel.js'
import { stale } from '../../../src/core/tree.js'
import type { Fact, HoldReason } from '../../../src/core/records/record.js'
import { retryOf } from '../children/children.js'
import { raiseBudget } from '../budget/grants.js'
import { noFacts, refuse, turnEnded, turnStarted } from './decision.js'
import type { Decision, DecisionContext, Refusal, ResolvedCommand } from './decision.js'
import { resolveEffect } from '../turn/effect-resolution.js'
import { land } from './landings.js'
import { pauseThread, removeThread, resumeThread, terminateThread } from './lifecycle.js'
import { withinQuota } from './quota.js'
import { decline, provide } from '../children/deferred.js'
import type { HeldSlot, Slot } from '../calls/slots.js'
import { hasEnded, statusOf } from '../state.js'
import type { ThreadState } from '../state.js'
import { isAttempt } from '../children/supervision.js'
import { decideRewind, joinableRun } from '../travel/rewind.js'

type CommandByKind = { readonly [Each in ResolvedCommand as Each['kind']]: Each }

type Kind = keyof CommandByKind

interface Received {
  readonly state: ThreadState
  /** Of the command itself: a message has it too, and so has the turn that it starts. */
  readonly id: string
  readonly context: DecisionContext
}

type Handler<Of extends Kind> = (state: ThreadState, command: CommandByKind[Of], received: Received) => Decision

const handlers: { readonly [Of in Kind]: Handler<Of> } = {
  create,
  message: receive,
  edit,
  cancel,
  pause: pauseThread,
  resume: (state, command, { id, context }) => resumeThread(state, command, turnStarted(state, id, context)),
  grant: (state, command, { id, context }) => raiseBudget(state, command, turnStarted(state, id, context)),
  terminate: terminateThread,
  rewind: (state, command, { id }) => decideRewind(state, command, id),
  delete: removeThread,
  decide,
  answer,
  call: queueCall,
  report: hearReport,
  tell: hearWords,
  receipt,
  requeue: decideDeadLetter,
  drop: decideDeadLetter,
  resolve: resolveEffect,
  env: changeEnv,
  provide: (state, command) => refuseEnded(state, 'starts no more children') ?? provide(state, command),
  change,
}

/** Decides a command from outside; `id` is the command's own. */
export function obey(
  state: ThreadState,
  { id, command }: { readonly id: string; readonly command: ResolvedCommand },
  context: DecisionContext,
): Decision {
  const fitting = context.quota ? withinQuota(state, command, context.quota) : command
  if ('refused' in fitting) return fitting
  if (state.seq === 0 && fitting.kind !== 'create')
    return refuse('UNKNOWN_THREAD', `there is no thread ${state.id}; create it first`)
  return handle(fitting.kind, fitting, { state, id, context })
}

function handle<Of extends Kind>(kind: Of, command: CommandByKind[Of], received: Received): Decision {
  return handlers[kind](received.state, command, received)
}

/** `consequence`: what a thread that has ended does not do any more. */
function refuseEnded(state: ThreadState, consequence: string): Refusal | undefined {
  if (!hasEnded(state)) return undefined
  return refuse('COMMAND_REFUSED', `thread ${state.id} is ${statusOf(state)} and ${consequence}`)
}

function create(state: ThreadState, command: CommandByKind['create'], { id }: Received): Decision {
  if (state.seq > 0) return refuse('COMMAND_REFUSED', `thread ${state.id} exists already with agent ${state.agent}`)
  if (command.based) return createFork(state, command, command.based)
  const { agent, tags, path, parent, child, tree, env, message, budget, hooks, stored, guard } = command
  const changes = withContext(command.changes, command.context)
  const created: Fact = {
    type: 'thread.created',
    agent,
    tags,
    path,
    ...defined({ parent, changes, child, tree, env, budget, hooks, stored, guard }),
  }
  return { facts: message ? [created, messageReceived(state, id, message)] : [created] }
}

/** It begins with the past of another thread, and is paused before anything of that goes on. */
function createFork(
  { id }: ThreadState,
  { tags, path, parent, child, budget, guard, past }: CommandByKind['create'],
  { keys: _, paused, ...based }: NonNullable<CommandByKind['create']['based']>,
): Decision {
  if (!past) return refuse('COMMAND_REFUSED', `thread ${id} was not created: the past that it begins with was not read`)
  const fork: Fact = {
    type: 'thread.based',
    ...based,
    path,
    tags,
    ...defined({ parent, child, budget, guard }),
    [pastKey]: past,
  }
  return { facts: paused === undefined ? [fork] : [fork, { type: 'thread.paused', reason: paused }] }
}

function receive(state: ThreadState, command: CommandByKind['message'], { id }: Received): Decision {
  const ended = refuseEnded(state, 'takes no more messages')
  if (ended) return ended
  const unreadable = command.listed && refuseUnreadable(state, command.listed)
  if (unreadable) return unreadable
  const changes = withContext(undefined, command.context)
  const received = messageReceived(state, id, command)
  return { facts: changes ? [{ type: 'thread.changed', changes }, received] : [received] }
}

/** Files of the thread that a message names must be there, as for those of a child. */
function refuseUnreadable({ id, files }: ThreadState, listed: readonly string[]): Refusal | undefined {
  const { broken } = collectAttachments(
    files,
    listed.filter((path) => path.startsWith('/')),
  )
  if (broken.length === 0) return undefined
  const advice = 'write it first, or attach it as { name, content }'
  return refuse('BAD_OPTION', `nothing was sent to thread ${id}: ${brokenText(broken)}; ${advice}`)
}

/** Contexts are values of the thread like others. */
function withContext(changes: Changes | undefined, context: CommandByKind['message']['context']): Changes | undefined {
  if (!context) return changes
  const values = Object.entries(context).map(([name, value]) => ({ key: contextKey(name), value }))
  return { ...changes, values: [...(changes?.values ?? []), ...values] }
}

function messageReceived(state: ThreadState, id: string, message: Omit<CommandByKind['message'], 'kind'>): Fact {
  const { text, role, delivery, silent, replyTo, attachments, listed, grant, rules, hooks, trace } = message
  const run = runOf(state, id, delivery)
  return {
    type: 'message.received',
    id,
    text,
    role,
    delivery,
    ...defined({ run, silent, replyTo, attachments, listed, grant, rules, hooks, trace }),
  }
}

/** The turn that will read the message; undefined where it starts none. */
function runOf(state: ThreadState, id: string, delivery: CommandByKind['message']['delivery']): string | undefined {
  if (delivery === 'store') return undefined
  return (delivery === 'steer' ? joinableRun(state) : undefined) ?? id
}

function edit(state: ThreadState, { message: id, text }: CommandByKind['edit']): Decision {
  return (
    refuseEnded(state, 'is not changed any more') ?? { facts: [{ type: 'message.edited', id, ...defined({ text }) }] }
  )
}

function cancel(state: ThreadState, { messages, reason }: CommandByKind['cancel']): Decision {
  const { turn } = state
  if (messages) return withdraw(state, messages, reason)
  if (!turn) return refuse('COMMAND_REFUSED', `thread ${state.id} has no turn to cancel: it is ${statusOf(state)}`)
  return { facts: [turnCancelled(turn, reason)] }
}

const turnCancelled = (turn: NonNullable<ThreadState['turn']>, reason: string | undefined): Fact =>
  turnEnded(turn, { reason: 'cancelled', ...defined({ detail: reason || undefined }) })

/** The sender does not wait for an answer to these messages any more. Turns that others began go on. */
function withdraw(
  { turn, pendingReplies }: ThreadState,
  messages: readonly string[],
  reason: string | undefined,
): Decision {
  const withdrawn = new Set(messages)
  const unread = pendingReplies
    .filter(({ message, run }) => run === undefined && withdrawn.has(message))
    .map(({ message }) => message)
  const facts: Fact[] =
    unread.length > 0 ? [{ type: 'messages.withdrawn', messages: unread, ...defined({ reason }) }] : []
  if (turn && withdrawn.has(turn.run)) facts.push(turnCancelled(turn, reason))
  return { facts }
}

function queueCall(state: ThreadState, { call }: CommandByKind['call'], { id }: Received): Decision {
  const run = joinableRun(state) ?? id
  return refuseEnded(state, 'makes no more calls') ?? { facts: [{ type: 'call.queued', call, run }] }
}

/** The outcome of a call whose host lost the thread; one that comes late changes nothing. */
function receipt(
  state: ThreadState,
  { step, index, landed }: CommandByKind['receipt'],
  { context }: Received,
): Decision {
  const began = step === state.step && state.slots.items[index]?.began
  return began ? land(state, { kind: 'returned', step, index, landed }, context) : noFacts
}

function decideDeadLetter(state: ThreadState, { kind, reference }: CommandByKind['requeue' | 'drop']): Decision {
  if (!Object.hasOwn(state.dead, reference))
    return refuse('COMMAND_REFUSED', `thread ${state.id} has no dead letter ${reference}`)
  if (kind === 'drop') return { facts: [{ type: 'letter.dropped', reference }] }
  return refuseEnded(state, 'calls no more children') ?? { facts: [{ type: 'letter.requeued', reference }] }
}

function hearReport(
  state: ThreadState,
  { kind: _, ...command }: CommandByKind['report'],
  { context }: Received,
): Decision {
  const reference = referenceOf(state, command)
  if (reference === undefined) return unknownChild(state, command)
  const report = { ...command, reference }
  return { facts: [{ type: 'child.reported', ...report, ...retryOf(state, report, context.now) }] }
}

function hearWords(state: ThreadState, { kind: _, ...told }: CommandByKind['tell']): Decision {
  return referenceOf(state, told) === undefined
    ? unknownChild(state, told)
    : { facts: [{ type: 'child.told', ...told }] }
}

type Sender = Pick<CommandByKind['report' | 'tell'], 'reference' | 'child'>

function unknownChild({ id }: ThreadState, { reference }: Sender): Refusal {
  return refuse('COMMAND_REFUSED', `thread ${id} has no child ${reference}`)
}

/** A child that could not be made does not know its reference and sends its id in place of it. */
function referenceOf({ children }: ThreadState, { reference, child: id }: Sender): string | undefined {
  const child = children.get(reference)
  if (child && isAttempt(child, id)) return reference
  if (reference !== id) return undefined
  for (const [each, { id: known }] of children) if (known === id) return each
  return undefined
}

function decide(state: ThreadState, { call, decision, edited, comment, by }: CommandByKind['decide']): Decision {
  // A person may decline whatever they were asked for, values for a child too.
  const declined =
    decision === 'reject' && !hasEnded(state) ? decline(state, { call, ...defined({ comment, by }) }) : undefined
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
  return {
    facts: [{ type: 'call.decided', ...held, decision, ...defined({ call: edited, comment, decidedBy: by }) }],
  }
}

function answer(state: ThreadState, { call, output, by }: CommandByKind['answer']): Decision {
  const held = heldCall(state, call, ['person'])
  if ('code' in held) return { refused: held }
  return { facts: [{ type: 'call.answered', ...held, output, ...defined({ answeredBy: by }) }] }
}

interface CallPosition {
  readonly step: number
  readonly index: number
}

/** Where the call is, if it is held for one of these reasons. */
function heldCall(state: ThreadState, call: string, reasons: readonly HoldReason[]): CallPosition | Failure {
  const position = parseCallId(call)
  const slot = position && slotAt(state, position)
  if (position && slot?.hold && reasons.includes(slot.hold.why) && !slot.outcome) return position
  if (slot?.hold)
    return failure('COMMAND_REFUSED', `call ${call} of thread ${state.id} waits for ${waitedFor(slot.hold)}`)
  const made = position ? wasMade(state, position) : 'no'
  if (made === 'no') return failure('COMMAND_REFUSED', `thread ${state.id} has no call ${call}`)
  const text = `call ${call} of thread ${state.id} waits for nothing: it was decided, answered or ended before`
  return failure('COMMAND_REFUSED', made === 'yes' ? text : `${text}, or there is no such call`)
}

function slotAt({ step, slots, turn }: ThreadState, position: CallPosition): Slot | undefined {
  return turn && position.step === step ? slots.items[position.index] : undefined
}

/** `maybe`: the message of its step is not in memory, or a rewind has undone it. */
function wasMade({ step, slots, transcript }: ThreadState, position: CallPosition): 'yes' | 'no' | 'maybe' {
  if (position.step === step && position.index < slots.items.length) return 'yes'
  if (position.step < 1 || position.step > step) return 'no'
  const message = transcript.items.findLast(({ id }) => id === `step_${position.step}`)
  if (!message) return position.step === step ? 'no' : 'maybe'
  return position.index < (message.calls?.length ?? 0) ? 'yes' : 'no'
}

function waitedFor({ why, missing = [] }: HeldSlot): string {
  if (why === 'variables') return `variables: set ${missing.join(', ')}`
  return why === 'approval' ? 'an approval: approve or reject it' : 'an output: answer it'
}

function changeEnv(state: ThreadState, { kind: _, ...env }: CommandByKind['env']): Decision {
  // A parent passes its values on before it knows that this thread has ended.
  if (hasEnded(state) && env.level === 'inherited') return noFacts
  return refuseEnded(state, 'takes no more variables') ?? { facts: [{ type: 'env.changed', ...env }] }
}

function change(state: ThreadState, command: CommandByKind['change']): Decision {
  const ended = refuseEnded(state, 'is not changed any more')
  if (ended) return ended
  if (command.reads && stale(state.files, command.reads)) {
    const why = `what was read of thread ${state.id} has changed since`
    return { refused: failure('COMMAND_REFUSED', why, { retry: true, data: { stale: true } }) }
  }
  if (removesUnknownSchedule(state, command.changes))
    return refuse(
      'COMMAND_REFUSED',
      `thread ${state.id} has no such schedule: its call was queued, or it was taken back`,
    )
  return { facts: [{ type: 'thread.changed', changes: command.changes }] }
}

function removesUnknownSchedule({ values }: ThreadState, { schedules = [] }: Changes): boolean {
  const removed = schedules.filter(({ op }) => op === 'remove')
  return removed.some(({ id }) => !schedulesIn(values[schedulesKey]?.value).some((known) => known.id === id))
}
