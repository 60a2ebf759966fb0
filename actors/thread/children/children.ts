/**
 * Children: threads that answer calls of this one. A child is a call filled by another thread: the same slots, the same
 * journal, the same recovery. What is sent to a child or a parent goes out with the record that says so.
 *
 * - A child is called once for each call; whatever is lost on the way is found in the journal and sent again.
 * KI2 Children are called in call order, when the ordinary calls before them are settled; then they work beside each
 *     other, `maxParallel` at once, and the rest wait in line (S12).
 * - A report is taken once: by the call that waits for it, or as a message; one that nobody waits for changes
 *   nothing but what is known of the child (reports.ts).
 */
import { defined } from '../../../src/core/defined.js'
import type { Outcome } from '../../../src/core/effect.js'
import { failureText, parseCallId, resultText } from '../../../src/core/records/message.js'
import type {
  Began,
  ChildCall,
  ChildCalled,
  ChildReported,
  ChildRestarted,
  Fact,
} from '../../../src/core/records/record.js'
import { receiveAnswer } from './attachments.js'
import { frameChildText } from './frame.js'
import { awaitsVerdict, close, hold, release } from '../calls/slots.js'
import type { Slot, Slots } from '../calls/slots.js'
import { addUsageBelow } from '../budget/usage.js'
import { keyOfCall, startChild, startOf, termsFor } from './start.js'
import type { SupervisedCall } from './start.js'
import { hasEnded, statusOf } from '../state.js'
import type { Child, ThreadState } from '../state.js'
import { childRestarted, giveUp, isAttempt, mayTryAgain, supervise } from './supervision.js'

/** The next call that a child may be called for (KI2). */
function nextCall(state: ThreadState): { readonly index: number; readonly child: ChildCall } | undefined {
  const { slots, turn, position: place } = state
  if (!turn || !slots.ordered || place.gate !== 'open') return undefined // LF1
  for (let index = Math.max(slots.called, slots.drained); index < slots.items.length; index++) {
    const slot = slots.items[index]
    const child = slot?.call.child
    if (slot?.outcome && !awaitsVerdict(slot)) continue
    // An ordinary call before it must be settled first.
    return slot && child ? { index, child } : undefined
  }
  return undefined
}

/** What is to be done about children and whoever waits for this thread. */
export function dueOfChildren(state: ThreadState): Fact | undefined {
  const { toStop } = state
  const [first] = toStop
  if (first) {
    const alike = toStop.filter(({ how }) => how === first.how)
    const messages = alike.flatMap(({ message }) => (message === undefined ? [] : [message]))
    return {
      type: 'children.stopped',
      children: [...new Set(alike.map(({ child }) => child))],
      how: first.how,
      ...(messages.length > 0 && { messages }),
      reason: hasEnded(state)
        ? `its parent is ${statusOf(state)}${state.endedFor === undefined ? '' : `: ${state.endedFor}`}`
        : 'nobody waits for it any more',
    }
  }
  return calling(state)
}

/** The next child is called, or refused; undefined as long as none can be. */
function calling(state: ThreadState): ChildCalled | undefined {
  const next = nextCall(state)
  const terms = next && termsFor(state, next.child)
  return terms && { type: 'child.called', step: state.step, index: next.index, ...terms }
}

/** It waits for children, and yet it is its own turn to call one. */
export function mayCall(state: ThreadState): boolean {
  return calling(state) !== undefined
}

/** The record says that the child was called. */
export function childCalled(state: ThreadState, record: ChildCalled & { readonly at: number }): boolean {
  const { slots } = state
  const slot = slots.items[record.index]
  if (!slot?.call.child || slot.sent || slot.outcome) return false
  slot.sent = true
  slots.called = record.index + 1
  const begun = startOf(state, record)
  if (!begun) {
    if (record.refused) close(slots, slot, { ok: false, failure: record.refused })
    return true
  }
  startChild(state, begun)
  slot.base = begun.base
  if (begun.waits !== undefined) hold(slots, record.index, { why: 'children', at: record.at })
  else close(slots, slot, started(begun.call))
  return true
}

/** The answer to a call that does not wait for its child. */
function started({ reference, create }: ChildCall): Outcome {
  return { ok: true, value: { reference, status: create ? 'started' : 'sent' } }
}

/** Whether a call was answered by it. */
export function childReported(
  state: ThreadState,
  report: ChildReported & { readonly at: number },
): 'answered' | 'noted' | 'unknown' {
  const { child: id, reference, call, over, number, spent, unasked, began } = report
  const child = state.children.get(reference)
  if (!child || !isAttempt(child, id)) return 'unknown'
  addUsageBelow(state, spent)
  // What an earlier attempt had below it comes late.
  if (child.id !== id) return 'noted'
  if (over && !child.ended) {
    child.ended = true
    state.living--
  }
  if (number !== undefined) child.lastMailNumber = number
  if (unasked) return 'noted'
  if (began) return deliver(state, child, report)
  // Of one that was not at work, it is nothing but news.
  if (child.busy > 0 && --child.busy === 0) state.working--
  if (child.supervised && !isWanted(state, child.supervised, call)) delete child.supervised
  const outcome = supervise(state, child, report)
  if (outcome === 'again') return 'noted'
  return deliver(state, child, outcome === report.outcome ? report : { ...report, outcome })
}

/** Somebody waits for what it was asked, or will be told. */
function isWanted(
  state: ThreadState,
  { waits, call: { reference } }: SupervisedCall,
  call: string | undefined,
): boolean {
  return !hasEnded(state) && (waits === undefined || waitingSlot(state, reference, call) !== undefined)
}

/** Whether one that is supervised and failed is tried again, as it is recorded with its report. */
export function isRetried(
  state: ThreadState,
  report: Omit<ChildReported, 'type'>,
  now: number,
): Pick<ChildReported, 'again'> {
  const child = state.children.get(report.reference)
  const charge = child?.id === report.child && !report.unasked && !report.began ? child.supervised : undefined
  return charge && report.failed
    ? { again: isWanted(state, charge, report.call) && mayTryAgain(charge, report, now) }
    : {}
}

/** One that failed is not called again after all: that is its answer. */
export function restartCall(
  state: ThreadState,
  record: ChildRestarted & { readonly at: number },
): 'answered' | 'noted' {
  const child = state.children.get(record.reference)
  const charge = child?.supervised
  const outcome = childRestarted(state, record)
  if (!outcome || !child || !charge) return 'noted'
  return deliver(state, child, {
    reference: record.reference,
    outcome,
    ...(charge.waits !== undefined && { call: charge.waits }),
  })
}

function waitingSlot({ step, slots }: ThreadState, reference: string, call: string | undefined): Slot | undefined {
  const place = call === undefined ? undefined : parseCallId(call)
  const slot = place?.step === step ? slots.items[place.index] : undefined
  return slot?.hold?.why === 'children' && slot.call.child?.reference === reference ? slot : undefined
}

type Answer = Pick<
  ChildReported,
  'reference' | 'outcome' | 'call' | 'tree' | 'quiet' | 'attachments' | 'note' | 'began'
>

/** To the call that waits for it, or as a message. */
function deliver(state: ThreadState, child: Child, answer: Answer): 'answered' | 'noted' {
  const { reference, outcome, call, tree, quiet, attachments, note } = answer
  const slot = waitingSlot(state, reference, call)
  if (slot) {
    // The model speaks to it by this name from now on, also where its first turn failed and it lives.
    const named = slot.call.tool === 'subagent_create' && (outcome.ok || !child.ended)
    if (attachments || note !== undefined || named)
      slot.given = { ...defined({ attachments, note }), ...(named && { reference }) }
    if (!slot.base || !tree) {
      close(state.slots, slot, outcome)
      return 'answered'
    }
    release(state.slots, slot)
    slot.join = { outcome, tree }
    state.slots.joining++
    return 'noted'
  }
  if (quiet && !outcome.ok) child.statusText = failureText(outcome.failure)
  if (call === undefined && !quiet) tell(state, child, answer)
  return 'noted'
}

/** As a message of its own. */
function tell(state: ThreadState, { side }: Child, { reference, outcome, attachments, note, began }: Answer): void {
  const at = state.updatedAt
  const notes = note === undefined ? [] : [note]
  const here = outcome.ok
    ? receiveAnswer(state, { value: outcome.value, ...defined({ attachments, note }) }, at)
    : undefined
  // What stands below is of this thread, not of the child.
  const [said, below] = here
    ? [resultText(here.value), here.below]
    : [outcome.ok ? '' : failureText(outcome.failure), notes]
  const files = here && here.paths.length > 0 ? { attachments: here.paths } : {}
  const text = [frameChildText(reference, `${began ? `(begun by ${beganText(began)}) ` : ''}${said}`), ...below].join(
    '\n\n',
  )
  state.queue.push({
    message: { id: `report_${state.seq}`, role: 'user', text, at, silent: true, ...files, ...defined({ to: side }) },
    delivery: 'steer',
    from: reference,
  })
}

function beganText({ by, of }: Began): string {
  if (by === 'report') return `a report of ${of ?? 'a child'}`
  return by === 'resume' ? 'resume' : `a ${by}`
}

/** Calls that were given up leave children behind that work for nobody. */
export function abandonCall(state: ThreadState, slots: Slots): void {
  for (let index = slots.drained; index < slots.items.length; index++) stop(state, index)
  giveUp(state, ({ waits }) => waits !== undefined)
}

function stop(state: ThreadState, index: number): void {
  const slot = state.slots.items[index]
  const call = slot?.call.child
  if (!slot?.sent || slot.outcome || !call) return
  const child = state.children.get(call.reference)
  // One that failed and was to be called again.
  if (child?.supervised && child.ended) return
  const id = child?.id ?? call.thread
  state.toStop.push(
    call.lasting
      ? { child: id, how: 'cancel', message: keyOfCall(state.id, state.step, index) }
      : { child: id, how: 'terminate' },
  )
}

/** The thread is over, and its children with it. */
export function abandonCalls(state: ThreadState): void {
  giveUp(state, () => true)
  for (const { id, ended: over } of state.children.values())
    if (!over) state.toStop.push({ child: id, how: 'terminate' })
}
