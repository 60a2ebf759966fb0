/**
 * The processes of a run: a server and its hosts, and what the faults do to them. Owns all of them.
 *
 * - There are always as many hosts as wanted, or one is being started.
 */
import { connect } from '@nats-io/transport-node'
import { jetstreamManager } from '@nats-io/jetstream'
import { createSubjects } from '../../src/backend/nats/subjects.js'
import { nats } from '../../src/backend/nats/nats.js'
import type { Store } from '../../src/backend/port.js'
import { systemClock } from '../../src/core/clock.js'
import { startHost } from '../helpers/host-process.js'
import type { HostProcess } from '../helpers/host-process.js'
import { startNats } from '../helpers/nats-server.js'
import type { NatsServer } from '../helpers/nats-server.js'
import type { NatsVersion } from '../helpers/nats-binary.js'
import type { Fault, FaultKind } from './faults.js'
import type { Continued } from './ledger.js'

export interface FlockOptions {
  readonly hosts: number
  readonly children: number
  readonly ledger: string
  readonly paceMs: number
  readonly leaseMs: number
  readonly version?: NatsVersion
  readonly log: (line: string) => void
}

const namespace = 'chaos'
const partitions = 16
/** So that long results do not fit into a message. */
const maxPayload = 64 * 1024

export function pauseFor(ms: number): Promise<void> {
  return new Promise((resolve) => void systemClock.wakeAt(systemClock.now() + ms, resolve))
}

export class Flock {
  readonly source: Store
  readonly continued: Continued[] = []
  readonly counts: Record<FaultKind, number> = { kill: 0, pause: 0, leave: 0, server: 0, both: 0 }
  readonly #server: NatsServer
  readonly #options: FlockOptions
  readonly #hosts = new Set<HostProcess>()
  readonly #all = new Set<HostProcess>()
  readonly #under = new Set<Promise<unknown>>()
  readonly #failures: unknown[] = []
  #over = false

  private constructor(server: NatsServer, options: FlockOptions) {
    this.#server = server
    this.#options = options
    this.source = nats({ servers: server.url, namespace, partitions, leaseMs: options.leaseMs, sync: 'relaxed' })
  }

  static async start(options: FlockOptions): Promise<Flock> {
    const server = await startNats({ maxPayload, ...(options.version && { version: options.version }) })
    const flock = new Flock(server, options)
    await (await flock.source.open('host')).close() // makes the namespace with this lease
    await Promise.all(Array.from({ length: options.hosts }, () => flock.#start()))
    return flock
  }

  async #start(): Promise<void> {
    const { children, ledger, paceMs, log } = this.#options
    const host = await startHost('chaos-host.mjs', [
      JSON.stringify({ url: this.#server.url, namespace, children, ledger, paceMs }),
    ])
    if (this.#over) return host.signal('SIGKILL')
    this.#hosts.add(host)
    this.#all.add(host)
    log(`host ${host.pid} is there`)
  }

  /** Does it, and resolves when the next one may come. */
  async suffer({ kind, pick, leases, thenLeases }: Fault): Promise<void> {
    const { leaseMs, log } = this.#options
    const forMs = leases * leaseMs
    const victims = [...this.#hosts]
    const victim = victims[Math.floor(pick * victims.length)]
    this.counts[kind]++
    log(`${kind}${victim && kind !== 'server' ? ` of ${victim.pid}` : ''} for ${Math.round(forMs)} ms`)
    if (victim && kind !== 'server')
      this.#meanwhile(
        kind === 'pause'
          ? this.#pause(victim, forMs)
          : this.#replace(victim, kind === 'leave' ? 'SIGTERM' : 'SIGKILL', forMs),
      )
    if (kind === 'server' || kind === 'both') {
      await this.#server.kill()
      await pauseFor(forMs)
      await this.#server.start()
    }
    await pauseFor(thenLeases * leaseMs)
  }

  /** What fails is told by `calm`. */
  #meanwhile(work: Promise<void>): void {
    const kept = work
      .catch((thrown: unknown) => void this.#failures.push(thrown))
      .finally(() => this.#under.delete(kept))
    this.#under.add(kept)
  }

  async #pause(host: HostProcess, forMs: number): Promise<void> {
    this.#hosts.delete(host) // it suffers one thing at a time
    host.signal('SIGSTOP')
    await pauseFor(forMs)
    this.continued.push({ pid: host.pid, at: systemClock.now() })
    host.signal('SIGCONT')
    this.#hosts.add(host)
  }

  async #replace(host: HostProcess, signal: NodeJS.Signals, afterMs: number): Promise<void> {
    this.#hosts.delete(host)
    host.signal(signal)
    await pauseFor(afterMs)
    await this.#start()
  }

  /** What hosts told their operator. */
  get warnings(): readonly string[] {
    return [...this.#all].flatMap(({ pid, lines }) =>
      lines.filter((line) => line.startsWith('warn ')).map((line) => `${pid} ${line}`),
    )
  }

  /** Who is alive and who owns what, as the server knows it. */
  async owners(): Promise<string> {
    const nc = await connect({ servers: this.#server.url })
    const jsm = await jetstreamManager(nc)
    const names = createSubjects(namespace)
    const { state } = await jsm.streams.info(names.streams.live, { subjects_filter: names.lives })
    const owners: string[] = []
    for (let partition = 0; partition < partitions; partition++) {
      const entry = await jsm.streams.getMessage(names.streams.meta, { last_by_subj: names.owner(partition) })
      owners.push(`${partition}: ${entry?.string() ?? 'nobody'}`)
    }
    await nc.close()
    return `alive: ${Object.keys(state.subjects ?? {}).join()}; owners: ${owners.join(', ')}`
  }

  /** Resolves when no fault is under way any more; rejects where a host did not come up. */
  async calm(): Promise<void> {
    await this.#settled()
    if (this.#failures.length > 0) throw new AggregateError(this.#failures, 'hosts did not come up')
  }

  async #settled(): Promise<void> {
    while (this.#under.size > 0) await Promise.all(this.#under)
  }

  async end(): Promise<void> {
    this.#over = true
    // A host that is just starting needs the server to come as far as where it is ended.
    await this.#settled()
    for (const host of this.#all) host.signal('SIGKILL')
    await Promise.all([...this.#all].map(({ ended }) => ended))
    await this.#server.remove()
  }
}
