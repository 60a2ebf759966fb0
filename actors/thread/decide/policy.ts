/**
 * Policies of calls, decided in call order: cache, cap and breaker of one run (T5–T7), stale reads and the quota of
 * files (T3). All of it is a function of the state, so neither parallel calls nor a crash change a verdict.
 *
 * - A call that its policy would prevent is never started: one whose turn has not come waits while an earlier call of
 *   the step could still make the difference.
 * - Only successes are cached and counted; a hit is neither an execution nor a failure.
 */
import { defined } from '../../../src/core/defined.js'
import { applyChanges, stale } from '../../../src/core/tree.js'
import { overQuota, treeUsage } from '../../../src/core/tree/tree-usage.js'
import { failure } from '../../../src/core/failure.js'
import { mutants } from '../../../src/core/mutants.js'
import type { CallSettled, Landed, RecordedCall } from '../../../src/core/records/record.js'
import { writeChildList } from '../children/list.js'
import { awaitsVerdict, firstUndrained } from '../calls/slots.js'
import type { Slot } from '../calls/slots.js'
import type { ThreadState, Turn } from '../state.js'

/** A success, with what the model reads and is shown of it. */
type CachedResult = Pick<Landed, 'outcome' | 'text' | 'media'> & { readonly at: number }

/** What a run remembers of its calls. */
export interface PolicyCounts {
  readonly cache: Record<string, CachedResult>
  readonly tools: Record<string, { done: number; failed: number }>
}

type Verdict = Pick<CallSettled, 'verdict' | 'outcome' | 'text' | 'media'>

/** The verdict on the call whose turn has come, if there is one yet. */
export function verdictOf(state: ThreadState, now: number): Verdict | undefined {
  const slot = firstUndrained(state.slots)
  if (!slot || slot.verdict || slot.hold) return undefined
  if (slot.outcome && !awaitsVerdict(slot)) return undefined
  if (slot.call.asks && !slot.outcome)
    return { verdict: 'answered', outcome: { ok: true, value: writeChildList(state) } }
  return preventedVerdict(state, slot, now) ?? landedVerdict(state, slot)
}

/** Once its intent is recorded, or a person has answered it, a call may have happened: too late to prevent. */
function preventedVerdict({ turn }: ThreadState, { call, began, answer }: Slot, now: number): Verdict | undefined {
  const { policy, tool } = call
  if (!policy || !turn || began || answer) return undefined
  const { tally } = turn
  const { cacheKey, cacheTtlMs = Infinity, maxExecutions = Infinity, breaker = Infinity } = policy
  const hit = cacheKey === undefined ? undefined : tally?.cache[cacheKey]
  if (hit && now - hit.at < cacheTtlMs) {
    const { outcome, text, media } = hit
    return { verdict: 'cached', outcome, ...defined({ text, media }) }
  }
  const { done, failed } = countsOf(tally, tool)
  if (done >= maxExecutions) return skipped(tool, maxExecutions)
  return failed >= breaker ? broken(tool, failed) : undefined
}

function skipped(tool: string, maxExecutions: number): Verdict {
  const times = maxExecutions === 1 ? 'once' : `${maxExecutions} times`
  const why = maxExecutions === 0 ? 'it may not be run here' : `it may succeed ${times} in one run, and has`
  const message = `${tool} was not run: ${why}; go on without it`
  return { verdict: 'skipped', outcome: { ok: false, failure: failure('TOOL_SKIPPED', message) } }
}

function broken(tool: string, failed: number): Verdict {
  const why = `it failed ${failed} times in a row in this run and is not tried again`
  const message = `${tool} was not run: ${why}; go on without it`
  return { verdict: 'broken', outcome: { ok: false, failure: failure('TOOL_BREAKER_OPEN', message) } }
}

/** A call that ran ahead of its turn and would see something else now is run again: it might decide otherwise. */
function landedVerdict(state: ThreadState, slot: Slot): Verdict | undefined {
  if (!slot.landed) return undefined
  const full = overfull(state, slot)
  if (mutants.settlesUnordered) return { verdict: 'kept' }
  if (slot.call.ahead && !slot.again && (full || outdated(state, slot.landed))) return { verdict: 'stale' }
  return full ?? { verdict: 'kept' }
}

const none = { done: 0, failed: 0 }

function countsOf(tally: PolicyCounts | undefined, tool: string): { readonly done: number; readonly failed: number } {
  return tally && Object.hasOwn(tally.tools, tool) ? (tally.tools[tool] ?? none) : none
}

function outdated({ files, values }: ThreadState, { reads }: Landed): boolean {
  if (reads?.values?.some(({ key, version }) => (values[key]?.version ?? 0) !== version)) return true
  return reads?.files !== undefined && stale(files, reads.files)
}

function overfull({ files, updatedAt }: ThreadState, { call, landed }: Slot): Verdict | undefined {
  if (!landed?.changes?.files || landed.quotaBytes === undefined) return undefined
  const { quotaBytes, quotaNames } = landed
  const quota = { quotaBytes, ...defined({ quotaNames }) }
  const exceeded = overQuota(quota, treeUsage(files), treeUsage(applyChanges(files, landed.changes.files, updatedAt)))
  if (exceeded === undefined) return undefined
  const message = `${call.tool} was undone: the thread's files would hold ${exceeded}; remove some first`
  return { verdict: 'full', outcome: { ok: false, failure: failure('FILES_QUOTA', message) } }
}

/** Counts a call that was settled with its own outcome. */
export function countOutcome(turn: Turn, { call, outcome, text, media }: Slot, at: number): void {
  const { policy } = call
  if (!policy || !outcome) return
  turn.tally ??= { cache: {}, tools: {} }
  const { done, failed } = countsOf(turn.tally, call.tool)
  turn.tally.tools[call.tool] = outcome.ok ? { done: done + 1, failed: 0 } : { done, failed: failed + 1 }
  if (outcome.ok && policy.cacheKey !== undefined)
    turn.tally.cache[policy.cacheKey] = { outcome, at, ...defined({ text, media }) }
}

/** Whether a call may start before its turn, given the calls before it that are not settled. */
export class SpeculationGuard {
  readonly #turn: Turn | undefined
  /** Most calls have no policy: they are counted from the first that has one. */
  #earlier: Map<string, number> | undefined
  #keys: Set<string> | undefined

  constructor(turn: Turn | undefined) {
    this.#turn = turn
  }

  allows({ tool, policy }: RecordedCall): boolean {
    if (!policy) return true
    const tally = this.#turn?.tally
    const before = this.#earlier?.get(tool) ?? 0
    const { done, failed } = countsOf(tally, tool)
    const key = policy.cacheKey
    if (key !== undefined && (this.#keys?.has(key) || tally?.cache[key])) return false
    return done + before < (policy.maxExecutions ?? Infinity) && failed + before < (policy.breaker ?? Infinity)
  }

  pass({ tool, policy }: RecordedCall): void {
    if (!policy) return
    this.#earlier ??= new Map()
    this.#earlier.set(tool, (this.#earlier.get(tool) ?? 0) + 1)
    if (policy.cacheKey !== undefined) (this.#keys ??= new Set()).add(policy.cacheKey)
  }
}
