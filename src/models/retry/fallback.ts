/**
 * Several models in order of preference: when one fails, the next is called. Retries are inside each (`withRetries`),
 * so that a fallback happens only after a model was given up.
 *
 * - Every failure but an abort leads to the next model, also a refusal: another model may accept the request.
 * - The reply names the model that gave it. The last error is thrown, with the earlier failures as data.
 * - `restarted` is called before each further model; deltas of a failed model are dropped.
 */
import { failure, type Failure, SkeinError, toFailure } from '../../core/failure.js'
import { ModelAttempt } from './attempt.js'
import type { Model, ModelCallOptions, ModelReply, ModelRequest } from '../port.js'

interface FailedModel {
  readonly model: string
  readonly failure: Failure
}

export function withFallback(models: readonly Model[]): Model {
  const [first, ...rest] = models
  if (!first) throw new SkeinError('BAD_OPTION', 'withFallback: the list of models is empty; give at least one')
  if (rest.length === 0) return first
  return {
    name: models.map((model) => model.name).join(' → '),
    call: (request, options) => firstAnswer(models, request, options),
  }
}

async function firstAnswer(
  models: readonly Model[],
  request: ModelRequest,
  call: ModelCallOptions,
): Promise<ModelReply> {
  const failed: FailedModel[] = []
  for (const model of models) {
    if (failed.length > 0) call.restarted?.()
    const attempt = new ModelAttempt(call)
    try {
      const reply = await model.call(request, attempt)
      return reply.model === undefined ? { ...reply, model: model.name } : reply
    } catch (thrown) {
      attempt.end()
      if (call.signal.aborted) throw call.signal.reason
      failed.push({ model: model.name, failure: toFailure(thrown, 'MODEL_UNAVAILABLE') })
    }
  }
  throw allFailed(failed)
}

function allFailed(failed: readonly FailedModel[]): SkeinError {
  const earlier = failed.slice(0, -1)
  const last = failed.at(-1)?.failure ?? failure('MODEL_UNAVAILABLE', 'no model was asked')
  const before = earlier.map(({ model, failure: { code } }) => `${model} ${code}`).join(', ')
  return new SkeinError(last.code, `${last.message}; before it failed: ${before}`, {
    retry: last.retry,
    data: { ...last.data, earlier },
  })
}
