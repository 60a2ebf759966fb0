/**
 * A cancel: an abort that costs nothing until someone needs an AbortSignal. Making an AbortController takes longer than
 * many a tool call, and most bodies never look at their signal; Skein's own code listens with `onAbort`.
 */

export interface Cancel {
  readonly signal: AbortSignal
  /** Set when it was aborted. */
  readonly reason: Error | undefined
  abort(reason: Error): void
  /** Told once, at once if it was aborted already. Returns what stops it. */
  onAbort(heard: (reason: Error) => void): () => void
}

export function createCancel(): Cancel {
  return new LazyCancel()
}

class LazyCancel implements Cancel {
  #controller: AbortController | undefined
  #reason: Error | undefined
  #listeners: Set<(reason: Error) => void> | undefined

  get reason(): Error | undefined {
    return this.#reason
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#reason) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  abort(reason: Error): void {
    if (this.#reason) return
    this.#reason = reason
    this.#controller?.abort(reason)
    const listeners = this.#listeners
    this.#listeners = undefined
    if (listeners) for (const heard of listeners) heard(reason)
  }

  onAbort(heard: (reason: Error) => void): () => void {
    if (this.#reason) {
      heard(this.#reason)
      return () => undefined
    }
    this.#listeners ??= new Set()
    this.#listeners.add(heard)
    return () => this.#listeners?.delete(heard)
  }
}
