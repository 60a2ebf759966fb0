/**
 * A run: a handle on one turn of a thread. It is not a promise and holds nothing: every consumer follows the
 * journal by itself, so there may be any number of them, and a late one gets the whole run (R1).
 *
 * - The run's id is the id of the message that began it; a message that steers shares the turn that it joined.
 * - Consuming a run starts nothing: the turn runs whether anyone consumes it or not.
 */
import { fromFailure } from '../../core/failure.js'
import { copyOf } from '../../core/json.js'
import type { Json } from '../../core/json.js'
import { checkOptions } from '../../core/options.js'
import { createIteration } from '../../core/async/iteration.js'
import { viewSchema, waitSchema } from './options.js'
import { beginsRun, belongs, createRunStreams, changesOfTurn, waitFor } from './run-streams.js'
import type { FindRun, RunLocation, RunServices, RunStreams, StreamOptions } from './run-streams.js'
import { ResultReader } from './result-reader.js'
import { unfinished } from '../../core/records/run-text.js'
import type { ProjectionChanges, RunCall, RunResult } from './projection.js'
import { runChanges } from './view.js'
import type { RunScope, ThreadChange, ViewOptions } from './view.js'
import type { CommitSignal } from './topics.js'
import { watch } from './watch.js'

export interface Run extends RunStreams {
  readonly id: string
  /** Resolves when the message is durable; rejects when it was refused. Every consumer below does too. */
  accepted(): Promise<void>
  /**
   * What the turn came to, when it has ended. `Output` is the type of the prompt's output, which was checked before it
   * was recorded: `result<InferPromptOutput<typeof prompt>>()`.
   */
  result<Output = Json>(options?: WaitOptions): Promise<RunResult<Output>>
  /** The last text. Rejects when the turn failed, and with CANCELLED when it was cancelled. */
  text(options?: WaitOptions): Promise<string>
  /** All calls of the run with their outcomes, when it has ended. */
  toolCalls(options?: WaitOptions): Promise<readonly RunCall[]>
  /** Calls that are not answered now. */
  pendingToolCalls(): Promise<readonly RunCall[]>
  /** The streams for a reader that has a signal to leave by, or a limit of what waits for it. */
  streams(options?: StreamOptions): RunStreams
  /** The thread from the first record of the run to its result: what each record changed, and the thread then. */
  view(options?: ViewOptions): AsyncIterable<ThreadChange>
}

export interface WaitOptions {
  /** Ends the wait, which rejects with the signal's reason; what is waited for goes on. */
  readonly signal?: AbortSignal
}

export function createRun(services: RunServices, id: string, find: FindRun): Run {
  let found: Promise<RunLocation> | undefined
  const locate: FindRun = () => (found ??= find())
  const changes = (options?: WaitOptions & { until?: 'now' }): AsyncIterable<ProjectionChanges> =>
    changesOfTurn(services, locate, options)
  const result = async <Output>(options: WaitOptions = {}, what = 'result'): Promise<RunResult<Output>> => {
    checkOptions(waitSchema(), options, what)
    const { signal } = options
    const ended = await resultOf(services, await waitFor(locate(), signal), signal)
    // The schema was applied when the reply landed; a definition is not known here.
    return ended as RunResult<Output>
  }
  return {
    id,
    accepted: async () => void (await locate()),
    result: (options) => result(options),
    text: async (options) => {
      const { text, stopReason, ...ended } = await result(options, 'text')
      const why = unfinished({ ...ended, reason: stopReason })
      if (why) throw fromFailure(why)
      return text
    },
    async toolCalls(options = {}) {
      checkOptions(waitSchema(), options, 'toolCalls')
      return callsOf(changes(options))
    },
    pendingToolCalls: async () => (await callsOf(changes({ until: 'now' }))).filter(({ outcome }) => !outcome),
    view: (options = {}) =>
      createIteration(
        (signal) => {
          checkOptions(viewSchema(), options, 'view')
          return runView(services, locate, { ...options, signal })
        },
        [options.signal],
      ),
    ...createRunStreams(services, locate),
    streams: (options) => createRunStreams(services, locate, options),
  }
}

async function* runView(
  services: RunServices,
  find: FindRun,
  options: ViewOptions,
): AsyncGenerator<ThreadChange, void, undefined> {
  const { root, thread } = services
  let location: RunLocation | undefined
  let active = false
  const scope: RunScope = {
    root,
    thread,
    async start() {
      location = await find()
      return location.after
    },
    belongs(event) {
      if (event.thread !== thread) return active
      active ||= beginsRun(event, location)
      return belongs(event, location?.run ?? '', active)
    },
    hasBegun: () => active,
  }
  yield* runChanges(services, scope, options)
}

/**
 * Watches records without making events of them. The thread's host tells what the turn came to, so waiting for a long
 * turn costs next to nothing; whoever comes late, or was not told, reads it off the journal.
 */
function resultOf({ backend, closed }: RunServices, location: RunLocation, signal?: AbortSignal): Promise<RunResult> {
  const { root, thread, after } = location
  return new Promise((resolve, reject) => {
    let stop: () => void = () => undefined
    const end = (settle: () => void): void => {
      stop()
      signal?.removeEventListener('abort', abort)
      settle()
    }
    const abort = (): void => end(() => reject(signal?.reason))
    const begin = (reader: ResultReader): void => {
      const records = (committed: CommitSignal): void => {
        const found = reader.take(committed)
        if (found === 'untold') {
          stop()
          begin(new ResultReader(location, { isTold: false }))
        } else if (found) end(() => resolve(copyOf(found)))
      }
      const options = { root, thread, from: `0.${after}`, closed, awaited: () => thread }
      stop = watch(backend, options, { records, ended: (thrown) => end(() => reject(thrown)) })
    }
    signal?.addEventListener('abort', abort, { once: true })
    begin(new ResultReader(location))
    if (signal?.aborted) abort()
  })
}

async function callsOf(all: AsyncIterable<ProjectionChanges>): Promise<RunCall[]> {
  const known = new Map<string, RunCall>()
  for await (const { calls } of all) for (const call of calls) known.set(call.id, call)
  return [...known.values()]
}
