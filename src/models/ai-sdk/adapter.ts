/**
 * Any AI SDK language model (specification v2, v3 or v4) as a Skein model. Owns the calls; request, prompt and stream
 * are translated in the modules beside it.
 *
 * - The model is recognised by its structure: no @ai-sdk package is needed at run time, and none appears in the
 *   published types.
 * - One call is one request to the provider: retries and fallbacks are Skein's (T6), so that they are counted, seen
 *   and aborted in one place. Only a request that can be put another way is sent once more (amend.ts).
 * - After an abort the signal's reason is thrown at once, even by a model that ignores the signal.
 */
import { z } from 'zod'
import { type Clock, systemClock } from '../../core/clock.js'
import { defined } from '../../core/defined.js'
import { SkeinError } from '../../core/failure.js'
import { isObject } from '../../core/json.js'
import { checkOnce } from '../../core/options.js'
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
  /** For a Retry-After header with a date. */
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

const optionsSchema = z.strictObject({ clock: z.custom<Clock>().optional() })

export function fromAiSdk(model: AiSdkModel, options: AiSdkOptions = {}): Model {
  const { clock = systemClock } = checkOnce(optionsSchema, options, 'fromAiSdk')
  if (!isAiSdkModel(model)) {
    throw new SkeinError(
      'BAD_OPTION',
      'fromAiSdk: not an AI SDK language model; it needs specificationVersion v2, v3 or v4, provider, modelId and ' +
        'doStream',
    )
  }
  const name = originOf(model)
  /** `bare` once the server has refused to take back any reasoning. */
  let accepted: Thoughts = 'kept'
  return {
    name,
    async call(request, calling) {
      const { signal } = calling
      signal.throwIfAborted()
      const pictures = request.read && (await picturesFor(request, model))
      signal.throwIfAborted()
      for (let settings: ProviderSettings = { request, thoughts: accepted, ...defined({ pictures }) }; ;) {
        try {
          return await send(model, settings, calling)
        } catch (thrown) {
          // Not the thrown error: providers wrap an abort in errors of their own.
          if (signal.aborted) throw signal.reason
          const error = toModelError(thrown, name, clock)
          const changed = amended(settings, error, name)
          if (!changed) throw error
          if (changed.thoughts === 'bare' && settings.thoughts === 'kept' && isNeverTaken(error)) accepted = 'bare'
          settings = changed
        }
      }
    },
  }
}

async function send(model: AiSdkModel, settings: ProviderSettings, options: ModelCallOptions): Promise<ModelReply> {
  const { signal, emit } = options
  const opening = model.doStream(toCallOptions(settings, model, signal))
  try {
    const { stream } = await abortable(opening, { signal })
    return await collectReply(stream, { signal, emit, heard: () => options.heard?.(), model: originOf(model) })
  } catch (thrown) {
    if (signal.aborted) cancelLate(opening)
    throw thrown
  }
}

/** A model that ignores the signal may still open a stream after the abort, which is not read any more. */
function cancelLate(opening: ReturnType<AiSdkModel['doStream']>): void {
  opening
    .then(({ stream }) => stream.getReader().cancel())
    .then(undefined, () => {
      // It never opened, or is read and cancelled already: there is nothing to close.
    })
}
