/**
 * A cancel: an abort that costs nothing until someone listens. Making an AbortController takes longer than many a
 * tool call, and most bodies never look at their signal.
 */

export interface Cancel {
  readonly signal: AbortSignal
  abort(reason: Error): void
}

export function createCancel(): Cancel {
  let controller: AbortController | undefined
  let reason: Error | undefined
  return {
    get signal() {
      if (!controller) {
        controller = new AbortController()
        if (reason) controller.abort(reason)
      }
      return controller.signal
    },
    abort(why) {
      reason ??= why
      controller?.abort(reason)
    },
  }
}
