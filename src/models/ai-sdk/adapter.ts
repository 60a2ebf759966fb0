/**
 * Any AI SDK language model (specification v2, v3 or v4) as a Skein model. This file holds the adapter and
 * what is asked of the model's structure; the translations live in the ai-sdk-*.ts files beside it.
 *
 * - The model is known by structure alone: no @ai-sdk package is needed to run, and none appears in the
 *   types we publish.
 * - One call is one request to the provider: retries and fallbacks are Skein's (T6), so that they are
 *   counted, seen and aborted in one place. Only what can be put another way is asked once more (ai-sdk-amend.ts).
 * - After an abort the signal's reason is thrown at once, even by a model that ignores the signal.
 */
import { type Clock, systemClock } from '../../core/clock.js'
import { defined } from '../../core/defined.js'
import { SkeinError } from '../../core/failure.js'
import { isObject } from '../../core/json.js'
import { abortable } from '../retry/abort.js'
import { amended, isNeverTaken } from './amend.js'
import { toModelError } from './error.js'
import { picturesFor } from './pictures.js'
import { originOf, toCallOptions } from './request.js'
import type { Thoughts } from './prompt.js'
import type { ProviderSettings } from './request.js'
import { collectReply, type PartStream } from './stream.js'
import type { Model, ModelCallOptions, ModelReply } from '../port.js'

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
    throw new SkeinError(
      'BAD_OPTION',
      'fromAiSdk: not an AI SDK language model; it needs specificationVersion v2, v3 or v4, provider, modelId and ' +
        'doStream',
    )
  }
  const name = originOf(model)
  /** Some servers take back no thoughts at all. */
  let taken: Thoughts = 'kept'
  return {
    name,
    async call(request, options) {
      const { signal } = options
      signal.throwIfAborted()
      const pictures = request.read && (await picturesFor(request, model))
      signal.throwIfAborted()
      for (let put: ProviderSettings = { request, thoughts: taken, ...defined({ pictures }) }; ;) {
        try {
          return await ask(model, put, options)
        } catch (thrown) {
          // Not what was thrown: providers wrap an abort in errors of their own.
          if (signal.aborted) throw signal.reason
          const error = toModelError(thrown, name, clock)
          const another = amended(put, error, name)
          if (!another) throw error
          if (another.thoughts === 'bare' && put.thoughts === 'kept' && isNeverTaken(error)) taken = 'bare'
          put = another
        }
      }
    },
  }
}

async function ask(model: AiSdkModel, put: ProviderSettings, options: ModelCallOptions): Promise<ModelReply> {
  const { signal, emit } = options
  const asked = model.doStream(toCallOptions(put, model, signal))
  try {
    const { stream } = await abortable(asked, signal)
    return await collectReply(stream, { signal, emit, heard: () => options.heard?.(), model: originOf(model) })
  } catch (thrown) {
    if (signal.aborted) cancelLate(asked)
    throw thrown
  }
}

/** A model that ignores the signal may still open a stream after the abort; nobody would ever read it. */
function cancelLate(asked: ReturnType<AiSdkModel['doStream']>): void {
  asked
    .then(({ stream }) => stream.getReader().cancel())
    .then(undefined, () => {
      // It never opened, or was being read and is cancelled already: either way nothing is left to close.
    })
}
