/**
 * Rebasing: what becomes of a thread's state when another thread goes on with it. Pure, part of the fold: the source
 * was folded under its own name, and is changed into the fork here, rule by rule.
 *
 * RB1 Nothing that the source has done or may have done to the world is done again: a call with an intent and no
 *     outcome is answered `EFFECT_UNKNOWN`, an idempotent one too, because the fork's key is another.
 * RB2 No thread of the source is spoken to: alone, a fork has no living child; in a forked tree children have the
 *     names of their copies.
 * - Steps go on where the source stood, so keys of effects are new; ids of messages are used once (`Lineage.before`).
 * - Deadlines keep the time that they had left.
 */
import { changeAmounts } from '../../../src/core/budget.js'
import { defined } from '../../../src/core/defined.js'
import { noEnv } from '../../../src/core/env.js'
import type { Env } from '../../../src/core/env.js'
import type { Outcome } from '../../../src/core/effect.js'
import { failure } from '../../../src/core/failure.js'
import { renamedThread } from '../../../src/core/records/travel.js'
import type { ThreadBased } from '../../../src/core/records/travel.js'
import { noUsage } from '../../../src/core/usage.js'
import { noEntries, noItems } from '../../../src/core/lists.js'
import { openAccount } from '../budget/budget.js'
import { dropSchedules } from '../calls/calls.js'
import { close, hold } from '../calls/slots.js'
import type { Slot } from '../calls/slots.js'
import type { ThreadState } from '../state.js'
import { noteGrowth } from '../turn/context.js'
import { takeResults } from '../turn/results.js'
import { renameCalls, renameTree } from './rename.js'

type Based = ThreadBased & { readonly seq: number; readonly at: number }

/** `source`: the state that the source had, folded for this alone. */
export function rebase(state: ThreadState, source: ThreadState, record: Based): true {
  const { id, seq, effectsEpoch } = state
  const { position: _, updatedAt: stoodAt } = source
  Object.assign(state, source, { id, seq, effectsEpoch, position: state.position, updatedAt: record.at })
  beginAnew(state, record)
  if (record.tree) renameTree(state, source.id, record.tree)
  else becomeRoot(state, source.id, record)
  shiftDeadlines(state, record.at - stoodAt)
  const known = state.transcript.items.length
  answerOpenCalls(state, record)
  noteGrowth(state, known)
  return true
}

/** What is the fork's own, of a tree too. */
function beginAnew(state: ThreadState, record: Based): void {
  const { from, path, tags, parent, child, guard, drops = [] } = record
  state.path = path
  state.tags = tags
  state.parent = parent
  state.child = child
  state.createdAt = record.at
  const { before } = state.lineage
  const { copying, tree, roots } = record
  state.lineage = {
    before: before + from.seq,
    from: { thread: from.thread, seq: from.seq },
    ...defined({ guard }),
    ...(copying && tree && { copying: { root: from.root, position: from.position, tree, roots, drops, ...copying } }),
  }
  state.accepted = new Map()
  state.unknownEffects = noEntries
  state.env = drops.includes('env') ? noEnv : withRoots(state.env, record.roots)
  if (state.envOfStep) state.envOfStep = drops.includes('env') ? noEnv : withRoots(state.envOfStep, record.roots)
  if (drops.includes('schedules')) dropSchedules(state)
  if (state.turn)
    state.turn = { ...state.turn, startedSeq: 0, trace: undefined, replies: 0, finish: undefined, below: noUsage }
  delete state.pausedFor
  delete state.endedFor
  delete state.endedWith
  delete state.deleting
}

function withRoots(env: Env, roots: readonly string[]): Env {
  return env.keys.length === 0 ? env : { ...env, roots }
}

/** RB2: alone, it has no parent, and its children stayed with the source. It has spent nothing yet. */
function becomeRoot(state: ThreadState, source: string, { budget, from }: Based): void {
  const { children } = state
  for (const child of children.values()) {
    child.ended = true
    child.busy = 0
    child.statusText = `stayed with ${from.thread}`
    delete child.supervised
  }
  // A child that was not made yet is made here, as another thread than the source makes.
  renameCalls(state, (thread) => renamedThread({ root: state.id, top: source }, thread))
  state.requests = noEntries
  state.working = 0
  state.living = 0
  state.retries = noItems
  state.dead = noEntries
  state.toStop = noItems
  state.pendingReplies = noItems
  state.outbox = noItems
  state.mailsToParent = 0
  state.parentKnowsEnd = false
  state.effects = 0
  state.unreported = noItems
  state.byModel = noItems
  state.usage = noUsage
  state.usageBelow = noUsage
  delete state.statusText
  const account = state.budget
  const left = budget ?? (account && changeAmounts(account.left, account.reserved))
  state.budget = left && openAccount(left)
}

function shiftDeadlines(state: ThreadState, by: number): void {
  const { turn, slots } = state
  if (turn?.deadlineAt !== undefined) state.turn = { ...turn, deadlineAt: turn.deadlineAt + by }
  for (const slot of slots.items)
    if (slot.hold?.deadlineAt !== undefined) slot.hold = { ...slot.hold, deadlineAt: slot.hold.deadlineAt + by }
}

function answerOpenCalls(state: ThreadState, record: Based): void {
  const { slots, turn } = state
  if (!turn || slots.open === 0) return
  for (let index = slots.drained; index < slots.items.length; index++) {
    const slot = slots.items[index]
    if (!slot || slot.outcome) continue
    const outcome = outcomeOf(slot, record)
    if (outcome) {
      slot.began = undefined
      close(slots, slot, outcome)
    } else if (isAskedAgain(slot, record)) hold(slots, index, { why: 'approval', at: record.at })
  }
  takeResults(state, record.at)
}

/** An approval was given for the call of the source: for that of the fork it is asked anew. */
function isAskedAgain({ hold: held, passed, answer, call }: Slot, { guard }: Based): boolean {
  return call.sideEffect === true && !held && (guard === 'ask' || (passed === true && !answer))
}

/** What an open call comes to in the fork; undefined: it is run, or waits, there. */
function outcomeOf({ began, sent, call, join }: Slot, { from, tree, guard }: Based): Outcome | undefined {
  if (began)
    return failed(
      'EFFECT_UNKNOWN',
      `${call.tool} had begun in ${from.thread}, so it may have happened; find out before you ask for it again`,
    )
  if (sent && !join && !tree)
    return failed('CHILD_FAILED', `${call.child?.reference ?? 'it'} stayed with ${from.thread}; go on without it`)
  if (call.sideEffect && guard === 'refuse') return failed('TOOL_DENIED', refusedEffect(call.tool))
  return undefined
}

function failed(code: 'EFFECT_UNKNOWN' | 'CHILD_FAILED' | 'TOOL_DENIED', message: string): Outcome {
  return { ok: false, failure: failure(code, message) }
}

/** What a model reads of a call that a fork refuses. */
export function refusedEffect(tool: string): string {
  return `${tool} was not run: this thread is a fork that refuses side effects`
}
