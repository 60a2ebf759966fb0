/**
 * Any AI SDK language model (specification v2, v3 or v4) as a Skein model. This file holds the adapter and
 * what is asked of the model's structure; the translations live in the ai-sdk-*.ts files beside it.
 *
 * AS1 The model is known by structure alone: no @ai-sdk package is needed to run, and none appears in the
 *     types we publish.
 * AS2 One call is one request to the provider: retries and fallbacks are Skein's (T6), so that they are
 *     counted, seen and aborted in one place.
 * AS3 After an abort the signal's reason is thrown at once, even by a model that ignores the signal.
 */
import { type Clock, systemClock } from '../core/clock.js'
import { SkeinError } from '../core/failure.js'
import { isObject } from '../core/json.js'
import { abortable } from './abortable.js'
import { toModelError } from './ai-sdk-error.js'
import { toCallOptions } from './ai-sdk-request.js'
import { collect, type PartStream } from './ai-sdk-stream.js'
import type { Model } from './port.js'

export interface AiSdkModel {
  readonly specificationVersion: 'v2' | 'v3' | 'v4'
  readonly provider: string
  readonly modelId: string
  doStream(options: {
    readonly prompt: readonly unknown[]
    readonly abortSignal?: AbortSignal | undefined
  }): PromiseLike<{ readonly stream: PartStream }>
}

export interface AiSdkOptions {
  /** For a Retry-After that is a date. */
  readonly clock?: Clock
}

const versions: readonly unknown[] = ['v2', 'v3', 'v4']

export function isAiSdkModel(value: unknown): value is AiSdkModel {
  return (
    isObject(value) &&
    versions.includes(value['specificationVersion']) &&
    typeof value['provider'] === 'string' &&
    typeof value['modelId'] === 'string' &&
    typeof value['doStream'] === 'function'
  )
}

export function fromAiSdk(model: AiSdkModel, { clock = systemClock }: AiSdkOptions = {}): Model {
  if (!isAiSdkModel(model)) {
    throw new SkeinError('BAD_OPTION', 'fromAiSdk: not an AI SDK language model; it needs specificationVersion v2, v3 or v4, provider, modelId and doStream')
  }
  const name = `${model.provider}/${model.modelId}`
  return {
    name,
    async call(request, options) {
      const { signal, emit } = options
      signal.throwIfAborted()
      let asked: ReturnType<AiSdkModel['doStream']> | undefined
      try {
        asked = model.doStream(toCallOptions(request, model, signal))
        const { stream } = await abortable(asked, signal)
        return await collect(stream, { signal, emit, model: name })
      } catch (thrown) {
        if (signal.aborted) {
          if (asked) cancelLate(asked)
          // Not what was thrown: providers wrap an abort in errors of their own (AS3).
          throw signal.reason
        }
        throw toModelError(thrown, name, clock)
      }
    },
  }
}

/** A model that ignores the signal may still open a stream after the abort; nobody would ever read it. */
function cancelLate(asked: ReturnType<AiSdkModel['doStream']>): void {
  asked.then(({ stream }) => stream.getReader().cancel()).then(undefined, () => {
    // It never opened, or was being read and is cancelled already: either way nothing is left to close.
  })
}
