/**
 * A run over HTTP: as the local one, it holds nothing and may be consumed by any number of readers, whenever they like.
 */
import { fromFailure } from '../core/failure.js'
import { textPieces, unfinished } from '../core/records/run-text.js'
import type { Run, RunResult, SkeinEvent, StreamOptions, ViewOptions, WaitOptions } from '../index.js'
import { backOff, followEvents, passes } from './event-source.js'
import { at } from './transport.js'
import type { Transport } from './transport.js'
import { createRemoteRunView } from './view.js'
import type { RemoteThreadChange } from './view.js'

type RemoteRunStreams = Pick<Run, 'fullStream' | 'textStream' | 'reasoningStream'>

export type RemoteRun = RemoteRunStreams &
  Pick<Run, 'id' | 'accepted' | 'result' | 'text' | 'pendingToolCalls'> & {
    /** A view of the thread from the first record of the run to its result. */
    view(options?: Omit<ViewOptions, 'maxBuffered'>): AsyncIterable<RemoteThreadChange>
    /** The streams for a reader that has a signal to leave by. */
    streams(options?: Pick<StreamOptions, 'signal'>): RemoteRunStreams
  }

interface RunAddress {
  readonly thread: string
  readonly run: string
  /** Resolves when the message is durable. */
  readonly accepted: () => Promise<void>
}

/** The server answers before proxies lose patience. */
const waitMs = 20_000

export function createRemoteRun(transport: Transport, { thread, run: id, accepted }: RunAddress): RemoteRun {
  const path = at`/threads/${thread}/runs/${id}`
  const result = async <Output>({ signal }: WaitOptions = {}): Promise<RunResult<Output>> => {
    await accepted()
    for (let failures = 0; ;) {
      try {
        const asked = { query: { wait: waitMs }, waitMs, signal }
        const { result: ended } = await transport.json<{ readonly result?: RunResult<Output> }>(path, asked)
        if (ended) return ended
        failures = 0
      } catch (thrown) {
        signal?.throwIfAborted()
        // The turn goes on meanwhile: a server that is away is waited for.
        if (transport.closed.aborted || !passes(thrown)) throw thrown
        await backOff(++failures, signal)
      }
    }
  }
  const streams = ({ signal }: Pick<StreamOptions, 'signal'> = {}): RemoteRunStreams => {
    const fullStream = followEvents<SkeinEvent>(transport, { path: `${path}/events`, signal, ready: accepted })
    return {
      fullStream,
      textStream: { [Symbol.asyncIterator]: () => textPieces(own(fullStream, thread), 'text') },
      reasoningStream: { [Symbol.asyncIterator]: () => textPieces(own(fullStream, thread), 'reasoning') },
    }
  }
  return {
    id,
    accepted,
    result,
    async text(options) {
      const { text, stopReason, ...ended } = await result(options)
      const why = unfinished({ ...ended, reason: stopReason })
      if (why) throw fromFailure(why)
      return text
    },
    async pendingToolCalls() {
      await accepted()
      const { calls } = await transport.json<{ calls: Awaited<ReturnType<Run['pendingToolCalls']>> }>(`${path}/calls`)
      return calls
    },
    view: (options) => createRemoteRunView(transport, { path, ready: accepted }, options),
    ...streams(),
    streams,
  }
}

async function* own(events: AsyncIterable<SkeinEvent>, thread: string): AsyncGenerator<SkeinEvent, void, undefined> {
  for await (const event of events) if (event.thread === thread) yield event
}
