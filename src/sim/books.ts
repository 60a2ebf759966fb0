/**
 * The books of a tree, made from its journals alone: what each thread has spent is counted from its own replies and
 * calls, and can be compared with what the budgets of its threads say (BG1).
 */
import type { ThreadState } from '../../actors/thread/state.js'
import type { Backend } from '../backend/port.js'
import { changeAmounts, budgetKinds, nanoUsdOf } from '../core/budget.js'
import type { Amounts } from '../core/budget.js'
import type { ThreadRecord } from '../core/records/record.js'
import { decode } from '../runtime/journal/journal.js'
import { wakeWhole } from '../runtime/journal/wake.js'

const nothing: Required<Amounts> = { tokens: 0, nanoUsd: 0, toolCalls: 0, steps: 0 }
type Sums = Required<Amounts>
const add = (sums: Sums, by: Amounts | undefined, sign: 1 | -1 = 1): Sums => ({
  ...nothing,
  ...changeAmounts(sums, by ?? {}, sign),
})

export interface Books {
  /** Spent, left and under way, over all threads: always what the root was given. */
  readonly total: Amounts
  /** The root's own purse: left, reserved, and spent as it was told. The same. */
  readonly ofRoot: Amounts
  /** What all threads have spent, counted reply by reply. */
  readonly spent: Amounts
  readonly threads: number
  /** What the root was granted besides what it began with. */
  readonly granted: Amounts
}

/** A thread with its records. */
export interface BookedThread {
  readonly state: ThreadState
  readonly records: readonly ThreadRecord[]
}

export function booksOf(threads: readonly BookedThread[], root: string): Books {
  let [spent, held, top, granted] = [nothing, nothing, nothing, nothing]
  for (const { state, records } of threads) {
    const own = records.reduce((sums, record) => add(sums, spentIn(record)), nothing)
    spent = add(spent, own)
    held = add(held, state.budget?.left)
    for (const { amounts, sign } of records.flatMap(underWay)) held = add(held, amounts, sign)
    if (state.id !== root) continue
    for (const record of records)
      if (record.type === 'budget.granted' && record.child === undefined) granted = add(granted, record.amounts)
    top = add(add(add(own, below(records)), state.budget?.left), state.budget?.reserved)
  }
  return { total: add(spent, held), ofRoot: top, spent, granted, threads: threads.length }
}

export async function readBooks(backend: Backend, root: string): Promise<Books> {
  const { heads } = await backend.heads.list({ root })
  const threads: BookedThread[] = []
  for (const { thread } of heads) {
    const { state } = await wakeWhole(backend, thread)
    const records = (await backend.journal.read(thread)).flatMap((entry) => [...decode(thread, entry)])
    threads.push({ state, records })
  }
  return booksOf(threads, root)
}

function spentIn(record: ThreadRecord): Amounts | undefined {
  if (record.type !== 'model.replied' && record.type !== 'calls.made') return undefined
  const toolCalls = record.calls.filter(({ refused, tool }) => !refused && tool !== 'response').length
  if (record.type === 'calls.made') return { toolCalls }
  const { inputTokens, outputTokens, costUsd } = record.usage
  return { tokens: inputTokens + outputTokens, nanoUsd: nanoUsdOf(costUsd), toolCalls, steps: 1 }
}

/** A grant is on its way from the record that sends it to the one that takes it; so is what comes back. */
function underWay(record: ThreadRecord): { readonly amounts: Amounts | undefined; readonly sign: 1 | -1 }[] {
  switch (record.type) {
    case 'child.called':
    case 'child.restarted':
    case 'child.booted':
      return [{ amounts: record.grant, sign: 1 }]
    case 'budget.granted':
      if (record.child !== undefined) return [{ amounts: record.amounts, sign: 1 }]
      return record.inherited ? [{ amounts: record.amounts, sign: -1 }] : []
    case 'message.received':
      return [{ amounts: record.grant, sign: -1 }]
    case 'report.sent':
      return [{ amounts: record.spent?.returned, sign: 1 }]
    case 'child.reported':
      return [{ amounts: record.spent?.returned, sign: -1 }]
    default:
      return []
  }
}

function below(records: readonly ThreadRecord[]): Amounts {
  return records.reduce(
    (sums, record) => add(sums, record.type === 'child.reported' ? record.spent?.amounts : undefined),
    nothing,
  )
}

/** Of the kinds that a budget names. */
export function only(budget: Amounts, amounts: Amounts): Amounts {
  return Object.fromEntries(
    budgetKinds.filter((kind) => budget[kind] !== undefined).map((kind) => [kind, amounts[kind]]),
  )
}
