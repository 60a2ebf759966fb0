/**
 * A store as one simulated process sees it: every request takes its time, may meet a fault, and is answered only while
 * the process lives.
 *
 * - Signals of one process on one topic keep their order (J7), late or not. One that is lost is followed by `missed`.
 * - A commit that dies with its host is applied or not, by chance; nobody is told.
 */
import type { Backend, Commit, CommitResult, Removal, RemovalResult, Send, Store } from '../backend/port.js'
import type { Clock } from '../core/clock.js'
import { SkeinError } from '../core/failure.js'
import type { Json } from '../core/json.js'
import type { FaultPlan } from './faults.js'
import type { Life } from './life.js'
import type { SeededRandom } from './seeded-random.js'
import type { SimStore } from './store.js'

/** What all processes of a simulation share. */
export interface Network {
  readonly clock: Clock
  readonly store: SimStore
  readonly plan: FaultPlan
  readonly random: SeededRandom
  readonly leaseMs: number
  /** Numbers the requests and commits of the run. */
  readonly count: { requests: number; commits: number }
  /** Mail that is to arrive a second time, and what makes it arrive at once. */
  readonly doubled: Map<Send, () => void>
  /** A host is asked to close. */
  leave(life: Life): void
  /** A commit was applied. */
  committed(commit: Commit, result: CommitResult, life: Life): void
}

/** How long a request waits for a connection that is down. */
const patienceMs = 2_000
const slowestMs = 8
const missedWithinMs = 2_000

export function viewOf(network: Network, life: Life): Store {
  return {
    open: async (role, self) => {
      const reach = { clock: life.clock, connected: () => life.connected }
      const backend = await network.store.open(role, self, reach)
      return new View(network, life, backend).backend()
    },
  }
}

class View {
  readonly #network: Network
  readonly #life: Life
  readonly #backend: Backend
  /** When the last signal of this process arrives. */
  #signalsUntil = 0
  #closed = false

  constructor(network: Network, life: Life, backend: Backend) {
    this.#network = network
    this.#life = life
    this.#backend = backend
  }

  /** A request: it arrives after a while, unless its process is dead or cut off by then. */
  #ask<Result>(act: () => Promise<Result>): Promise<Result> {
    const life = this.#life
    const { clock, random } = this.#network
    this.#meetFault()
    return new Promise((resolve, reject) => {
      const givesUpAt = clock.now() + patienceMs
      const arrive = (): void => {
        if (!life.alive) return
        if (!life.connected && clock.now() >= givesUpAt) return life.run(() => reject(unreachable()))
        if (!life.connected) return void clock.wakeAt(Math.min(life.cutUntil, givesUpAt), arrive)
        life.hear(act()).then(resolve, reject)
      }
      const delay = random.between(-slowestMs, slowestMs)
      if (delay <= 0) arrive()
      else clock.wakeAt(clock.now() + delay, arrive)
    })
  }

  /** A host may be stopped or cut off at any request. */
  #meetFault(): void {
    const { plan, count, leave } = this.#network
    const life = this.#life
    count.requests++
    if (this.#backend.role === 'client' || !life.alive) return
    if (plan.at('pause', count.requests, `${life.name} is stopped`)) life.stopFor(this.#length('pause'))
    if (plan.at('cut', count.requests, `${life.name} is cut off`)) life.cutFor(this.#length('cut'))
    if (plan.at('leave', count.requests, `${life.name} closes`)) leave(life)
  }

  /** How long a fault lasts. */
  #length(kind: string): number {
    const { plan, leaseMs } = this.#network
    return plan.stream(kind).between(Math.ceil(leaseMs / 5), leaseMs * 3)
  }

  async #commit(commit: Commit): Promise<CommitResult> {
    const { plan, count, committed } = this.#network
    const life = this.#life
    const what = `${life.name}, commit to ${commit.thread} after record ${commit.expected}`
    const apply = async (): Promise<CommitResult> => {
      const result = await this.#backend.commit(commit)
      for (const part of partsOf(commit, result)) {
        committed(part.commit, part.result, life)
        if (result.ok) for (const send of part.commit.sends) void this.#double(send)
      }
      return result
    }
    count.commits++
    if (plan.at('disk', count.commits, `the disk of ${life.name} is full`)) life.fillDiskFor(this.#length('disk'))
    if (life.full && !plan.isOver) throw diskFull()
    if (plan.at('crash', count.commits, `death of ${what}`)) {
      if (plan.stream('crash').chance(0.5)) await apply()
      life.kill()
      return new Promise(() => undefined)
    }
    if (!plan.draw('stores', what)) return apply()
    if (plan.stream('stores').chance(0.5)) await apply()
    throw new SkeinError('STORE_FAILED', 'the answer to a commit was lost', { retry: true })
  }

  backend(): Backend {
    const { journal, heads, mailbox, snapshots, trees, leases, keyCheck, blobs, ...backend } = this.#backend
    const life = this.#life
    return {
      ...backend,
      // A client waits for the hosts that are about to start again, as one that tries again would.
      hosted: () => this.#ask(async () => this.#backend.role === 'client' || this.#backend.hosted()),
      hosts: () => this.#ask(() => this.#backend.hosts()),
      keyCheck: {
        read: () => this.#ask(() => keyCheck.read()),
        keep: (text) => this.#ask(() => keyCheck.keep(text)),
      },
      commit: (commit) => this.#ask(() => this.#commit(commit)),
      journal: {
        read: (thread, range) => this.#ask(() => journal.read(thread, range)),
        readTree: (root, range) => this.#ask(() => journal.readTree(root, range)),
      },
      heads: {
        get: (thread) => this.#ask(() => heads.get(thread)),
        list: (filter, partition) => this.#ask(() => heads.list(filter, partition)),
        restless: (partition) => this.#ask(() => heads.restless(partition)),
        follow: (told) => {
          const { ready, current, stop } = heads.follow((change) => life.run(() => told(change)))
          return { ready: life.hear(ready), current: () => this.#ask(current), stop }
        },
      },
      mailbox: {
        put: (send) => this.#put(send),
        read: (thread, after) => this.#ask(() => mailbox.read(thread, after)),
        waiting: (partition, root) => this.#ask(() => mailbox.waiting(partition, root)),
        watch: (arrived) => mailbox.watch((thread) => life.run(() => arrived(thread))),
      },
      snapshots: {
        get: (thread) => this.#ask(() => snapshots.get(thread)),
        put: (thread, snapshot) => this.#ask(() => snapshots.put(thread, snapshot)),
      },
      signals: this.#signals(),
      blobs: {
        put: (bytes) => this.#ask(() => this.#write(bytes)),
        has: (hash) => this.#ask(() => blobs.has(hash)),
        get: (hash) => this.#read(hash),
      },
      trees: {
        remove: (removal) => this.#ask(() => this.#remove(removal)),
        sweep: (options) => this.#ask(() => trees.sweep(options)),
      },
      leases: {
        ...leases,
        acquire: (partition) => this.#ask(() => leases.acquire(partition)),
        survey: () => this.#ask(() => leases.survey()),
        watch: (heard) => leases.watch(heard),
      },
      close: () => {
        this.#closed = true
        return this.#backend.close()
      },
    }
  }

  /** A sender that is not sure sends again, and is told when both have arrived (J4). */
  async #put(send: Send): Promise<void> {
    await this.#ask(() => this.#backend.mailbox.put(send))
    await this.#life.hear(this.#double(send) ?? Promise.resolve())
  }

  /** Resolves when the mail has arrived again; undefined where it comes once. */
  #double(send: Send): Promise<void> | undefined {
    const { plan, clock, doubled } = this.#network
    if (!plan.draw('mail', `${send.id} to ${send.to} arrives twice`)) return undefined
    return new Promise((resolve) => {
      const again = (): void => {
        if (!doubled.delete(send)) return
        this.#backend.mailbox.put(send).then(resolve, () => resolve()) // its sender has closed the store
      }
      doubled.set(send, again)
      clock.wakeAt(clock.now() + plan.stream('mail').between(0, 500), again)
    })
  }

  /** What a thread sends again arrives while its tree is there: before its next owner has the lease (NC2). */
  async #remove(removal: Removal): Promise<RemovalResult> {
    for (const [send, again] of this.#network.doubled)
      if ((await this.#backend.heads.get(send.to))?.root === removal.root) again()
    return this.#backend.trees.remove(removal)
  }

  async #write(bytes: Parameters<Backend['blobs']['put']>[0]): ReturnType<Backend['blobs']['put']> {
    const { plan } = this.#network
    const life = this.#life
    if (life.full && !plan.isOver) throw diskFull()
    if (this.#backend.role === 'host' && plan.draw('stores', `${life.name} writes a blob`)) throw unreachable()
    return this.#backend.blobs.put(bytes)
  }

  async *#read(hash: string): AsyncGenerator<Uint8Array> {
    await this.#ask(async () => undefined)
    const isHost = this.#backend.role === 'host'
    if (isHost && this.#network.plan.draw('stores', `${this.#life.name} reads blob ${hash.slice(0, 8)}`))
      throw unreachable()
    yield* this.#backend.blobs.get(hash)
  }

  #signals(): Backend['signals'] {
    const { signals } = this.#backend
    const { clock, plan } = this.#network
    const life = this.#life
    const late = (): number => (plan.draw('signals', `late, of ${life.name}`) ? plan.stream('late').between(1, 100) : 0)
    return {
      heard: (topic) => signals.heard(topic),
      publish: (topic, value, unheard) => {
        const at = Math.max(clock.now() + late(), this.#signalsUntil)
        const publish = (): void => {
          if (!this.#closed) signals.publish(topic, value, unheard && (() => life.run(unheard)))
        }
        if (at <= clock.now()) return publish()
        this.#signalsUntil = at
        clock.wakeAt(at, publish)
      },
      subscribe: (topic, heard, missed) => {
        let listening = true
        const tell = (): void => (listening ? missed?.() : undefined)
        const lose = (): void => {
          if (missed) clock.wakeAt(clock.now() + plan.stream('missed').between(0, missedWithinMs), () => life.run(tell))
        }
        const listen = (value: Json): void =>
          plan.draw('signals', `lost, to ${life.name}`) ? lose() : life.run(() => heard(value))
        const stop = signals.subscribe(topic, listen, missed)
        return () => {
          listening = false
          stop()
        }
      },
    }
  }
}

/** A commit and those that stand or fall with it, each with its own result. */
function partsOf(
  commit: Commit,
  result: CommitResult,
): readonly { readonly commit: Commit; readonly result: CommitResult }[] {
  const others = (commit.also ?? []).map((other, index) => ({
    commit: other,
    result: result.ok ? { ...result, ...result.also?.[index] } : result,
  }))
  return [{ commit, result }, ...others]
}

function unreachable(): SkeinError {
  return new SkeinError('STORE_FAILED', 'the store cannot be reached in this simulation', { retry: true })
}

function diskFull(): SkeinError {
  return new SkeinError('STORE_FAILED', 'the disk is full in this simulation', { retry: true })
}
