/**
 * A cancel: an abort whose AbortSignal is created on first use. Creating an AbortController takes longer than many tool
 * calls, and most bodies never read their signal; Skein's own code listens with `onAbort`.
 */

export interface Cancel {
  readonly signal: AbortSignal
  /** Set once aborted. */
  readonly reason: Error | undefined
  abort(reason: Error): void
  /** Calls the listener once, immediately if already aborted. Returns a function that removes it. */
  onAbort(listener: (reason: Error) => void): () => void
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
    if (listeners) for (const listener of listeners) listener(reason)
  }

  onAbort(listener: (reason: Error) => void): () => void {
    if (this.#reason) {
      listener(this.#reason)
      return () => undefined
    }
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
    return () => this.#listeners?.delete(listener)
  }
}
