/** A thread over HTTP: as the local handle, it keeps no state of the thread and may be held for ever. */
import { systemRandom } from '../core/clock.js'
import { defined } from '../core/defined.js'
import { SkeinError } from '../core/failure.js'
import type {
  Attachment,
  EventOptions,
  Json,
  Scheduled,
  SendMessage,
  SendOptions,
  SkeinEvent,
  Thread,
  ThreadInfo,
  ThreadStateInfo,
  ThreadViewOptions,
  TreeOption,
  WaitOptions,
} from '../index.js'
import { backOff, followEvents, passes } from './event-source.js'
import { createFiles } from './files.js'
import type { RemoteFiles } from './files.js'
import { createRemoteMessages } from './messages.js'
import { createReads } from './reads.js'
import { createRemoteRun } from './run.js'
import type { RemoteRun } from './run.js'
import { at, checkKnown, toBase64 } from './transport.js'
import { createTravel } from './travel.js'
import type { RemoteTravel } from './travel.js'
import { createRemoteView } from './view.js'
import type { RemoteThreadView } from './view.js'
import type { RequestParts, Transport } from './transport.js'

export type RemoteSendOptions = Omit<SendOptions, 'stopWhen' | 'maxToolRounds' | 'trace'>
export type RemoteSendMessage = Omit<SendMessage, 'stopWhen' | 'maxToolRounds' | 'trace'>

type AsLocal =
  | 'id'
  | 'agent'
  | 'tags'
  | 'info'
  | 'status'
  | 'usage'
  | 'children'
  | 'tree'
  | 'messages'
  | 'inject'
  | 'edit'
  | 'remove'
  | 'cancel'
  | 'pause'
  | 'resume'
  | 'terminate'
  | 'schedule'
  | 'schedules'
  | 'unschedule'
  | 'kv'
  | 'env'
  | 'state'
  | 'effects'
  | 'records'
  | 'context'
  | 'export'

export interface RemoteThread extends Pick<Thread, AsLocal>, RemoteTravel<RemoteThread> {
  /** Says something to it: a text, or an object with `text` and any of the options. */
  send(message: string | RemoteSendMessage, options?: RemoteSendOptions): RemoteRun
  /** The run of an earlier message. */
  run(id: string): RemoteRun
  /** Has a tool called that no model asked for. */
  callTool(name: string, args?: unknown): Promise<RemoteRun>
  /** Raises its budget; who gives it is the name of the key. */
  grant(amounts: Parameters<Thread['grant']>[0], options?: { readonly resume?: boolean }): Promise<void>
  events(options?: Omit<EventOptions, 'maxBuffered'>): AsyncIterable<SkeinEvent>
  /** A live view of its calls, children and turns; with `tree`, of all threads below it too. */
  view(options?: Omit<ThreadViewOptions, 'maxBuffered'>): RemoteThreadView
  /** The run that is going on. */
  current(): Promise<RemoteRun | undefined>
  /** Resolves when the thread is at rest; with `tree`, when all below it is. */
  settled(options?: TreeOption & WaitOptions): Promise<ThreadInfo>
  readonly files: RemoteFiles
}

const grantNames: ReadonlySet<string> = new Set(['resume'])
const eventNames: ReadonlySet<string> = new Set(['from', 'until', 'signal'])

export function eventsAt(
  transport: Transport,
  path: string,
  options: Omit<EventOptions, 'maxBuffered'>,
): AsyncIterable<SkeinEvent> {
  checkKnown('events', options, eventNames)
  const { from, until, signal } = options
  return followEvents(transport, { path, query: { until }, cursor: { from }, signal })
}

export function createRemoteThread(transport: Transport, { thread: id, agent, tags }: ThreadInfo): RemoteThread {
  const path = at`/threads/${id}`
  const post = (name: string, body: object, asked: RequestParts = {}): Promise<void> =>
    transport.done(`${path}/${name}`, { method: 'POST', body, ...asked })
  const run = (each: string, accepted?: () => Promise<void>): RemoteRun =>
    createRemoteRun(transport, {
      thread: id,
      run: each,
      accepted: accepted ?? (() => transport.done(at`/threads/${id}/runs/${each}`, { query: { wait: 0 } })),
    })
  const changes = async (name: string, body: object): Promise<boolean> =>
    (await transport.json<{ changed: boolean }>(`${path}/${name}`, { method: 'POST', body })).changed
  const info = (): Promise<ThreadInfo> => transport.json(path)
  return {
    id,
    agent,
    tags,
    info,
    status: async () => (await info()).status,
    ...createReads(transport, path),
    messages: createRemoteMessages(transport, `${path}/messages`),
    send: createSender(post, run),
    async inject(text, options = {}) {
      await post('inject', { id: systemRandom.id(), ...options, text }, { again: true })
    },
    edit: (message, text) =>
      transport.done(path + at`/messages/${message}`, { method: 'PATCH', body: { text }, again: true }),
    remove: (message) => transport.done(path + at`/messages/${message}`, { method: 'DELETE' }),
    run: (each) => run(each),
    async callTool(tool, args = {}) {
      const asked = { method: 'POST', body: { tool, args } } as const
      return run((await transport.json<{ run: string }>(`${path}/calls`, asked)).run)
    },
    cancel: (options = {}) => changes('stop', options),
    pause: (options = {}) => changes('pause', options),
    resume: (options = {}) => changes('resume', options),
    terminate: (options = {}) => changes('terminate', options),
    async grant(amounts, options = {}) {
      checkKnown('grant', options, grantNames)
      await post('budget', { amounts, ...options })
    },
    events: (options = {}) => eventsAt(transport, `${path}/events`, options),
    view: (options) => createRemoteView(transport, path, options),
    async current() {
      const { turn } = await transport.json<ThreadStateInfo>(`${path}/state`)
      return turn && run(turn.run)
    },
    settled: (options = {}) => untilSettled(transport, path, options),
    files: createFiles(transport, id),
    ...createStored(transport, path),
    ...createTravel(transport, path, (each) => createRemoteThread(transport, each)),
  }
}

/** The server answers before proxies lose patience. */
const waitMs = 20_000

async function untilSettled(
  transport: Transport,
  path: string,
  { tree, signal }: TreeOption & WaitOptions,
): Promise<ThreadInfo> {
  for (let failures = 0; ;) {
    try {
      const asked = { query: { tree, wait: waitMs }, waitMs, signal }
      const { thread, settled } = await transport.json<{ thread: ThreadInfo; settled: boolean }>(
        `${path}/settled`,
        asked,
      )
      if (settled) return thread
      failures = 0
    } catch (thrown) {
      signal?.throwIfAborted()
      if (transport.closed.aborted || !passes(thrown)) throw thrown
      await backOff(++failures, signal)
    }
  }
}

/** Values, variables and schedules. */
function createStored(
  transport: Transport,
  path: string,
): Pick<Thread, 'kv' | 'env' | 'schedule' | 'schedules' | 'unschedule'> {
  return {
    kv: createValues(transport, path),
    env: {
      set: (values) => transport.done(`${path}/variables`, { method: 'PATCH', body: values, again: true }),
      names: async () => (await transport.json<Names>(`${path}/variables`)).variables,
    },
    async schedule(tool, args, time) {
      const asked = { method: 'POST', body: { tool, args: args ?? {}, ...defined(time) } } as const
      return (await transport.json<{ id: string }>(`${path}/schedules`, asked)).id
    },
    schedules: async () => (await transport.json<{ schedules: Scheduled[] }>(`${path}/schedules`)).schedules,
    unschedule: async (each) =>
      (await transport.json<{ changed: boolean }>(path + at`/schedules/${each}`, { method: 'DELETE' })).changed,
  }
}

interface Names {
  readonly variables: Awaited<ReturnType<Thread['env']['names']>>
}

/** Messages of one handle arrive in the order in which they were sent. Each has an id, so it is sent once. */
function createSender(
  post: (name: string, body: object, asked: RequestParts) => Promise<void>,
  run: (id: string, accepted: () => Promise<void>) => RemoteRun,
): RemoteThread['send'] {
  let last: Promise<unknown> = Promise.resolve()
  return (message, options = {}) => {
    const whole = { ...(typeof message === 'string' ? { text: message } : message), ...options }
    const { id = systemRandom.id(), attachments, ...rest } = whole
    const body = { ...rest, id, ...defined({ attachments: attachments?.map(sentAttachment) }) }
    const accepted = last.then(() => post('messages', body, { again: true }))
    last = accepted.catch(() => undefined) // whoever consumes the run hears of it
    return run(id, () => accepted)
  }
}

function sentAttachment(each: Attachment): string | { readonly name: string; readonly base64: string } {
  if (typeof each === 'string') return each
  const { name, content } = each
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
  return { name, base64: toBase64(bytes) }
}

function createValues(transport: Transport, path: string): Thread['kv'] {
  const address = (key: string): string => path + at`/kv/${key}`
  const list: Thread['kv']['list'] = async (prefix) =>
    (await transport.json<{ values: { key: string; value: Json }[] }>(`${path}/kv`, { query: { prefix } })).values
  return {
    list,
    async get(key) {
      const { value } = await transport.json<{ value: Json }>(address(key))
      // Null stands for none, too.
      return value ?? (await list(key)).find((each) => each.key === key)?.value
    },
    async set(key, value) {
      if (value === undefined)
        throw new SkeinError(
          'BAD_OPTION',
          `kv.set(${JSON.stringify(key)}) was given no value; use kv.delete to remove one`,
        )
      await transport.done(address(key), { method: 'PUT', body: { value } })
    },
    delete: (key) => transport.done(address(key), { method: 'DELETE', again: true }),
  }
}
