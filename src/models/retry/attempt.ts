/**
 * One attempt of several at the same request, as retries and fallbacks make them.
 *
 * - Deltas of an attempt that has ended are dropped: they would be taken for those of the next attempt.
 */
import { onAbort } from './abort.js'
import type { Model, ModelCallOptions, ModelDelta, ModelReply, ModelRequest, ModelWait } from '../port.js'

/** A class: each literal with a getter gets a hidden class of its own, and a swarm creates thousands per second. */
export class ModelAttempt implements ModelCallOptions {
  readonly #call: ModelCallOptions
  readonly #onDelta: (() => void) | undefined
  #live = true
  #emit: ModelCallOptions['emit'] | undefined

  /** `onDelta` is called before each delta. */
  constructor(call: ModelCallOptions, onDelta?: () => void) {
    this.#call = call
    this.#onDelta = onDelta
  }

  /** Not copied, because reading a signal creates it. */
  get signal(): AbortSignal {
    return this.#call.signal
  }

  onAbort(listener: (reason: Error) => void): () => void {
    return onAbort(this.#call, listener)
  }

  restarted(): void {
    this.#call.restarted?.()
  }

  waiting(wait: ModelWait): void {
    this.#call.waiting?.(wait)
  }

  heard(): void {
    this.#call.heard?.()
  }

  /** No method: a model may take it out of the options. Made when it is read: most calls wait before they speak. */
  get emit(): ModelCallOptions['emit'] {
    return (this.#emit ??= (delta: ModelDelta): void => {
      if (!this.#live) return
      this.#onDelta?.()
      this.#call.emit(delta)
    })
  }

  /** The attempt failed: its deltas are dropped from now on. */
  end(): void {
    this.#live = false
  }
}

/** A model written by the app may throw synchronously, or return no promise. */
export function attempted(model: Model, request: ModelRequest, call: ModelCallOptions): Promise<ModelReply> {
  try {
    return Promise.resolve(model.call(request, call))
  } catch (thrown) {
    return Promise.reject(thrown)
  }
}
