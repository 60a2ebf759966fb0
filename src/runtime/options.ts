/**
 * The options of a skein: their types, the schema that checks them, and every default. What is connected with them is
 * in skein.ts.
 */
import { availableParallelism } from 'node:os'
import { z } from 'zod'
import { local } from '../backend/local/local.js'
import type { Store } from '../backend/port.js'
import { toAmounts } from '../core/budget.js'
import type { Amounts } from '../core/budget.js'
import { systemClock, systemRandom } from '../core/clock.js'
import type { Clock, Random } from '../core/clock.js'
import { defined } from '../core/defined.js'
import { isObject } from '../core/json.js'
import { checkFitting, FieldForm } from '../core/options.js'
import { lazy } from '../core/schema.js'
import type { FileQuota } from '../core/tree/tree-usage.js'
import type { Observer } from '../observe/port.js'
import type { PoolOptions } from '../pool/pool.js'
import type { AppSource } from './app/load.js'
import { keyFields, storeSchema } from './handles/client.js'
import type { HostEvent } from './host/host.js'
import type { RepetitionRule } from '../core/records/rules.js'
import type { HostSettings, Warn } from './services.js'
import type { Retention } from './host/janitor.js'
import type { QuotaRules } from './host/quotas.js'
import type { Resuming } from './host/unfinished.js'
import type { ChildLimits } from './resolve/child-calls.js'
import type { RuleSettings } from './resolve/turn-rules.js'
import type { KeyOptions } from './secrets/key-source.js'
import { warnProcess } from './handles/warn-process.js'

export interface Limits {
  /** Calls of one step that run at once. Default 8. */
  readonly maxParallelTools?: number
  /**
   * How often a host may die while a call runs before the call is answered with `CALL_KILLED_ITS_HOST`. Default 3.
   */
  readonly maxHostDeaths?: number
  /** How long a turn may take. Default: no limit. */
  readonly maxWallClockMs?: number
  /** Steps of one turn. Default of this and the next three: no limit; 0 means none at all. */
  readonly maxSteps?: number
  /** Calls of one turn, children counted. */
  readonly maxToolCalls?: number
  /** What the model calls of one turn may use. */
  readonly maxTokens?: number
  /** What the model calls of one turn may cost. */
  readonly maxCostUsd?: number
  /**
   * A turn stops with `repetition` when of its last 32 calls so many were equal: `failing` of those that failed,
   * `same` of all. Calls of a tool that says `repeats` are not counted. Default { failing: 8, same: 16 }; false: never.
   */
  readonly repetition?: false | Partial<RepetitionRule>
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
  /** How many bytes the files of one thread may hold. Default 2^30 (1 GB). */
  readonly maxFileBytes?: number
  /** How many files, links and directories one thread may have. Default 100,000. */
  readonly maxFiles?: number
}

export interface SkeinOptions extends KeyOptions {
  /** A module (URL or path) that exports definitions, such a module already imported, or a list of definitions. */
  readonly app: AppSource
  /**
   * Name of the app. Hosts that share a store publish it with the version, and the newest version is served first.
   * Default: name and version of the package that the module is in.
   */
  readonly name?: string
  /** Version of the app. */
  readonly version?: string
  /** Default: `local('.skein')`. */
  readonly backend?: Store
  readonly limits?: Limits
  /**
   * Values of the variables that tools declare, for threads that have none. A tool sees those that it declares, and
   * no others.
   */
  readonly env?: Readonly<Record<string, string>>
  /** Worker processes that run tool bodies when `app` is a module. */
  readonly workers?: {
    /** Processes of each kind, with one thread for bodies each. Default: the number of cores. */
    readonly threads?: number
    /** How long a body may ignore an abort before its worker is ended. Default 1,000. */
    readonly graceMs?: number
    /** Heap of each worker in MB, at least 16. Default 512. */
    readonly memoryMb?: number
    /**
     * Variables of the host's environment that workers have too: their names, or all but Skein's key. Default: those
     * that Node needs.
     */
    readonly env?: 'inherit' | readonly string[]
  }
  /**
   * Which unfinished trees the host resumes when it opens the store: `all` (default), or those with these roots. The
   * others stay as they are until they get a message or another host serves them.
   */
  readonly resuming?: Resuming
  /** Resting threads that stay in memory. Default 256. */
  readonly maxResident?: number
  /**
   * Records after which a thread's state is saved as a snapshot. Default 2,000: a journal up to that length is read
   * as fast as a snapshot and its tail (a few ms), and the transcript comes with it. After a large snapshot, as of a
   * parent of thousands, the next one waits until the journal has grown by as much.
   */
  readonly snapshotEvery?: number
  /** How long running calls may continue after `close()`. Default 5,000. */
  readonly closeGraceMs?: number
  /** Which trees are deleted by themselves. Default: none. */
  readonly retention?: Retention
  /**
   * How many trees with a tag may live and work at once, by tag; `tenant:*` is for every tag that begins so, each by
   * itself.
   */
  readonly quotas?: QuotaRules
  readonly clock?: Clock
  readonly random?: Random
  /** Called with what an operator should know. Default: a process warning. */
  readonly warn?: Warn
  /** Called when this host gets or loses partitions, loses its server or has it again, or ends a root's turn. */
  readonly onHostEvent?: (event: HostEvent) => void
  /** Who traces, counts and logs what threads of this host do: see `skein/observe`. Default: nobody. */
  readonly observe?: Observer | readonly Observer[]
}

const positive = lazy(() => z.number().int().positive())
const natural = lazy(() => z.number().int().min(0))
/** Of the calls that are compared. */
const repetitions = lazy(() => z.number().int().min(2).max(32))

const limitsSchema = () =>
  z.strictObject({
    maxHostDeaths: positive().optional(),
    maxToolMs: positive().optional(),
    maxParallelTools: positive().optional(),
    maxWallClockMs: positive().optional(),
    maxFileBytes: natural().optional(),
    maxFiles: natural().optional(),
    maxParallelChildren: positive().optional(),
    maxChildren: positive().optional(),
    maxDepth: positive().optional(),
    maxSteps: natural().optional(),
    maxToolCalls: natural().optional(),
    maxTokens: natural().optional(),
    maxCostUsd: z.number().min(0).optional(),
    repetition: z
      .union(
        [z.literal(false), z.strictObject({ failing: repetitions().optional(), same: repetitions().optional() })],
        'must be false or { failing?, same? }',
      )
      .optional(),
  })

/** With less, Node 24 cannot start the thread of bodies; with this, a small app loads and runs on every Node. */
const leastWorkerMb = 16

export const workerEnvSchema = lazy(() => z.union([z.literal('inherit'), z.array(z.string().min(1))]).optional())

const workersSchema = () =>
  z.strictObject({
    threads: positive().optional(),
    graceMs: z.number().min(0).optional(),
    memoryMb: z.number().min(leastWorkerMb, `must be at least ${leastWorkerMb}: with less no worker starts`).optional(),
    env: workerEnvSchema(),
  })

const quotasSchema = () =>
  z.record(
    z
      .string()
      .min(1)
      .regex(/^[^*]+\*?$/, 'is a tag, or the beginning of tags with a * behind it'),
    z.strictObject({ maxLiveTrees: natural().optional(), maxRunningTurns: natural().optional() }),
  )

const observerHelp = 'must be an observer, as otlp(), metrics() or log() of skein/observe, or a list of them'
const observerParts = ['observed', 'committed', 'warned', 'happened', 'metrics', 'close']
const observerSchema = lazy(() => z.custom<Observer>(isObserver, observerHelp))

/** By structure: an observer of the app's own is one too. */
function isObserver(value: unknown): boolean {
  return isObject(value) && observerParts.some((part) => typeof value[part] === 'function')
}

const optionForm = new FieldForm(
  {
    app: () =>
      z.custom<AppSource>(
        (value) => value !== undefined && value !== null,
        'must be a module URL, a path or definitions',
      ),
    backend: () => storeSchema().optional(),
    limits: () => limitsSchema().optional(),
    env: () => z.record(z.string(), z.string()).optional(),
    ...keyFields,
    workers: () => workersSchema().optional(),
    resuming: () => z.union([z.literal('all'), z.array(z.string())]).optional(),
    maxResident: () => natural().optional(),
    snapshotEvery: () => positive().optional(),
    closeGraceMs: () => z.number().min(0).optional(),
    retention: () =>
      z.strictObject({ finishedTreesMs: positive().optional(), idleTreesMs: positive().optional() }).optional(),
    quotas: () => quotasSchema().optional(),
    clock: () => z.custom<Clock>().optional(),
    random: () => z.custom<Random>().optional(),
    name: () => z.string().min(1).optional(),
    version: () => z.string().min(1).optional(),
    warn: () => z.custom<(what: string, thrown: unknown) => void>().optional(),
    onHostEvent: () => z.custom<(event: HostEvent) => void>().optional(),
    observe: () => z.union([observerSchema(), z.array(observerSchema())], observerHelp).optional(),
  },
  { required: ['app'] },
)

/** The options as the runtime uses them: grouped by who gets them, with every default filled in. */
export interface Settings {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  /** Values of variables for threads that have none. */
  readonly env: Readonly<Record<string, string>>
  readonly retention: Retention
  readonly warn: Warn
  readonly pool: PoolOptions
  /** What the files of one thread may hold. */
  readonly fileQuota: FileQuota
  readonly childLimits: ChildLimits
  readonly observers: readonly Observer[]
  readonly host: HostSettings
}

/** Throws where an option is wrong. */
export function toSettings(options: SkeinOptions): Settings {
  checkFitting(optionForm, options, 'createSkein')
  const { limits = {}, clock = systemClock } = options
  const host = hostSettings(options)
  return {
    store: options.backend ?? local('.skein'),
    clock,
    random: options.random ?? systemRandom,
    env: options.env ?? {},
    retention: options.retention ?? {},
    warn: host.warn,
    observers: observersOf(options),
    pool: poolOptions(options, clock),
    fileQuota: { quotaBytes: limits.maxFileBytes ?? 2 ** 30, quotaNames: limits.maxFiles ?? 100_000 },
    childLimits: {
      maxParallelChildren: limits.maxParallelChildren ?? 64,
      maxChildren: limits.maxChildren ?? 1_000,
      maxDepth: limits.maxDepth ?? 8,
    },
    host,
  }
}

function poolOptions({ workers = {}, limits = {} }: SkeinOptions, clock: Clock): PoolOptions {
  const { threads = availableParallelism(), graceMs = 1_000, memoryMb = 512, env } = workers
  return { clock, threads, graceMs, memoryMb, maxToolMs: limits.maxToolMs, env }
}

function hostSettings({ limits = {}, ...options }: SkeinOptions): HostSettings {
  return Object.freeze({
    maxParallelTools: limits.maxParallelTools ?? 8,
    maxHostDeaths: limits.maxHostDeaths ?? 3,
    ...defined({ maxWallClockMs: limits.maxWallClockMs, turnLimits: turnLimits(limits) }),
    rules: ruleSettings(limits),
    maxResident: options.maxResident ?? 256,
    snapshotEvery: options.snapshotEvery ?? 2_000,
    resuming: options.resuming ?? 'all',
    closeGraceMs: options.closeGraceMs ?? 5_000,
    ...listeners(options),
  })
}

function observersOf({ observe = [] }: SkeinOptions): readonly Observer[] {
  return isObserver(observe) ? [observe as Observer] : (observe as readonly Observer[])
}

/** Observers hear what is told to the app's own functions; a warning that an observer shows is no process warning. */
function listeners(options: SkeinOptions): Pick<HostSettings, 'warn' | 'onHostEvent'> {
  const observers = observersOf(options)
  const { warn, onHostEvent } = options
  return {
    warn(what, thrown) {
      const shown = observers.map((each) => each.warned?.(what, thrown))
      if (warn) warn(what, thrown)
      else if (!shown.includes(true)) warnProcess(what, thrown)
    },
    onHostEvent(event) {
      onHostEvent?.(event)
      for (const each of observers) each.happened?.(event)
    },
  }
}

function ruleSettings({ repetition }: Limits): RuleSettings {
  return repetition === false ? {} : { repetition: { failing: 8, same: 16, ...repetition } }
}

/** Undefined where a turn has none, so that nothing is counted for it. */
function turnLimits({ maxSteps, maxToolCalls, maxTokens, maxCostUsd }: Limits): Amounts | undefined {
  const budget = defined({ steps: maxSteps, toolCalls: maxToolCalls, tokens: maxTokens, costUsd: maxCostUsd })
  return Object.keys(budget).length > 0 ? toAmounts(budget) : undefined
}
