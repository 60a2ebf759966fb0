/**
 * The stream of the page: all that one browser looks at, over one connection. What has changed since the last time is
 * told as it is now, gathered for a moment, so that a busy tree costs as much as its threads and not as its events.
 *
 * - A source begins at the numbers that the client has, or tells it `reset` where those are of another epoch.
 * - Every message has the server's time.
 */
import type { Clock } from '../../core/clock.js'
import type { InboxItem } from '../../index.js'
import type { StreamedEvent } from '../stream/server-sent-events.js'
import { toProblem } from '../problem.js'
import type { RootsView } from './roots-view.js'
import type { RootRow } from './tree-rows.js'
import type { LiveText, TreeView } from './tree-view.js'

export interface ViewSource {
  /** What is to be told, if anything is. */
  take(now: number): readonly StreamedEvent[]
  listen(ring: () => void): () => void
}

const gatherMs = 30

/** Ends when its reader leaves or the signal aborts. */
export class ViewEvents implements AsyncIterable<StreamedEvent>, AsyncIterator<StreamedEvent, undefined> {
  readonly #sources: readonly ViewSource[]
  readonly #clock: Clock
  readonly #stops: (() => void)[] = []
  #queue: StreamedEvent[] = []
  #isOver = false
  #isRung = true
  #wake: (() => void) | undefined

  constructor(
    sources: readonly ViewSource[],
    { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  ) {
    this.#sources = sources
    this.#clock = clock
    const ring = (): void => {
      this.#isRung = true
      this.#wake?.()
    }
    const end = (): void => void this.return()
    signal.addEventListener('abort', end, { once: true })
    this.#stops.push(() => signal.removeEventListener('abort', end), ...sources.map((source) => source.listen(ring)))
    // Told first, so that a client knows when it is up to date.
    this.#queue.push({ event: 'live', data: { now: clock.now() } })
    this.#fill()
    this.#queue.reverse()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<StreamedEvent, undefined>> {
    while (!this.#isOver) {
      const event = this.#queue.pop()
      if (event) return { done: false, value: event }
      if (!this.#isRung) await new Promise<void>((resolve) => (this.#wake = resolve))
      if (this.#isOver) break
      await new Promise<void>((resolve) => {
        const cancel = this.#clock.wakeAt(this.#clock.now() + gatherMs, resolve)
        this.#wake = () => {
          if (!this.#isOver) return
          cancel()
          resolve()
        }
      })
      this.#fill()
      this.#queue.reverse()
    }
    return { done: true, value: undefined }
  }

  #fill(): void {
    this.#isRung = false
    const now = this.#clock.now()
    for (const source of this.#sources) this.#queue.push(...source.take(now))
  }

  return(): Promise<IteratorResult<StreamedEvent, undefined>> {
    this.#isOver = true
    for (const stop of this.#stops.splice(0)) stop()
    this.#wake?.()
    return Promise.resolve({ done: true, value: undefined })
  }
}

/** `from` is undefined: the client has just read the snapshot of another epoch, or none. */
export function treeSource(view: TreeView, from: { epoch: string; position: readonly [number, number] }): ViewSource {
  let { position } = from
  let isOver = false
  const { root } = view
  return {
    listen: (ring) => view.listen(ring),
    take(now) {
      if (isOver) return []
      if (view.failure !== undefined || from.epoch !== view.epoch) {
        isOver = true
        const why = view.failure === undefined ? { code: 'EPOCH' } : { code: toProblem(view.failure).code }
        return [{ event: 'reset', data: { of: 'tree', root, now, ...why } }]
      }
      const changes = view.since(position)
      if (changes.threads.length + changes.spans.length === 0) return []
      position = changes.to
      return [{ event: 'tree', data: { root, now, ...changes } }]
    },
  }
}

/** Each piece once: `at` is where it goes in what was said before. */
export function textSource(view: TreeView, thread: string): ViewSource {
  let told: LiveText | undefined
  return {
    listen: (ring) => view.listen(ring),
    take(now) {
      const text = view.textOf(thread)
      if (text === told) return []
      const before = told
      told = text
      return [{ event: 'text', data: { thread, now, ...(text && pieceOf(before, text)) } }]
    },
  }
}

/** What was said after `before`, or all of it where that is void. */
function pieceOf(before: LiveText | undefined, { step, attempt, text, reasoning }: LiveText): object {
  const goesOn = before?.step === step && before.attempt === attempt
  const at = goesOn && text.startsWith(before.text) ? before.text.length : 0
  const reasonedAt = goesOn && reasoning.startsWith(before.reasoning) ? before.reasoning.length : 0
  return { step, attempt, at, text: text.slice(at), reasonedAt, reasoning: reasoning.slice(reasonedAt) }
}

const mostRoots = 1_000

export function rootsSource(view: RootsView, sees: (row: RootRow) => boolean): ViewSource {
  let seq = 0
  let isOver = false
  return {
    listen: (ring) => view.listen(ring),
    take(now) {
      if (isOver) return []
      if (view.failure !== undefined) {
        isOver = true
        return [{ event: 'reset', data: { of: 'roots', now, code: toProblem(view.failure).code } }]
      }
      const isFirst = seq === 0
      const rows = view.rows.since(seq, isFirst ? mostRoots : Infinity).filter(sees)
      seq = view.rows.seq
      if (!isFirst && rows.length === 0) return []
      const first = isFirst && { isWhole: view.rows.size <= mostRoots }
      return [{ event: 'roots', data: { now, epoch: view.epoch, total: view.rows.size, rows, ...first } }]
    },
  }
}

/** The whole list whenever it changes: it is as long as people let it become. */
export function inboxSource(
  lists: AsyncIterable<readonly InboxItem[]>,
  visible: (items: readonly InboxItem[]) => Promise<readonly InboxItem[]>,
): ViewSource {
  let items: readonly InboxItem[] | undefined
  let failure: unknown
  return {
    listen(ring) {
      const iterator = lists[Symbol.asyncIterator]()
      const read = async (): Promise<void> => {
        for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
          items = await visible(next.value)
          ring()
        }
      }
      read().catch((thrown: unknown) => {
        failure = thrown
        ring()
      })
      return () => void iterator.return?.()
    },
    take(now) {
      if (failure !== undefined) throw failure
      if (!items) return []
      const told = items
      items = undefined
      return [{ event: 'inbox', data: { now, items: told } }]
    },
  }
}
