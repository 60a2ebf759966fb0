/** What the model reads of calls that were rejected, or cut off by the end of their turn. */
import type { Outcome } from '../../src/core/effect.js'
import { failure } from '../../src/core/failure.js'
import type { CallDecided, TurnEnded } from '../../src/core/record.js'

export function denied({ call, began }: { readonly call: { readonly tool: string }; readonly began?: true | undefined }, { comment, decidedBy }: CallDecided): Outcome {
  const who = decidedBy === undefined ? '' : ` by ${decidedBy}`
  const why = comment === undefined ? '' : `: ${comment.replace(/\.\s*$/, '')}`
  const failed = began
    ? failure('EFFECT_UNKNOWN', `${call.tool} may already have happened, and it is not to be run again${who}${why}`)
    : failure('TOOL_DENIED', `${call.tool} was not allowed${who}${why}; it was not run`)
  return { ok: false, failure: failed }
}

/** Of a call that had not ended, and of one that had begun to change the world. */
export function cutOff({ reason, detail }: Pick<TurnEnded, 'reason' | 'detail'>): { readonly outcome: Outcome; readonly unknown: Outcome } {
  const why = `the turn ended: ${reason}${detail ? ` (${detail})` : ''}`
  return {
    outcome: { ok: false, failure: failure('CANCELLED', `not finished: ${why}`) },
    unknown: { ok: false, failure: failure('EFFECT_UNKNOWN', `not finished, and it may have happened all the same: ${why}; find out before you ask for it again`) },
  }
}
