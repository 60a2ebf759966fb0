/**
 * What a thread and all below it have spent (O2). A child tells its parent with every report what was spent since the one
 * before; the parent adds that to its own, so nobody ever has to ask a whole tree.
 *
 * SPD1 What a reply cost is in one place at every instant: with the thread that spent it until that is reported, then in the report's
 *     record, then with the parent. Nothing is counted twice, nothing is lost.
 */
import type { ModelReplied, Spent } from '../../src/core/record.js'
import { addByModel, addUsage, sumUsage } from '../../src/core/usage.js'
import type { ModelUsage } from '../../src/core/usage.js'
import type { ThreadState } from './state.js'

/** A reply was paid for. */
export function spend(state: ThreadState, { model, usage }: Pick<ModelReplied, 'model' | 'usage'>): void {
  state.usage = addUsage(state.usage, usage)
  note(state, [{ model, ...usage }])
}

/** A child has told what it and all below it have spent. */
export function spentBelow(state: ThreadState, spent: Spent | undefined): void {
  if (!spent) return
  state.usageBelow = addUsage(state.usageBelow, sumUsage(spent.byModel))
  note(state, spent.byModel)
}

function note(state: ThreadState, usage: readonly ModelUsage[]): void {
  for (const each of usage) {
    if (each.inputTokens === 0 && each.outputTokens === 0 && each.costUsd === 0) continue
    addByModel(state.byModel, each)
    // Nobody asks a thread that no other one waits for.
    if (state.child) addByModel(state.unreported, each)
  }
}

/** What goes with the next report. */
export function unreported({ unreported: byModel }: ThreadState): { readonly spent?: Spent } {
  return byModel.length === 0 ? {} : { spent: { byModel: [...byModel] } }
}
