/**
 * A skein behind HTTP (`skein/server`, `skein serve`), with the shape of the local API. By `fetch` alone: it runs in
 * Node, in browsers and in runtimes like them, and loads nothing of Skein that runs threads.
 */
import { systemRandom } from '../core/clock.js'
import { defined } from '../core/defined.js'
import { SkeinError } from '../core/failure.js'
import type {
  AppOutline,
  CreateThread,
  DeadLetter,
  DirectoryPage,
  EffectResolution,
  EventOptions,
  InboxItem,
  SideEffect,
  SkeinClient,
  SkeinEvent,
  ThreadFilter,
  ThreadInfo,
  WaitOptions,
} from '../index.js'
import { followEvents } from './event-source.js'
import { createRemoteThread, eventsAt } from './thread.js'
import type { RemoteThread } from './thread.js'
import { createDiff } from './travel.js'
import { Transport, at, checkKnown, encodePart, pairOf, toBase64 } from './transport.js'
import type { RemoteOptions, RequestParts } from './transport.js'

export type RemoteCreateThread = CreateThread

type Comment = { readonly comment?: string }

/** Decisions are recorded with the name of the key: there is no `by`. */
export interface RemoteInbox extends Pick<SkeinClient['inbox'], 'list'> {
  /** The list of a tree now, and again whenever it has changed. */
  watch(filter: InboxWatch): AsyncIterable<readonly InboxItem[]>
  approve(id: string, options?: Comment & { readonly args?: unknown }): Promise<void>
  reject(id: string, options?: Comment): Promise<void>
  answer(id: string, output: unknown, options?: Readonly<Record<never, never>>): Promise<void>
}

export type RemoteEndpointRequest = Pick<RequestParts, 'method' | 'query' | 'body' | 'signal'>

export interface RemoteStreamOptions {
  /** All threads that the key may see, as `directory().changes()` gives them. */
  readonly heads?: boolean
  /** Roots of trees whose events are given. */
  readonly trees?: readonly string[]
  /** Roots of trees whose inbox is given: the whole list, and again whenever it has changed. */
  readonly inboxes?: readonly string[]
  /** Where to go on. */
  readonly from?: string
  readonly signal?: AbortSignal
}

/** What it is of, and what there is. A tree that was deleted is named alone. */
export type RemoteStreamEvent =
  | { readonly heads: RemoteHeads }
  | { readonly tree: string; readonly event?: SkeinEvent }
  | { readonly inbox: string; readonly items?: readonly InboxItem[] }

/** A page of threads that have changed. What was removed comes before `threads`. */
export interface RemoteHeads extends Omit<DirectoryPage, 'removed'> {
  /** Roots of trees. */
  readonly removed: readonly string[]
}

export interface RemoteSkein extends Pick<
  SkeinClient,
  'deadLetters' | 'diff' | 'modelWaits' | 'hosted' | 'hosts' | 'close'
> {
  readonly threads: {
    create(options: RemoteCreateThread & WaitOptions): Promise<RemoteThread>
    get(id: string): Promise<RemoteThread>
    delete: SkeinClient['threads']['delete']
    list: SkeinClient['threads']['list']
  }
  readonly inbox: RemoteInbox
  /** Who resolves one is the name of the key. */
  readonly effects: Pick<SkeinClient['effects'], 'list'> & {
    resolve(id: string, resolution: Omit<EffectResolution, 'by'>): Promise<void>
  }
  readonly variables: Pick<SkeinClient['variables'], 'get' | 'provide'> & {
    decline(thread: string, request: string, options?: Comment): Promise<void>
  }
  events(options: Omit<EventOptions, 'maxBuffered'> & { readonly root: string }): AsyncIterable<SkeinEvent>
  /** All threads, several trees and inboxes over one connection. `from` is the `id` of an event that it gave. */
  stream(options: RemoteStreamOptions): AsyncIterable<RemoteStreamEvent>
  /** Asks an endpoint of the app: `client.api('t1', 'notes/7', { method: 'POST', body: { text } })`. */
  api(thread: string, path: string, asked?: RemoteEndpointRequest): Promise<Response>
  /** What the app of the server defines; where the server is a client itself, it does not know. */
  definitions(): Promise<AppOutline>
  [Symbol.asyncDispose](): Promise<void>
}

/** Asks nothing yet: an address or a key that is wrong is told by the first request. */
export function connect(url: string, options: RemoteOptions = {}): RemoteSkein {
  const transport = new Transport(url, options)
  const close = async (): Promise<void> => transport.close()
  return {
    threads: createThreads(transport),
    inbox: createInbox(transport),
    variables: {
      get: (thread, request) => transport.json(at`/threads/${thread}/variables/${request}`),
      provide: (thread, request, values) =>
        transport.done(at`/threads/${thread}/variables/${request}`, { method: 'POST', body: values }),
      decline: (thread, request, given = {}) => decide(transport, ['reject', thread, request], given),
    },
    deadLetters: createDeadLetters(transport),
    effects: createEffects(transport),
    diff: createDiff(transport),
    events: ({ root, ...rest }) => eventsAt(transport, at`/trees/${root}/events`, rest),
    stream: ({ heads, trees = [], inboxes = [], from, signal }) =>
      followEvents(transport, {
        path: '/stream',
        query: defined({
          heads: heads ? '1' : undefined,
          tree: trees.join(',') || undefined,
          inbox: inboxes.join(',') || undefined,
        }),
        cursor: { from },
        signal,
      }),
    api: async (thread, path, asked) =>
      transport.ask(`${at`/threads/${thread}/api/`}${path.split('/').map(encodePart).join('/')}`, asked),
    definitions: () => transport.json('/definitions'),
    modelWaits: async () => (await transport.json<Waits>('/models/waits')).waits,
    hosted: () => isReady(transport),
    hosts: () => transport.json('/hosts'),
    close,
    [Symbol.asyncDispose]: close,
  }
}

interface Waits {
  readonly waits: Awaited<ReturnType<SkeinClient['modelWaits']>>
}

async function isReady(transport: Transport): Promise<boolean> {
  try {
    await transport.done('/ready', {})
    return true
  } catch (thrown) {
    // It answered, and said that it is not.
    if (SkeinError.is(thrown, 'STORE_FAILED') && thrown.data?.['unanswered'] !== true) return false
    throw thrown
  }
}

const mostListed = 1_000

function createThreads(transport: Transport): RemoteSkein['threads'] {
  return {
    async create({ signal, agent, files, ...options }) {
      const name = typeof agent === 'string' ? agent : agent.name
      const body = { id: systemRandom.id(), ...options, ...defined({ files: files && sentFiles(files) }), agent: name }
      const asked = { method: 'POST', body, again: true, signal } as const
      return createRemoteThread(transport, await transport.json<ThreadInfo>('/threads', asked))
    },
    get: async (id) => createRemoteThread(transport, await transport.json<ThreadInfo>(at`/threads/${id}`)),
    delete: (root, { terminate } = {}) =>
      transport.done(at`/threads/${root}`, { method: 'DELETE', query: { terminate } }),
    list: ({ limit = mostListed, ...filter }: ThreadFilter = {}) =>
      transport.json('/threads', { query: { ...filter, limit } }),
  }
}

function sentFiles(files: NonNullable<CreateThread['files']>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(files).map(([path, content]) => [
      path,
      typeof content === 'string' ? content : { base64: toBase64(content) },
    ]),
  )
}

function decide(
  transport: Transport,
  [what, thread, call]: readonly ['approve' | 'reject' | 'answer', string, string],
  body: object,
): Promise<void> {
  return transport.done(at`/inbox/${thread}/${call}/` + what, { method: 'POST', body })
}

const decisionNames: ReadonlySet<string> = new Set(['args', 'comment'])

function createInbox(transport: Transport): RemoteInbox {
  return {
    list: async (filter = {}) =>
      (await transport.json<{ items: readonly InboxItem[] }>('/inbox', { query: { ...filter } })).items,
    watch: ({ root, thread, signal }) => ({
      [Symbol.asyncIterator]: () => watchInbox(transport, { root, ...defined({ thread, signal }) }),
    }),
    async approve(id, options = {}) {
      checkKnown('inbox.approve', options, decisionNames)
      await decide(transport, ['approve', ...pairOf(id)], options)
    },
    async reject(id, options = {}) {
      checkKnown('inbox.reject', options, decisionNames)
      await decide(transport, ['reject', ...pairOf(id)], options)
    },
    async answer(id, output, options = {}) {
      checkKnown('inbox.answer', options, new Set())
      await decide(transport, ['answer', ...pairOf(id)], { output })
    },
  }
}

interface InboxWatch {
  readonly root: string
  readonly thread?: string
  readonly signal?: AbortSignal
}

/** A new connection begins with the whole list, which may be the one before. */
async function* watchInbox(
  transport: Transport,
  { root, thread, signal }: InboxWatch,
): AsyncGenerator<readonly InboxItem[], void, undefined> {
  const path = at`/trees/${root}/inbox/events`
  let before = ''
  for await (const { items } of followEvents<{ items: readonly InboxItem[] }>(transport, { path, signal })) {
    const shown = thread === undefined ? items : items.filter((item) => item.thread === thread)
    const now = JSON.stringify(shown)
    if (now !== before) yield shown
    before = now
  }
}

const resolutionNames: ReadonlySet<string> = new Set(['happened', 'value', 'comment'])

function createEffects(transport: Transport): RemoteSkein['effects'] {
  return {
    list: async ({ root } = {}) =>
      (await transport.json<{ effects: readonly SideEffect[] }>('/effects', { query: { root } })).effects,
    async resolve(id, resolution) {
      checkKnown('effects.resolve', resolution, resolutionNames)
      const [thread, call] = pairOf(id)
      await transport.done(at`/effects/${thread}/${call}/resolve`, { method: 'POST', body: resolution })
    },
  }
}

function createDeadLetters(transport: Transport): SkeinClient['deadLetters'] {
  const send = async (id: string, what: 'requeue' | 'drop'): Promise<void> => {
    const [thread, reference] = pairOf(id)
    await transport.done(at`/dead-letters/${thread}/${reference}/` + what, { method: 'POST' })
  }
  return {
    list: async ({ root } = {}) =>
      (await transport.json<{ letters: readonly DeadLetter[] }>('/dead-letters', { query: { root } })).letters,
    requeue: (id) => send(id, 'requeue'),
    drop: (id) => send(id, 'drop'),
  }
}
