/**
 * Children: threads that answer calls of this one. A child is a call filled by another thread: the same slots, the same
 * journal, the same recovery. What is sent to a child or a parent goes out with the record that says so.
 *
 * KI1 A child is called once for each call; whatever is lost on the way is found in the journal and sent again.
 * KI2 Children are called in call order, when the ordinary calls before them are settled; then they work beside each other,
 *     `maxParallel` at once, and the rest wait in line (S12).
 * KI3 A report is taken once: by the call that waits for it, or as a message; one that nobody waits for changes nothing but
 *     what is known of the child (reports.ts).
 */
import type { Outcome } from '../../src/core/effect.js'
import { failure } from '../../src/core/failure.js'
import type { Failure } from '../../src/core/failure.js'
import { callId, failureText, parseCallId, resultText } from '../../src/core/message.js'
import type { SideName } from '../../src/core/message.js'
import { collect } from '../../src/core/attachments.js'
import type { ChildCall, ChildCalled, ChildReported, ChildRestarted, Fact } from '../../src/core/record.js'
import { freezeTree } from '../../src/core/tree.js'
import { answerHere } from './attach.js'
import { wayOf } from './line.js'
import { awaitsVerdict, close, hold, release } from './slots.js'
import type { Slot, Slots } from './slots.js'
import { grantFor, reserve } from './purse.js'
import { spentBelow } from './spending.js'
import { isOver, statusOf } from './state.js'
import type { Child, ThreadState } from './state.js'
import { childRestarted, giveUp, isAttempt, supervise } from './supervision.js'

interface Next {
  readonly index: number
  readonly refused?: Failure
}

/** The next call that a child may be called for, or that is refused one (KI2). */
function nextCall(state: ThreadState): Next | undefined {
  const { slots, turn, place } = state
  if (!turn || !slots.ordered || place.gate !== 'open') return undefined // LF1
  for (let index = Math.max(slots.called, slots.drained); index < slots.items.length; index++) {
    const slot = slots.items[index]
    const child = slot?.call.child
    if (slot?.outcome && !awaitsVerdict(slot)) continue
    // An ordinary call before it must be settled first.
    if (!slot || !child) return undefined
    const way = wayOf(state, child)
    return way === 'wait' ? undefined : way === 'call' ? { index } : { index, refused: way }
  }
  return undefined
}

/** What is to be done about children and whoever waits for this thread. */
export function dueOfChildren(state: ThreadState): Fact | undefined {
  const { toStop } = state
  const [first] = toStop
  if (first) {
    const children = toStop.filter(({ how }) => how === first.how).map(({ child }) => child)
    return { type: 'children.stopped', children, how: first.how, reason: isOver(state) ? `its parent is ${statusOf(state)}${state.endedFor === undefined ? '' : `: ${state.endedFor}`}` : 'nobody waits for it any more' }
  }
  const next = nextCall(state)
  return next && calling(state, next)
}

/** BG3 */
function calling(state: ThreadState, { index, refused }: Next): Fact | undefined {
  const { step, slots } = state
  const called = { type: 'child.called', step, index } as const
  if (refused) return { ...called, refused }
  const call = slots.items[index]?.call.child
  const grant = call && grantFor(state, call)
  if (grant === 'wait') return undefined
  if (grant === 'spent') return { ...called, refused: failure('BUDGET_SPENT', `${call?.reference ?? 'it'} was not called: nothing is left in the budget for it; go on without it`) }
  const attached = withAttachments(state, index)
  return { ...called, ...attached, ...(grant && !attached.refused && { grant }) }
}

/** It waits for children, and yet it is its own turn to call one. */
export function mayCall(state: ThreadState): boolean {
  const next = nextCall(state)
  return next !== undefined && calling(state, next) !== undefined
}

/** AH2 */
function withAttachments({ slots, files }: ThreadState, index: number): Pick<ChildCalled, 'attachments' | 'refused'> {
  const call = slots.items[index]?.call.child
  if (!call?.attachments?.length) return {}
  const found = collect(files, call.attachments)
  if ('files' in found) return { attachments: freezeTree(found.files) }
  return { refused: failure('TOOL_INPUT_INVALID', `there is no file ${JSON.stringify(found.missing)} to attach; nothing was sent to ${call.reference}. Attachments are absolute paths of your own files.`) }
}

/** The record says that the child was called. */
export function childCalled(state: ThreadState, { index, refused, grant, attachments, at }: ChildCalled & { readonly at: number }): boolean {
  const { slots } = state
  const slot = slots.items[index]
  const call = slot?.call.child
  if (!slot || !call || slot.sent || slot.outcome) return false
  slot.sent = true
  slots.called = index + 1
  if (refused) {
    close(slots, slot, { ok: false, failure: refused })
    return true
  }
  if (grant) reserve(state, grant)
  const child = putToWork(state, call, slots.side)
  if (call.files === 'fork') slot.base = freezeTree(state.files)
  if (call.supervision) child.charge = { call, step: state.step, index, attempt: 1, failures: [], ...(attachments && { attachments }), ...(slot.base && { base: slot.base }) }
  if (call.blocking) hold(slots, index, { why: 'children', at })
  else close(slots, slot, started(call))
  return true
}

/** The child has something to do; a new one is known from now on. */
export function putToWork(state: ThreadState, { reference, thread, agent, lasting, name, scoped }: ChildCall, side: SideName | undefined): Child {
  const known = state.children.get(reference)
  const child: Child = known ?? { id: thread, agent, lasting, busy: 0, ...(name !== undefined && { name }), ...(scoped && { scoped }) }
  if (!known) {
    state.children.set(reference, child)
    state.living++
  }
  if (side) child.side = side
  if (child.busy === 0) state.working++
  child.busy++
  return child
}

/** The answer to a call that does not wait for its child. */
export function started({ reference, create }: ChildCall): Outcome {
  return { ok: true, value: { reference, status: create ? 'started' : 'sent' } }
}

/** KI3: whether a call was answered by it. */
export function childReported(state: ThreadState, report: ChildReported & { readonly at: number }): 'answered' | 'noted' | 'unknown' {
  const { child: id, reference, call, over, number, spent, unasked } = report
  const child = state.children.get(reference)
  if (!child || !isAttempt(child, id)) return 'unknown'
  spentBelow(state, spent)
  // What an earlier attempt had below it comes late.
  if (child.id !== id) return 'noted'
  if (over && !child.over) {
    child.over = true
    state.living--
  }
  if (number !== undefined) child.heard = number
  if (unasked) return 'noted'
  // Of one that was not at work, it is nothing but news.
  if (child.busy > 0 && --child.busy === 0) state.working--
  // Nobody waits for it any more.
  if (child.charge && (isOver(state) || (child.charge.call.blocking && !waitingSlot(state, reference, call)))) delete child.charge
  const outcome = supervise(state, child, report)
  if (outcome === 'again') return 'noted'
  return deliver(state, child, outcome === report.outcome ? report : { ...report, outcome })
}

/** One that failed is not called again after all: that is its answer. */
export function restarted(state: ThreadState, record: ChildRestarted & { readonly at: number }): 'answered' | 'noted' {
  const child = state.children.get(record.reference)
  const charge = child?.charge
  const outcome = childRestarted(state, record)
  if (!outcome || !child || !charge) return 'noted'
  return deliver(state, child, { reference: record.reference, outcome, ...(charge.call.blocking && { call: callId(charge.step, charge.index) }) })
}

function waitingSlot({ step, slots }: ThreadState, reference: string, call: string | undefined): Slot | undefined {
  const place = call === undefined ? undefined : parseCallId(call)
  const slot = place?.step === step ? slots.items[place.index] : undefined
  return slot?.hold?.why === 'children' && slot.call.child?.reference === reference ? slot : undefined
}

type Answer = Pick<ChildReported, 'reference' | 'outcome' | 'call' | 'tree' | 'quiet' | 'attachments' | 'note'>

/** To the call that waits for it, or as a message. */
function deliver(state: ThreadState, child: Child, { reference, outcome, call, tree, quiet, attachments, note }: Answer): 'answered' | 'noted' {
  const slot = waitingSlot(state, reference, call)
  if (slot) {
    // The model speaks to it by this name from now on.
    const named = slot.call.tool === 'subagent_create'
    if (attachments || note !== undefined || named) slot.given = { ...(attachments && { attachments }), ...(note !== undefined && { note }), ...(named && { reference }) }
    if (!slot.base || !tree) {
      close(state.slots, slot, outcome)
      return 'answered'
    }
    release(state.slots, slot)
    slot.join = { outcome, tree }
    state.slots.joining++
    return 'noted'
  }
  if (quiet && !outcome.ok) child.says = failureText(outcome.failure)
  if (call === undefined && !quiet) {
    const here = outcome.ok ? answerHere(state, { value: outcome.value, ...(attachments && { attachments }), ...(note !== undefined && { note }) }, state.updatedAt) : undefined
    const said = outcome.ok ? [resultText(here?.value ?? outcome.value), ...(here?.below ?? [])].join('\n\n') : failureText(outcome.failure)
    const files = here && here.paths.length > 0 ? { attachments: here.paths } : {}
    state.queue.push({ message: { id: `report_${state.seq}`, role: 'user', text: `[${reference}] ${said}`, at: state.updatedAt, silent: true, ...files, ...(child.side && { to: child.side }) }, delivery: 'steer' })
  }
  return 'noted'
}

/** Calls that were given up leave children behind that work for nobody. */
export function abandon(state: ThreadState, slots: Slots): void {
  for (let index = slots.drained; index < slots.items.length; index++) stop(state, slots.items[index])
  giveUp(state, ({ call }) => call.blocking)
}

function stop(state: ThreadState, slot: Slot | undefined): void {
  const call = slot?.call.child
  if (!slot?.sent || slot.outcome || !call) return
  const child = state.children.get(call.reference)
  // One that failed and was to be called again.
  if (child?.charge && child.over) return
  state.toStop.push({ child: child?.id ?? call.thread, how: call.lasting ? 'cancel' : 'terminate' })
}

/** The thread is over, and its children with it. */
export function abandonAll(state: ThreadState): void {
  giveUp(state, () => true)
  for (const { id, over } of state.children.values()) if (!over) state.toStop.push({ child: id, how: 'terminate' })
}
