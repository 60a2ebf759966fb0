/** What the model reads of a call that someone rejected. */
import type { Outcome } from '../../src/core/effect.js'
import { failure } from '../../src/core/failure.js'
import type { CallDecided } from '../../src/core/record.js'

export function denied({ call, began }: { readonly call: { readonly tool: string }; readonly began?: true }, { comment, decidedBy }: CallDecided): Outcome {
  const who = decidedBy === undefined ? '' : ` by ${decidedBy}`
  const why = comment === undefined ? '' : `: ${comment.replace(/\.\s*$/, '')}`
  const failed = began
    ? failure('EFFECT_UNKNOWN', `${call.tool} may already have happened, and it is not to be run again${who}${why}`)
    : failure('TOOL_DENIED', `${call.tool} was not allowed${who}${why}; it was not run`)
  return { ok: false, failure: failed }
}
