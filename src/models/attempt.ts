/**
 * One attempt among several at the same request, as retries and fallbacks make them.
 *
 * AM1 Once an attempt has ended, nothing it still emits reaches the consumer: its deltas would be taken for
 *     those of the attempt that follows.
 */
import type { ModelCallOptions } from './port.js'

export interface Attempt {
  readonly options: ModelCallOptions
  /** The attempt failed: mute it. */
  end(): void
}

/** `spoke` is called with all that it emits. */
export function attemptOptions(call: ModelCallOptions, spoke?: () => void): Attempt {
  let live = true
  return {
    options: {
      // Not a spread: that would make the signal, which is made only when someone looks.
      get signal() {
        return call.signal
      },
      restarted: call.restarted,
      emit(delta) {
        if (!live) return
        spoke?.()
        call.emit(delta)
      },
    },
    end() {
      live = false
    },
  }
}
