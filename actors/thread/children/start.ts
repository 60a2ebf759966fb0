/**
 * Starting a child: one way for a call of the step, for a child that was given its values (S6) and for another try
 * (B5). What it may start with, what that changes here, and the mail that goes out are made of one thing, the start.
 *
 * - A start is known by its key: the mail that begins it has no other id, so that starting twice is starting once.
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
import { freezeTree } from '../../../src/core/tree.js'
import type { FrozenTree } from '../../../src/core/tree.js'
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
}

/** What a supervised child was asked, while that is not answered. */
export type SupervisedCall = Omit<Start, 'grant'>

/** What it starts with. */
export interface StartTerms extends Pick<ChildCalled, 'attachments' | 'grant'> {}

type Starting = ChildCalled | ChildBooted | ChildRestarted

type Refused = { readonly refused: Failure }

interface How {
  /** The files that go with it were taken before. */
  readonly kept?: FrozenTree | undefined
  readonly verb?: string
}

/** Undefined as long as it must wait. */
export function termsFor(
  state: ThreadState,
  call: ChildCall,
  { kept, verb = 'called' }: How = {},
): StartTerms | Refused | undefined {
  const way = mayStartChild(state, call)
  if (way === 'wait') return undefined
  if (way !== 'call') return { refused: way }
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
  const brought = kept ? { attachments: kept } : attachmentsFor(state, call)
  return 'refused' in brought ? brought : { ...brought, ...defined({ grant }) }
}

type Bringing = Pick<ChildCall, 'attachments' | 'reference'>

/** AH2 */
export function attachmentsFor(
  { files }: Pick<ThreadState, 'files'>,
  { attachments: paths, reference }: Bringing,
): Pick<StartTerms, 'attachments'> | Refused {
  if (!paths?.length) return {}
  const found = collectAttachments(files, paths)
  if (found.broken.length === 0) return { attachments: found.files }
  const why =
    `${brokenText(found.broken)}; nothing was sent to ${reference}. Attachments are absolute paths of ` +
    `your own files.`
  return { refused: failure('TOOL_INPUT_INVALID', why) }
}

/**
 * The start that a record tells of, found in the state before the record is folded and after it. Undefined: it was
 * refused.
 */
export function startOf(state: ThreadState, record: Starting): Start | undefined {
  if (record.refused) return undefined
  const { grant } = record
  const attachments = record.type === 'child.restarted' ? undefined : record.attachments
  const terms = { ...defined({ attachments, grant }) }
  if (record.type === 'child.booted') {
    const { child: call, request } = record
    const base = call.files === 'fork' ? { base: freezeTree(state.files) } : {}
    return { ...terms, ...base, call, key: `${state.id}/${request}`, attempt: 1, failures: [] }
  }
  if (record.type === 'child.restarted') {
    const charge = state.children.get(record.reference)?.supervised
    return (
      charge && {
        ...charge,
        ...terms,
        call: { ...charge.call, thread: record.child, create: true },
        attempt: record.attempt,
      }
    )
  }
  const { step, index } = record
  const { items, side } = state.slots
  const slot = items[index]
  const call = slot?.call.child
  if (!call) return undefined
  const base = call.files === 'fork' ? { base: slot.base ?? freezeTree(state.files) } : {}
  const asked = { ...defined({ side }), ...(call.blocking && { waits: callId(step, index) }) }
  return { ...terms, ...base, ...asked, call, key: keyOfCall(state.id, step, index), attempt: 1, failures: [] }
}

/** What the mail of a call is known by, and the message that it brings. */
export function keyOfCall(thread: string, step: number, index: number): string {
  return `${thread}/${callKey(step, index)}`
}

/** The child has something to do; a new one is known from now on. */
export function startChild(state: ThreadState, { grant, ...begun }: Start): Child {
  const { call, side } = begun
  if (grant) reserve(state, grant)
  const child = known(state, call)
  if (side) child.side = side
  if (child.busy === 0) state.working++
  child.busy++
  // What is asked of it is kept until it is answered, first try or last.
  if (call.supervision) child.supervised = { ...begun, call: { ...call, thread: child.first ?? call.thread } }
  return child
}

function known(state: ThreadState, { reference, thread, agent, lasting, name, scoped, apart }: ChildCall): Child {
  const child = state.children.get(reference)
  if (child) {
    if (child.id === thread) return child
    child.first ??= child.id
    child.id = thread
    if (child.ended) state.living++
    delete child.ended
    delete child.lastMailNumber
    return child
  }
  const made: Child = { id: thread, agent, lasting, busy: 0, ...defined({ name, scoped, apart }) }
  state.children.set(reference, made)
  state.living++
  return made
}
