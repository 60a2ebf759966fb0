/**
 * One simulated life of a swarm: hosts, a client that lives on while hosts die, virtual time, and what the seed makes
 * go wrong. Nothing here sleeps or runs beside anything else, so one seed is one course of events.
 *
 * - Time moves to the next wake-up only when nothing is left to do: no request under way, no callback waiting.
 */
import { createHash } from 'node:crypto'
import { inspect } from 'node:util'
import type { Definition } from '../agent/define.js'
import type { Backend, Commit, CommitResult } from '../backend/port.js'
import { manualClock } from '../core/manual-clock.js'
import type { ManualClock } from '../core/manual-clock.js'
import type { Model } from '../models/port.js'
import { connectSkein } from '../runtime/handles/client.js'
import type { SkeinClient } from '../runtime/handles/client.js'
import { withPasts } from '../runtime/journal/past.js'
import { wakeWhole } from '../runtime/journal/wake.js'
import type { SkeinOptions } from '../runtime/options.js'
import { simulatedApp } from './app.js'
import type { BodyRun } from './app.js'
import { createDirectoryCheck } from './check-directory.js'
import type { DirectoryCheck } from './check-directory.js'
import { allHeads, checkAll, checkInbox, readAll, wantsOf } from './checks.js'
import type { Final } from './checks.js'
import { FaultPlan } from './faults.js'
import type { Extent, Fault, FaultOptions } from './faults.js'
import { SimHosts } from './hosts.js'
import { Life } from './life.js'
import { Outside, hearUnhandled } from './outside.js'
import { seededRandom } from './seeded-random.js'
import { simStore } from './store.js'
import type { SimStore } from './store.js'
import { viewOf } from './view.js'
import type { Network } from './view.js'
import { watchTree } from './watcher.js'
import type { TreeWatcher } from './watcher.js'
import { Witness } from './witness.js'
import { createWorld } from './world.js'
import type { ServiceOptions, World } from './world.js'

/** What a scenario and a check are given. */
export interface SimContext<Names extends string = string> {
  /** A client of the simulated store. */
  readonly skein: SkeinClient
  readonly world: World<Names>
}

export interface RunOptions<Names extends string, Result> {
  readonly seed: number
  readonly define: (world: World<Names>) => readonly Definition[]
  readonly models: Readonly<Record<string, Model>>
  readonly services: Readonly<Record<Names, ServiceOptions>>
  readonly hosts: number
  readonly partitions: number
  readonly leaseMs: number
  readonly modelMs: readonly [number, number]
  readonly faults: FaultOptions
  /** Nothing goes wrong, in services either. */
  readonly calm?: boolean
  /** No more than the first so many faults. */
  readonly mostFaults?: number
  readonly extent: Extent
  readonly maxVirtualMs: number
  readonly skein: Partial<SkeinOptions>
  readonly secrets: readonly string[]
  readonly scenario: (context: SimContext<Names>) => Promise<Result>
  readonly check: (context: SimContext<Names> & { readonly result: Result }) => Promise<void> | void
}

export interface RunOutcome<Result> {
  readonly result: Result | undefined
  /** Equal for equal courses of events. */
  readonly digest: string
  readonly extent: Extent
  readonly faults: readonly Fault[]
  /** Requests to services that were refused, and answers that were lost. */
  readonly serviceFaults: number
  readonly virtualMs: number
  readonly takeOvers: number
  readonly receipts: number
  readonly final: Final
  /** What does not hold; empty: all is well. */
  readonly broken: readonly string[]
  /** The commits, for people. */
  readonly log: readonly string[]
}

/** A run whose scenario has ended. */
interface Ending<Result> {
  readonly client: Life
  readonly final: Final
  readonly broken: string[]
  readonly result: Result
}

const startMs = Date.UTC(2026, 0, 1)
/** Rounds of the event loop without time moving; more is a loop that never waits. */
const mostRounds = 100_000

export class SimulationRun<Names extends string, Result> {
  readonly #options: RunOptions<Names, Result>
  readonly #clock: ManualClock
  readonly #plan: FaultPlan
  readonly #world: World<Names>
  readonly #store: SimStore
  readonly #network: Network
  readonly #bodies: BodyRun[] = []
  readonly #digest = createHash('sha256')
  readonly #log: string[] = []
  readonly #watchers = new Map<string, TreeWatcher>()
  readonly #outside = new Outside()
  readonly #witness = new Witness(() => this.#direct)
  /** The store itself, with no network between. */
  #direct: Backend | undefined
  #directory: DirectoryCheck | undefined
  #hosts: SimHosts | undefined
  #client: SkeinClient | undefined
  #activity = 0
  #serviceFaults = 0

  constructor(options: RunOptions<Names, Result>) {
    const { seed, partitions, leaseMs, faults, extent, mostFaults, services } = options
    const random = seededRandom(seed)
    this.#options = options
    this.#clock = this.#counting(manualClock(startMs))
    const now = (): number => this.#clock.now() - startMs
    const plan = new FaultPlan({
      random: random.stream('faults'),
      faults,
      extent,
      now,
      ...(mostFaults !== undefined && { most: mostFaults }),
    })
    this.#plan = plan
    if (options.calm) plan.end()
    this.#store = simStore({ partitions, leaseMs, clock: this.#clock })
    this.#world = createWorld({
      clock: this.#clock,
      random: random.stream('world'),
      services,
      calm: () => plan.isOver,
      onFault: () => this.#serviceFaults++,
    })
    this.#network = {
      clock: this.#clock,
      store: this.#store,
      plan,
      random: random.stream('network'),
      leaseMs,
      count: { requests: 0, commits: 0 },
      doubled: new Map(),
      leave: (life) => this.#hosts?.leave(life),
      committed: (commit, outcome, life) => this.#committed(commit, outcome, life),
    }
  }

  #counting(clock: ManualClock): ManualClock {
    const wakeAt: ManualClock['wakeAt'] = (at, wake) => {
      this.#activity++
      return clock.wakeAt(at, () => {
        this.#activity++
        wake()
      })
    }
    return Object.defineProperties(Object.create(clock), { wakeAt: { value: wakeAt } }) as ManualClock
  }

  async run(): Promise<RunOutcome<Result>> {
    const broken: string[] = []
    const unheard = hearUnhandled((what) => broken.push(what))
    try {
      return await this.#live(broken)
    } finally {
      unheard()
    }
  }

  async #live(broken: string[]): Promise<RunOutcome<Result>> {
    const direct = withPasts(await this.#store.open('client'))
    this.#direct = direct
    this.#directory = createDirectoryCheck(direct)
    this.#hosts = this.#startHosts()
    const client = new Life('client', { clock: this.#clock })
    await this.#opening(this.#hosts)
    let result: Result | undefined
    const act = client.enter(async () => {
      const random = seededRandom(this.#options.seed, 'client')
      this.#client = await connectSkein({ backend: viewOf(this.#network, client), clock: client.clock, random })
      result = await this.#options.scenario({ skein: this.#client, world: this.#world })
    })
    const ended = await this.#drive(act, broken)
    if (ended) {
      this.#plan.end()
      await this.#settle(direct, broken)
      await this.#followUp(direct, broken)
    } else broken.push(...(await this.#stuck(direct)))
    const final = await readAll(direct)
    if (ended) await this.#check({ client, final, broken, result: result as Result })
    broken.push(...this.#outside.problems)
    this.#hosts.end()
    client.kill()
    return this.#outcome(final, broken, result)
  }

  async #check({ client, final, broken, result }: Ending<Result>): Promise<void> {
    const { secrets, check } = this.#options
    const [backend, skein, world] = [this.#direct, this.#client, this.#world]
    if (!backend || !skein) return
    broken.push(...this.#witness.problems, ...(await checkAll({ backend, final, bodies: this.#bodies, secrets })))
    broken.push(...((await this.#directory?.problems()) ?? []))
    const looked = client.enter(async () => broken.push(...checkInbox(await skein.inbox.list(), final)))
    await this.#drive(looked, broken)
    if (broken.length > 0) return
    await this.#drive(
      client.enter(async () => check({ skein, world, result })),
      broken,
    )
  }

  #outcome(final: Final, broken: readonly string[], result: Result | undefined): RunOutcome<Result> {
    return {
      result,
      digest: this.#digest.digest('hex'),
      extent: { ...this.#network.count },
      faults: this.#plan.done,
      serviceFaults: this.#serviceFaults,
      virtualMs: this.#clock.now() - startMs,
      takeOvers: this.#store.takeOvers,
      receipts: this.#store.receipts,
      final,
      broken,
      log: this.#log,
    }
  }

  #startHosts(): SimHosts {
    const { seed, hosts, define, models, modelMs, skein, leaseMs, faults } = this.#options
    const shared = {
      clock: this.#clock,
      plan: this.#plan,
      bodies: this.#bodies,
      witness: this.#witness,
      hung: new Set<string>(),
      away: new Map<string, number>(),
    }
    const services = { ...shared, outside: this.#outside, models, latencyMs: modelMs }
    return new SimHosts({
      seed,
      count: hosts,
      clock: this.#clock,
      network: this.#network,
      leaseMs,
      skewMs: faults.skewMs ?? 0,
      skein,
      app: (random) => simulatedApp(define(this.#world), { ...services, random }),
    })
  }

  /** Hosts load modules when they are first opened: that takes real time, which is waited for by rounds. */
  async #opening(hosts: SimHosts): Promise<void> {
    for (let rounds = 0; !hosts.opened && rounds < mostRounds; rounds++) {
      await this.#drain()
      this.#clock.next()
    }
  }

  #committed(commit: Commit, result: CommitResult, life: Life): void {
    const { thread, entry, head } = commit
    const what = result.ok ? `at ${result.position}` : 'refused'
    const text = entry ? `${entry.first}+${entry.count} ${typesIn(entry.body)}` : 'no records'
    this.#digest.update(`${thread} ${what} ${entry ? withoutSealed(entry.body) : ''}\n`)
    this.#log.push(`${this.#clock.now() - startMs} ms ${life.name} ${thread} ${text} ${what}`)
    if (result.ok && head) this.#watch(head.root)
  }

  /** Gives the watcher of a tree; of one that was deleted and is there again, another. */
  #watch(root: string): TreeWatcher | undefined {
    const known = this.#watchers.get(root)
    if (!this.#client || (known && !known.removed)) return known
    const random = seededRandom(this.#options.seed, `watch/${root}`)
    const watcher = watchTree(this.#client, root, random)
    this.#watchers.set(root, watcher)
    return watcher
  }

  /** Everything that can be done now is done. */
  async #drain(): Promise<void> {
    for (let rounds = 0; rounds < mostRounds; rounds++) {
      const before = this.#happened
      await nextRound()
      await nextRound()
      if (this.#happened !== before || readsFiles()) continue
      await this.#outside.await(() => this.#happened !== before)
      if (this.#happened === before) return
    }
  }

  /** Grows whenever something happens. */
  get #happened(): number {
    return this.#activity + this.#network.count.requests
  }

  /** Moves time until it settles. False: it never does. */
  async #drive(promise: Promise<unknown>, broken: string[]): Promise<boolean> {
    let settled = false
    promise.then(
      () => (settled = true),
      (thrown: unknown) => {
        settled = true
        broken.push(describe(thrown))
      },
    )
    return this.#until(async () => settled)
  }

  async #until(holds: () => Promise<boolean>): Promise<boolean> {
    const last = this.#clock.now() + this.#options.maxVirtualMs
    for (;;) {
      await this.#drain()
      if (await holds()) return true
      if (this.#clock.now() > last || !this.#clock.next()) return false
    }
  }

  /** Nothing goes wrong any more: everything comes to rest. */
  async #settle(direct: Backend, broken: string[]): Promise<void> {
    const rests = await this.#until(async () => {
      if (this.#network.doubled.size > 0) return false
      const heads = await allHeads(direct)
      return heads.every(({ rest }) => rest) && (await direct.mailbox.waiting()).length === 0
    })
    if (!rests) broken.push(...(await this.#stuck(direct)))
  }

  async #stuck(direct: Backend): Promise<readonly string[]> {
    const restless = (await allHeads(direct)).filter(({ rest }) => !rest)
    const wants = await Promise.all(
      restless.map(async ({ thread, status }) => {
        const { state } = await wakeWhole(direct, thread)
        return `thread ${thread} is ${status} and wants ${wantsOf(state)}`
      }),
    )
    const mail = (await direct.mailbox.waiting()).map((thread) => `thread ${thread} has mail that nobody reads`)
    const running = this.#outside.running.map(
      (what) => `${what} has not ended; inside a simulation one waits by world.sleep and the services of the world`,
    )
    return ['it never came to an end', ...wants, ...mail, ...running]
  }

  /** Whoever watched has seen every record once, in order. */
  async #followUp(direct: Backend, broken: string[]): Promise<void> {
    for (const root of [...this.#watchers.keys()]) {
      const expected = (await direct.journal.readTree(root, { limit: Infinity })).flatMap(
        ({ position, first, count }) => Array.from({ length: count }, (_, index) => `${position}.${first + index}`),
      )
      const watcher = (): TreeWatcher | undefined =>
        expected.length > 0 ? this.#watch(root) : this.#watchers.get(root)
      await this.#until(async () => watcher()?.failed !== undefined || watcher()?.problem(expected) === undefined)
      const problem = watcher()?.problem(expected)
      if (problem !== undefined) broken.push(`the watcher of ${root} ${problem}`)
      watcher()?.stop()
    }
  }
}

const longestText = 4_000

/** With what was compared, where it is a failed comparison. */
function describe(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown)
  const compared = (['expected', 'actual'] as const).flatMap((side) =>
    side in thrown ? [`${side}: ${inspect(thrown[side as keyof Error], { depth: 6 }).slice(0, longestText)}`] : [],
  )
  return [thrown.stack ?? thrown.message, ...compared].join('\n    ')
}

function typesIn(body: string): string {
  return [...body.matchAll(/"type":"([a-z._]+)"/g)].map(([, type]) => type).join(' ')
}

/** Sealed values differ from run to run: their nonces are not drawn from the seed. */
function withoutSealed(body: string): string {
  return body.replace(/"[\w+/=.-]{40,}"/g, '"…"')
}

function nextRound(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** A module is being loaded: that is real time, and has to be waited for. */
function readsFiles(): boolean {
  return process.getActiveResourcesInfo().some((resource) => resource.startsWith('FSReq'))
}
