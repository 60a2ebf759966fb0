/**
 * Lives of threads for property tests: random commands and landings, decided by `obey` and `land`, folded into
 * records. Owns no assertion.
 */
import * as fc from 'fast-check'
import { obey } from '../../actors/thread/decide/commands.js'
import type { Decision, ResolvedCommand } from '../../actors/thread/decide/decision.js'
import { due } from '../../actors/thread/decide/due.js'
import type { DueContext } from '../../actors/thread/decide/due.js'
import { land } from '../../actors/thread/decide/landings.js'
import type { HookDecision, Landing } from '../../actors/thread/decide/landings.js'
import { fold } from '../../actors/thread/fold.js'
import { outstanding } from '../../actors/thread/outstanding.js'
import type { Move } from '../../actors/thread/position.js'
import { createState } from '../../actors/thread/state.js'
import type { ThreadState } from '../../actors/thread/state.js'
import { callId } from '../../src/core/records/message.js'
import { defined } from '../../src/core/defined.js'
import type { Effect, Outcome } from '../../src/core/effect.js'
import { failure } from '../../src/core/failure.js'
import type { Fact, Landed, RecordedCall, ThreadRecord } from '../../src/core/records/record.js'
import { stepRules } from '../../src/core/records/rules.js'
import type { TurnRules } from '../../src/core/records/rules.js'
import { emptyTree, freezeTree } from '../../src/core/tree.js'
import { noUsage } from '../../src/core/usage.js'

/** What may happen to a thread, told without its numbers: those depend on where it stands. */
export type Happening =
  | { readonly kind: 'command'; readonly command: ResolvedCommand }
  /** Someone decides about, or answers, the `pick`-th call that waits. */
  | {
      readonly kind: 'decided'
      readonly pick: number
      readonly decision: 'approve' | 'reject'
      readonly edited: boolean
    }
  | { readonly kind: 'reply'; readonly text: string; readonly calls: readonly RecordedCall[]; readonly stop: boolean }
  | { readonly kind: 'model_failed' }
  /** What the model reads is reduced, with a summary or without. */
  | { readonly kind: 'reduced'; readonly summarised: boolean }
  /** The `pick`-th of the open calls returns. */
  | { readonly kind: 'returned'; readonly pick: number; readonly landed: Landed }
  | { readonly kind: 'held'; readonly pick: number; readonly why: 'approval' | 'person' | 'variables' | 'children' }
  /** The `pick`-th child that is at work says how it went. */
  | { readonly kind: 'reported'; readonly pick: number; readonly outcome: Outcome; readonly over: boolean }
  /** Hooks that are asked decide. */
  | { readonly kind: 'hooked'; readonly decided: HookDecision }
  | { readonly kind: 'deadline' }
  /** A call is scheduled, or the first one taken back. */
  | { readonly kind: 'planned'; readonly op: 'add' | 'remove'; readonly delayMs: number }
  /** The time of the first scheduled call may have come. */
  | { readonly kind: 'scheduled' }
  /** Something that has landed lands once more. */
  | { readonly kind: 'again'; readonly pick: number }

const text = fc.constantFrom('', 'yes', 'no')
const reason = fc.option(fc.constantFrom('enough', 'wrong'), { nil: undefined })
const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  fc.constantFrom<Outcome>({ ok: true, value: 'found' }, { ok: true, value: { n: 1 } }, { ok: true, value: null }),
  fc.constant<Outcome>({ ok: false, failure: failure('TOOL_THREW', 'no luck') }),
)
const call: fc.Arbitrary<RecordedCall> = fc.constantFrom<RecordedCall>(
  { tool: 'look', args: {} },
  { tool: 'push', args: { n: 1 }, sideEffect: true },
  { tool: 'mail', args: { n: 2 }, sideEffect: true, commutes: true },
  { tool: 'peek', args: {}, ahead: true },
  { tool: 'look', args: { n: 3 }, after: true },
  { tool: 'peek', args: { n: 4 }, ahead: true, after: true },
  { tool: 'push', args: { n: 5 }, sideEffect: true, after: true },
  { tool: 'same', args: { n: 6 }, policy: { cacheKey: 'k', cacheTtlMs: 5_000 }, after: true },
  { tool: 'ask', args: { n: 7 }, hold: { why: 'person' }, after: true },
  { tool: 'subagent_list', args: { n: 8 }, asks: 'children', after: true },
  { tool: 'once', args: {}, ahead: true, policy: { maxExecutions: 1, breaker: 2 } },
  { tool: 'same', args: {}, policy: { cacheKey: 'k', cacheTtlMs: 5_000 } },
  { tool: 'mine', args: {}, inTurn: true },
  { tool: 'ask', args: {}, hold: { why: 'person' } },
  { tool: 'subagent_list', args: {}, asks: 'children' },
  {
    tool: 'writer',
    args: {},
    child: {
      thread: 'kid-a',
      create: true,
      agent: 'writer',
      reference: 'writer-1',
      text: 'write',
      blocking: true,
      lasting: false,
      reports: 'implicit',
      maxParallel: 2,
    },
  },
  {
    tool: 'writer',
    args: {},
    child: {
      thread: 'kid-b',
      create: true,
      agent: 'writer',
      reference: 'writer-2',
      text: 'write',
      blocking: false,
      lasting: true,
      reports: 'implicit',
      maxParallel: 1,
    },
  },
  {
    tool: 'writer',
    args: {},
    child: {
      thread: 'kid-c',
      create: true,
      agent: 'writer',
      reference: 'writer-3',
      text: 'write',
      blocking: true,
      lasting: false,
      reports: 'implicit',
      maxParallel: 2,
      supervision: { maxRestarts: 1, withinMs: 4_000 },
    },
  },
  {
    tool: 'writer',
    args: {},
    child: {
      thread: 'kid-d',
      create: true,
      agent: 'writer',
      reference: 'writer-4',
      text: 'write',
      blocking: false,
      lasting: false,
      reports: 'implicit',
      maxParallel: 2,
      supervision: { maxRestarts: 2 },
    },
  },
  { tool: 'expert', args: {}, answered: 'Handoff complete', handoff: 'expert' },
  {
    tool: 'pay',
    args: {},
    sideEffect: true,
    hold: { why: 'approval', prompt: 'Pay?', deadlineMs: 3_000, atDeadline: 'approve' },
  },
  { tool: 'done', args: { say: 'yes' }, session: { does: 'pass', message: 'say' } },
  { tool: 'stop', args: {}, session: { does: 'stop' } },
  { tool: 'fail', args: {}, sideEffect: true, session: { does: 'fail' } },
  { tool: 'gone', args: {}, refused: failure('UNKNOWN_TOOL', 'there is no tool "gone"') },
)

const hookDecision: fc.Arbitrary<HookDecision> = fc.constantFrom<HookDecision>(
  { asked: [] },
  { asked: [{ hook: 'h' }], hide: ['step_1', 'c1'], add: [{ role: 'user', text: 'by the way' }] },
  { asked: [{ hook: 'h' }], add: [{ role: 'system', text: 'just now', once: true }] },
  { asked: [{ hook: 'h' }], block: { reason: 'hook_blocked', detail: 'no' } },
  { asked: [{ hook: 'h' }], dropped: true },
  { asked: [{ hook: 'h' }], outcome: { ok: true, value: 'other' }, goOn: 'more' },
  { asked: [{ hook: 'h' }], text: 'in other words', goOn: 'go on' },
)

const path = fc.constantFrom('/a', '/b', '/d/a')
const landed: fc.Arbitrary<Landed> = fc.oneof(
  { weight: 3, arbitrary: outcome.map((given): Landed => ({ outcome: given })) },
  {
    weight: 2,
    arbitrary: fc
      .record({
        outcome,
        path,
        size: fc.nat(3),
        version: fc.nat(2),
        look: fc.constantFrom('node' as const, 'kind' as const),
      })
      .map(({ outcome: given, path: at, size, version, look }): Landed => ({
        outcome: given,
        reads: { files: [{ path: at, look, token: 'nothing' }], values: [{ key: 'shared', version }] },
        changes: { files: [{ op: 'file', path: at, hash: 'h', size }], values: [{ key: 'shared', value: size }] },
        quotaBytes: 4,
      })),
  },
  {
    weight: 1,
    arbitrary: fc.constant<Landed>({
      outcome: { ok: true, value: 1 },
      queued: [{ tool: 'look', args: {} }],
      messages: [{ text: 'by the way' }],
    }),
  },
)

const message: fc.Arbitrary<ResolvedCommand> = fc.record({
  kind: fc.constant('message' as const),
  text,
  role: fc.constantFrom('user' as const, 'system' as const, 'assistant' as const),
  delivery: fc.constantFrom('steer' as const, 'new_turn' as const, 'store' as const),
})
const ender: fc.Arbitrary<ResolvedCommand> = fc.oneof(
  { weight: 3, arbitrary: reason.map((why): ResolvedCommand => ({ kind: 'cancel', reason: why })) },
  { weight: 2, arbitrary: reason.map((why): ResolvedCommand => ({ kind: 'pause', reason: why })) },
  { weight: 3, arbitrary: fc.constant<ResolvedCommand>({ kind: 'resume' }) },
  { weight: 1, arbitrary: reason.map((why): ResolvedCommand => ({ kind: 'terminate', reason: why })) },
)

const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('planned' as const),
      op: fc.constantFrom('add' as const, 'remove' as const),
      delayMs: fc.nat(3_000),
    }),
  },
  { weight: 2, arbitrary: fc.constant<Happening>({ kind: 'scheduled' }) },
  { weight: 5, arbitrary: message.map((command): Happening => ({ kind: 'command', command })) },
  { weight: 2, arbitrary: ender.map((command): Happening => ({ kind: 'command', command })) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('reply' as const),
      text,
      calls: fc.array(call, { maxLength: 4 }),
      stop: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Happening>({ kind: 'model_failed' }) },
  { weight: 2, arbitrary: fc.boolean().map((summarised): Happening => ({ kind: 'reduced', summarised })) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('returned' as const), pick: fc.nat(5), landed }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('decided' as const),
      pick: fc.nat(3),
      decision: fc.constantFrom('approve' as const, 'reject' as const),
      edited: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('held' as const),
      pick: fc.nat(5),
      why: fc.constantFrom('approval' as const, 'person' as const, 'variables' as const, 'children' as const),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('reported' as const), pick: fc.nat(3), outcome, over: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.constant<Happening>({ kind: 'deadline' }) },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('hooked' as const), decided: hookDecision }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('again' as const), pick: fc.nat(20) }) },
)

export const happenings: fc.Arbitrary<readonly Happening[]> = fc.array(happening, {
  minLength: 1,
  maxLength: 40,
  size: 'max',
})

export interface Life {
  readonly state: ThreadState
  readonly records: readonly ThreadRecord[]
}

export interface Watcher {
  /** After each decision's records. */
  readonly decided?: (state: ThreadState, facts: readonly Fact[]) => void
  /** After each record; `called` when the state itself called for it. */
  readonly folded?: (state: ThreadState, record: ThreadRecord, called: boolean) => void
  /** What a landing that was given before decides now. */
  readonly repeated?: (decision: Decision) => void
}

/** How long a turn may take in these lives. */
const maxWallClockMs = 10_000

const hooked: TurnRules = { a: { hooks: { step: true, stop: true } }, b: { hooks: { stop: true } } }
const short = (of: string) => ({ context: { of, trigger: 8, target: 4 } })
const shortened: TurnRules = { a: short('a'), b: short('b-turn') }
const both: TurnRules = { a: { ...hooked.a, ...shortened.a }, b: { ...hooked.b, ...shortened.b } }
/** A context that is soon too long, hooks before steps and ends, both, and none. */
const rulesOfLives: readonly (TurnRules | undefined)[] = [shortened, hooked, both, undefined]

/** Half of the lives have two sides; a fourth each has hooks, a short context, both, or none of them. */
export function momentOf(all: readonly Happening[], now: number): DueContext {
  const rules = rulesOfLives[all.length % rulesOfLives.length]
  return {
    now,
    maxWallClockMs,
    mayBegin: true,
    ...(all.length % 2 === 0 && { session: { maxTurns: 2 } }),
    ...(rules && { rules }),
  }
}

const createCommand: ResolvedCommand = { kind: 'create', agent: 'helper', tags: ['x'], path: ['t'] }

/** Lives through what happens, from the creation on; a second passes between two happenings. */
export function live(
  all: readonly Happening[],
  { move, watch = {} }: { readonly move?: Move; readonly watch?: Watcher } = {},
): Life {
  const state = createState('t')
  const records: ThreadRecord[] = []
  const before: Landing[] = []
  let now = 1_000
  const moment = (): DueContext => momentOf(all, now)
  const record = (fact: Fact, by?: string): void => {
    const next: ThreadRecord = { seq: state.seq + 1, at: now, ...(by !== undefined && { by }), ...fact }
    fold(state, next, move)
    records.push(next)
  }
  const apply = (facts: readonly Fact[], by?: string): void => {
    const made = [...facts]
    for (const fact of facts) {
      record(fact, by)
      watch.folded?.(state, records.at(-1) as ThreadRecord, false)
    }
    for (let fact = due(state, moment()); fact; fact = due(state, moment())) {
      made.push(fact)
      record(fact)
      watch.folded?.(state, records.at(-1) as ThreadRecord, true)
    }
    watch.decided?.(state, made)
  }
  const decide = (decision: Decision, by?: string): void => apply('refused' in decision ? [] : decision.facts, by)
  const command = (id: string, resolved: ResolvedCommand | undefined): void => {
    if (resolved) decide(obey(state, { id, command: resolved }, moment()), id)
  }
  const landAgain = (landing: Landing | undefined): void => {
    if (!landing) return
    const decision = land(state, landing, moment())
    watch.repeated?.(decision)
    decide(decision)
  }
  const landOnce = (landing: Landing | undefined): void => {
    if (!landing) return
    const decision = land(state, landing, moment())
    // A deadline that comes too early has not landed.
    if (!('refused' in decision) && decision.facts.length > 0) before.push(landing)
    decide(decision)
  }
  const liveThrough = (happens: Happening, id: string): void => {
    switch (happens.kind) {
      case 'command':
        return command(id, happens.command)
      case 'held':
        return apply(holding(state, happens))
      case 'planned':
        return command(id, planning(state, happens, { id, now }))
      case 'reported':
        return command(id, reporting(state, happens))
      case 'decided':
        return command(id, deciding(state, happens))
      case 'again':
        return landAgain(before[happens.pick % Math.max(1, before.length)])
      default:
        return landOnce(toLanding(state, happens))
    }
  }

  command('c0', createCommand)
  for (const [index, happens] of all.entries()) {
    now += 1_000
    liveThrough(happens, `c${index + 1}`)
  }
  return { state, records }
}

function planning(
  state: ThreadState,
  { op, delayMs }: Extract<Happening, { kind: 'planned' }>,
  { id, now }: { readonly id: string; readonly now: number },
): ResolvedCommand {
  const first = outstanding(state).find((effect) => effect.kind === 'schedule')?.scheduled.id ?? 'none'
  return {
    kind: 'change',
    changes: { schedules: [op === 'add' ? { op, id, tool: 'look', args: {}, at: now + delayMs } : { op, id: first }] },
  }
}

function openCalls(state: ThreadState): readonly number[] {
  return state.slots.items.flatMap((slot, index) => (slot.outcome || slot.call.child || slot.call.asks ? [] : [index]))
}

/** Calls that a body runs for. */
function runningCalls(state: ThreadState): readonly number[] {
  return outstanding(state).flatMap((effect) => (effect.kind === 'call' ? [effect.index] : []))
}

/** What comes with every other answer of a child. */
const brought = freezeTree({
  ...emptyTree,
  entries: new Map([['chart.png', { kind: 'file', hash: 'c'.repeat(64), size: 1, mode: 0o644, at: 1 }]]),
})

function reporting(
  state: ThreadState,
  { pick, outcome: how, over }: Extract<Happening, { kind: 'reported' }>,
): ResolvedCommand | undefined {
  const working = [...state.children].filter(([, { busy }]) => busy > 0)
  const [reference, child] = working[pick % Math.max(1, working.length)] ?? []
  if (reference === undefined || !child) return undefined
  const index = state.slots.items.findIndex(
    (slot) => slot.hold?.why === 'children' && slot.call.child?.reference === reference,
  )
  const brings = how.ok && pick % 2 === 1 ? { attachments: { files: brought, paths: ['/out/chart.png'] } } : {}
  return {
    kind: 'report',
    child: child.id,
    reference,
    outcome: JSON.parse(JSON.stringify(how)),
    ...brings,
    ...(index >= 0 && { call: callId(state.step, index) }),
    ...(over && { over: true }),
    ...(pick % 3 > 0 && {
      spent: { byModel: [{ model: `m${pick}`, inputTokens: pick, outputTokens: 1, costUsd: 0 }] },
    }),
    ...(!how.ok && { failed: true }),
  }
}

function deciding(
  state: ThreadState,
  { pick, decision, edited }: Extract<Happening, { kind: 'decided' }>,
): ResolvedCommand | undefined {
  const held = state.slots.items.flatMap(({ hold }, index) =>
    hold && hold.why !== 'children' ? [{ call: callId(state.step, index), why: hold.why }] : [],
  )
  const chosen = held[pick % Math.max(1, held.length)]
  if (!chosen) return undefined
  if (chosen.why === 'person') return { kind: 'answer', call: chosen.call, output: 'so be it' }
  return {
    kind: 'decide',
    call: chosen.call,
    decision,
    ...(edited && decision === 'approve' && { edited: { tool: 'look', args: { other: 1 } } }),
  }
}

function holding(state: ThreadState, { pick, why }: Extract<Happening, { kind: 'held' }>): readonly Fact[] {
  const open = openCalls(state)
  const index = open[pick % Math.max(1, open.length)]
  return state.turn && index !== undefined ? [{ type: 'call.held', step: state.step, index, why }] : []
}

function replied(state: ThreadState, happens: Extract<Happening, { kind: 'reply' }>): Landing {
  const { calls, stop } = happens
  const reply = {
    step: state.step + 1,
    model: 'm',
    text: happens.text,
    calls,
    usage: { ...noUsage, inputTokens: 1 },
    finish: 'stop' as const,
    ...defined({
      stop: stop && calls.length > 0 ? ('max_steps' as const) : undefined,
      side: state.turn?.session?.side,
    }),
  }
  return { kind: 'reply', reply }
}

function reduced(state: ThreadState, summarised: boolean): Landing {
  const rule = state.turn && stepRules(state.turn).context
  const { skipped, items } = state.transcript
  const before = skipped + items.length
  const summary = { before, text: 'in short', request: 0, model: 'm', usage: { ...noUsage, outputTokens: 3 } }
  return {
    kind: 'reduced',
    reduced: {
      step: state.step + 1,
      of: rule?.of ?? 'a',
      archived: before,
      ...(summarised && { summary }),
      size: 2,
      next: 9,
    },
  }
}

function returned(
  state: ThreadState,
  { pick, landed: result }: Extract<Happening, { kind: 'returned' }>,
): Landing | undefined {
  const running = runningCalls(state)
  const index = running[pick % Math.max(1, running.length)]
  if (index === undefined) return undefined
  const again = state.slots.items[index]?.again ? true : undefined
  return { kind: 'returned', step: state.step, index, landed: { ...result, ...defined({ again }) } }
}

/** The landing of the first effect of a kind that is wanted. */
function ofFirst(state: ThreadState, kind: Effect['kind'], make: (key: string) => Landing): Landing | undefined {
  const key = outstanding(state).find((effect) => effect.kind === kind)?.key
  return key === undefined ? undefined : make(key)
}

function toLanding(
  state: ThreadState,
  happens: Exclude<Happening, { kind: 'command' | 'held' | 'decided' | 'reported' | 'again' | 'planned' }>,
): Landing | undefined {
  const isThinking = state.position.work === 'thinking'
  switch (happens.kind) {
    case 'reply':
      return isThinking ? replied(state, happens) : undefined
    case 'reduced':
      return isThinking ? reduced(state, happens.summarised) : undefined
    case 'model_failed':
      return isThinking
        ? { kind: 'model_failed', step: state.step + 1, failure: failure('MODEL_REJECTED', 'no') }
        : undefined
    case 'returned':
      return returned(state, happens)
    case 'scheduled': {
      const next = outstanding(state).find((effect) => effect.kind === 'schedule')?.scheduled
      return next && { kind: 'scheduled', id: next.id, call: { tool: next.tool, args: next.args } }
    }
    case 'hooked':
      return ofFirst(state, 'hook', (key) => ({ kind: 'hook', key, decided: happens.decided }))
    case 'deadline':
      return ofFirst(state, 'deadline', (key) => ({ kind: 'deadline', key }))
  }
}
