/**
 * The copying of a forked tree, as its new root has it: outstanding until every thread of the cut is there, so that a
 * crash in the middle is nothing but a copy that goes on. Until then all of them are paused.
 */
import type { TreeCopied } from '../../../src/core/records/travel.js'
import { noFacts } from '../decide/decision.js'
import type { Decision } from '../decide/decision.js'
import { hasEnded } from '../state.js'
import type { ThreadState } from '../state.js'

/** What the new root decides when its tree was copied, or cannot be. */
export function decideCopied(
  state: ThreadState,
  outcome: Omit<TreeCopied, 'type'> | { readonly failure: string },
): Decision {
  const { copying } = state.lineage
  if (!copying) return noFacts
  if ('failure' in outcome)
    return hasEnded(state) ? noFacts : { facts: [{ type: 'thread.terminated', reason: outcome.failure }] }
  const done = { type: 'tree.copied', ...outcome } as const
  return { facts: copying.go ? [done, { type: 'thread.resumed', tree: true }] : [done] }
}

export function treeCopied(state: ThreadState): true {
  const { copying: _, ...lineage } = state.lineage
  state.lineage = lineage
  return true
}
