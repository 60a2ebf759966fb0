/**
 * The composition root: a skein is a host on a backend and the handles on its threads; a client is the handles
 * alone. Nothing is global: two skeins in one process do not meet.
 */
import { setMaxListeners } from 'node:events'
import { availableParallelism } from 'node:os'
import { z } from 'zod'
import type { App } from '../agent/app.js'
import type { BackendSource, HeadFilter, StoredHead } from '../backend/port.js'
import { local } from '../backend/local/local.js'
import { systemChance, systemClock } from '../core/clock.js'
import type { Chance, Clock } from '../core/clock.js'
import type { SkeinEvent } from '../core/event.js'
import { SkeinError, isSkeinError } from '../core/failure.js'
import { noContent } from '../files/contents.js'
import { createPool } from '../pool/pool.js'
import type { Means } from './effects.js'
import { follow } from './follow.js'
import { createInbox } from './inbox.js'
import type { Inbox } from './inbox.js'
import { firstFiles } from './thread-files.js'
import { Host } from './host.js'
import { loadApp } from './load-app.js'
import type { AppSource } from './load-app.js'
import { createModels } from './models.js'
import { post } from './post.js'
import { createBrief } from './request.js'
import type { Brief } from './request.js'
import { createThread, missing, untilClosed } from './thread.js'
import type { EventOptions, Thread, ThreadMeans } from './thread.js'

export interface Limits {
  /** Calls of one step that run at once. Default 8. */
  readonly maxParallelTools?: number
  /** How long a turn may take. Default: no limit. */
  readonly maxWallClockMs?: number
  /** Children of one thread that are at work at once; more wait in line. Default 64. */
  readonly maxParallelChildren?: number
  /** How deep agents may call agents, the first one counted. Default 8. */
  readonly maxDepth?: number
  /** What the files of one thread may hold. Default 1 GB. */
  readonly maxFileBytes?: number
}

export interface SkeinOptions {
  /** A module (URL or path) that exports definitions, such a module already imported, or a list of definitions. */
  readonly app: AppSource
  /** Default: `local('.skein')`. */
  readonly backend?: BackendSource
  readonly limits?: Limits
  /** Values of the variables that tools declare. A tool sees those that it declares, and no others. */
  readonly env?: Readonly<Record<string, string>>
  /** Threads that run tool bodies when `app` is a module. */
  readonly workers?: {
    /** Of each kind. Default: the number of cores. */
    readonly threads?: number
    /** How long a body may ignore an abort before its thread is ended. Default 1,000. */
    readonly graceMs?: number
    /** Heap of each thread. Default 512. */
    readonly memoryMb?: number
  }
  /** Resting threads that are kept in memory. Default 256. */
  readonly maxResident?: number
  /**
   * Records after which a thread's state is cached. Default 2,000: a journal up to that length is read as fast as a
   * snapshot and its tail (a few ms), and the transcript comes with it.
   */
  readonly snapshotEvery?: number
  /** How long running calls may go on after `close()`. Default 5,000. */
  readonly closeGraceMs?: number
  readonly clock?: Clock
  readonly chance?: Chance
  /** Told of what an operator should know. Default: a process warning. */
  readonly warn?: (what: string, thrown: unknown) => void
}

export interface CreateThread {
  readonly agent: string
  /** Creating the same id again gives the thread that is there. */
  readonly id?: string
  readonly tags?: readonly string[]
  /** What it begins with, by path. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>
}

export interface SkeinClient {
  readonly threads: {
    create(options: CreateThread): Promise<Thread>
    get(id: string): Promise<Thread>
    list(filter?: HeadFilter): Promise<{ readonly threads: readonly StoredHead[]; readonly next?: string }>
  }
  /** What threads wait for a person to decide or to give. */
  readonly inbox: Inbox
  /** One subscription for a whole tree; goes on from a cursor. */
  events(options: EventOptions & { readonly root: string }): AsyncIterable<SkeinEvent>
  /** Whether a host serves the store. */
  hosted(): Promise<boolean>
  close(): Promise<void>
}

export interface Skein extends SkeinClient {
  /** Names of the agents of its app. */
  readonly agents: readonly string[]
  /** Threads that are awake here. */
  readonly resident: number
}

const positive = z.number().int().positive()
const optionsSchema = z.strictObject({
  app: z.custom<AppSource>((value) => value !== undefined && value !== null, 'must be a module URL, a path or definitions'),
  backend: z.custom<BackendSource>((value) => typeof (value as BackendSource | undefined)?.open === 'function', 'must be memory() or local(folder)').optional(),
  limits: z.strictObject({ maxParallelTools: positive.optional(), maxWallClockMs: positive.optional(), maxFileBytes: z.number().int().min(0).optional(), maxParallelChildren: positive.optional(), maxDepth: positive.optional() }).optional(),
  env: z.record(z.string(), z.string()).optional(),
  workers: z.strictObject({ threads: positive.optional(), graceMs: z.number().min(0).optional(), memoryMb: z.number().min(16).optional() }).optional(),
  maxResident: z.number().int().min(0).optional(),
  snapshotEvery: positive.optional(),
  closeGraceMs: z.number().min(0).optional(),
  clock: z.custom<Clock>().optional(),
  chance: z.custom<Chance>().optional(),
  warn: z.custom<(what: string, thrown: unknown) => void>().optional(),
})

const createSchema = z.strictObject({
  agent: z.string().min(1),
  id: z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/, 'an id is 1 to 64 letters, digits, "_" or "-"').optional(),
  tags: z.array(z.string().min(1)).optional(),
  files: z.record(z.string(), z.custom<string | Uint8Array>((value) => noContent(value) === undefined, { error: ({ input }) => noContent(input) ?? '' })).optional(),
})

const shortestSecret = 8

function check<Value>(schema: z.ZodType<Value>, value: unknown, what: string): Value {
  const checked = schema.safeParse(value)
  if (checked.success) return checked.data
  throw new SkeinError('BAD_OPTION', `${what}: ${z.prettifyError(checked.error)}`)
}

export async function createSkein(options: SkeinOptions): Promise<Skein> {
  check(optionsSchema, options, 'createSkein')
  const { backend: source = local('.skein'), clock = systemClock, chance = systemChance, limits = {}, env = {} } = options
  const warn = options.warn ?? ((what: string, thrown: unknown) => process.emitWarning(thrown instanceof Error ? `${what}: ${thrown.message}` : what, 'SkeinWarning'))
  const { app, disconnect } = await equip(options.app)
  const opened: (() => Promise<void>)[] = [disconnect]
  try {
    checkEnv(app, env)
    for (const warning of app.warnings) warn(warning, undefined)
    const { threads = availableParallelism(), graceMs = 1_000, memoryMb = 512 } = options.workers ?? {}
    const pool = await createPool(app, { clock, threads, graceMs, memoryMb })
    opened.unshift(() => pool.close())
    const backend = await source.open('host')
    opened.push(() => backend.close())
    const host = await Host.open({
      backend,
      means: createMeans(app, { clock, chance, pool, blobs: backend.blobs, env, quotaBytes: limits.maxFileBytes ?? 2 ** 30, childLimits: { maxParallelChildren: limits.maxParallelChildren ?? 64, maxDepth: limits.maxDepth ?? 8 } }),
      maxParallelTools: limits.maxParallelTools ?? 8,
      ...(limits.maxWallClockMs !== undefined && { maxWallClockMs: limits.maxWallClockMs }),
      maxResident: options.maxResident ?? 256,
      snapshotEvery: options.snapshotEvery ?? 2_000,
      closeGraceMs: options.closeGraceMs ?? 5_000,
      warn,
    })
    const client = createClient({ backend, clock, chance })
    return {
      ...client,
      agents: [...app.agents.keys()],
      get resident() {
        return host.resident
      },
      close: once(async () => {
        await host.close()
        await pool.close()
        await disconnect()
        await client.close()
      }),
    }
  } catch (thrown) {
    for (const close of opened) await close()
    throw thrown
  }
}

/** The app with Skein's own tools and those of the servers that it names. */
async function equip(source: AppSource): Promise<{ readonly app: App; disconnect(): Promise<void> }> {
  const { ownTools } = await import('../tools/own-tools.js')
  let disconnect = async (): Promise<void> => undefined
  try {
    const app = await loadApp(source, {
      builtins: ownTools,
      async connectMcp(servers) {
        const { connectMcp } = await import('../pool/mcp.js')
        // By the time of this machine: servers live in it, whatever clock the threads have.
        const connected = await connectMcp(servers)
        disconnect = () => connected.close()
        return connected.tools
      },
    })
    return { app, disconnect: () => disconnect() }
  } catch (thrown) {
    await disconnect()
    throw thrown
  }
}

/** A secret is masked wherever its value turns up, which would mask half of a text for a short one. */
function checkEnv({ tools }: App, env: Readonly<Record<string, string>>): void {
  for (const { name: tool, variables = [] } of tools.values()) {
    for (const { name, type = 'secret' } of variables) {
      const value = env[name]
      if (type === 'secret' && value !== undefined && value.length < shortestSecret) {
        throw new SkeinError('BAD_OPTION', `the value of ${name}, a secret of the tool ${tool}, is shorter than ${shortestSecret} characters and could not be kept out of what others see; use a longer one, or declare it with type 'text'`)
      }
    }
  }
}

/** Handles on the threads of a store that another process may serve. */
export async function connectSkein(options: { readonly backend: BackendSource; readonly clock?: Clock; readonly chance?: Chance }): Promise<SkeinClient> {
  const { backend, clock = systemClock, chance = systemChance } = options
  return createClient({ backend: await backend.open('client'), clock, chance })
}

type Given = Pick<Means, 'clock' | 'pool' | 'blobs' | 'env' | 'quotaBytes' | 'childLimits'> & { readonly chance: Chance }

function createMeans(app: App, { chance, ...given }: Given): Means {
  const briefs = new Map<string, Brief>()
  const brief = (agent: string): Brief => {
    const known = briefs.get(agent) ?? createBrief(app, agent)
    briefs.set(agent, known)
    return known
  }
  return { ...given, app, brief, model: createModels(app, given.clock, chance) }
}

function createClient(given: Omit<ThreadMeans, 'closed'>): SkeinClient {
  const closed = new AbortController()
  setMaxListeners(0, closed.signal) // one for every watcher
  const means: ThreadMeans = { ...given, closed: closed.signal }
  const { backend, chance } = means
  const get = async (id: string): Promise<Thread> => createThread(means, (await backend.heads.get(id)) ?? missing(id))
  return {
    threads: {
      async create(options) {
        const { agent, id = chance.id(), tags = [], files = {} } = check(createSchema, options, 'threads.create')
        await createOnce(means, { id, agent, tags, files })
        return get(id)
      },
      get,
      async list(filter = {}) {
        const { heads, next } = await backend.heads.list(filter)
        return { threads: heads, ...(next !== undefined && { next }) }
      },
    },
    inbox: createInbox(means),
    events: (options) => follow(backend, { ...options, signal: untilClosed(closed.signal, options.signal) }),
    hosted: () => backend.hosted(),
    close: once(async () => {
      closed.abort()
      await backend.close()
    }),
  }
}

/** Closing twice is closing once: the second waits for the first. */
function once(close: () => Promise<void>): () => Promise<void> {
  let closing: Promise<void> | undefined
  return () => (closing ??= close())
}

async function createOnce({ backend, clock, chance }: ThreadMeans, { id, agent, tags, files }: Required<CreateThread>): Promise<void> {
  const existing = await backend.heads.get(id)
  try {
    if (!existing) {
      const changes = Object.keys(files).length > 0 ? await firstFiles({ backend, clock }, files) : undefined
      await post(backend, clock, { thread: id, id: chance.id(), command: { kind: 'create', agent, tags: [...tags], path: [id], ...(changes && { changes }) } })
    }
  } catch (thrown) {
    // Someone else created it at the same time: that is what was asked for.
    if (!isSkeinError(thrown) || thrown.code !== 'COMMAND_REFUSED') throw thrown
  }
  const head = existing ?? (await backend.heads.get(id))
  if (head && head.agent !== agent) throw new SkeinError('COMMAND_REFUSED', `thread ${id} exists already with agent ${head.agent}, not ${agent}`)
}
