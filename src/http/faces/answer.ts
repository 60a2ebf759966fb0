/**
 * The answer to a message as clients of other protocols know it: what happens in a run, then how it ended. Those
 * clients wait for an end, and a turn may wait for a person for days: an answer also ends where the run is open and
 * nothing of its tree goes on until someone decides.
 *
 * - Everything that was durable when the tree came to rest is given before that end.
 * - Leaving an answer ends nothing but the answer.
 */
import type { InboxItem, Run, RunResult, SkeinEvent, Thread, ThreadChange, ThreadStatus } from '../../index.js'
import { defined } from '../../core/defined.js'
import type { RouteScene } from '../route.js'

export interface AnswerSource extends Pick<RouteScene, 'skein' | 'signal'> {
  readonly thread: Thread
  readonly run: Run
  /** Changes of the threads below it too. */
  readonly tree?: boolean
  readonly maxBuffered?: number
}

/** The turn is open and waits: for what is in the inbox, or because the thread is paused. */
export interface Waiting {
  readonly status: ThreadStatus
  readonly items: readonly InboxItem[]
}

export type AnswerPart =
  | { readonly change: ThreadChange }
  | { readonly ended: RunResult }
  | { readonly waiting: Waiting }

export async function* answerOf(source: AnswerSource): AsyncGenerator<AnswerPart, void, undefined> {
  const { thread, run, tree = false, maxBuffered } = source
  const left = new AbortController()
  const signal = AbortSignal.any([source.signal, left.signal])
  const rest = new RestWatch({ ...source, signal }, () => left.abort())
  try {
    for await (const change of run.view({ tree, signal, ...defined({ maxBuffered }) })) {
      yield { change }
      if (change.result && change.thread === thread.id) {
        yield { ended: change.result }
        return
      }
      rest.take(change)
    }
    if (source.signal.aborted) return
    rest.throwFailure()
    yield { waiting: await waitingOf(source) }
  } finally {
    left.abort()
  }
}

async function waitingOf({ skein, thread }: AnswerSource): Promise<Waiting> {
  const { root, status } = await thread.info()
  const items = await skein.inbox.list({ root })
  return { status, items: items.filter(({ path }) => path.includes(thread.id)) }
}

/** Says when the tree is at rest, the run is open, and the reader has read all of it. */
class RestWatch {
  readonly #source: AnswerSource
  readonly #stop: () => void
  #begun = false
  #read = 0
  /** The last record of the run when its tree came to rest. */
  #last: number | undefined
  #failed: { readonly thrown: unknown } | undefined

  constructor(source: AnswerSource, stop: () => void) {
    this.#source = source
    this.#stop = stop
  }

  take({ event }: ThreadChange): void {
    if (event?.thread !== this.#source.thread.id || !('cursor' in event)) return
    this.#read = event.seq
    if (!this.#begun) {
      this.#begun = true
      void this.#watch(event)
    }
    this.#check()
  }

  throwFailure(): void {
    if (this.#failed) throw this.#failed.thrown
  }

  async #watch(first: SkeinEvent & { readonly cursor: string }): Promise<void> {
    try {
      this.#last = await lastAtRest(this.#source, first)
      this.#check()
    } catch (thrown) {
      if (this.#source.signal.aborted) return
      this.#failed = { thrown }
      this.#stop()
    }
  }

  #check(): void {
    if (this.#last !== undefined && this.#read >= this.#last) this.#stop()
  }
}

/** Undefined: the run has ended. Zero: it has not begun, because another one waits. */
async function lastAtRest(
  { skein, thread, run, signal }: AnswerSource,
  first: SkeinEvent & { readonly cursor: string },
): Promise<number | undefined> {
  const { root } = await thread.settled({ tree: true, signal })
  let begun = first.type === 'turn.started'
  let last = 0
  for await (const event of skein.events({ root, from: first.cursor, until: 'now', signal })) {
    if (event.thread !== thread.id || !('cursor' in event)) continue
    const isOther = 'run' in event && event.run !== run.id
    if (isOther) continue
    if (event.type === 'turn.ended' || event.type === 'thread.ended' || event.type === 'thread.terminated')
      return undefined
    begun ||= event.type === 'turn.started'
    if (begun) last = event.seq
  }
  return last
}
