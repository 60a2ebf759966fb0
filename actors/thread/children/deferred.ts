/**
 * Deferred children: those that need values which only people have (S6). The request is kept here until it is answered.
 *
 * - A request is answered once: with its values it becomes a child, and is removed.
 * - An incomplete answer is refused, and nothing of it is kept.
 * - A request that is declined is removed, and the model reads that like a report of the child.
 */
import { defined } from '../../../src/core/defined.js'
import type { Command } from '../../../src/core/records/command.js'
import { callKey } from '../../../src/core/effect.js'
import { failure } from '../../../src/core/failure.js'
import { failureText } from '../../../src/core/records/message.js'
import type { Message, SideName } from '../../../src/core/records/message.js'
import type {
  ChildBooted,
  Fact,
  RecordedCall,
  VariablesDeclined,
  VariablesProvided,
} from '../../../src/core/records/record.js'
import { traceBelow } from '../../../src/core/trace/trace.js'
import { noEntries, withEntry, withItem } from '../../../src/core/lists.js'
import { frameChildText } from './frame.js'
import type { Decision } from '../decide/decision.js'
import { declineTexts, valuesDeclined } from '../turn/results.js'
import { startChild, startOf, termsFor } from './start.js'
import type { DeferredChild, ThreadState } from '../state.js'
import { serialOf } from '../travel/lineage.js'

/** Keeps the requests of the calls of a step. */
export function defer(
  state: ThreadState,
  calls: readonly RecordedCall[],
  origin: Pick<DeferredChild, 'at' | 'side'>,
): void {
  const { id, step, turn } = state
  for (const [index, { tool, deferred }] of calls.entries()) {
    if (!deferred) continue
    const trace = turn?.trace && traceBelow(turn.trace, id, callKey(step, index))
    state.requests = withEntry(state.requests, deferred.request, {
      ...deferred,
      tool,
      ...origin,
      ...defined({ trace }),
    })
  }
}

export function provide(
  { id, requests }: ThreadState,
  { request, keys, set }: Extract<Command, { kind: 'provide' }>,
): Decision {
  const known = Object.hasOwn(requests, request) ? requests[request] : undefined
  if (!known || known.ready)
    return {
      refused: failure(
        'UNKNOWN_REQUEST',
        `thread ${id} has no open request ${JSON.stringify(request)}: it was answered before, or never made`,
        { data: { thread: id, request } },
      ),
    }
  const missing = known.missing.filter((name) => !Object.hasOwn(set, name))
  if (missing.length > 0)
    return {
      refused: failure(
        'VARIABLES_REQUIRED',
        `nothing was stored: ${known.child.reference} also needs ${missing.join(', ')}`,
        { data: { missing, required: known.required } },
      ),
    }
  return { facts: [{ type: 'variables.provided', request, keys, set }] }
}

type Declining = Pick<Extract<Command, { kind: 'decide' }>, 'call' | 'comment' | 'by'>

/** Undefined: there is no such request. */
export function decline({ requests }: ThreadState, { call: request, comment, by }: Declining): Decision | undefined {
  const known = Object.hasOwn(requests, request) ? requests[request] : undefined
  if (!known || known.ready) return undefined
  return { facts: [{ type: 'variables.declined', request, ...defined({ comment, declinedBy: by }) }] }
}

export function absorbOfRequests(
  state: ThreadState,
  record: VariablesProvided | VariablesDeclined | ChildBooted,
): boolean {
  if (record.type === 'variables.provided') return provided(state, record)
  return record.type === 'child.booted' ? booted(state, record) : declined(state, record)
}

function declined(state: ThreadState, { request, comment, declinedBy }: VariablesDeclined): boolean {
  const deferred = takeRequest(state, request)
  if (!deferred) return false
  const { who, why } = declineTexts({ comment, by: declinedBy })
  const { child, missing, side } = deferred
  const text = failureText(
    failure('TOOL_DENIED', `it was not started: ${valuesDeclined(missing)}${who}${why}; go on without it`),
  )
  queueNotice(state, child.reference, { text, side })
  return true
}

function takeRequest({ requests }: ThreadState, request: string): DeferredChild | undefined {
  const deferred = Object.hasOwn(requests, request) ? requests[request] : undefined
  delete requests[request]
  return deferred
}

function provided({ requests }: ThreadState, { request, keys, set }: VariablesProvided): boolean {
  const known = requests[request]
  if (!known || known.ready) return false
  known.ready = { keys, set }
  return true
}

/** The next child that has its values and may start. */
export function dueDeferred(state: ThreadState): Fact | undefined {
  // LF1: a paused thread calls no child.
  if (state.requests === noEntries || state.position.gate !== 'open') return undefined
  for (const { request, child, ready, files, trace } of Object.values(state.requests)) {
    if (!ready) continue
    const own = {
      keys: [...new Set([...(child.own?.keys ?? []), ...ready.keys])],
      set: { ...child.own?.set, ...ready.set },
    }
    const terms = termsFor(state, child, { attachments: files, verb: 'started' })
    if (!terms) continue
    const begun = 'refused' in terms ? child : { ...child, own }
    return { type: 'child.booted', request, child: begun, ...terms, ...defined({ trace }) }
  }
  return undefined
}

function booted(state: ThreadState, record: ChildBooted): boolean {
  const { request, child: call, refused } = record
  const deferred = takeRequest(state, request)
  if (!deferred) return false
  const { side } = deferred
  if (refused) queueNotice(state, call.reference, { text: failureText(refused), side })
  // No call waits for it: the one that asked for it was answered with what is missing.
  const start = startOf(state, record)
  if (start) startChild(state, { ...start, ...defined({ side }) })
  return true
}

/** Why a child never began, as if it had reported that itself. */
function queueNotice(
  state: ThreadState,
  reference: string,
  { text, side }: { readonly text: string; readonly side: SideName | undefined },
): void {
  const message: Message = {
    id: `report_${serialOf(state)}`,
    role: 'user',
    text: frameChildText(reference, text),
    at: state.updatedAt,
    silent: true,
    ...defined({ to: side }),
  }
  state.queue = withItem(state.queue, { message, delivery: 'steer', from: reference })
}
