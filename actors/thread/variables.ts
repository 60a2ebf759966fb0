/**
 * Variables of a thread: how they change, and which calls and turns wait for one. What is needed, and what definitions
 * give, the host passes with every decision; that a call or a turn waits, and for what, is a record.
 *
 * - The calls of one step see the same values: a change counts from the next step on. A name that a call of the
 *   step waits for had no value in it, so it counts at once.
 * - A call or turn that waits for variables holds no worker and no model, and continues by itself when they are set.
 */
import { changedEnv, hasValue } from '../../src/core/env.js'
import type { Env, SealedEnv } from '../../src/core/env.js'
import type { CallFreed, EnvChanged, Fact, ThreadRecord, TurnFreed, TurnHeld } from '../../src/core/records/record.js'
import { isStopped } from './turn/last-answer.js'
import { takeResults } from './turn/results.js'
import { release } from './calls/slots.js'
import type { Slot } from './calls/slots.js'
import type { ThreadState, Turn } from './state.js'

/** What definitions say of variables. */
export interface NeededVariables {
  /** What the agent and its prompts need. */
  readonly ofTurn: readonly string[]
  /** Of `unsetVariables`, those that definitions or the skein's options give a value. */
  readonly given: ReadonlySet<string>
}

type OfVariables = Extract<ThreadRecord, { readonly type: 'env.changed' | 'call.freed' | 'turn.held' | 'turn.freed' }>

export function absorbOfVariables(state: ThreadState, record: OfVariables): boolean {
  switch (record.type) {
    case 'env.changed':
      return changeEnv(state, record)
    case 'call.freed':
      return record.step === state.step && freed(state, record)
    case 'turn.held':
      return holdTurn(state, record)
    case 'turn.freed':
      return freeTurn(state, record)
  }
}

function changeEnv(state: ThreadState, record: EnvChanged): boolean {
  const before = envOfStep(state)
  state.env = changedEnv(state.env, record)
  if (state.slots.open > 0) state.envOfStep = withAwaited(before, state)
  return true
}

/** What a call of the step sees. */
export function envOfStep({ env, envOfStep: before }: ThreadState): Env {
  return before ?? env
}

function withAwaited({ own, inherited }: Env, { env, slots }: ThreadState): Env {
  const names = new Set(slots.needing.flatMap((index) => slots.items[index]?.hold?.missing ?? []))
  const add = (known: SealedEnv, now: SealedEnv): SealedEnv => ({
    ...known,
    ...Object.fromEntries(Object.entries(now).filter(([name]) => names.has(name))),
  })
  return { keys: env.keys, own: add(own, env.own), inherited: add(inherited, env.inherited) }
}

/** Names that `dueHold` looks at and that have no value in the thread: a definition may give them one. */
export function unsetVariables(state: ThreadState, ofTurn: readonly string[]): readonly string[] {
  const { slots, turn } = state
  if (!turn) return []
  if (slots.open === 0) return mayHoldTurn(state, turn) ? unsetIn(state.env, ofTurn) : []
  return slots.needing.flatMap((index) => {
    const slot = slots.items[index]
    return slot && mayWait(slot) ? unsetIn(envOfStep(state), slot.call.needs ?? []) : []
  })
}

/** The next call, or turn, that must wait for variables, or need not any more. */
export function dueHold(state: ThreadState, { ofTurn, given }: NeededVariables): Fact | undefined {
  const { slots, step } = state
  if (slots.open === 0) return dueTurnHold(state, { ofTurn, given })
  for (const index of slots.needing) {
    const slot = slots.items[index]
    if (!slot || !mayWait(slot)) continue
    const missing = missingOf(envOfStep(state), slot.call.needs ?? [], given)
    if (missing.length > 0 && !sameNames(missing, slot.hold?.missing))
      return { type: 'call.held', step, index, why: 'variables', missing }
    if (missing.length === 0 && slot.hold) return { type: 'call.freed', step, index }
  }
  return undefined
}

/** The call has not begun, and waits for nobody else. */
function mayWait({ outcome, began, hold }: Slot): boolean {
  return !outcome && !began && (!hold || hold.why === 'variables')
}

function mayHoldTurn({ position }: ThreadState, turn: Turn): boolean {
  return !isStopped(turn) && (position.work === 'thinking' || turn.missingVariables !== undefined)
}

function dueTurnHold(state: ThreadState, { ofTurn, given }: NeededVariables): Fact | undefined {
  const { turn, env } = state
  if (!turn || !mayHoldTurn(state, turn)) return undefined
  const { run, missingVariables } = turn
  const missing = missingOf(env, ofTurn, given)
  if (missing.length === 0) return missingVariables && { type: 'turn.freed', run }
  return sameNames(missing, missingVariables?.missing) ? undefined : { type: 'turn.held', run, missing }
}

function unsetIn(env: Env, names: readonly string[]): readonly string[] {
  return names.filter((name) => !hasValue(env, name))
}

function missingOf(env: Env, names: readonly string[], given: ReadonlySet<string>): readonly string[] {
  return names.filter((name) => !hasValue(env, name) && !given.has(name))
}

function sameNames(some: readonly string[], others: readonly string[] | undefined): boolean {
  return some.length === others?.length && some.every((name) => others.includes(name))
}

function freed({ slots }: ThreadState, { index }: CallFreed): boolean {
  const slot = slots.items[index]
  if (slot?.hold?.why !== 'variables') return false
  release(slots, slot)
  return true
}

function holdTurn({ turn }: ThreadState, { run, missing, at }: TurnHeld & { readonly at: number }): boolean {
  if (turn?.run !== run) return false
  turn.missingVariables = { missing, at: turn.missingVariables?.at ?? at }
  return true
}

function freeTurn(state: ThreadState, { run, at }: TurnFreed & { readonly at: number }): boolean {
  if (state.turn?.run !== run || !state.turn.missingVariables) return false
  delete state.turn.missingVariables
  // What was said meanwhile is heard first.
  takeResults(state, at)
  return true
}
