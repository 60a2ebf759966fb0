/**
 * Children that cannot begin before someone has given them values (S6): the request is kept here, and the child begins once.
 *
 * RT1 A request is answered once: with its values it becomes a child, and is no more.
 * RT2 What is incomplete is refused, and nothing of it is kept.
 */
import { collect } from '../../src/core/attachments.js'
import type { Command } from '../../src/core/command.js'
import { failure } from '../../src/core/failure.js'
import { failureText } from '../../src/core/message.js'
import type { ChildBooted, Fact, RecordedCall, VariablesProvided } from '../../src/core/record.js'
import { freezeTree } from '../../src/core/tree.js'
import type { Decision } from './commands.js'
import { putToWork } from './children.js'
import { wayOf } from './line.js'
import { grantFor, reserve } from './purse.js'
import type { Request, ThreadState } from './state.js'

/** Of the calls of a step. */
export function defer(state: ThreadState, calls: readonly RecordedCall[], asked: Pick<Request, 'at' | 'side'>): void {
  for (const { tool, deferred } of calls) if (deferred) state.requests[deferred.request] = { ...deferred, tool, ...asked }
}

export function provide({ id, requests }: ThreadState, { request, keys, set }: Extract<Command, { kind: 'provide' }>): Decision {
  const known = Object.hasOwn(requests, request) ? requests[request] : undefined
  if (!known || known.ready) return { refused: failure('UNKNOWN_REQUEST', `thread ${id} has no open request ${JSON.stringify(request)}: it was answered before, or never made`, { data: { thread: id, request } }) } // RT1
  const missing = known.missing.filter((name) => !Object.hasOwn(set, name))
  if (missing.length > 0) return { refused: failure('VARIABLES_REQUIRED', `nothing was stored: ${known.child.reference} also needs ${missing.join(', ')}`, { data: { missing, required: known.required } }) } // RT2
  return { facts: [{ type: 'variables.provided', request, keys, set }] }
}

export function provided({ requests }: ThreadState, { request, keys, set }: VariablesProvided): boolean {
  const known = requests[request]
  if (!known || known.ready) return false
  known.ready = { keys, set }
  return true
}

/** The next child that has its values and a place. */
export function dueOfRequests(state: ThreadState): Fact | undefined {
  if (state.place.gate !== 'open') return undefined // LF1
  for (const { request, child, ready } of Object.values(state.requests)) {
    const way = ready ? wayOf(state, child) : 'wait'
    if (!ready || way === 'wait') continue
    if (way !== 'call') return { type: 'child.booted', request, child, refused: way }
    const grant = grantFor(state, child)
    if (grant === 'wait') continue
    if (grant === 'spent') return { type: 'child.booted', request, child, refused: failure('BUDGET_SPENT', 'it was not started: nothing is left in the budget for it') }
    const own = { keys: [...new Set([...(child.own?.keys ?? []), ...ready.keys])], set: { ...child.own?.set, ...ready.set } }
    const found = child.attachments?.length ? collect(state.files, child.attachments) : undefined
    if (found && 'missing' in found) return { type: 'child.booted', request, child, refused: failure('TOOL_INPUT_INVALID', `there is no file ${JSON.stringify(found.missing)} to attach any more; it was not created`) }
    return { type: 'child.booted', request, child: { ...child, own }, ...(found && { attachments: freezeTree(found.files) }), ...(grant && { grant }) }
  }
  return undefined
}

export function booted(state: ThreadState, { request, child: call, refused, grant, attachments }: ChildBooted): boolean {
  const asked = Object.hasOwn(state.requests, request) ? state.requests[request] : undefined
  if (!asked) return false
  const { side } = asked
  delete state.requests[request]
  if (refused) {
    state.queue.push({ message: { id: `report_${state.seq}`, role: 'user', text: `[${call.reference}] ${failureText(refused)}`, at: state.updatedAt, silent: true, ...(side && { to: side }) }, delivery: 'steer' })
    return true
  }
  if (grant) reserve(state, grant)
  const child = putToWork(state, call, side)
  // Nobody waits for it: the call that asked for it was answered with what is missing.
  if (call.supervision) child.charge = { call: { ...call, blocking: false }, step: state.step, index: 0, attempt: 1, failures: [], ...(attachments && { attachments }) }
  return true
}
