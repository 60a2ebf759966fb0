/**
 * The composition root: a skein is a host on a backend and the handles on its threads; a client is the handles
 * alone. Nothing is global: two skeins in one process do not meet.
 */
import { availableParallelism } from 'node:os'
import { z } from 'zod'
import type { App } from '../agent/app.js'
import { agentNames } from '../agent/callable.js'
import { createDeclarations, isTooShort, tooShort } from '../agent/variables.js'
import type { HostProfile, HostWork, HostSelf } from '../backend/host-info.js'
import type { Store } from '../backend/port.js'
import { local } from '../backend/local/local.js'
import { nanoUsdOf } from '../core/budget.js'
import type { Amounts } from '../core/budget.js'
import { systemRandom, systemClock } from '../core/clock.js'
import type { Random, Clock } from '../core/clock.js'
import { defined } from '../core/defined.js'
import { SkeinError, fromFailure } from '../core/failure.js'
import type { Failure } from '../core/failure.js'
import { createPool } from '../pool/pool.js'
import { createModelGates } from './effects/model-gates.js'
import type { ModelGates } from './effects/model-gates.js'
import { createClient, keyFields, once } from './handles/client.js'
import type { SkeinClient } from './handles/client.js'
import { check } from './handles/options.js'
import { debugged, warnProcess } from './debugging.js'
import type { Services } from './effects/model-call.js'
import { Environments } from './secrets/environment.js'
import { Host } from './host/host.js'
import type { HostEvent } from './host/host.js'
import { createLoad, profileOf } from './identity.js'
import { keySource } from './secrets/key-source.js'
import type { KeyOptions } from './secrets/key-source.js'
import { Janitor } from './host/janitor.js'
import type { Retention } from './host/janitor.js'
import { loadAppWithTools } from './app/equip.js'
import type { AppSource } from './app/load.js'
import { createModels } from './effects/models.js'
import { OrphanedCalls } from './effects/orphaned-calls.js'
import { Quotas } from './host/quotas.js'
import type { QuotaRules } from './host/quotas.js'
import { createAgentSetup } from './resolve/model-request.js'
import type { AgentSetup } from './resolve/model-request.js'
import { Secrets } from './secrets/secrets.js'
import type { Resuming } from './host/unfinished.js'

export interface Limits {
  /** Calls of one step that run at once. Default 8. */
  readonly maxParallelTools?: number
  /**
   * How often a host may die while a call is under way before the call is answered with `CALL_KILLED_ITS_HOST`.
   * Default 3.
   */
  readonly maxHostDeaths?: number
  /** How long a turn may take. Default: no limit. */
  readonly maxWallClockMs?: number
  /**
   * Of one turn: its steps, its calls (children counted), and what its model calls may use and cost. Default: no
   * limit; 0 means none at all.
   */
  readonly maxSteps?: number
  readonly maxToolCalls?: number
  readonly maxTokens?: number
  readonly maxCostUsd?: number
  /** Children of one thread that are at work at once; more wait in line. Default 64. */
  readonly maxParallelChildren?: number
  /** Children of one thread that live at once, idle ones counted; more wait in line. Default 1,000. */
  readonly maxChildren?: number
  /** How deep agents may call agents, the first one counted. Default 8. */
  readonly maxDepth?: number
  /**
   * How long a tool's body may take in a worker, if the tool has no `timeoutMs`; and the most that a model can ask
   * for a command of `bash`. Default: no limit, and ten minutes for `bash`.
   */
  readonly maxToolMs?: number
  /** What the files of one thread may hold. Default 1 GB. */
  readonly maxFileBytes?: number
  /** How many files, links and directories the files of one thread may have: 100,000. */
  readonly maxFiles?: number
}

export interface SkeinOptions extends KeyOptions {
  /** A module (URL or path) that exports definitions, such a module already imported, or a list of definitions. */
  readonly app: AppSource
  /**
   * Of the app: hosts that share a store tell each other, and the newest version is served first. Default: those of
   * the package that the module is in.
   */
  readonly name?: string
  readonly version?: string
  /** Default: `local('.skein')`. */
  readonly backend?: Store
  readonly limits?: Limits
  /**
   * Values of the variables that tools declare, for threads that have none. A tool sees those that it declares, and
   * no others.
   */
  readonly env?: Readonly<Record<string, string>>
  /** Threads that run tool bodies when `app` is a module. */
  readonly workers?: {
    /** Of each kind. Default: the number of cores. */
    readonly threads?: number
    /** How long a body may ignore an abort before its thread is ended. Default 1,000. */
    readonly graceMs?: number
    /** Heap of each thread. Default 512. */
    readonly memoryMb?: number
    /**
     * Variables of the host's environment that workers have too: their names, or all but Skein's key. Default: those
     * that Node needs.
     */
    readonly env?: 'inherit' | readonly string[]
  }
  /**
   * Which unfinished trees it goes on with when it opens the store: `all` (default), or those with these roots. The
   * others stay as they are until someone sends them something or another host serves them.
   */
  readonly resuming?: Resuming
  /** Resting threads that are kept in memory. Default 256. */
  readonly maxResident?: number
  /**
   * Records after which a thread's state is cached. Default 2,000: a journal up to that length is read as fast as a
   * snapshot and its tail (a few ms), and the transcript comes with it. Where the last one was long, as with a parent
   * of thousands, the next waits until the journal has grown by as much.
   */
  readonly snapshotEvery?: number
  /** How long running calls may go on after `close()`. Default 5,000. */
  readonly closeGraceMs?: number
  /** Which trees are deleted by themselves. Default: none. */
  readonly retention?: Retention
  /**
   * What trees with a tag may be and do at once, by tag; `tenant:*` is for every tag that begins so, each by itself.
   */
  readonly quotas?: QuotaRules
  readonly clock?: Clock
  readonly random?: Random
  /** Told of what an operator should know. Default: a process warning. */
  readonly warn?: (what: string, thrown: unknown) => void
  /** Told of partitions that this host has got or lost, and of a server that it lost or has again. */
  readonly onHostEvent?: (news: HostEvent) => void
}

export interface Skein extends SkeinClient {
  /** Names of the agents of its app. */
  readonly agents: readonly string[]
  /** The host in this process. */
  readonly host: {
    /** How many threads are in memory. */
    readonly threadsAwake: number
    /** What it says of itself to others. */
    readonly profile: HostProfile
  }
}

const positive = z.number().int().positive()
const natural = z.number().int().min(0)
const optionsSchema = z.strictObject({
  app: z.custom<AppSource>(
    (value) => value !== undefined && value !== null,
    'must be a module URL, a path or definitions',
  ),
  backend: z
    .custom<Store>(
      (value) => typeof (value as Store | undefined)?.open === 'function',
      'must be memory() or local(folder)',
    )
    .optional(),
  limits: z
    .strictObject({
      maxHostDeaths: positive.optional(),
      maxToolMs: positive.optional(),
      maxParallelTools: positive.optional(),
      maxWallClockMs: positive.optional(),
      maxFileBytes: natural.optional(),
      maxFiles: natural.optional(),
      maxParallelChildren: positive.optional(),
      maxChildren: positive.optional(),
      maxDepth: positive.optional(),
      maxSteps: natural.optional(),
      maxToolCalls: natural.optional(),
      maxTokens: natural.optional(),
      maxCostUsd: z.number().min(0).optional(),
    })
    .optional(),
  env: z.record(z.string(), z.string()).optional(),
  ...keyFields,
  workers: z
    .strictObject({
      threads: positive.optional(),
      graceMs: z.number().min(0).optional(),
      memoryMb: z.number().min(16).optional(),
      env: z.union([z.literal('inherit'), z.array(z.string().min(1))]).optional(),
    })
    .optional(),
  resuming: z.union([z.literal('all'), z.array(z.string())]).optional(),
  maxResident: z.number().int().min(0).optional(),
  snapshotEvery: positive.optional(),
  closeGraceMs: z.number().min(0).optional(),
  retention: z.strictObject({ finishedTreesMs: positive.optional(), idleTreesMs: positive.optional() }).optional(),
  quotas: z
    .record(
      z
        .string()
        .min(1)
        .regex(/^[^*]+\*?$/, 'is a tag, or the beginning of tags with a * behind it'),
      z.strictObject({ maxLiveTrees: natural.optional(), maxRunningTurns: natural.optional() }),
    )
    .optional(),
  clock: z.custom<Clock>().optional(),
  random: z.custom<Random>().optional(),
  name: z.string().min(1).optional(),
  version: z.string().min(1).optional(),
  warn: z.custom<(what: string, thrown: unknown) => void>().optional(),
  onHostEvent: z.custom<(news: HostEvent) => void>().optional(),
})

export async function createSkein(options: SkeinOptions): Promise<Skein> {
  check(optionsSchema, options, 'createSkein')
  const {
    backend: source = local('.skein'),
    clock = systemClock,
    random = systemRandom,
    limits = {},
    env = {},
    onHostEvent: told = () => undefined,
  } = options
  const warn = options.warn ?? warnProcess
  const given = keySource(options)
  const { app, disconnect } = await loadAppWithTools(options.app)
  const opened: (() => Promise<void>)[] = [disconnect]
  try {
    checkEnv(app, env)
    for (const warning of app.warnings) warn(warning, undefined)
    const { threads = availableParallelism(), graceMs = 1_000, memoryMb = 512, env: workerEnv } = options.workers ?? {}
    const pool = await createPool(app, {
      clock,
      threads,
      graceMs,
      memoryMb,
      maxToolMs: limits.maxToolMs,
      env: workerEnv,
    })
    opened.unshift(() => pool.close())
    const loading = pool.loads?.()
    const running: { host?: Host } = {}
    const self = selfOf(options, {
      clock,
      warn,
      onHostEvent: told,
      work: () => ({ awake: 0, busy: 0, ...running.host?.work }),
    })
    const backend = await source.open('host', self)
    opened.push(() => backend.close())
    checkLoaded(await loading)
    const secrets = new Secrets({ given, backend })
    await secrets.join()
    const janitor = new Janitor({ backend, clock, random, retention: options.retention ?? {}, warn })
    // What it copies to children is sealed while it decides. A file that is wrong is told now, and a pipe has its
    // reader.
    if (declaresScoped(app) || given?.from === 'file') await secrets.ready()
    const quotas = options.quotas && (await Quotas.load(options.quotas, backend))
    const admission = createModelGates({ app, signals: backend.signals, clock, random })
    const envs = new Environments({ app, instance: env, secrets })
    const orphans = new OrphanedCalls({ mailbox: backend.mailbox, clock, leaseMs: backend.leases.leaseMs, warn })
    const host = await Host.open({
      backend,
      means: createMeans(app, {
        clock,
        random,
        admission,
        pool: debugged(pool, { envs, warn }),
        blobs: backend.blobs,
        orphans,
        leaseMs: backend.leases.leaseMs,
        envs,
        quota: { quotaBytes: limits.maxFileBytes ?? 2 ** 30, quotaNames: limits.maxFiles ?? 100_000 },
        childLimits: {
          maxParallelChildren: limits.maxParallelChildren ?? 64,
          maxChildren: limits.maxChildren ?? 1_000,
          maxDepth: limits.maxDepth ?? 8,
        },
        ...defined({ quotas }),
      }),
      ...callLimits(limits),
      ...turnLimits(limits),
      ...(limits.maxWallClockMs !== undefined && { maxWallClockMs: limits.maxWallClockMs }),
      maxResident: options.maxResident ?? 256,
      snapshotEvery: options.snapshotEvery ?? 2_000,
      resuming: options.resuming ?? 'all',
      closeGraceMs: options.closeGraceMs ?? 5_000,
      warn,
      told,
      removed: () => janitor.sweep(),
    })
    running.host = host
    janitor.begin()
    const client = createClient({ backend, clock, random, secrets })
    const close = once(async () => {
      await Promise.all([janitor.close(), host.close()])
      admission.close()
      await pool.close()
      await disconnect()
      await client.close()
    })
    return skeinOf(client, { app, profile: self.profile, host, close })
  } catch (thrown) {
    for (const close of opened) await close()
    throw thrown
  }
}

interface Running extends Pick<Skein, 'close'> {
  readonly app: App
  readonly profile: HostProfile
  readonly host: Host
}

/** What a client can do, and what only the process of a host knows. */
function skeinOf(client: SkeinClient, { app, profile, host, close }: Running): Skein {
  return {
    ...client,
    agents: agentNames(app),
    host: {
      get threadsAwake() {
        return host.work.awake
      },
      profile,
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

interface Telling extends Required<Pick<SkeinOptions, 'clock' | 'warn' | 'onHostEvent'>> {
  work(): Pick<HostWork, 'awake' | 'busy'>
}

function selfOf({ app, name, version }: SkeinOptions, { clock, warn, onHostEvent: told, work }: Telling): HostSelf {
  const load = createLoad()
  return {
    profile: profileOf(app, { clock, ...defined({ name, version }) }),
    work: () => ({ ...work(), load: load() }),
    warn: (what) => warn(what, undefined),
    reach: (server) => told({ type: `server.${server}` }),
  }
}

function callLimits({ maxParallelTools = 8, maxHostDeaths = 3 }: Limits): {
  readonly maxParallelTools: number
  readonly maxHostDeaths: number
} {
  return { maxParallelTools, maxHostDeaths }
}

function turnLimits({ maxSteps, maxToolCalls, maxTokens, maxCostUsd }: Limits): { readonly turnLimits?: Amounts } {
  if (maxSteps === undefined && maxToolCalls === undefined && maxTokens === undefined && maxCostUsd === undefined)
    return {}
  return {
    turnLimits: {
      ...defined({ steps: maxSteps }),
      ...defined({ toolCalls: maxToolCalls }),
      ...defined({ tokens: maxTokens }),
      ...(maxCostUsd !== undefined && { nanoUsd: nanoUsdOf(maxCostUsd) }),
    },
  }
}

function declaresScoped({ prompts }: App): boolean {
  return [...prompts.values()].some(({ tools = [] }) =>
    tools.some(
      (tool) =>
        typeof tool === 'object' &&
        'immediate' in tool &&
        typeof tool.immediate === 'object' &&
        tool.immediate.scopedEnv !== undefined,
    ),
  )
}

function checkLoaded(failed: Failure | undefined): void {
  if (!failed) return
  const advice =
    'every worker imports the app by itself; if it needs variables of the environment, name them in workers.env ' +
    '(--worker-env)'
  throw new SkeinError('APP_NOT_LOADED', `the app does not load in a worker: ${failed.message} (${advice})`, {
    cause: fromFailure(failed),
  })
}

/** RX4 */
function checkEnv(app: App, env: Readonly<Record<string, string>>): void {
  const { isDeclaredSecret } = createDeclarations(app)
  for (const [name, value] of Object.entries(env))
    if (isDeclaredSecret(name) && isTooShort(value))
      throw new SkeinError('BAD_OPTION', `the value of ${name}, ${tooShort}`)
}

type Given = Pick<
  Services,
  'clock' | 'pool' | 'blobs' | 'orphans' | 'leaseMs' | 'envs' | 'quota' | 'childLimits' | 'quotas'
> & { readonly random: Random; readonly admission: ModelGates }

function createMeans(app: App, { random, admission, ...given }: Given): Services {
  const briefs = new Map<string, AgentSetup>()
  const brief: Services['brief'] = (agent, side = 'a', disabled = []) => {
    const key = [side, agent, ...disabled].join(' ')
    const known = briefs.get(key) ?? createAgentSetup(app, agent, { side, disabled })
    briefs.set(key, known)
    return known
  }
  return { ...given, app, brief, model: createModels(app, { clock: given.clock, random, admission }) }
}
