/**
 * Children: threads that answer calls of this one. A child is a call filled by another thread: the same slots, the same
 * journal, the same recovery. Mail to a child or a parent goes out with the record that causes it.
 *
 * - A child is called once for each call; mail that is lost on the way is found in the journal and sent again.
 * KI2 Children are called in call order, when the ordinary calls before them are settled; then they work beside each
 *     other, `maxParallel` at once, and the rest wait in line (S12).
 * - A report is taken once: by the call that waits for it, or as a message; one that nobody waits for changes
 *   nothing but what is known of the child (reports.ts).
 */
import { defined } from '../../../src/core/defined.js'
import type { Outcome } from '../../../src/core/effect.js'
import { failureText, parseCallId, resultText } from '../../../src/core/records/message.js'
import type { Message } from '../../../src/core/records/message.js'
import type {
  Began,
  ChildCall,
  ChildCalled,
  ChildReported,
  ChildRestarted,
  ChildrenStopped,
  Fact,
} from '../../../src/core/records/record.js'
import { withItem } from '../../../src/core/lists.js'
import { receiveAnswer } from './attachments.js'
import { frameChildText } from './frame.js'
import { close, fillByChild, hold, isSettled, release } from '../calls/slots.js'
import type { Slot, Slots } from '../calls/slots.js'
import { addUsageBelow } from '../budget/usage.js'
import { keyOfCall, startChild, startOf, termsFor } from './start.js'
import type { SupervisedCall } from './start.js'
import { hasEnded, statusOf } from '../state.js'
import { serialOf } from '../travel/lineage.js'
import type { Child, ThreadState } from '../state.js'
import { noteMail } from './mail-numbers.js'
import { giveUp, isAttempt, mayTryAgain, restart, supervise } from './supervision.js'
import { takeResults } from '../turn/results.js'

/** The next call that a child may be called for (KI2: in call order). */
function nextCall(state: ThreadState): { readonly index: number; readonly child: ChildCall } | undefined {
  const { slots, turn, position } = state
  if (!turn || !slots.ordered || position.gate !== 'open') return undefined // LF1: a paused thread calls no child
  for (let index = Math.max(slots.called, slots.drained); index < slots.items.length; index++) {
    const slot = slots.items[index]
    const child = slot?.call.child
    if (slot && isSettled(slot)) continue
    // An ordinary call before it must be settled first, and what a person is to approve is not begun.
    return slot && child && slot.hold?.why !== 'approval' ? { index, child } : undefined
  }
  return undefined
}

/** The next children that are told to stop, or the next one that is called. */
export function dueOfChildren(state: ThreadState): Fact | undefined {
  return dueStop(state) ?? dueCall(state)
}

function dueStop(state: ThreadState): ChildrenStopped | undefined {
  const { toStop, endedFor } = state
  const [first] = toStop
  if (!first) return undefined
  const { how } = first
  const alike = toStop.filter((each) => each.how === how)
  const messages = alike.flatMap(({ message }) => (message === undefined ? [] : [message]))
  return {
    type: 'children.stopped',
    children: [...new Set(alike.map(({ child }) => child))],
    how,
    ...(messages.length > 0 && { messages }),
    reason: hasEnded(state)
      ? `its parent is ${statusOf(state)}${endedFor === undefined ? '' : `: ${endedFor}`}`
      : 'nobody waits for it any more',
  }
}

export function childrenStopped(state: ThreadState, { children }: ChildrenStopped): boolean {
  const stopped = new Set(children)
  state.toStop = state.toStop.filter(({ child }) => !stopped.has(child))
  return true
}

/** The next child is called, or refused; undefined as long as none can be. */
function dueCall(state: ThreadState): ChildCalled | undefined {
  const next = nextCall(state)
  const terms = next && termsFor(state, next.child)
  return terms && { type: 'child.called', step: state.step, index: next.index, ...terms }
}

/** Whether a thread in `waiting.children` could start another child now. */
export function mayCall(state: ThreadState): boolean {
  return dueCall(state) !== undefined
}

export function childCalled(state: ThreadState, record: ChildCalled & { readonly at: number }): boolean {
  if (!beginCall(state, record)) return false
  takeResults(state, record.at)
  return true
}

function beginCall(state: ThreadState, record: ChildCalled & { readonly at: number }): boolean {
  const { slots } = state
  const slot = slots.items[record.index]
  if (!slot?.call.child || slot.sent || slot.outcome) return false
  slot.sent = true
  slots.sent++
  slot.startedAt = record.at
  slots.called = record.index + 1
  const start = startOf(state, record)
  if (!start) {
    if (record.refused) close(slots, slot, { ok: false, failure: record.refused })
    return true
  }
  startChild(state, start)
  if (start.base) slot.base = start.base
  if (start.waits !== undefined) hold(slots, record.index, { why: 'children', at: record.at })
  else fillByChild(slots, slot, started(start.call))
  return true
}

/** The answer to a call that does not wait for its child. */
function started({ reference, create }: ChildCall): Outcome {
  return { ok: true, value: { reference, status: create ? 'started' : 'sent' } }
}

export function childReported(state: ThreadState, report: ChildReported & { readonly at: number }): boolean {
  const effect = takeReport(state, report)
  if (effect === 'answered') takeResults(state, report.at)
  return effect !== 'unknown'
}

/** `answered`: a call here has its outcome. */
function takeReport(
  state: ThreadState,
  report: ChildReported & { readonly at: number },
): 'answered' | 'noted' | 'unknown' {
  const { child: id, reference, call, over, number, spent, unasked, began } = report
  const child = state.children.get(reference)
  if (!child || !isAttempt(child, id)) return 'unknown'
  noteMail(child, id, number)
  addUsageBelow(state, spent)
  // An earlier attempt reports late what was spent below it.
  if (child.id !== id) return 'noted'
  if (over && !child.ended) {
    child.ended = true
    state.living--
  }
  if (unasked) return 'noted'
  if (began) return deliver(state, child, report)
  // A child that was not at work reports by itself: no place becomes free.
  if (child.busy > 0 && --child.busy === 0) state.working--
  if (child.supervised && !isWanted(state, child.supervised, call)) delete child.supervised
  const outcome = supervise(state, child, report)
  if (outcome === 'again') return 'noted'
  return deliver(state, child, outcome === report.outcome ? report : { ...report, outcome })
}

/** A call still waits for the supervised child, or its answer will be a message. */
function isWanted(
  state: ThreadState,
  { waits, call: { reference } }: SupervisedCall,
  call: string | undefined,
): boolean {
  return !hasEnded(state) && (waits === undefined || waitingSlot(state, reference, call) !== undefined)
}

/** Whether a supervised child that failed is tried again, as it is recorded with its report. */
export function retryOf(
  state: ThreadState,
  report: Omit<ChildReported, 'type'>,
  now: number,
): Pick<ChildReported, 'again'> {
  const child = state.children.get(report.reference)
  const supervised = child?.id === report.child && !report.unasked && !report.began ? child.supervised : undefined
  return supervised && report.failed
    ? { again: isWanted(state, supervised, report.call) && mayTryAgain(supervised, report, now) }
    : {}
}

/** A child that could not be restarted after all: its failure is the answer. */
export function childRestarted(state: ThreadState, record: ChildRestarted & { readonly at: number }): boolean {
  const { reference, at } = record
  const child = state.children.get(reference)
  const supervised = child?.supervised
  const outcome = restart(state, record)
  if (!outcome || !child || !supervised) return true
  const effect = deliver(state, child, { reference, outcome, ...defined({ call: supervised.waits }) })
  if (effect === 'answered') takeResults(state, at)
  return true
}

function waitingSlot({ step, slots }: ThreadState, reference: string, call: string | undefined): Slot | undefined {
  const position = call === undefined ? undefined : parseCallId(call)
  const slot = position?.step === step ? slots.items[position.index] : undefined
  return slot?.hold?.why === 'children' && slot.call.child?.reference === reference ? slot : undefined
}

type Answer = Pick<
  ChildReported,
  'reference' | 'outcome' | 'call' | 'tree' | 'quiet' | 'attachments' | 'note' | 'began'
>

/** To the call that waits for the answer, or as a message. */
function deliver(state: ThreadState, child: Child, answer: Answer): 'answered' | 'noted' {
  const { reference, outcome, call, quiet } = answer
  const slot = waitingSlot(state, reference, call)
  if (slot) {
    slot.endedAt = state.updatedAt
    return fillSlot(state.slots, slot, { child, answer })
  }
  if (quiet && !outcome.ok) child.statusText = failureText(outcome.failure)
  if (call === undefined && !quiet) queueAnswer(state, child, answer)
  return 'noted'
}

function fillSlot(
  slots: Slots,
  slot: Slot,
  { child, answer }: { readonly child: Child; readonly answer: Answer },
): 'answered' | 'noted' {
  const { outcome, tree, attachments, note } = answer
  // The model speaks to the child by this name from now on, also where its first turn failed and it lives.
  const isNamed = slot.call.tool === 'subagent_create' && (outcome.ok || !child.ended)
  const reference = isNamed ? answer.reference : undefined
  if (attachments || note !== undefined || isNamed) slot.given = defined({ attachments, note, reference })
  if (!slot.base || !tree) {
    fillByChild(slots, slot, outcome)
    return 'answered'
  }
  release(slots, slot)
  slot.join = { outcome, tree }
  slots.joining++
  return 'noted'
}

function queueAnswer(state: ThreadState, { side }: Child, answer: Answer): void {
  const { reference, began } = answer
  const at = state.updatedAt
  const { text, below, paths } = readAnswer(state, answer, at)
  const framed = frameChildText(reference, text, began && beganText(began))
  const message: Message = {
    id: `report_${serialOf(state)}`,
    role: 'user',
    text: [framed, ...below].join('\n\n'),
    at,
    silent: true,
    ...(paths.length > 0 && { attachments: paths }),
    ...defined({ to: side }),
  }
  state.queue = withItem(state.queue, { message, delivery: 'steer', from: reference })
}

/** `below`: what this thread adds, which is not the child's own text. */
function readAnswer(state: ThreadState, { outcome, attachments, note }: Answer, at: number) {
  if (!outcome.ok) return { text: failureText(outcome.failure), below: note === undefined ? [] : [note], paths: [] }
  const { value, below, paths } = receiveAnswer(state, { value: outcome.value, ...defined({ attachments, note }) }, at)
  return { text: resultText(value), below, paths }
}

function beganText({ by, of }: Began): string {
  if (by === 'report') return `a report of ${of ?? 'a child'}`
  return by === 'resume' ? 'resume' : `a ${by}`
}

/** Children of calls that are given up with their turn are told to stop. */
export function abandonCalls(state: ThreadState): void {
  const { slots } = state
  for (let index = slots.drained; index < slots.items.length; index++) stop(state, index)
  giveUp(state, ({ waits }) => waits !== undefined)
}

function stop(state: ThreadState, index: number): void {
  const slot = state.slots.items[index]
  const call = slot?.call.child
  if (!slot?.sent || slot.outcome || !call) return
  const child = state.children.get(call.reference)
  // It failed and was to be restarted: nothing runs.
  if (child?.supervised && child.ended) return
  const id = child?.id ?? call.thread
  state.toStop = withItem(
    state.toStop,
    call.lasting
      ? { child: id, how: 'cancel', message: keyOfCall(state.id, state.step, index) }
      : { child: id, how: 'terminate' },
  )
}

/** Children end with their parent. */
export function stopChildren(state: ThreadState): void {
  giveUp(state, () => true)
  for (const { id, ended } of state.children.values())
    if (!ended) state.toStop = withItem(state.toStop, { child: id, how: 'terminate' })
}
