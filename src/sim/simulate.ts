/**
 * `simulate`: an app lived through many times in virtual time, with everything going wrong that can, and checked
 * after each life. A seed that fails is printed with what is needed to repeat it, and made smaller.
 */
import { z } from 'zod'
import type { Definition } from '../agent/define.js'
import { defined } from '../core/defined.js'
import { SkeinError } from '../core/failure.js'
import { checkOptions } from '../core/options.js'
import type { Model } from '../models/port.js'
import type { SkeinOptions } from '../runtime/options.js'
import { definitionsOf } from './app.js'
import type { SimApp } from './app.js'
import type { FinalThread } from './checks.js'
import { faultSchema, faultsOf } from './faults.js'
import type { Extent, Fault, FaultChoice } from './faults.js'
import { SimulationRun } from './run.js'
import type { RunOptions, RunOutcome, SimContext } from './run.js'
import { SimulationFailure } from './simulation-failure.js'
import type { ServiceOptions, World } from './world.js'

export interface SeedOptions {
  /** How many seeds are tried, from `seed` on, or which. Default 100; `SKEIN_SEED` in the environment: that one. */
  readonly seeds?: number | readonly number[]
  /** The first seed. Default 1. */
  readonly seed?: number
}

export interface SimulateOptions<Names extends string = string, Result = unknown> extends SeedOptions {
  /** Definitions, a module that exports them, or a function that makes them for a world. */
  readonly app: SimApp | ((world: World<Names>) => readonly Definition[])
  /** Models in place of those of the app, by name. Every model takes its time. */
  readonly models?: Readonly<Record<string, Model>>
  readonly services?: Readonly<Record<Names, ServiceOptions>>
  /** Default 3. */
  readonly hosts?: number
  /** Default `all`. */
  readonly faults?: FaultChoice
  /** How long model calls take: from, to. Default 1 to 400. */
  readonly modelMs?: readonly [number, number]
  /** Virtual time after which a scenario is said never to end. Default one hour. */
  readonly maxVirtualMs?: number
  readonly leaseMs?: number
  /** Further options of each host. */
  readonly skein?: Pick<SkeinOptions, 'limits' | 'env' | 'retention' | 'quotas' | 'maxResident' | 'snapshotEvery'>
  /** Texts that may be in no byte of the store. */
  readonly secrets?: readonly string[]
  /** What is done to the swarm. What it returns is compared by `check`. */
  readonly scenario: (context: SimContext<Names>) => Promise<Result>
  /** Throws when something is not as it should be. `quiet`: the same without faults. */
  readonly check?: (
    context: SimContext<Names> & { readonly result: Result; readonly quiet: Result },
  ) => Promise<void> | void
}

/** What happened in all seeds together: a simulation in which nothing happened shows nothing. */
export interface SimReport {
  readonly seeds: number
  /** Different courses of events among them. */
  readonly interleavings: number
  /** By kind; `services`: requests that a service refused, and answers of theirs that were lost. */
  readonly faults: Readonly<Partial<Record<Fault['kind'] | 'services', number>>>
  readonly takeOvers: number
  readonly commits: number
  readonly threads: number
  /** Calls that ran again because what they had read was changed. */
  readonly staleRuns: number
  /** Effects of which nobody knew whether they had happened. */
  readonly unknownEffects: number
  /** Outcomes of calls that reached their thread although it had left the host where they ran. */
  readonly receipts: number
  /** Calls that were under way when their host died, and ran again. */
  readonly retriedCalls: number
  readonly restartedChildren: number
  readonly virtualMs: number
}

const service = z.strictObject({
  latencyMs: z
    .tuple([z.number().min(0), z.number().min(0)])
    .readonly()
    .optional(),
  loses: z.number().min(0).max(1).optional(),
  refuses: z.number().min(0).max(1).optional(),
  answer: z.custom<ServiceOptions['answer']>().optional(),
})
export const seedSchema = z.strictObject({
  seeds: z.union([z.number().int().positive(), z.array(z.number().int()).min(1)]).optional(),
  seed: z.number().int().optional(),
})
const optionsSchema = seedSchema.extend({
  app: z.custom<SimApp>(
    (value) => value !== undefined && value !== null,
    'is missing: definitions, a module, or a function',
  ),
  models: z.record(z.string(), z.custom<Model>()).optional(),
  services: z.record(z.string(), service).optional(),
  modelMs: z
    .tuple([z.number().min(0), z.number().min(0)])
    .readonly()
    .optional(),
  maxVirtualMs: z.number().positive().optional(),
  leaseMs: z.number().positive().optional(),
  skein: z.looseObject({}).optional(),
  secrets: z.array(z.string()).readonly().optional(),
  check: z.custom<() => void>((value) => typeof value === 'function', 'must be a function').optional(),
  hosts: z.number().int().positive().optional(),
  faults: faultSchema.optional(),
  scenario: z.custom<() => Promise<unknown>>((value) => typeof value === 'function', 'must be a function'),
})

export async function runSimulation<Result, Names extends string = never>(
  options: SimulateOptions<Names, Result>,
): Promise<SimReport> {
  const simulation = await prepareSimulation(options)
  for (const seed of seedsOf(options)) {
    const failure = await simulation.trySeed(seed)
    if (failure) throw failure
  }
  return simulation.report()
}

function seedsOf({
  seed: first = 1,
  seeds = 100,
}: Pick<SimulateOptions<never, unknown>, 'seed' | 'seeds'>): readonly number[] {
  const environment = process.env['SKEIN_SEED']
  if (environment !== undefined) return [toSeed(environment)]
  return typeof seeds === 'number' ? Array.from({ length: seeds }, (_, index) => first + index) : seeds
}

/** An app that has been lived through without faults, and can be tried with any seed. */
export interface Simulation<Result> {
  run(seed: number, mostFaults?: number): Promise<RunOutcome<Result>>
  /** Why the seed fails, if it does; else it counts in the report. */
  trySeed(seed: number): Promise<SimulationFailure | undefined>
  report(): SimReport
}

export async function prepareSimulation<Result, Names extends string = never>(
  options: SimulateOptions<Names, Result>,
): Promise<Simulation<Result>> {
  checkOptions(optionsSchema, options, 'simulate')
  const base = await runOptions(options)
  const runQuietly = (): Promise<RunOutcome<Result>> =>
    new SimulationRun({ ...base, seed: 0, calm: true, faults: {}, extent: none, check: () => undefined }).run()
  // Modules that are loaded when they are first used take real time: the first run has them loaded.
  await runQuietly()
  const quietRun = await runQuietly()
  if (quietRun.broken.length > 0) throw new SimulationFailure(undefined, quietRun, 0)
  const quiet = quietRun.result as Result
  const report = new ReportBuilder()
  const check: RunOptions<Names, Result>['check'] = (context) => options.check?.({ ...context, quiet })
  const run = (seed: number, mostFaults?: number): Promise<RunOutcome<Result>> =>
    new SimulationRun({ ...base, seed, extent: quietRun.extent, check, ...defined({ mostFaults }) }).run()
  return {
    run,
    async trySeed(seed) {
      const outcome = await run(seed)
      if (outcome.broken.length === 0) return void report.add(outcome)
      const least = await smallest(outcome, (mostFaults) => run(seed, mostFaults))
      return new SimulationFailure(seed, least, outcome.faults.length)
    },
    report: () => report.report(),
  }
}

const none: Extent = { commits: 0, requests: 0 }

/** The run with the fewest of its first faults that still fails, found by halving. */
async function smallest<Result>(
  failing: RunOutcome<Result>,
  run: (mostFaults: number) => Promise<RunOutcome<Result>>,
): Promise<RunOutcome<Result>> {
  let [low, high, least] = [0, failing.faults.length, failing]
  while (low < high) {
    const middle = (low + high) >>> 1
    const outcome = await run(middle)
    if (outcome.broken.length > 0) [high, least] = [middle, outcome]
    else low = middle + 1
  }
  return least
}

function toSeed(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new SkeinError('BAD_OPTION', `SKEIN_SEED is the number of a seed; this is ${JSON.stringify(text)}`)
}

async function runOptions<Names extends string, Result>(
  options: SimulateOptions<Names, Result>,
): Promise<Omit<RunOptions<Names, Result>, 'seed' | 'extent' | 'check'>> {
  const { app, models = {}, hosts = 3, faults = 'all', modelMs = [1, 400], maxVirtualMs = 3_600_000 } = options
  const { leaseMs = 3_000, skein = {}, secrets = [], scenario } = options
  const define = isFactory(app) ? app : await definedBy(app)
  const services = options.services ?? ({} as Record<Names, ServiceOptions>)
  const partitions = hosts * 2
  return {
    define,
    models,
    services,
    hosts,
    partitions,
    leaseMs,
    modelMs,
    faults: faultsOf(faults),
    maxVirtualMs,
    skein,
    secrets,
    scenario,
  }
}

function isFactory<Names extends string>(
  app: SimulateOptions<Names, unknown>['app'],
): app is (world: World<Names>) => readonly Definition[] {
  return typeof app === 'function'
}

async function definedBy(app: SimApp): Promise<() => readonly Definition[]> {
  const definitions = await definitionsOf(app)
  return () => definitions
}

/** Adds up what happened. */
class ReportBuilder {
  readonly #digests = new Set<string>()
  readonly #faults: { -readonly [Kind in keyof SimReport['faults']]: number } = {}
  #sums = {
    seeds: 0,
    takeOvers: 0,
    commits: 0,
    threads: 0,
    staleRuns: 0,
    unknownEffects: 0,
    receipts: 0,
    retriedCalls: 0,
    restartedChildren: 0,
    virtualMs: 0,
  }

  add(outcome: RunOutcome<unknown>): void {
    const threads = [...outcome.final.threads.values()]
    this.#digests.add(outcome.digest)
    for (const { kind } of outcome.faults) this.#faults[kind] = (this.#faults[kind] ?? 0) + 1
    if (outcome.serviceFaults > 0) this.#faults.services = (this.#faults.services ?? 0) + outcome.serviceFaults
    const more = {
      seeds: 1,
      takeOvers: outcome.takeOvers,
      commits: outcome.extent.commits,
      threads: threads.length,
      staleRuns: countRecords(threads, (record) => record.type === 'call.settled' && record.verdict === 'stale'),
      unknownEffects: countRecords(
        threads,
        (record) =>
          record.type === 'call.returned' && !record.outcome.ok && record.outcome.failure.code === 'EFFECT_UNKNOWN',
      ),
      receipts: outcome.receipts,
      retriedCalls: countRecords(threads, ({ type }) => type === 'call.tried'),
      restartedChildren: countRecords(threads, ({ type }) => type === 'child.restarted'),
      virtualMs: outcome.virtualMs,
    }
    for (const name of Object.keys(more) as (keyof typeof more)[]) this.#sums[name] += more[name]
  }

  report(): SimReport {
    return { ...this.#sums, interleavings: this.#digests.size, faults: this.#faults }
  }
}

function countRecords(
  threads: readonly FinalThread[],
  counts: (record: FinalThread['records'][number]) => boolean,
): number {
  return threads.reduce((sum, { records }) => sum + records.filter(counts).length, 0)
}
