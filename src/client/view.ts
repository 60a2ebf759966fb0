/**
 * Views over HTTP: the server tells what each record changed, and the projections are kept here. Messages are given
 * with the changes that bring them, and not kept.
 */
import type {
  ChildView,
  RunCall,
  ThreadChange,
  ThreadProjection,
  ThreadView,
  ThreadViewOptions,
  ViewOptions,
} from '../index.js'
import { followEvents } from './event-source.js'
import type { StreamRequest } from './event-source.js'
import { checkKnown } from './transport.js'
import type { Transport } from './transport.js'

export type RemoteProjection = Omit<ThreadProjection, 'messages'>

export interface RemoteThreadChange extends Omit<ThreadChange, 'value' | 'threads'> {
  readonly value: RemoteProjection
  readonly threads: ReadonlyMap<string, RemoteProjection>
}

export interface RemoteThreadView extends AsyncIterable<RemoteThreadChange> {
  now: () => Promise<Omit<Awaited<ReturnType<ThreadView['now']>>, 'messages'>>
}

const viewNames: ReadonlySet<string> = new Set(['tree', 'from', 'until', 'signal'])
const runViewNames: ReadonlySet<string> = new Set(['tree', 'signal'])

/** What a change says of its thread: all of it the first time, then what may change at any record. */
type SentValue = Pick<RemoteProjection, 'agent' | 'status' | 'usage'> & Partial<RemoteProjection>

interface SentChange extends Omit<RemoteThreadChange, 'value' | 'threads'> {
  readonly value: SentValue
  /** The thread is followed no more. */
  readonly gone: boolean
}

export function createRemoteView(
  transport: Transport,
  path: string,
  options: Omit<ThreadViewOptions, 'maxBuffered'> = {},
): RemoteThreadView {
  const { tree, from, until, signal } = options
  return {
    [Symbol.asyncIterator]() {
      checkKnown('view', options, viewNames)
      const query = { tree: tree ? 'true' : undefined, until }
      return follow(transport, { path: `${path}/changes`, query, cursor: { from }, signal })
    },
    now: () => transport.json(`${path}/view`),
  }
}

export function createRemoteRunView(
  transport: Transport,
  { path, ready }: { readonly path: string; readonly ready: () => Promise<void> },
  options: Omit<ViewOptions, 'maxBuffered'> = {},
): AsyncIterable<RemoteThreadChange> {
  const { tree, signal } = options
  return {
    [Symbol.asyncIterator]() {
      checkKnown('view', options, runViewNames)
      return follow(transport, { path: `${path}/changes`, query: { tree: tree ? 'true' : undefined }, signal, ready })
    },
  }
}

async function* follow(
  transport: Transport,
  request: StreamRequest,
): AsyncGenerator<RemoteThreadChange, void, undefined> {
  const threads = new Map<string, KeptProjection>()
  for await (const { value: sent, gone, ...change } of followEvents<SentChange>(transport, request)) {
    const { thread, path } = change
    const value = threads.get(thread) ?? new KeptProjection(thread, path)
    value.take(sent, change)
    if (gone) threads.delete(thread)
    else threads.set(thread, value)
    yield { ...change, value, threads }
  }
}

class KeptProjection implements RemoteProjection {
  agent = ''
  status: RemoteProjection['status'] = 'created'
  turn: RemoteProjection['turn']
  usage: RemoteProjection['usage'] = { inputTokens: 0, outputTokens: 0, costUsd: 0 }
  result: RemoteProjection['result']
  readonly #calls = new Map<string, RunCall>()
  readonly #children = new Map<string, ChildView>()

  readonly thread: string
  readonly path: readonly string[]

  constructor(thread: string, path: readonly string[]) {
    this.thread = thread
    this.path = path
  }

  get calls(): readonly RunCall[] {
    return [...this.#calls.values()]
  }

  get children(): readonly ChildView[] {
    return [...this.#children.values()]
  }

  take(sent: SentValue, { calls, children, result }: Pick<SentChange, 'calls' | 'children' | 'result'>): void {
    const isNewTurn = sent.turn !== undefined && sent.turn.run !== this.turn?.run
    if (isNewTurn || sent.calls) this.#calls.clear()
    if (isNewTurn) this.result = undefined
    this.agent = sent.agent
    this.status = sent.status
    this.usage = sent.usage
    this.turn = sent.turn
    if (sent.children) this.#children.clear()
    for (const each of [...(sent.calls ?? []), ...calls]) this.#calls.set(each.id, each)
    for (const each of [...(sent.children ?? []), ...children]) this.#children.set(each.reference, each)
    this.result = result ?? sent.result ?? this.result
  }
}
