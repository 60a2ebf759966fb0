/**
 * An iteration as callers hold it: it begins when it is iterated, anew each time, and ends when its reader leaves.
 *
 * IT1 `return()` ends what the iteration waits for, also while a `next()` is pending: that one is answered with the
 *     end, and nothing stays subscribed. (A generator by itself would wait for the next event first.)
 * - Mistakes in options are thrown by `begin`: the first `next()` rejects, and nothing throws where it is created.
 */

/** What the iteration is made of: it ends when its signal aborts. */
type Begin<Item> = (ended: AbortSignal) => AsyncIterator<Item, unknown, undefined>

/** `ended` aborts when the reader leaves, and when one of `signals` does, which ends the iteration quietly. */
export function createIteration<Item>(
  begin: Begin<Item>,
  signals: readonly (AbortSignal | undefined)[] = [],
): AsyncIterable<Item> {
  return { [Symbol.asyncIterator]: () => new Iteration(begin, signals) }
}

class Iteration<Item> implements AsyncIterator<Item, undefined> {
  readonly #begin: Begin<Item>
  readonly #signals: readonly (AbortSignal | undefined)[]
  readonly #ended = new AbortController()
  #source: AsyncIterator<Item, unknown, undefined> | undefined

  constructor(begin: Begin<Item>, signals: readonly (AbortSignal | undefined)[]) {
    this.#begin = begin
    this.#signals = signals
  }

  async next(): Promise<IteratorResult<Item, undefined>> {
    try {
      if (!this.#source) this.#open()
      const next = this.#ended.signal.aborted ? undefined : await this.#source?.next()
      if (next && !next.done && !this.#ended.signal.aborted) return { done: false, value: next.value }
    } catch (thrown) {
      // What breaks because its reader has left is of no interest to it.
      if (!this.#ended.signal.aborted) {
        this.#end()
        throw thrown
      }
    }
    this.#end()
    return { done: true, value: undefined }
  }

  async return(): Promise<IteratorResult<Item, undefined>> {
    this.#end()
    await this.#source?.return?.()
    return { done: true, value: undefined }
  }

  #open(): void {
    this.#source = this.#begin(this.#ended.signal)
    // Not AbortSignal.any: that leaves a trace of each iteration on a signal that lives as long as the process.
    for (const signal of this.#signals) {
      if (signal?.aborted) this.#end()
      else signal?.addEventListener('abort', this.#end, { once: true })
    }
  }

  readonly #end = (): void => {
    for (const signal of this.#signals) signal?.removeEventListener('abort', this.#end)
    this.#ended.abort()
  }
}
