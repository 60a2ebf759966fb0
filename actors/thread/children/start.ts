/**
 * Starting a child: one way for a call of the step, for a child that was given its values (S6) and for a restart (B5).
 * What it may start with, what that changes here, and the mail that goes out are made of one thing, the `Start`.
 *
 * - A start has a key, which is the id of its mail: starting twice is starting once.
 * - What is missing (a place, a budget, a file) is found out before anything is sent, in this order for every start.
 */
import { brokenText, collectAttachments } from '../../../src/core/attachments.js'
import { defined } from '../../../src/core/defined.js'
import { callKey } from '../../../src/core/effect.js'
import { failure } from '../../../src/core/failure.js'
import type { Failure } from '../../../src/core/failure.js'
import { callId } from '../../../src/core/records/message.js'
import type { SideName } from '../../../src/core/records/message.js'
import type { ChildBooted, ChildCall, ChildCalled, ChildRestarted } from '../../../src/core/records/record.js'
import { traceBelow } from '../../../src/core/trace/trace.js'
import { freezeTree } from '../../../src/core/tree.js'
import type { FrozenTree } from '../../../src/core/tree.js'
import { withKey } from '../../../src/core/lists.js'
import { mayStartChild } from './admission.js'
import { grantFor, reserve } from '../budget/budget.js'
import type { Child, ThreadState } from '../state.js'

/** A child that begins, or is spoken to. */
export interface Start extends StartTerms {
  readonly key: string
  readonly call: ChildCall
  /** The call here that waits for its answer. */
  readonly waits?: string
  /** The files that it begins with. */
  readonly base?: FrozenTree
  /** The side that asked for it, where there are two. */
  readonly side?: SideName
  /** The first one is 1. */
  readonly attempt: number
  /** When earlier ones have failed. */
  readonly failures: readonly number[]
  /** The trace of the turn that asked for it, below the call. */
  readonly trace?: string
}

/** What a supervised child was asked, while that is not answered. */
export type SupervisedCall = Omit<Start, 'grant'>

/** What it starts with. */
export interface StartTerms extends Pick<ChildCalled, 'attachments' | 'grant'> {}

type Starting = ChildCalled | ChildBooted | ChildRestarted

type Refused = { readonly refused: Failure }

interface StartOptions {
  /** Files that were collected when the child was asked for. Default: those that the call names, as they are now. */
  readonly attachments?: FrozenTree | undefined
  /** What did not happen to the child, in a refusal. */
  readonly verb?: string
}

/** Undefined as long as it must wait. */
export function termsFor(
  state: ThreadState,
  call: ChildCall,
  { attachments, verb = 'called' }: StartOptions = {},
): StartTerms | Refused | undefined {
  const admission = mayStartChild(state, call)
  if (admission === 'wait') return undefined
  if (admission !== 'call') return { refused: admission }
  const grant = grantFor(state, call)
  if (grant === 'wait') return undefined
  if (grant === 'spent') {
    return {
      refused: failure(
        'BUDGET_SPENT',
        `${call.reference} was not ${verb}: nothing is left in the budget for it; go on without it`,
      ),
    }
  }
  const files = attachments ? { attachments } : attachmentsFor(state, call)
  return 'refused' in files ? files : { ...files, ...defined({ grant }) }
}

/** The files that a call names, collected; a path that names none refuses the call. */
export function attachmentsFor(
  { files }: Pick<ThreadState, 'files'>,
  { attachments: paths, reference }: Pick<ChildCall, 'attachments' | 'reference'>,
): Pick<StartTerms, 'attachments'> | Refused {
  if (!paths?.length) return {}
  const found = collectAttachments(files, paths)
  if (found.broken.length === 0) return { attachments: found.files }
  const why =
    `${brokenText(found.broken)}; nothing was sent to ${reference}. Attachments are absolute paths of ` +
    `your own files.`
  return { refused: failure('TOOL_INPUT_INVALID', why) }
}

/** The start that a record causes; the same before and after the record is folded. Undefined: it was refused. */
export function startOf(state: ThreadState, record: Starting): Start | undefined {
  if (record.refused) return undefined
  switch (record.type) {
    case 'child.called':
      return startOfCall(state, record)
    case 'child.booted':
      return startOfDeferred(state, record)
    case 'child.restarted':
      return startOfRestart(state, record)
  }
}

function startOfCall(
  { id, files, slots, turn }: ThreadState,
  { step, index, attachments, grant }: ChildCalled,
): Start | undefined {
  const slot = slots.items[index]
  const call = slot?.call.child
  if (!call) return undefined
  const base = call.files === 'fork' ? (slot.base ?? freezeTree(files)) : undefined
  const waits = call.blocking ? callId(step, index) : undefined
  const trace = turn?.trace && traceBelow(turn.trace, id, callKey(step, index))
  return {
    call,
    key: keyOfCall(id, step, index),
    attempt: 1,
    failures: [],
    ...defined({ attachments, grant, base, side: slots.side, waits, trace }),
  }
}

function startOfDeferred({ id, files }: ThreadState, record: ChildBooted): Start {
  const { child: call, request, attachments, grant, trace } = record
  const base = call.files === 'fork' ? freezeTree(files) : undefined
  return { call, key: `${id}/${request}`, attempt: 1, failures: [], ...defined({ attachments, grant, base, trace }) }
}

function startOfRestart(
  { children }: ThreadState,
  { reference, child: thread, attempt, grant }: ChildRestarted,
): Start | undefined {
  const supervised = children.get(reference)?.supervised
  if (!supervised) return undefined
  return { ...supervised, ...defined({ grant }), call: { ...supervised.call, thread, create: true }, attempt }
}

/** The id of the mail of a call, and of the message in it. */
export function keyOfCall(thread: string, step: number, index: number): string {
  return `${thread}/${callKey(step, index)}`
}

/** The child has something to do; a new one is known from now on. */
export function startChild(state: ThreadState, { grant, ...start }: Start): Child {
  const { call, side } = start
  if (grant) reserve(state, grant)
  const child = childOf(state, call)
  if (side) child.side = side
  if (child.busy === 0) state.working++
  child.busy++
  // Kept until it is answered, for another attempt.
  if (call.supervision) child.supervised = { ...start, call: { ...call, thread: child.first ?? call.thread } }
  return child
}

/** The child of this reference; another thread of the same reference is another attempt. */
function childOf(state: ThreadState, { reference, thread, agent, lasting, name, scoped, apart }: ChildCall): Child {
  const child = state.children.get(reference)
  if (child) {
    if (child.id === thread) return child
    child.first ??= child.id
    child.earlierMail = { ...child.earlierMail, [child.id]: child.lastMailNumber ?? 0 }
    child.id = thread
    if (child.ended) state.living++
    delete child.ended
    delete child.lastMailNumber
    return child
  }
  const created: Child = { id: thread, agent, lasting, busy: 0, ...defined({ name, scoped, apart }) }
  state.children = withKey(state.children, reference, created)
  state.living++
  return created
}
