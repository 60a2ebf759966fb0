/**
 * A client: handles on the threads of a store, with or without a host in this process.
 */
import { setMaxListeners } from 'node:events'
import { z } from 'zod'
import type { NameOr } from '../../agent/naming.js'
import type { HostInfo } from '../../backend/host-info.js'
import type { Backend, Store, StoredHead } from '../../backend/port.js'
import { budgetSchema, toAmounts } from '../../core/budget.js'
import type { Budget } from '../../core/budget.js'
import { systemRandom, systemClock } from '../../core/clock.js'
import type { Random, Clock } from '../../core/clock.js'
import { defined } from '../../core/defined.js'
import type { SkeinEvent } from '../../core/records/event.js'
import { SkeinError } from '../../core/failure.js'
import { isObject } from '../../core/json.js'
import { checkOptions } from '../../core/options.js'
import { noContent } from '../../files/contents.js'
import { askWaits } from '../effects/model-gates.js'
import type { ThreadWait } from '../effects/model-gates.js'
import { createDeadLetters } from './dead-letters.js'
import type { DeadLetters } from './dead-letters.js'
import { deleteTree } from './delete-tree.js'
import type { WaitOptions } from '../watch/run.js'
import { createInbox } from './inbox.js'
import { SharedDirectory } from '../watch/directory/directory.js'
import type { ThreadDirectory } from '../watch/directory/directory.js'
import { filterSchema, toHeadFilter, toThreadInfo } from '../watch/directory/thread-info.js'
import type { ThreadFilter, ThreadInfo } from '../watch/directory/thread-info.js'
import { createEffects } from './inspect/thread-effects.js'
import type { Effects } from './inspect/thread-effects.js'
import type { Inbox } from './inbox.js'
import { decode } from '../journal/journal.js'
import { withPasts } from '../journal/past.js'
import { keySource } from '../secrets/key-source.js'
import type { KeyInput, KeyOptions } from '../secrets/key-source.js'
import { sendCommand } from './send-command.js'
import { Secrets } from '../secrets/secrets.js'
import { firstEnv } from './thread-env.js'
import { firstFiles } from './thread-files.js'
import { givenContext } from './sent-message.js'
import type { ToolContexts } from './sent-message.js'
import { threadMissing, traceOfSender } from './services.js'
import type { ThreadServices } from './services.js'
import { createThread, eventsOf } from './thread.js'
import type { DiffOptions, ThreadAt, ThreadDiff } from './travel/diff.js'
import { warnProcess } from './warn-process.js'
import { createVariables } from './variable-requests.js'
import type { Variables } from './variable-requests.js'
import type { EventOptions, Thread } from './thread.js'
import { lazy } from '../../core/schema.js'

export type { EffectResolution, Effects, SideEffect } from './inspect/thread-effects.js'

export interface CreateThread {
  /** An agent of the app, or its name. */
  readonly agent: NameOr<'agent'>
  /** Creating the same id again gives the thread that is there. */
  readonly id?: string
  readonly tags?: readonly string[]
  /** What it begins with, by path. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>
  /** What it and all below it may spend. Default: what its agent says. */
  readonly budget?: Budget
  /** Values for the variables that its tools declare; sealed before they are stored. */
  readonly env?: Readonly<Record<string, string>>
  /** What its tools find in `state.local`, by tool, and in `state.shared`; checked by their schemas. */
  readonly context?: ToolContexts
}

export interface SkeinClient {
  readonly threads: {
    create(options: CreateThread & WaitOptions): Promise<Thread>
    get(id: string): Promise<Thread>
    /**
     * Removes a tree for ever, by its root: threads, messages, files. Refused while it is at work, unless it is
     * terminated first.
     */
    delete(root: string, options?: { readonly terminate?: boolean }): Promise<void>
    list(filter?: ThreadFilter): Promise<{ readonly threads: readonly ThreadInfo[]; readonly next?: string }>
  }
  /**
   * All threads in memory, followed from the first call on until the skein is closed. `threads.list` and `inbox.list`
   * then answer from it.
   */
  directory(): ThreadDirectory
  /** What threads wait for a person to decide or to give. */
  readonly inbox: Inbox
  /** Values that children wait for before they begin. */
  readonly variables: Variables
  /** Children that failed for good. */
  readonly deadLetters: DeadLetters
  /** Calls of which nobody knows whether they changed the world. */
  readonly effects: Effects
  /** What differs between two threads, or two points: messages, files, values. */
  diff(a: ThreadAt, b: ThreadAt, options?: DiffOptions): Promise<ThreadDiff>
  /** One subscription for a whole tree; goes on from a cursor. */
  events(options: EventOptions & { readonly root: string }): AsyncIterable<SkeinEvent>
  /**
   * Threads that wait in line for a model that its provider has limited, and their places; asks all hosts, which have
   * a quarter of a second to answer.
   */
  modelWaits(): Promise<readonly ThreadWait[]>
  /**
   * The trace that a message sent here is part of (`send({ trace })`): that of the active OpenTelemetry span, else the
   * `traceparent` that came in with a request. Undefined where nothing is traced.
   */
  traceparent(incoming?: string | null): string | undefined
  /** Copies the embedded store, while it is in use, into a new folder. Opening the copy is restoring it. */
  backup(dir: string): Promise<void>
  /** Whether a host serves the store. */
  hosted(): Promise<boolean>
  /** The hosts that serve it, in the order in which they began, and how many partitions they share. */
  hosts(): Promise<{ readonly hosts: readonly HostInfo[]; readonly partitions: number }>
  close(): Promise<void>
  /** Closes it at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void>
}

const createSchema = lazy(() =>
  z.strictObject({
    agent: z.union(
      [
        z.string().min(1),
        z.looseObject({ kind: z.literal('agent'), name: z.string().min(1) }).transform(({ name }) => name),
      ],
      'must be an agent, or its name',
    ),
    id: z
      .string()
      .regex(/^[a-zA-Z0-9_-]{1,64}$/, 'an id is 1 to 64 letters, digits, "_" or "-"')
      .optional(),
    tags: z.array(z.string().min(1)).optional(),
    files: z
      .record(
        z.string(),
        z.custom<string | Uint8Array>((value) => noContent(value) === undefined, {
          error: ({ input }) => noContent(input) ?? '',
        }),
      )
      .optional(),
    env: z.record(z.string(), z.string()).optional(),
    budget: budgetSchema.optional(),
    context: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
    signal: z.instanceof(AbortSignal).optional(),
  }),
)

export const keyFields = {
  key: () =>
    z
      .custom<KeyInput>(
        (value) => ['string', 'function'].includes(typeof value),
        'must be text, or a function that gives it',
      )
      .optional(),
  keyFile: () => z.string().min(1).optional(),
}

export const storeSchema = lazy(() =>
  z.custom<Store>(
    (value) => isObject(value) && typeof value['open'] === 'function',
    'must be memory(), local(folder) or nats(options)',
  ),
)

const connectSchema = lazy(() =>
  z.strictObject({
    key: keyFields.key(),
    keyFile: keyFields.keyFile(),
    backend: storeSchema(),
    traces: z.boolean().optional(),
    clock: z.custom<Clock>().optional(),
    random: z.custom<Random>().optional(),
  }),
)

/** The key for secrets is the same as the host's. */
export interface ConnectOptions extends KeyOptions {
  readonly backend: Store
  /** Its hosts trace: messages carry the trace of the active OpenTelemetry span. Default false. */
  readonly traces?: boolean
  readonly clock?: Clock
  readonly random?: Random
}

/** Handles on the threads of a store that another process may serve. */
export async function connectSkein(options: ConnectOptions): Promise<SkeinClient> {
  const {
    backend: store,
    clock = systemClock,
    random = systemRandom,
    traces = false,
    ...keys
  } = checkOptions(connectSchema(), options, 'connectSkein')
  const key = keySource(keys)
  const backend = withPasts(await store.open('client'))
  const secrets = new Secrets({ source: key, backend })
  try {
    await secrets.join()
  } catch (thrown) {
    await backend.close()
    throw thrown
  }
  return createClient({ backend, clock, random, secrets, traces, warn: warnProcess })
}

export function createClient(parts: Omit<ThreadServices, 'closed' | 'directory'>): SkeinClient {
  const closed = new AbortController()
  setMaxListeners(0, closed.signal) // one for every watcher
  const directory = new SharedDirectory(parts.backend, closed.signal)
  const services: ThreadServices = { ...parts, closed: closed.signal, directory }
  const { backend, random } = services
  const get = async (id: string): Promise<Thread> =>
    createThread(services, (await backend.heads.get(id)) ?? threadMissing(id))
  const close = once(async () => {
    closed.abort()
    services.secrets.close()
    await backend.close()
  })
  return {
    threads: {
      async create(options) {
        const {
          agent,
          id = random.id(),
          tags = [],
          files = {},
          env = {},
          budget,
          context,
          signal,
        } = checkOptions(createSchema(), options, 'threads.create')
        const wanted = { id, agent, tags, files, env, ...defined({ budget, context, signal }) }
        return createThread(services, (await createOnce(services, wanted)) ?? threadMissing(id))
      },
      get,
      delete: (root, options) => deleteTree(services, root, options),
      list: (filter = {}) => listThreads(services, filter),
    },
    directory: () => directory.open(),
    inbox: createInbox(services),
    variables: createVariables(services),
    deadLetters: createDeadLetters(services),
    effects: createEffects(services),
    diff: async (a, b, options) => (await import('./travel/diff.js')).diffThreads(backend, { a, b }, options),
    events: ({ root, ...options }) => eventsOf(services, { root }, options),
    modelWaits: () => askWaits({ signals: backend.signals, clock: services.clock, random }),
    async backup(dir) {
      if (!backend.backup)
        throw new SkeinError('BAD_OPTION', `a ${backend.name} store has no folder to copy; backup is for local(folder)`)
      await backend.backup(dir)
    },
    traceparent: (incoming) => traceOfSender(services, incoming),
    hosted: () => backend.hosted(),
    hosts: async () => ({ hosts: await backend.hosts(), partitions: backend.leases.partitions }),
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function listThreads({ backend, directory }: ThreadServices, filter: ThreadFilter) {
  checkOptions(filterSchema(), filter, 'threads.list')
  if (directory.isReady) {
    const { position: _, ...page } = await directory.list(filter)
    return page
  }
  const { heads, next } = await backend.heads.list(toHeadFilter(filter))
  return { threads: heads.map(toThreadInfo), ...defined({ next }) }
}

/** Closing twice is closing once: the second call waits for the first. */
export function once(close: () => Promise<void>): () => Promise<void> {
  let closing: Promise<void> | undefined
  return () => (closing ??= close())
}

/** Ids of children begin with it (resolve/child-calls.ts). */
const childPrefix = 'c_'

type Creating = Required<Omit<CreateThread, 'agent' | 'budget' | 'context'>> &
  Pick<CreateThread, 'budget' | 'context'> &
  WaitOptions & { readonly agent: string }

async function createOnce(
  { backend, clock, random, secrets }: ThreadServices,
  { id, agent, tags, files, env: values, budget, context, signal }: Creating,
): Promise<StoredHead | undefined> {
  const existing = await backend.heads.get(id)
  // Ids of future children can be computed from their parent's: nobody may occupy one. Threads from before stay.
  if (!existing && id.startsWith(childPrefix))
    throw new SkeinError(
      'RESERVED_NAME',
      `threads.create: ids that begin with "${childPrefix}" belong to children, which Skein makes; this one is ` +
        `${JSON.stringify(id)}. Choose another`,
    )
  try {
    if (!existing) {
      const changes = Object.keys(files).length > 0 ? await firstFiles({ backend, clock }, files) : undefined
      const env = await firstEnv(secrets, id, values)
      await sendCommand(backend, clock, {
        thread: id,
        id: random.id(),
        ...defined({ signal }),
        command: {
          kind: 'create',
          agent,
          tags: [...tags],
          path: [id],
          ...defined({ changes, env, budget: budget && toAmounts(budget) }),
          ...givenContext(context),
        },
      })
    }
  } catch (thrown) {
    // Another caller created it at the same time.
    if (!SkeinError.is(thrown, 'COMMAND_REFUSED')) throw thrown
  }
  const head = existing ?? (await backend.heads.get(id))
  if (head && head.agent !== agent && (await firstAgent(backend, id)) !== agent)
    throw new SkeinError('COMMAND_REFUSED', `thread ${id} exists already with agent ${head.agent}, not ${agent}`)
  return head
}

/** The agent that it was created with; after a handoff another one has it. */
async function firstAgent(backend: Backend, id: string): Promise<string | undefined> {
  const [entry] = await backend.journal.read(id, { limit: 1 })
  const [created] = entry ? decode(id, entry) : []
  return created?.type === 'thread.created' ? created.agent : undefined
}
