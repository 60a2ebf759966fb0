/**
 * One simulated life of a swarm: hosts, a client that lives on while hosts die, virtual time, and what the seed makes
 * go wrong. Nothing here sleeps or runs beside anything else, so one seed is one course of events.
 *
 * - Time moves to the next wake-up only when nothing is left to do: no request under way, no callback waiting.
 * - A host that dies starts again after a while, as a supervisor of processes would have it.
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
import { wakeWhole } from '../runtime/journal/wake.js'
import { createSkein } from '../runtime/skein.js'
import type { SkeinOptions } from '../runtime/options.js'
import { simulatedApp } from './app.js'
import type { BodyRun } from './app.js'
import { allHeads, checkAll, readAll, wantsOf } from './checks.js'
import type { Final } from './checks.js'
import { FaultPlan } from './faults.js'
import type { Extent, Fault, FaultOptions } from './faults.js'
import { Life } from './life.js'
import { seededRandom } from './seeded-random.js'
import { simStore } from './store.js'
import type { SimStore } from './store.js'
import { viewOf } from './view.js'
import type { Network } from './view.js'
import { watchTree } from './watcher.js'
import type { TreeWatcher } from './watcher.js'
import { createWorld } from './world.js'
import type { ServiceOptions, World } from './world.js'

/** What a scenario and a check are given. */
export interface SimContext<Names extends string> {
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
  readonly virtualMs: number
  readonly takeOvers: number
  readonly final: Final
  /** What does not hold; empty: all is well. */
  readonly broken: readonly string[]
  /** The commits, for people. */
  readonly log: readonly string[]
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
  readonly #lives = new Set<Life>()
  readonly #watchers = new Map<string, TreeWatcher>()
  #client: SkeinClient | undefined
  #activity = 0
  #starts = 0
  #opened = 0
  #ended = false

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
    })
    this.#network = {
      clock: this.#clock,
      store: this.#store,
      plan,
      random: random.stream('network'),
      leaseMs,
      count: { requests: 0, commits: 0 },
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
    const { hosts, scenario, check } = this.#options
    for (let index = 0; index < hosts; index++) this.#start(index)
    const client = new Life('client', { clock: this.#clock })
    const direct = await this.#store.open('client')
    const broken: string[] = []
    let result: Result | undefined
    await this.#opening()
    const act = client.enter(async () => {
      const random = seededRandom(this.#options.seed, 'client')
      this.#client = await connectSkein({ backend: viewOf(this.#network, client), clock: client.clock, random })
      result = await scenario({ skein: this.#client, world: this.#world })
    })
    const ended = await this.#drive(act, broken)
    if (ended) {
      this.#plan.end()
      await this.#settle(direct, broken)
      await this.#followUp(direct, broken)
    } else broken.push(...(await this.#stuck(direct)))
    const final = await readAll(direct)
    if (ended)
      broken.push(...(await checkAll({ backend: direct, final, bodies: this.#bodies, secrets: this.#options.secrets })))
    const skein = this.#client
    if (broken.length === 0 && skein) {
      const checked = client.enter(async () => check({ skein, world: this.#world, result: result as Result }))
      await this.#drive(checked, broken)
    }
    this.#end(client)
    return this.#outcome(final, broken, result)
  }

  #outcome(final: Final, broken: readonly string[], result: Result | undefined): RunOutcome<Result> {
    return {
      result,
      digest: this.#digest.digest('hex'),
      extent: { ...this.#network.count },
      faults: this.#plan.done,
      virtualMs: this.#clock.now() - startMs,
      takeOvers: this.#store.takeOvers,
      final,
      broken,
      log: this.#log,
    }
  }

  #start(index: number): void {
    const { seed, define, models, modelMs, skein, leaseMs, faults } = this.#options
    const name = `host-${index + 1}${this.#starts < this.#options.hosts ? '' : `/${this.#starts}`}`
    const random = seededRandom(seed, `${name}/${this.#starts}`)
    const again = (): void => {
      this.#lives.delete(life)
      if (!this.#ended) this.#clock.wakeAt(this.#clock.now() + random.between(0, leaseMs * 2), () => this.#start(index))
    }
    const skewMs = random.between(-(faults.skewMs ?? 0), faults.skewMs ?? 0)
    const life = new Life(name, { clock: this.#clock, skewMs, died: again })
    this.#starts++
    this.#lives.add(life)
    const services = { clock: this.#clock, random, plan: this.#plan, models, latencyMs: modelMs, bodies: this.#bodies }
    life.enter(() => {
      createSkein({
        warn: () => undefined,
        ...skein,
        app: simulatedApp(define(this.#world), services),
        backend: viewOf(this.#network, life),
        clock: life.clock,
        random,
      }).then(
        () => this.#opened++,
        () => life.kill(),
      )
    })
  }

  /** Hosts load modules when they are first opened: that takes real time, which is waited for by rounds. */
  async #opening(): Promise<void> {
    for (let rounds = 0; this.#opened < this.#options.hosts && rounds < mostRounds; rounds++) {
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
      const before = this.#activity + this.#network.count.requests
      await nextRound()
      await nextRound()
      if (this.#activity + this.#network.count.requests === before && !readsFiles()) return
    }
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
    const running = this.#bodies.filter(({ ended }) => !ended).map(({ tool }) => tool)
    const outside =
      running.length > 0
        ? [
            `bodies that have not ended: ${[...new Set(running)].join(', ')}; inside a simulation a body waits by ` +
              `world.sleep and the services of the world`,
          ]
        : []
    return ['it never came to an end', ...wants, ...mail, ...outside]
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

  #end(client: Life): void {
    this.#ended = true
    for (const life of [...this.#lives, client]) life.kill()
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
