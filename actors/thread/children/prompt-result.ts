/**
 * What comes of a call that a prompt answered (S10): of what it said, what its calls gave and what failed, as much as
 * was asked for.
 */
import type { Outcome } from '../../../src/core/effect.js'
import { failure } from '../../../src/core/failure.js'
import type { Json } from '../../../src/core/json.js'
import { failureText } from '../../../src/core/records/message.js'
import type { Gives } from '../../../src/core/records/record.js'
import type { EndedTurn } from '../state.js'

export function promptResult({ text, output, given = [] }: EndedTurn, gives: Gives): Outcome {
  const failed = given.flatMap(({ tool, args, outcome }) =>
    outcome.ok ? [] : [{ tool, args, error: failureText(outcome.failure) }],
  )
  if (gives.output && output === undefined) {
    const why =
      failed.findLast(({ tool }) => tool === 'response')?.error ??
      (text === '' ? 'it did not give any' : `it said: ${text}`)
    return { ok: false, failure: failure('CHILD_FAILED', `it gave no answer in the form that was asked for: ${why}`) }
  }
  const said = output ?? text
  if (gives.text && !gives.calls && !gives.errors) return { ok: true, value: said }
  const calls = given.flatMap(({ tool, args, outcome }): Json[] =>
    outcome.ok && tool !== 'response' ? [{ tool, args, result: outcome.value }] : [],
  )
  return {
    ok: true,
    value: {
      ...(gives.text && { text: said }),
      ...(gives.calls && { toolCalls: calls }),
      ...(gives.errors && { errors: failed }),
    },
  }
}
