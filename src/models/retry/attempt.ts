/**
 * One attempt among several at the same request, as retries and fallbacks make them.
 *
 * - Once an attempt has ended, nothing it still emits reaches the consumer: its deltas would be taken for
 *   those of the attempt that follows.
 */
import type { ModelCallOptions, ModelDelta, ModelWait } from '../port.js'

/** A class: a literal with a getter has a hidden class of its own, and a swarm makes thousands a second. */
export class ModelAttempt implements ModelCallOptions {
  readonly #call: ModelCallOptions
  readonly #spoke: (() => void) | undefined
  #live = true

  /** `spoke` is called with all that it emits. */
  constructor(call: ModelCallOptions, spoke?: () => void) {
    this.#call = call
    this.#spoke = spoke
  }

  /** Not copied: looking at a signal is what makes it. */
  get signal(): AbortSignal {
    return this.#call.signal
  }

  get restarted(): ModelCallOptions['restarted'] {
    return this.#call.restarted
  }

  waiting(wait: ModelWait): void {
    this.#call.waiting?.(wait)
  }

  heard(): void {
    this.#call.heard?.()
  }

  readonly emit = (delta: ModelDelta): void => {
    if (!this.#live) return
    this.#spoke?.()
    this.#call.emit(delta)
  }

  /** The attempt failed: mute it. */
  end(): void {
    this.#live = false
  }
}
