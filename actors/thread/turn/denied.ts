/** What the model reads of calls that were rejected, or cut off by the end of their turn. */
import type { Outcome } from '../../../src/core/effect.js'
import { failure } from '../../../src/core/failure.js'
import type { CallDecided, TurnEnded } from '../../../src/core/records/record.js'
import type { Slot } from '../calls/slots.js'

export function deniedOutcome(
  { call, began, hold }: Pick<Slot, 'call' | 'began' | 'hold'>,
  { comment, decidedBy }: CallDecided,
): Outcome {
  const { who, why } = declineTexts({ comment, by: decidedBy })
  const declined = (what: string): Outcome => ({ ok: false, failure: failure('TOOL_DENIED', `${call.tool} ${what}`) })
  if (hold?.why === 'person') return declined(`has no answer: it was declined${who}${why}; go on without it`)
  if (hold?.why === 'variables') return declined(`was not run: ${valuesDeclined(hold.missing ?? [])}${who}${why}`)
  const failed = began
    ? failure('EFFECT_UNKNOWN', `${call.tool} may already have happened, and it is not to be run again${who}${why}`)
    : failure('TOOL_DENIED', `${call.tool} was not allowed${who}${why}; it was not run`)
  return { ok: false, failure: failed }
}

/** Of values that were asked for. */
export const valuesDeclined = (missing: readonly string[]): string =>
  `the values that it needs (${missing.join(', ')}) were declined`

/** Who decided, and why, as it follows what was decided. */
export function declineTexts({
  comment,
  by,
}: {
  readonly comment?: string | undefined
  readonly by?: string | undefined
}) {
  return {
    who: by === undefined ? '' : ` by ${by}`,
    why: comment === undefined ? '' : `: ${comment.replace(/\.\s*$/, '')}`,
  }
}

/** Of a call that had not ended, and of one that had begun to change the world. */
export function cutOutcome({ reason, detail }: Pick<TurnEnded, 'reason' | 'detail'>): {
  readonly outcome: Outcome
  readonly unknown: Outcome
} {
  const why = `the turn ended: ${reason}${detail ? ` (${detail})` : ''}`
  return {
    outcome: { ok: false, failure: failure('CANCELLED', `not finished: ${why}`) },
    unknown: {
      ok: false,
      failure: failure(
        'EFFECT_UNKNOWN',
        `not finished, and it may have happened all the same: ${why}; find out before you ask for it again`,
      ),
    },
  }
}
