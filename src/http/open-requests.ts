/**
 * Requests of `node:http` that are not answered yet, each with its signal: it aborts when the client has gone or the
 * server closes. A signal that is made of others costs more, and stays with what it is made of.
 */
import type { ServerResponse } from 'node:http'

export class OpenRequests {
  readonly #open = new Set<AbortController>()
  readonly #signals = new WeakMap<Request, AbortSignal>()

  enter(request: Request, outgoing: ServerResponse): void {
    const controller = new AbortController()
    this.#open.add(controller)
    this.#signals.set(request, controller.signal)
    outgoing.once('close', () => {
      this.#open.delete(controller)
      if (!outgoing.writableFinished) controller.abort()
    })
  }

  /** Undefined: it came by another way. */
  signalOf(request: Request): AbortSignal | undefined {
    return this.#signals.get(request)
  }

  close(): void {
    for (const controller of this.#open) controller.abort()
  }
}
