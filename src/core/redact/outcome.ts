/** Masks failures and outcomes: in workers before they leave the call, on the host before they are recorded. */
import { defined } from '../defined.js'
import type { Outcome } from '../effect.js'
import type { Failure } from '../failure.js'
import { toJson } from '../json.js'
import type { Redactor } from './redact.js'

export function maskFailure(redactor: Redactor, { message, data, cause, ...rest }: Failure): Failure {
  return {
    ...rest,
    message: redactor.text(message),
    ...(data && { data: redactor.json(toJson(data)) as NonNullable<Failure['data']> }),
    ...defined({ cause: cause && maskFailure(redactor, cause) }),
  }
}

export function maskOutcome(redactor: Redactor, outcome: Outcome): Outcome {
  return outcome.ok
    ? { ...outcome, value: redactor.json(outcome.value) }
    : { ok: false, failure: maskFailure(redactor, outcome.failure) }
}
