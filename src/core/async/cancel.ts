/**
 * A cancel: an abort whose AbortSignal is created on first use. Creating an AbortController takes longer than many tool
 * calls, and most bodies never read their signal; Skein's own code listens with `onAbort`.
 */

type Listener = (reason: Error) => void

export interface Cancel {
  readonly signal: AbortSignal
  /** Set once aborted. */
  readonly reason: Error | undefined
  abort(reason: Error): void
  /** Calls the listener once, immediately if already aborted. Returns a function that removes it. */
  onAbort(listener: Listener): () => void
}

export function createCancel(): Cancel {
  return new LazyCancel()
}

class LazyCancel implements Cancel {
  #controller: AbortController | undefined
  #reason: Error | undefined
  /** Mostly one listens, and thousands of cancels may be there at once: a list is made for a second one. */
  #listeners: Listener | readonly Listener[] | undefined

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
    const listeners = this.#all
    this.#listeners = undefined
    for (const listener of listeners) listener(reason)
  }

  onAbort(listener: Listener): () => void {
    if (this.#reason) {
      listener(this.#reason)
      return () => undefined
    }
    this.#listeners = this.#listeners ? [...this.#all, listener] : listener
    return () => this.#remove(listener)
  }

  #remove(listener: Listener): void {
    const rest = this.#all.filter((each) => each !== listener)
    this.#listeners = rest.length > 1 ? rest : rest[0]
  }

  get #all(): readonly Listener[] {
    const listeners = this.#listeners
    if (typeof listeners === 'function') return [listeners]
    return listeners ?? []
  }
}
